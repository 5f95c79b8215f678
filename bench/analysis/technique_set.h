/* Comparison of host techniques, for the chart and the report: the CUDA rung with the most
 * combinations, each at up to four batches. */
#ifndef BENCH_ANALYSIS_TECHNIQUE_SET_H
#define BENCH_ANALYSIS_TECHNIQUE_SET_H

#include "model/result.h"
#include "workloads/common/workload.h"

enum { TECHNIQUE_BATCHES = 4, MAX_TECHNIQUES = 8 };

/* One combination: for each technique the index of its choice; all 0 is the study's set-up. */
typedef struct technique_row {
    size_t choices[MAX_TECHNIQUES];
    const case_result_t *cases[TECHNIQUE_BATCHES]; /* borrowed; NULL: not run */
} technique_row_t;

typedef struct technique_set {
    const char *variant;                /* borrowed; NULL: no rung has two combinations */
    const technique_spec_t *techniques; /* of the workload */
    size_t n_techniques;
    int64_t batches[TECHNIQUE_BATCHES]; /* ascending */
    size_t n_batches;
    technique_row_t *rows; /* in the order of techniques and choices: the study's set-up first */
    size_t n_rows, capacity;
} technique_set_t;

/* From CUDA cases of one workload, shape and dtype. Batches with fewer than half of the most
 * combinations are omitted; of more than four, four are chosen evenly. */
technique_set_t technique_set_of(const case_result_t *const *cases, size_t n);
void technique_set_free(technique_set_t *set);

const char *technique_choice(const technique_set_t *set, const technique_row_t *row, size_t t);
bool technique_row_is_default(const technique_set_t *set, const technique_row_t *row);
/* The row that differs from `row` only in technique `t`, with `choice`; NULL if none. */
const technique_row_t *technique_sibling(const technique_set_t *set, const technique_row_t *row,
                                         size_t t, size_t choice);

#endif
