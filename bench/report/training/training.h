/* The report's part on workloads that train: one structure of findings and tables for all of them,
 * and a few lines of description for each. */
#ifndef BENCH_REPORT_TRAINING_TRAINING_H
#define BENCH_REPORT_TRAINING_TRAINING_H

#include "analysis/learning.h"
#include "report/columns.h"

/* page.c: findings and tables on workloads that train. */
void training_findings(const report_t *report, const comparison_set_list_t *sets);
void training_tables(const report_t *report, const comparison_set_list_t *sets);
/* allocators.c: on allocators by themselves. */
void block_findings(const report_t *report, const comparison_set_list_t *sets);
void block_tables(const report_t *report, const comparison_set_list_t *sets);

typedef struct training_pair training_pair_t;
typedef void pair_section_t(const report_t *report, const training_pair_t *pair);

typedef struct training {
    const char *workload;
    const char *steps_param, *step;  /* "epochs", "epoch": times are shown by step */
    double most_steps;               /* in one sample; INFINITY: all */
    const char *timed;               /* "a whole training": what is compared */
    const char *gpu_task, *cpu_task; /* what a sample spans, for the reader */
    const char *least;               /* what the device cannot do without, for the reader */
    const char *operations;          /* what else is to be known of a step taken apart; or NULL */
    pair_section_t *floor;           /* what its memory allows */
    pair_section_t *floor_table;     /* or NULL */
    pair_section_t *outcome, *outcome_table; /* what the trainings ended at */
    const char *algorithm;                   /* what an algorithmic rung does instead */
} training_t;

/* The cases of one shape on both kinds of device. */
struct training_pair {
    const training_t *training;
    const comparison_set_t *gpu, *cpu; /* NULL: that device has none */
    const comparison_set_t *either;    /* gpu, else cpu */
};

/* ---- cases (training.c) ---------------------------------------------------------------------- */

enum { ANY_SIZE = -2 };
enum case_choice {
    OF_OURS = 1 << 0, /* on the set's own device … */
    OF_PYTORCH = 1 << 1,
    OF_ANYONE = 1 << 2, /* … or on any that does the set's work */
    ONLY_OK = 1 << 3,
    NOT_ALGORITHMIC = 1 << 4,
};

/* The run's next case after `previous` (NULL: the first) that is of one of those in `choice`, flags
 * of case_choice, and of this size; NULL: no more. */
const case_result_t *next_case(const comparison_set_t *set, unsigned choice, int64_t size,
                               const case_result_t *previous);
/* The first such case that `fits`; NULL: there is none. */
const case_result_t *find_case(const comparison_set_t *set, unsigned choice, int64_t size,
                               bool (*fits)(const case_result_t *result));
/* Ok cases of CUDA at a size that are the same algorithm, in the ladder's order. */
const case_result_t **ladder_at(const report_t *report, const comparison_set_t *set, int64_t size,
                                size_t *n);
/* Of the set's rows the one that findings show: its reference_size, else the largest that both
 * sides have a time for, else the largest. NULL for a set without rows. */
const size_row_t *reference_row(const comparison_set_t *set);

bool is_timed(const comparison_set_t *set); /* false for NULL */
const comparison_set_t *
timed_set(const training_pair_t *pair); /* the GPU's if timed, else the CPU's */

/* The phase that is the training alone, by the device's clock where there is that. */
const char *training_phase(const case_result_t *result);
double step_ns(const training_pair_t *pair, const case_result_t *result); /* by that phase */

/* ---- texts, which the report owns (training.c) ----------------------------------------------- */

/* `count` zeroed elements that live as long as the report. */
void *report_array(const report_t *report, size_t count, size_t bytes);
const char *bytes_text(const report_t *report, double bytes);
const char *size_name_of(const report_t *report, const comparison_set_t *set,
                         const case_result_t *result);                           /* "width 128" */
const char *contender_text(const report_t *report, const case_result_t *result); /* "cuda 05_…" */
const char *algorithmic_mark(const case_result_t *result); /* " *(algorithmic)*"; or "" */

/* The columns `first`, then one for each of the set's sizes. */
columns_t columns_by_size(const report_t *report, const comparison_set_t *set,
                          const column_t *first, size_t n_first);
/* A heading of level 4, a formatted text and the table; nothing where there are no rows. */
void columns_end_under(columns_t *columns, const char *heading, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- trainings whose losses and accuracy are known (learning.c) ------------------------------ */

typedef struct training_run {
    const case_result_t *result;
    const char *name, *task; /* "cuda 05_persistent"; "width 128, seed 1" */
    int64_t size, seed;
    double accuracy;
    bool pytorch;
    const char *weights; /* what they are kept in; NULL: not known */
    bool plain;          /* in the case's precision: a better one makes it another training */
    size_t place;        /* of its contender, among all */
    /* Whom its losses are held against: PyTorch with plain weights, else PyTorch, at the same task;
     * and their largest difference, NaN without PyTorch and for the reference itself. */
    const struct training_run *reference;
    double distance;
} training_run_t;

/* All of a pair's shape, whatever the size and the seed; sorted by contender, then by seed. */
typedef struct training_runs {
    training_run_t *first, *end; /* `end` is behind the last; the report owns them */
} training_runs_t;

training_runs_t training_runs_of(const report_t *report, const training_pair_t *pair);
/* The largest difference of their smoothed losses. */
double loss_distance(const training_run_t *a, const training_run_t *b);

/* ---- sections -------------------------------------------------------------------------------- */

/* operations.c: is a training of one step timed operation by operation here? Such cases answer a
 * question of their own and are in no other table. */
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
