/* What a timed training left is checked by what it learned: the loss of its weights on test images may
 * not be above that of the oracle by more than half of what the oracle gains in the second half of
 * the same sample (docs/cheating.md). Both losses are computed by the oracle's worker. */
#ifndef BENCH_MEASURE_CONTENDER_CHECK_H
#define BENCH_MEASURE_CONTENDER_CHECK_H

#include "engine/session.h"
#include "measure/contender.h"

typedef struct loss_limit {
    worker_link_t *worker; /* the oracle's; NULL: no training, and nothing to compare */
    double timeout_s;
    double losses[LEARNED_LOSSES]; /* of the oracle: see session_ops_t.learned */
    double most;                   /* the highest loss that is right */
    char *unknown;                 /* why there are no losses; NULL: there are */
} loss_limit_t;

/* The highest loss that is right; NaN if the oracle learns nothing. */
double loss_limit_most(const double losses[LEARNED_LOSSES]);

/* Let the oracle, which is open, train a sample on its inputs. */
loss_limit_t loss_limit_find(contender_t *oracle);
void loss_limit_free(loss_limit_t *loss_limit);

/* Compare weights.npy in `folder`; NULL: the worker wrote none. If that cannot be done, the contender's
 * result gets a flag. The caller frees the reason; NULL: right. */
char *loss_limit_check(const loss_limit_t *loss_limit, contender_t *contender, const char *folder);

#endif
