/* What charts are drawn from: the cases of a run, or of the study's CSVs, grouped into series. A
 * series is one contender over all batches. Only cases of one shape (workload, parameters other
 * than the batch, dtype) stand in one chart: the shape that has the most cases. */
#ifndef BENCH_PLOT_DATA_H
#define BENCH_PLOT_DATA_H

#include "steps/results.h"

typedef struct series {
    char *key;     /* "cuda/03_vectorized/copy=pinned" */
    char *title;   /* "CUDA 03_vectorized + pinned" */
    char *label;   /* engine label: "cuda", "pytorch-cuda", "cpu", "pytorch-cpu", "mine-cuda" */
    char *variant; /* "03_vectorized" */
    bool standard; /* every technique at its default */
    int style;     /* line type in plots/style.gp: a contender has the same one in every chart */
    const case_result_t **cases; /* ascending batch; borrowed from the run */
    size_t n_cases, capacity;
} series_t;

typedef struct plot_data {
    run_record_t run;
    char *name;   /* of the set of charts: the run's name, or "study" */
    char *shape;  /* "mlp_infer, layers 4-5-1, f32" */
    char *footer; /* device, date, source */
    bool study_csv;
    series_t *series; /* in a fixed order: CUDA, PyTorch, C, PyTorch on the CPU, others;
                        then by line type and key */
    size_t n_series, series_capacity;
    int64_t *batches; /* of all series, ascending */
    size_t n_batches;
} plot_data_t;

/* On failure nothing is left to free. */
status_t plot_data_from_run(const char *folder, plot_data_t *data, error_t *err);
/* One CSV, or the study's two together. */
status_t plot_data_from_csvs(const char *const *paths, size_t n_paths, plot_data_t *data,
                             error_t *err);
void plot_data_free(plot_data_t *data);

int64_t batch_of(const case_result_t *result);

/* The case at a batch, whatever its status; NULL when there is none. */
const case_result_t *series_at(const series_t *series, int64_t batch);
/* Does any case of the series have a time for this phase? */
bool series_has_phase(const series_t *series, const char *phase);

/* Is it a contender that a user added, neither ours nor PyTorch's? */
bool series_is_other(const series_t *series);

/* Who stands for a side unless the fastest is asked for: the study's own set-ups, rung 01 with
 * default techniques for "cuda" and eager mode for PyTorch; `omp` for "cpu". NULL when the run has
 * none with times. */
const series_t *plot_usual_series(const plot_data_t *data, const char *label);
/* The series of an engine that is fastest at the most batches, among those with a time at no fewer
 * than half as many batches as the engine's longest series: a technique tried at three sizes does
 * not stand for the whole range. NULL when none has the phase. */
const series_t *plot_fastest_series(const plot_data_t *data, const char *label, const char *phase);

#endif
