/* The timing logs of a published study, in milliseconds: a CSV for each of its two sides, whose header says which
 * it is. They are written of the cases that are set up as there, and read into the types of a run, for the same
 * charts. */
#ifndef BENCH_RESULTS_STUDY_CSV_H
#define BENCH_RESULTS_STUDY_CSV_H

#include "results/record.h"

enum { STUDY_MOST_COLUMNS = 8, STUDY_SIDES = 2 };

typedef struct study_side {
    const char *file, *engine, *variant;
    size_t n; /* columns: the size, phases, the total */
    const char *columns[STUDY_MOST_COLUMNS], *phases[STUDY_MOST_COLUMNS]; /* "H2D", "h2d" */
} study_side_t;

/* The study that a workload reproduces, with all but the size at the workload's defaults. */
typedef struct study {
    const char *workload, *size_param, *dtype;
    study_side_t sides[STUDY_SIDES];
} study_t;

/* Is the case set up as there? The variant does not matter. */
bool study_is_setup(const case_t *spec);

typedef struct study_log {
    size_t side;
    case_result_t *cases; /* one per size, ascending; its rows are the samples */
    size_t n_cases, capacity;
} study_log_t;

/* On failure nothing is left to free. Each case has the study's phases, `total` and `residual`
 * (ns). The interval of a median is NaN if the size has too few rows. */
status_t study_csv_load(const study_t *study, const char *path, study_log_t *log, error_t *err);
void study_log_free(study_log_t *log);

#endif
