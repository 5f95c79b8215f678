/* Host techniques side by side: of the CUDA rung that was run with the most combinations of them,
 * each combination at up to four batches. The chart and the report's findings on techniques are
 * made from this. */
#ifndef BENCH_ANALYSIS_TECHNIQUE_SET_H
#define BENCH_ANALYSIS_TECHNIQUE_SET_H

#include "model/result.h"
#include "workloads/common/workload.h"

enum { TECHNIQUE_BATCHES = 4, MAX_TECHNIQUES = 8 };

/* One combination: for each technique the index of its choice; all 0 is the study's set-up. */
typedef struct technique_row {
    size_t choices[MAX_TECHNIQUES];
    const case_result_t *cases[TECHNIQUE_BATCHES]; /* borrowed; NULL where it was not run */
} technique_row_t;

typedef struct technique_set {
    const char *variant; /* borrowed; NULL when no rung has two combinations at a batch */
    const technique_spec_t *techniques; /* of the workload */
    size_t n_techniques;
    int64_t batches[TECHNIQUE_BATCHES]; /* ascending */
    size_t n_batches;
    technique_row_t *rows; /* in the order of techniques and choices: the study's set-up first */
    size_t n_rows, capacity;
} technique_set_t;

/* From CUDA cases of one workload, one shape and one dtype. Batches that have fewer than half of
 * the combinations of the fullest one are left out; of more than four, those spread over all. */
technique_set_t technique_set_of(const case_result_t *const *cases, size_t n);
void technique_set_free(technique_set_t *set);

const char *technique_choice(const technique_set_t *set, const technique_row_t *row, size_t t);
bool technique_row_is_default(const technique_set_t *set, const technique_row_t *row);
/* The row that differs from `row` in technique `t` only, where it has `choice`; NULL when there is
 * none. */
const technique_row_t *technique_sibling(const technique_set_t *set, const technique_row_t *row,
                                         size_t t, size_t choice);

#endif
