/* The two folders of a call. The data folder is only read: kernels/, sweeps/, the Python sides, the scripts of charts.
 * The project's is the user's: results/, plots/, workloads and contenders of their own. In a checkout both are the
 * checkout; with the data of `make install` the project is the current folder. */
#ifndef BENCH_IO_FOLDERS_H
#define BENCH_IO_FOLDERS_H

#include "base/error.h"
#include "base/hash.h"

#include <stdbool.h>

/* The data folder: $BENCH_ROOT, else the checkout that this program was built in, else the one that the current
 * folder is in, else what was installed with this program. Owned by the caller. */
status_t folders_data(char **data, error_t *err);
/* The project's folder for a data folder; owned by the caller. */
char *folders_project(const char *data);
/* Where a command without --out puts its result: PROJECT/results/NAME-20260302-101500; owned by the caller. */
char *folders_result(const char *data, const char *name);
/* Is it the data of `make install`? */
bool folders_installed(const char *data);
/* How it is called in the project's folder: "bench", or "build/bench" of a checkout. */
const char *folders_program(const char *data);
/* For an installed program: tell the processes that it starts where the data are, and have caches in the user's
 * folder ($BENCH_ROOT and $BENCH_CACHE, if not set). */
void folders_export(const char *data);

/* The absolute path of `folder` if it holds kernels/ and sweeps/, or NULL. */
char *folders_data_at(const char *folder);
/* What `make install` installed with a program, or NULL; owned by the caller. */
char *folders_data_with(const char *program);
/* reference_ENGINE/worker.py of the data, else the project's, whether or not it exists; owned by the caller. */
char *folders_worker(const char *data, const char *engine);

/* The state of a source folder under git. */

enum { GIT_REVISION = 12 };

typedef struct git_state {
    char revision[GIT_REVISION + 1]; /* abbreviated */
    bool dirty;                      /* has uncommitted changes, or files that git does not know */
    char changes[HASH_TEXT];         /* hash of these; "" if there are none */
} git_state_t;

/* The folder `except` (it need not be in `folder`) does not count as a change. False if `folder` is
 * not the top of a git repository with a commit, or git cannot read it. */
bool git_read(const char *folder, const char *except, git_state_t *state);

#endif
