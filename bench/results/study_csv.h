/* The timing logs of the study that mlp_infer reproduces, `mlp_timing_log.csv` and
 * `mlp_timing_log_pytorch.csv`, in milliseconds. The file's header decides which of the two it is.
 * They are read into the types of a run, for the same charts. */
#ifndef BENCH_RESULTS_STUDY_CSV_H
#define BENCH_RESULTS_STUDY_CSV_H

#include "model/result.h"

typedef enum study_kind {
    STUDY_CUDA,    /* Batch,Malloc,H2D,Kernel,D2H,Free,Total */
    STUDY_PYTORCH, /* Batch,Init,H2D,Forward,D2H,Total */
    STUDY_KINDS
} study_kind_t;

typedef struct study_log {
    study_kind_t kind;
    case_result_t *cases; /* one per batch, ascending; its rows are the samples */
    size_t n_cases, capacity;
} study_log_t;

/* On failure nothing is left to free. Each case has the study's phases, `total` and `residual`
 * (ns). The interval of a median is NaN if the batch has too few rows. */
status_t study_csv_load(const char *path, study_log_t *log, error_t *err);
void study_log_free(study_log_t *log);

#endif
