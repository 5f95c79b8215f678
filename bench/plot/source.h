/* Chart data: the cases of a run, or of the study's CSVs, grouped into series. A series is one
 * contender over all sizes; a size is the workload's main parameter: its batch, its number of
 * points. A chart shows only cases of one shape (workload, parameters other than the size,
 * dtype). */
#ifndef BENCH_PLOT_SOURCE_H
#define BENCH_PLOT_SOURCE_H

#include "analysis/boots.h"
#include "base/memory.h"
#include "results/record.h"
#include "workloads/common/workload.h"

typedef struct series {
    const char *key;   /* "cuda/03_vectorized/copy=pinned" */
    const char *title; /* "CUDA 03_vectorized + pinned" */
    const char *label; /* engine label: "cuda", "pytorch-cuda", "cpu", "pytorch-cpu", "mine-cuda" */
    const char *engine; /* "pytorch", … */
    bool on_gpu;
    bool ours, rival;            /* platform_of() */
    const char *side;            /* "CUDA", "PyTorch", "C on the CPU", "JAX on the CPU" */
    const char *variant;         /* "03_vectorized" */
    bool is_default;             /* every technique at its default */
    bool algorithmic;            /* a different algorithm: shown, but never the fastest */
    bool self_reported;          /* not vouched for (trust_t): likewise */
    int style;                   /* line type in plots/style.gp, the same in every chart */
    const case_result_t **cases; /* ascending size; borrowed from the run */
    size_t n_cases, capacity;
} series_t;

/* The fastest of an engine, or of all rivals on a kind of device, by one phase. */
typedef struct best {
    const char *phase, *label; /* label: the engine's, or ALL_RIVALS_ON_… */
    const series_t *single;    /* the series that is the fastest at every size, or NULL */
    series_t mixed;            /* otherwise the fastest case at each size; its `variant` is "" */
} best_t;

/* The cases of one shape. */
typedef struct plot_data {
    const record_t *run;  /* with all its cases */
    const boots_t *boots; /* further starts of the machine, that ratios are to cover */
    const workload_t *workload;
    const char
        *compared_by;  /* the workload's, for COMPUTATION the one that all can have; or NULL */
    const char *shape; /* "softmax, rows 16, f32" */
    size_t workload_place, place; /* of the workload, and of the shape, in the run's order */
    bool synthetic;               /* synthetic images; the shape includes this */
    bool study_csv;
    series_t *series; /* the GPU's first, then by engine_order(), line type and key */
    size_t n_series, series_capacity;
    best_t *best;
    size_t n_best, best_capacity;
    int64_t *sizes; /* of all series, ascending */
    size_t n_sizes;
    arena_t texts; /* the shape; keys, titles, labels and variants of its series */
} plot_data_t;

/* The input of one set of charts: a run, or the study's CSVs. */
typedef struct plot_source {
    record_t run;         /* of CSVs: `name` is made of their names, `folder` of their paths */
    record_list_t others; /* further starts of its machine */
    boots_t boots;        /* these */
    char *footer;         /* device, date, source */
    bool study_csv;
    plot_data_t *shapes; /* workloads in run order; the shape with the most sizes first */
    size_t n_shapes, shapes_capacity;
} plot_source_t;

/* The caller frees the source, also on failure. */
status_t plot_source_from_run(const char *folder, plot_source_t *source, error_t *err);
/* Other boots of a source from a run, once. STATUS_USAGE if one shares no case with the run; what boots_add()
 * refuses is refused. */
status_t plot_source_add_boots(plot_source_t *source, const text_list_t *folders, error_t *err);
/* One CSV or the study's two. */
status_t plot_source_from_csvs(const char *const *paths, size_t n_paths, plot_source_t *source,
                               error_t *err);
void plot_source_free(plot_source_t *source);

/* How a shape differs from another of its workload, for the name of a file: "tf32", "rows_1024"; "": in the
 * seed only, or it is timed by operation. The caller frees it. */
char *plot_setting(const plot_data_t *data, const plot_data_t *first);

/* The case's size; 0 if its workload has none. */
int64_t size_of(const case_result_t *result);

/* Both ends of the median's 95 % interval; NaN if the phase has no median to show. */
const double *result_ci95(const case_result_t *result, const char *phase);

/* The case at a size, whatever its status, or NULL. */
const case_result_t *series_at(const series_t *series, int64_t size);
/* Likewise, with every technique at its default. */
const case_result_t *series_default_at(const series_t *series, int64_t size);
/* Does any case of the series have a time for this phase? */
bool series_has_phase(const series_t *series, const char *phase);

/* The phase of a call that both sides on the GPU have: CALL_IN_GRAPH or ONE_CALL. */
const char *plot_call_phase(const plot_data_t *data);
/* Is it the C reference, which verifies the others? */
bool series_is_oracle(const series_t *series);
/* "PyTorch graph", "C on the CPU, omp": its side, then the name. */
const char *series_title_of(arena_t *texts, const series_t *series, const char *name);

/* Index of the first of the `room` largest sizes. */
size_t plot_first_size(const plot_data_t *data, size_t room);
/* Is it the first series of its engine? */
bool plot_is_first_of_engine(const plot_data_t *data, size_t s);

/* A side of the study's comparison: rung 01 with default techniques for "cuda", eager mode for
 * PyTorch, `omp` for "cpu". NULL for other engines, and if it has no times in the run or was run at less than half as
 * many sizes as another of its engine. */
const series_t *plot_default_series(const plot_data_t *data, const char *label);
/* The fastest case of an engine at each size by "host_to_host" or the workload's own phase, as in
 * the report, or by "total". If it is the same contender everywhere, its series; else a mixed
 * series (series_is_mixed()). NULL if none has the phase. */
const series_t *plot_fastest_series(const plot_data_t *data, const char *label, const char *phase);
/* Likewise of all rivals on one kind of device: whoever is the strongest at each size. */
const series_t *plot_strongest_rival(const plot_data_t *data, bool on_gpu, const char *phase);
bool series_is_mixed(const series_t *series);

/* Line types: numbers of plots/style.gp, the same in every chart of a run. */
/* Of the fastest of a case's engine, if it is not the same contender at every size. */
int style_of_mixed(const record_t *run, const case_t *spec);

/* Add a case of the data's shape; sort the series and find the fastest, after the last. */
void plot_data_add(plot_data_t *data, const case_result_t *result);
void plot_data_finish(plot_data_t *data);
void plot_data_free(plot_data_t *data);

#endif
