/* Sweeps: JSON files (sweeps/schema.json) → a list of cases. Unknown keys, wrong types, empty axes
 * and duplicate keys are errors with file, JSON path (`$.contenders[1].variants[0]`) and, for
 * names, the nearest known one; syntax errors have line and column. */
#ifndef BENCH_SWEEP_SWEEP_H
#define BENCH_SWEEP_SWEEP_H

#include "io/json.h"
#include "model/case.h"
#include "workloads/common/workload.h"

/* Reading parameters of a case from JSON. */

/* A value that the parameter allows; on success the caller frees it with value_free(). */
status_t node_param(const node_t *node, const param_spec_t *param, value_t *value, error_t *err);

typedef struct measure_options {
    unsigned passes;       /* over the sweep, each with new processes, at most; 12 */
    unsigned least_passes; /* further ones for cases with wide intervals; `passes`: exactly; 5 */
    double interval_frac;  /* asked then: half the interval, as a part of the median; 0.02 */
    unsigned draws;        /* compilations, without earlier choices, by a compiler that tunes; 3 */
    double precision_frac; /* of a pass: the error of its median by the host's clock; 0.02 */
    double device_precision_frac; /* the same by the device's clock; 0.005 */
    double time_limit_s;          /* of a case, shared by its passes; 15 */
    double round_s;               /* 0.03 */
    unsigned min_rounds;          /* of a pass; 4 */
    unsigned min_samples;         /* of a case, shared by its passes; 30 */
} measure_options_t;

#define MEASURE_DEFAULTS                                                                           \
    {                                                                                              \
        .passes = 12, .least_passes = 5, .interval_frac = 0.02, .draws = 3,                        \
        .precision_frac = 0.02, .device_precision_frac = 0.005, .time_limit_s = 15,                \
        .round_s = 0.03, .min_rounds = 4, .min_samples = 30                                        \
    }

typedef struct sweep {
    char *path, *text; /* the file, verbatim */
    char *name;
    const workload_t *workload;
    case_t *cases; /* complete, with ids, without duplicates, in the sweep's order: contenders of
                      the same group (case_group) next to each other */
    size_t n_cases, cases_capacity;
    text_list_t arch;   /* "native" (default), "sm_90", … */
    text_list_t charts; /* families; empty: all that apply */
    bool leaves_cpu;    /* where there is a GPU, cases on the CPU are left out */
    measure_options_t measure;
} sweep_t;

/* Is the number of passes open? */
static inline bool measure_is_open(const measure_options_t *measure) {
    return measure->least_passes < measure->passes;
}

/* A key of "measure" other than "passes": kind (VALUE_INT or VALUE_REAL), range, and field. */
typedef struct measure_key {
    const char *name;
    value_kind_t kind;
    double min, max;
    size_t field; /* offset in measure_options_t */
} measure_key_t;

const measure_key_t *sweep_measure_keys(size_t *n);

/* "native", or "sm_75" and up. */
bool sweep_arch_is_valid(const char *arch);

/* `root` is the data folder, whose kernels/ has the rungs for "variants": ["*"]. A path that is not here is
 * looked for there: "sweeps/gemm.json". */
status_t sweep_load(const char *path, const char *root, sweep_t *sweep, error_t *err);
/* The same from text; `path` is for messages. */
status_t sweep_parse(const char *path, const char *text, const char *root, sweep_t *sweep,
                     error_t *err);
void sweep_free(sweep_t *sweep);

typedef bool case_filter_t(const sweep_t *sweep, const case_t *spec, const void *context);

/* Remove the cases for which `keep` is false. */
void sweep_keep_cases(sweep_t *sweep, case_filter_t *keep, const void *context);

/* A sweep from command-line options: --workload W [--variant V] [--engine E] [--set key=value …].
 * `sets` are "key=value" of params, techniques, dtype or device; values may be lists
 * ("batch=1,64"). Default: all variants, and all engines that have one of them. The sweep's text is
 * that of an equivalent file, so that a run can store it. */
typedef struct sweep_options {
    const char *workload, *variant, *engine;
    const char *const *sets;
    size_t n_sets;
    bool quick; /* the quick sweep of a workload's description in place of the full one */
} sweep_options_t;

status_t sweep_from_options(const sweep_options_t *options, const char *root, sweep_t *sweep,
                            error_t *err);
/* The quick or full sweep of the workload that a folder describes. */
status_t sweep_of_folder(const char *folder, bool quick, const char *root, sweep_t *sweep,
                         error_t *err);

/* In which order the cases of a sweep are measured. */

/* Of a case: 0, 1, … All cases of a turn are measured before those of the next, so that a GPU does not wait for what runs
 * on the CPU. With --quick what the first line of results need not wait for has later turns than the rest. */
unsigned case_turn(const case_t *spec, bool quick);

/* Sort by turn; within one the order stays. */
void sweep_order(sweep_t *sweep, bool quick);

/* Engines of the user's own: NAME, if reference_NAME/worker.py exists and this program does not know it. */
bool is_own_engine(const char *root, const char *name);
/* Their names, sorted. */
status_t own_engines(const char *root, text_list_t *names, error_t *err);

/* `bench run --shard`: which part of the cases a process measures. */
typedef struct shard {
    unsigned number, n; /* shard `number` of n, counted from 1 */
} shard_t;

/* Remove the cases of other shards. Those that are compared with each other stay in one, and all shards
 * take about as long. Returns the number of groups of all shards. */
size_t sweeps_keep_shard(sweep_t *sweeps, size_t n, const shard_t *shard);

#endif
