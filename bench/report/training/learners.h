/* The trainings of one network in a run: who was trained at which size and seed, and what became of
 * it. Seeds are told together; whose weights are kept in another precision is told apart, since
 * that is another training. */
#ifndef BENCH_REPORT_TRAINING_LEARNERS_H
#define BENCH_REPORT_TRAINING_LEARNERS_H

#include "analysis/learning.h"
#include "report/training/training.h"

/* One training whose losses and accuracy are known. */
typedef struct training_run {
    const case_result_t *result;
    double accuracy;
    bool pytorch;
    bool plain;      /* keeps its weights in the case's precision, and not in a better one */
    size_t place;    /* of its contender, among all */
    double distance; /* the largest of its smoothed loss from the reference's; NaN: none */
} training_run_t;

/* All of a pair's shape, whatever the size and the seed; sorted by contender, then by seed. */
typedef struct training_runs {
    training_run_t *items;
    size_t n, capacity;
} training_runs_t;

/* The caller frees its items. */
training_runs_t training_runs_of(const training_pair_t *pair);

/* The same size and seed? */
bool training_run_same_task(const training_run_t *a, const training_run_t *b);
/* Whom losses are held against: PyTorch with plain weights, else PyTorch, at the same task; NULL
 * without PyTorch. */
const training_run_t *training_run_reference(const training_runs_t *training_runs,
                                             const training_run_t *training_run);
/* "cuda 05_persistent"; the caller frees it. */
char *training_run_name(const training_run_t *training_run);

#endif
