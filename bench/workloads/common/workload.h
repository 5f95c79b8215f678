/* A workload as plain data and a few functions: its parameters, its minimum cost, and the engines
 * that can run it. All workloads are listed in workloads/registry.c. */
#ifndef BENCH_WORKLOADS_COMMON_WORKLOAD_H
#define BENCH_WORKLOADS_COMMON_WORKLOAD_H

#include "base/error.h"
#include "base/text.h"
#include "cuda/cubin.h"
#include "engine/session.h"
#include "model/case.h"

#include <stdbool.h>
#include <string.h>

/* A NULL-terminated list. */
#define NAMES(...)                                                                                 \
    (const char *const[]) {                                                                        \
        __VA_ARGS__, NULL                                                                          \
    }

typedef struct param_spec {
    const char *name;            /* "batch" */
    value_kind_t kind;           /* VALUE_INT, VALUE_REAL or VALUE_INTS */
    double min, max;             /* allowed range, of each element for VALUE_INTS */
    const char *default_json;    /* default as JSON text: "64", "[4,5,1]" */
    const char *summary;         /* for help texts and the schema */
    size_t min_items, max_items; /* allowed lengths, for VALUE_INTS */
    bool always_in_id;
} param_spec_t;

typedef struct technique_spec {
    const char *name;
    const char *summary;
    const char *const *choices; /* NULL-terminated; the first is the default */
} technique_spec_t;

/* The minimum for any implementation. */
typedef struct workload_cost {
    double bytes; /* moved through device memory */
    double flops;
    double working_set_bytes; /* can stay in a cache that is large enough */
    /* Over the working set, after the one counted in `bytes`: each needs a sum over the one before. */
    double further_passes;
    double device_bytes; /* allocated on the device by one case */
    /* What host_to_host moves over the bus at least, to the GPU and back; 0: nothing that counts. */
    double bus_in_bytes, bus_out_bytes;
} workload_cost_t;

/* Bounds of an output's error: ‖out − ref‖ / ‖ref‖ and the largest |out − ref|; 0: exact, infinite:
 * none. */
typedef struct bounds {
    double rel_l2, max_abs;
    bool of_change; /* of an array in place: both out and ref are what it has changed by */
    size_t first;   /* so many values of a curve, or rows, are compared; 0: all */
} bounds_t;

/* Is a contender run twice on the same inputs, to compare the bits of its outputs? */
typedef enum repeats {
    REPEATS_ARE_NOT_COMPARED,
    REPEATS_ARE_COMPARED,
    REPEATS_MUST_BE_EQUAL
} repeats_t;

struct study; /* results/study_csv.h */
struct record;

/* What bounds a training from below: each pass over its data, or in each step the weights (limits/limits.h). */
typedef enum bounded_by { BOUNDED_BY_NOTHING, BOUNDED_BY_PASSES, BOUNDED_BY_STEPS } bounded_by_t;

#define WORKLOAD_SKIPS "SKIP: "

typedef struct workload workload_t;
struct workload {
    const char *name;
    const char *summary;
    const char *folder; /* of its rungs; NULL: kernels/<name>/ */
    bool is_of_project; /* … where a root has that: kernels/<name>/ */
    const param_spec_t *params;
    size_t n_params;
    /* The parameter on the x axis of charts, its name in their texts ("against …", "at each …"),
     * and the axis title. All NULL for a workload without charts. */
    const char *size_param, *size_noun, *size_label;
    const char *size_before, *size_after; /* around a size: "batch ", " points"; both NULL: "m " */
    int64_t reference_size;               /* which findings show first; 0: none */
    /* That it reproduces, and then its name is not in those of its charts; or NULL. */
    const struct study *study;
    bounded_by_t bounded_by; /* of a training, for charts */
    bool
        has_loss; /* its results have the loss of a training's steps: {"loss": [[step, value], …]} */
    const char *compared_by; /* phase or COMPUTATION; NULL: host_to_host, or total where a side
                               * lacks that */
    /* If that is the phase "step": of so many steps is "train". */
    size_t (*sample_steps)(const case_t *spec);
    const char *caveat;                 /* why headlines leave out its ratios; or NULL */
    const technique_spec_t *techniques; /* of the cuda engine; other engines have none */
    size_t n_techniques;
    const char *const *dtypes; /* NULL-terminated; the first is the default */
    /* What its operations run on: matrix products of "f32", "tf32", "f16" or "bf16", or "fp32", the
     * lanes for float32. NULL: unknown. */
    const char *(*arithmetic)(const case_t *spec);
    /* The least precise factors that its products may have: "f16", "tf32", …; NULL: unknown. NULL: the dtype. */
    const char *(*factors)(const case_t *spec);
    const char *const *cuda_builtin;  /* NULL-terminated; variants of the cuda engine that need no
                                         .cu file, beside the rungs of kernels/<name>/ */
    const char *const *cpu_variants;  /* NULL-terminated; NULL for none */
    const char *const *null_variants; /* of the null engine */
    const char *const *pytorch_variants; /* modes that the PyTorch worker knows */
    const char *const *jax_variants;     /* modes that the JAX worker knows */
    bool steps_are_epochs;               /* of a training: each is a pass over all of its data */
    repeats_t repeats;
    const char *pytorch_oracle; /* mode of the PyTorch worker that is the oracle; or NULL */
    const char *c_oracle; /* variant of engine "cpu" that is the oracle in its place; or NULL */
    /* Is this combination of parameters one of the workload's? A sweep leaves out others. NULL: all
     * are. */
    bool (*allows)(const case_t *spec);
    const char *condition; /* what it asks for, for messages; NULL: nothing that can be quoted */
    /* Checks beyond ranges: STATUS_USAGE with a message that names the parameter. NULL: none. */
    status_t (*validate)(const case_t *spec, error_t *err);
    workload_cost_t (*cost)(const case_t *spec);
    double (*tolerance)(const case_t *spec); /* largest relative L2 error against the oracle */
    /* Of one output, in place of tolerance(). NULL: all outputs have that. */
    bounds_t (*bounds)(const case_t *spec, const char *output);
    /* Compile-time constants "NAME=value" for kernel sources; the compiler gets only those that the
     * source mentions. Of "NAME=SKIP: why" a source that mentions it is skipped. */
    void (*constants)(const case_t *spec, text_list_t *defines);
    /* Can this program be launched? NULL: it has LAUNCH. */
    status_t (*check_program)(const workload_t *workload, const cubin_t *cubin, error_t *err);
};

const workload_t *workload_find(const char *name); /* NULL when unknown */
/* What a worker of this engine can run: the one at `index`, or NULL. */
const session_ops_t *workload_session(const char *engine, size_t index);
const param_spec_t *workload_param(const workload_t *workload, const char *name); /* or NULL */
const technique_spec_t *workload_technique(const workload_t *workload, const char *name);
/* Does this variant of the cuda engine need no .cu file? */
bool workload_is_cuda_builtin(const workload_t *workload, const char *variant);
/* Add the workload that a folder describes. STATUS_USAGE: what is wrong with it. */
status_t workload_add_described(const char *folder, const workload_t **added, error_t *err);
/* Read the workloads of the project's kernels/ when they are first asked for: one by its name, or all. What is wrong with
 * one goes to `left_out` (NULL: nowhere), and it is no workload. */
void workload_search_described(const char *root, void (*left_out)(const char *why));

/* The study that a workload of the run reproduces, or of all if `run` is NULL; NULL: none does. */
const struct study *workload_study(const struct record *run);

/* Number `index` of all, described workloads last; NULL beyond the last. */
const workload_t *workload_at(size_t index);

/* A case with every default (engine "cpu", variant ""): ids show the differences from it. The
 * caller frees it with case_free(). */
case_t workload_defaults(const workload_t *workload);
/* And so by default? A worker of one's own may know another kind of GPU. */
bool workload_engine_uses_cuda(const char *engine);
/* Fill in missing params, techniques (cuda engine only) and dtype, put them into the workload's
 * order, and set the id. */
void workload_complete(const workload_t *workload, case_t *spec);
/* Does the case have every parameter, of the right kind and in range, and a dtype of the workload?
 * For cases from a worker's stdin: sweeps are checked as they are read. */
status_t workload_check(const workload_t *workload, const case_t *spec, error_t *err);
char *workload_group(const workload_t *workload, const case_t *spec); /* see case_group() */

/* The folder of its rungs; `root` is the project's. The caller frees it. */
char *workload_folder(const char *root, const workload_t *workload);

/* Is what this engine runs of the workload compiled from files NAME.c in its folder? */
bool workload_is_in_c(const workload_t *workload, const char *engine);

/* The engines that a contender may name: "cuda", "cpu", "null", "pytorch", "jax", "python"; `*n` gets their number. */
const char *const *workload_engines(size_t *n);

/* The variants that `engine` can run, in the order of "*": for cuda rungs, then built-in variants;
 * for other engines a list of the descriptor. An empty list is not a failure. */
status_t workload_variants(const workload_t *workload, const char *engine, const char *root,
                           text_list_t *variants, error_t *err);
/* Implementations of a described workload in Python, beside the reference: stems of their files. What others
 * import begins with "_". */
status_t workload_scripts(const workload_t *workload, const char *root, text_list_t *stems,
                          error_t *err);
/* Does "*" leave out this way to run such a file on the CPU? */
bool workload_variant_is_for_gpu(const workload_t *workload, const char *engine, const char *root,
                                 const char *variant);

/* The descriptors in the table of workloads/registry.c, from bench/workloads/<name>/descriptor.c.
 * Other code finds them by name through workload.h. */

/* The tolerance of workloads without arithmetic, whose outputs are copied or counted. */
static inline double workload_exact(const case_t *spec) {
    (void)spec;
    return 1e-12;
}

extern const workload_t workload_null, workload_device, workload_allocate;

/* One table of functions per workload and engine. */

extern const session_ops_t null_synthetic, null_cuda;
extern const session_ops_t device_copy_cpu, device_copy_cuda;
extern const session_ops_t allocate_session;            /* of both engines */
extern const session_ops_t described_cuda, described_c; /* of every described workload */

#endif
