/* The report's part on workloads that train: one structure of findings and tables for all of them,
 * and a few lines of description for each. */
#ifndef BENCH_REPORT_TRAINING_TRAINING_H
#define BENCH_REPORT_TRAINING_TRAINING_H

#include "report/page.h"

typedef struct training_pair training_pair_t;
typedef void pair_section_t(const report_t *report, const training_pair_t *pair);

typedef struct training {
    const char *workload;
    int64_t reference_size;          /* the size that findings tell, where it was run */
    const char *steps_param, *step;  /* "epochs", "epoch": times are shown by step */
    double most_steps;               /* in one sample; INFINITY: all */
    const char *timed;               /* "a whole training": what is compared */
    const char *gpu_task, *cpu_task; /* what a sample spans, for the reader */
    const char *least;               /* what the device cannot do without, for the reader */
    const char *operations;          /* what else is to be known of a step taken apart; or "" */
    pair_section_t *floor;           /* what its memory allows */
    pair_section_t *floor_table;     /* or NULL */
    pair_section_t *outcome, *outcome_table; /* what the trainings ended at */
    const char *streamed;       /* what is read again in each step: "training points" */
    double streamed_bytes;      /* of one of them */
    const char *algorithm;      /* what an algorithmic rung does instead */
    const char *const *fitted;  /* numbers of the results that are held against the oracle's */
    const char *const *quality; /* numbers of the results that are shown as they are */
} training_t;

/* The cases of one shape on both kinds of device. */
struct training_pair {
    const training_t *training;
    const comparison_set_t *gpu, *cpu; /* NULL: that device has none */
    const comparison_set_t *either;    /* gpu, else cpu */
};

/* Of the set's rows the one that findings tell: its reference_size, else the largest that both
 * sides have a time for, else the largest. NULL for a set without rows. */
const size_row_t *reference_row(const comparison_set_t *set);

/* The phase that is the training alone, by the device's clock where there is that. */
const char *training_phase(const case_result_t *result);
double steps_of(const training_pair_t *pair, const case_result_t *result);

/* Is a training of one step timed operation by operation here? Such cases answer a question of
 * their own and are in no other table. */
bool has_operations(const training_pair_t *pair);
pair_section_t finding_operations, table_of_operations; /* operations.c */

/* Ok cases of CUDA at a size that are the same algorithm, in the ladder's order; the caller frees
 * the list. */
const case_result_t **ladder_at(const comparison_set_t *set, int64_t size, size_t *n);

/* findings.c */
pair_section_t finding_host, finding_ladder, finding_floor, finding_algorithm;
/* fit.c */
pair_section_t finding_fit, table_of_fits;
/* learning.c: trainings of a network from several seeds. */
pair_section_t finding_learning, table_of_learning;
/* weights.c: what a step moves that reads and writes all weights. */
pair_section_t finding_weights, table_of_weights;
/* epochs.c, allocators.c: trainings by whole epochs, with their validation. */
pair_section_t finding_validated, table_of_validated, finding_epochs, table_of_epochs;
pair_section_t finding_allocators, table_of_allocators;
/* tables.c */
pair_section_t table_by_size, table_of_ladder;

#endif
