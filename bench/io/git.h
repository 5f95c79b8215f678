/* The state of a source folder under git. */
#ifndef BENCH_IO_GIT_H
#define BENCH_IO_GIT_H

#include <stdbool.h>

enum { GIT_REVISION = 12 };

typedef struct git_state {
    char revision[GIT_REVISION + 1]; /* abbreviated */
    bool dirty;                      /* has uncommitted changes, or files that git does not know */
} git_state_t;

/* False if `folder` is not the top of a git repository with a commit, or git cannot read it. */
bool git_read(const char *folder, git_state_t *state);

#endif
