/* Trainings of one network from several seeds: who was trained how often, with weights of which
 * precision, and what their losses were. */
#ifndef BENCH_ANALYSIS_LEARNING_H
#define BENCH_ANALYSIS_LEARNING_H

#include "analysis/curve.h"
#include "results/record.h"

enum { MOST_SEEDS = 8 };

/* Trainings of one contender that differ in nothing but the seed, ascending. */
typedef struct seeds {
    const case_result_t *cases[MOST_SEEDS]; /* borrowed from the run */
    size_t n;
} seeds_t;

/* Those of `like`'s contender and parameters that have a loss curve. */
seeds_t seeds_of(const record_t *run, const case_t *like);
int64_t seed_of(const case_t *spec);

/* Do both train the same network in the same way, but for the seed and for who does it? */
bool same_but_seed(const case_t *a, const case_t *b);
/* Are both the same contender: engine, device, variant and techniques? */
bool same_contender(const case_t *a, const case_t *b);

/* What weights are kept in by whoever keeps them in no more than the case's precision: tf32 is one
 * of products, and its weights are in float32. */
const char *weights_dtype(const case_t *spec);

/* Precision of the weights that are trained: "f16"; "f32" where they are kept in float32 beside
 * products in less, as autocast does. NULL where the case does not tell. The caller frees it. */
char *weights_of(const case_result_t *result);

/* The case's loss curve, smoothed; the window is that of curve_window(). */
curve_t smooth_loss(const case_result_t *result);

#endif
