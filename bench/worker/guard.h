/* What other programs do to a measurement: they bind a worker, or this program, to other cores, change its
 * priority, or go on after the worker that started them has ended. Walls (walls/walls.h) keep contenders from
 * it; where there are none it is noticed, set right, and the round is void. */
#ifndef BENCH_WORKER_GUARD_H
#define BENCH_WORKER_GUARD_H

#include "worker/bindings.h"
#include "worker/pool.h"

enum { GUARD_SIDES = 2 };

typedef struct guard {
    bindings_t own;                      /* of this process */
    const text_list_t *spared;           /* children from before the run (io/orphans.h) */
    const workers_t *sides[GUARD_SIDES]; /* all workers of the run; NULL: none */
} guard_t;

/* All functions may get a NULL guard, and then do nothing. */

/* How things are now is as they should be: to be called whenever the worker has answered, or we have moved
 * it to another core. */
void guard_note(guard_t *guard, worker_link_t *worker);
/* Set right what was changed since: of this process, of the worker (may be NULL), and what was left. Why the
 * round that follows is void, or NULL; the caller frees it. */
char *guard_restore(guard_t *guard, const worker_link_t *worker);
/* Was the worker changed since `before`, while it had a request? As above. */
char *guard_compare(const guard_t *guard, const bindings_t *before);

#endif
