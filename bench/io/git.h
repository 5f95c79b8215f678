/* The state of a source folder under git. */
#ifndef BENCH_IO_GIT_H
#define BENCH_IO_GIT_H

#include "base/hash.h"

#include <stdbool.h>

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
