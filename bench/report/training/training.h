/* Findings and tables for workloads that train: common code, and a description of each workload. */
#ifndef BENCH_REPORT_TRAINING_TRAINING_H
#define BENCH_REPORT_TRAINING_TRAINING_H

#include "analysis/learning.h"
#include "report/rivals.h"

/* page.c */
void training_findings(const report_t *report, const comparison_set_list_t *sets);
void training_tables(const report_t *report, const comparison_set_list_t *sets);
/* allocators.c: the workload allocate. */
void block_findings(const report_t *report, const comparison_set_list_t *sets);
void block_tables(const report_t *report, const comparison_set_list_t *sets);

typedef struct training_pair training_pair_t;
typedef void pair_section_t(const report_t *report, const training_pair_t *pair);

typedef struct training {
    const char *workload;
    const char *steps_param, *step;          /* "epochs", "epoch": times are shown per step */
    double most_steps;                       /* in one sample; INFINITY: all */
    const char *timed;                       /* "a whole training": what is compared */
    const char *gpu_task, *cpu_task;         /* what a sample spans */
    const char *least;                       /* what the limit counts */
    const char *operations;                  /* note on times by operation; or NULL */
    pair_section_t *floor;                   /* lower bounds */
    pair_section_t *floor_table;             /* or NULL */
    pair_section_t *outcome, *outcome_table; /* results of the trainings */
    const char *algorithm;                   /* of an algorithmic rung */
} training_t;

/* The cases of one shape on both kinds of device. */
struct training_pair {
    const training_t *training;
    const comparison_set_t *gpu, *cpu; /* NULL: none on that device */
    const comparison_set_t *either;    /* gpu, else cpu */
};

/* ---- cases (training.c) ---------------------------------------------------------------------- */

enum { ANY_SIZE = -2 };
enum case_choice {
    OF_OURS = 1 << 0, /* on the set's own device … */
    OF_RIVALS = 1 << 1,
    OF_ANYONE = 1 << 2, /* … or on any that does the set's work */
    ONLY_OK = 1 << 3,
    NOT_ALGORITHMIC = 1 << 4,
};

/* The run's next case after `previous` (NULL: the first) of this size that matches `choice`, flags
 * of case_choice; NULL: no more. */
const case_result_t *next_case(const comparison_set_t *set, unsigned choice, int64_t size,
                               const case_result_t *previous);
/* The first such case that `fits`; NULL: none. */
const case_result_t *find_case(const comparison_set_t *set, unsigned choice, int64_t size,
                               bool (*fits)(const case_result_t *result));
/* CUDA's ok cases of the common algorithm at a size, in the ladder's order. */
const case_result_t **ladder_at(const report_t *report, const comparison_set_t *set, int64_t size,
                                size_t *n);
/* The row that findings show: at reference_size, else the largest that both sides have a time for,
 * else the largest. NULL for a set without rows. */
const size_row_t *reference_row(const comparison_set_t *set);

bool is_timed(const comparison_set_t *set); /* false for NULL */
/* The GPU's if timed, else the CPU's. */
const comparison_set_t *timed_set(const training_pair_t *pair);

/* The phase of the training alone, by the device's clock if available. */
const char *training_phase(const case_result_t *result);
double step_ns(const training_pair_t *pair, const case_result_t *result); /* by that phase */

/* ---- texts owned by the report (training.c) -------------------------------------------------- */

/* `count` zeroed elements owned by the report. */
void *report_array(const report_t *report, size_t count, size_t bytes);
const char *bytes_text(const report_t *report, double bytes);
const char *size_name_of(const report_t *report, const comparison_set_t *set,
                         const case_result_t *result);                           /* "width 128" */
const char *contender_text(const report_t *report, const case_result_t *result); /* "cuda 05_…" */
const char *algorithmic_mark(const case_result_t *result); /* " *(algorithmic)*"; or "" */

/* The columns `first`, then one per size of the set. */
columns_t columns_by_size(const report_t *report, const comparison_set_t *set,
                          const column_t *first, size_t n_first);

/* ---- trainings with losses and accuracy (learning.c) ----------------------------------------- */

typedef struct training_run {
    const case_result_t *result;
    const char *name, *task; /* "cuda 05_persistent"; "width 128, seed 1" */
    int64_t size, seed;
    double accuracy;
    bool rival;
    const char *weights; /* their precision; NULL: unknown */
    bool plain;          /* weights in the case's precision; a better one is a different training */
    size_t place;        /* index of its contender */
    /* A rival with plain weights, else any rival, at the same task, the first by engine_order(); and
     * the largest difference of the losses from it, NaN without one and for the reference itself. */
    const struct training_run *reference;
    double distance;
} training_run_t;

/* All trainings of a pair's shape at any size and seed, by contender, then by seed. */
typedef struct training_runs {
    training_run_t *first, *end; /* `end` is past the last; owned by the report */
} training_runs_t;

training_runs_t training_runs_of(const report_t *report, const training_pair_t *pair);
/* The largest difference of their smoothed losses. */
double loss_distance(const training_run_t *a, const training_run_t *b);

/* ---- sections -------------------------------------------------------------------------------- */

/* operations.c: are steps timed by operation? Such cases are in no other table. */
bool has_operations(const training_pair_t *pair);
pair_section_t finding_operations, table_of_operations;
pair_section_t finding_host, finding_ladder, finding_floor, finding_algorithm; /* findings.c */
pair_section_t finding_weights, table_of_weights;
pair_section_t finding_fit, table_of_fits;              /* fit.c */
pair_section_t finding_learning, table_of_learning;     /* learning.c */
pair_section_t finding_epochs, table_of_epochs;         /* epochs.c */
pair_section_t finding_allocators, table_of_allocators; /* allocators.c */
pair_section_t table_by_size, table_of_ladder;          /* tables.c */
pair_section_t finding_validated, table_of_validated;

#endif
