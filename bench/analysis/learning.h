/* Trainings of one network from several seeds: which cases, precision of the weights, losses. */
#ifndef BENCH_ANALYSIS_LEARNING_H
#define BENCH_ANALYSIS_LEARNING_H

#include "analysis/curve.h"
#include "results/record.h"

enum { MOST_SEEDS = 8 };

/* Trainings of one contender that differ only in the seed, ascending. */
typedef struct seeds {
    const case_result_t *cases[MOST_SEEDS]; /* borrowed from the run */
    size_t n;
} seeds_t;

/* Those of `like`'s contender and parameters that have a loss curve. */
seeds_t seeds_of(const record_t *run, const case_t *like);
int64_t seed_of(const case_t *spec);

/* Do the trainings differ only in the seed, the contender, and the parameter `other` (or NULL)? */
bool same_but_seed_and(const case_t *a, const case_t *b, const char *other);
/* Are both the same contender: engine, device, variant and techniques? */
bool same_contender(const case_t *a, const case_t *b);

/* Precision of weights kept in the case's precision: "f32" for tf32 and mixed, which apply
 * to products. */
const char *weights_dtype(const case_t *spec);

/* Precision of the trained weights: "f16"; "f32" with autocast, whose products are less precise.
 * NULL if not recorded. The caller frees it. */
char *weights_of(const case_result_t *result);

/* The case's loss curve, smoothed; the window is that of curve_window(). */
curve_t smooth_loss(const case_result_t *result);

#endif
