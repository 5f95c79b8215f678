/* Sweeps: JSON files (sweeps/schema.json) → a list of cases. Unknown keys, wrong types, empty axes
 * and duplicate keys are errors with the file, the JSON path (`$.contenders[1].variants[0]`) and,
 * for names, the nearest known one; syntax errors give line and column. */
#ifndef BENCH_SWEEP_SWEEP_H
#define BENCH_SWEEP_SWEEP_H

#include "model/case.h"
#include "workloads/common/workload.h"

typedef struct measure_options {
    double precision_frac; /* half width of the median's 95 % interval; 0.005 */
    double time_limit_s;   /* a contender; 15 */
    double round_s;        /* 0.03 */
    unsigned min_rounds;   /* 5 */
    unsigned min_samples;  /* 30 */
} measure_options_t;

#define MEASURE_DEFAULTS                                                                           \
    {                                                                                              \
        .precision_frac = 0.005, .time_limit_s = 15, .round_s = 0.03, .min_rounds = 5,             \
        .min_samples = 30                                                                          \
    }

typedef struct sweep {
    char *path, *text; /* where it came from, verbatim */
    char *name;
    const workload_t *workload;
    case_t *cases; /* complete, with ids, without duplicates, in the sweep's order: contenders of
                      the same group (case_group) next to each other */
    size_t n_cases, cases_capacity;
    text_list_t arch;   /* "native", "sm_90", …; "native" when the sweep names none */
    text_list_t charts; /* names asked for; empty means all that apply */
    measure_options_t measure;
} sweep_t;

/* A key of "measure": its kind (VALUE_INT or VALUE_REAL), allowed range, and where it goes. */
typedef struct measure_key {
    const char *name;
    value_kind_t kind;
    double min, max;
    size_t field; /* its offset in measure_options_t */
} measure_key_t;
const measure_key_t *sweep_measure_keys(size_t *n);

/* "native", or "sm_75" and up. */
bool sweep_arch_is_valid(const char *arch);

/* `root` is the project's folder: "variants": ["*"] asks its kernels/ for the rungs. */
status_t sweep_load(const char *path, const char *root, sweep_t *sweep, error_t *err);
/* The same from text; `path` is what messages call it. */
status_t sweep_parse(const char *path, const char *text, const char *root, sweep_t *sweep,
                     error_t *err);
void sweep_free(sweep_t *sweep);

/* A sweep from command-line options: --workload W [--variant V] [--engine E] [--set key=value …].
 * Values may be lists ("batch=1,64", "layers=4-5-1"). `sets` are "key=value" of params, techniques,
 * dtype or device. No variant means all of them; no engine means each that has such a variant. The
 * sweep's text is what a file would have said, so that a run can store it and be repeated from it.
 */
typedef struct sweep_options {
    const char *workload, *variant, *engine;
    const char *const *sets;
    size_t n_sets;
} sweep_options_t;
status_t sweep_from_options(const sweep_options_t *options, const char *root, sweep_t *sweep,
                            error_t *err);

#endif
