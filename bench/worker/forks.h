/* Workers without imports: a server (reference_common/fork_server.py) has imported what the workers of our own engines
 * import, and forks each of them. Their processes are children of this one, as if it had started them, so that it
 * waits for them and kills them alike; this needs PR_SET_CHILD_SUBREAPER (orphans_adopt()). */
#ifndef BENCH_WORKER_FORKS_H
#define BENCH_WORKER_FORKS_H

#include "worker/client.h"

/* The processes that fork, one for each Python and set of packages. */
typedef struct forks {
    struct fork_server **items;
    size_t n;
} forks_t;

/* Have the worker `link`, of one of our engines, forked from now on. A server that is new starts to import. Both are valid
 * until forks_free(). */
void forks_serve(forks_t *forks, const char *root, const char *engine, worker_link_t *link);
/* Is it one of our engines, whose script runs nothing of a user's before a case is opened? */
bool forks_know(const char *engine);
bool forks_have(const forks_t *forks, pid_t pid);

/* Forks of one process have the same layout of memory. So each pass has servers of its own. They import side by side, while
 * cases are opened: launch those of `n` further passes, wait for them before anything is timed, and after each pass let
 * others take over. */
void forks_launch_next(forks_t *forks, size_t n);
void forks_await_next(forks_t *forks);
void forks_take_next(forks_t *forks);
void forks_free(forks_t *forks);

#endif
