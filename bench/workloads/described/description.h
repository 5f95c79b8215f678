/* A described workload: a folder says what it is (workload.json, reference.py, rungs), and nothing is programmed.
 * docs/your-kernel.md has the format; kernels/workload.schema.json is the same for editors. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_H
#define BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_H

#include "base/hash.h"
#include "expression/element.h"
#include "expression/expression.h"
#include "io/npy.h"
#include "workloads/common/workload.h"
#include "workloads/described/fill.h"

#include <jansson.h>

/* A shape has as many dimensions as the files of outputs may have. */
enum { DESCRIBED_DIMENSIONS = NPY_MAX_DIMENSIONS, DESCRIBED_ARRAYS = 16, DESCRIBED_PARAMS = 16 };

/* Of params, in both directions: their ranges are doubles, and this is the last integer that no other is rounded to. */
#define DESCRIBED_LARGEST (0x1p53 - 1)

typedef struct described_array {
    char *name;
    bool of_case; /* its element type is the case's dtype, "T" */
    element_t element;
    expression_t *shape[DESCRIBED_DIMENSIONS];
    unsigned n_dimensions;
    bool is_input, is_output; /* both: in place */
    bool is_weight;           /* an input that may stay on the device: technique `weights` */
    bool is_by_value;         /* an input in the kernel's parameters */
    bool is_resident;         /* an input that is copied when the case is opened */
    bool is_cut;              /* with `splits`: its first size is the size param */
    fill_t fill;              /* of an input, but for these, over params; NULL: a number */
    expression_t *fill_low, *fill_high;
    bounds_t bounds[ELEMENT_KINDS]; /* of an output, by the case's dtype */
} described_array_t;

typedef struct described_scalar {
    char *name;
    element_t element; /* f32, f64, i32 or i64 */
    double value;
    expression_t *expression; /* its value, over params; NULL: `value` */
} described_scalar_t;

/* What moves and what is computed at least. */
typedef struct described_cost {
    expression_t *bytes, *flops; /* NULL: not given */
} described_cost_t;

/* The files of a described workload's folder that count, each with the hash of its content. */
typedef struct described_files {
    text_list_t names, hashes;
} described_files_t;

typedef struct description {
    char *name, *folder;  /* folder: an absolute path, or NULL if only a saved run has it */
    char hash[HASH_TEXT]; /* of workload.json and the .py, .cu and .c files in its folder */
    described_files_t files;
    bool has_jax;  /* its reference.py has a function jax_reference */
    json_t *json;  /* workload.json, or its copy in a saved run */
    char *summary; /* "" if not given */
    text_list_t params;
    int64_t defaults[DESCRIBED_PARAMS], least[DESCRIBED_PARAMS], most[DESCRIBED_PARAMS];
    bool constant[DESCRIBED_PARAMS]; /* compiled in */
    text_list_t dtypes;              /* the first is the default */
    /* Inputs, in-place ones too, in their order; then outputs. */
    described_array_t arrays[DESCRIBED_ARRAYS];
    size_t n_arrays;
    described_scalar_t scalars[DESCRIBED_ARRAYS];
    size_t n_scalars;
    expression_t *where; /* NULL: every combination */
    described_cost_t cost;
    /* By dtype: the rate that `flops` are held against, "fp32", "tf32", …; NULL: none. */
    const char *math[ELEMENT_KINDS];
    bool deterministic;       /* two runs of the reference give the same bits; default true */
    bool needs_deterministic; /* … and of each contender: "deterministic": "required" */
    char *size_param;         /* x axis of charts; default: the last param */
    bool splits;              /* kernels may be launched for a part of the size */
} description_t;

/* The description in a folder, "…/workload.json"; or "…/operator.json", its former name, if there is only that. The
 * caller frees it. */
char *description_path(const char *folder);
/* For one release: has it the former name? What to say of it, which the caller frees; NULL: no. */
char *description_advice(const description_t *description);
/* Read the description in `folder`. STATUS_USAGE: file, line or key, what was found and expected. On success the caller
 * frees it. That the name is not that of another workload is for the caller to check. */
status_t description_load(const char *folder, description_t *description, error_t *err);
/* The same of a copy in a saved run, without folder and hash; `file` is for messages. */
status_t description_parse(const char *file, const json_t *json, description_t *description,
                           error_t *err);
void description_free(description_t *description);
/* Are workload.json and the .py files, which workers read, as they were? STATUS_FAILED: which is not. */
status_t description_check_files(const description_t *description, error_t *err);

/* Bytes of all arrays by value: kernel parameters take 4 KiB, of which pointers, scalars and params need the rest. */
enum { DESCRIBED_BY_VALUE_BYTES = 3840 };

/* Can the case be run with these techniques? STATUS_FAILED: `weights=upload: no input of gemm has "weights": true`. */
status_t description_techniques(const description_t *description, const case_t *spec, error_t *err);

/* The default bounds of an output of this type. */
bounds_t description_bounds(element_t element);

/* An array of one case. */
typedef struct described_shape {
    size_t sizes[DESCRIBED_DIMENSIONS];
    size_t n, bytes; /* elements; bytes */
    element_t element;
    fill_t fill; /* of an input */
} described_shape_t;

/* Numbers of the arrays in the order of a kernel's parameters: inputs, arrays in place, outputs. */
void description_order(const description_t *description, size_t order[DESCRIBED_ARRAYS]);

/* A scalar's value as a kernel gets it, in its first bytes. */
typedef union described_value {
    float f32;
    double f64;
    int32_t i32;
    int64_t i64;
} described_value_t;

/* Values of a case's params in the order of description->params; sm_count 0: unknown here. */
typedef struct described_values {
    int64_t params[DESCRIBED_PARAMS + 1]; /* and sm_count */
    const char *names[DESCRIBED_PARAMS + 1];
    element_t element; /* T */
    scope_t scope;     /* points into this struct, which must not be copied */
} described_values_t;

/* `spec` has passed workload_check(): every param in range, a dtype of the description. */
void description_values(const description_t *description, const case_t *spec, int sm_count,
                        described_values_t *values);
/* STATUS_FAILED with array and place: `x: shape[1]: "rows - 8": -4, expected at least 1`; so for a fill. */
status_t description_shape(const description_t *description, size_t array, const case_t *spec,
                           described_shape_t *shape, error_t *err);
/* STATUS_FAILED as above. */
status_t description_scalar(const description_t *description, size_t scalar, const case_t *spec,
                            double *value, error_t *err);
/* Of a case that has passed workload_check(). */
described_value_t description_scalar_value(const description_t *description, size_t scalar,
                                           const case_t *spec);
/* Do the arrays by value fit into a kernel's parameters? STATUS_FAILED: which does not. */
status_t description_by_value(const description_t *description, const case_t *spec, error_t *err);
/* Is the case one that `where` allows? STATUS_FAILED if that cannot be computed. */
status_t description_where(const description_t *description, const case_t *spec, bool *allowed,
                           error_t *err);
/* NaN for what is not given. STATUS_FAILED for an overflow, a division by zero or a negative result. */
status_t description_cost(const description_t *description, const case_t *spec, double *bytes,
                          double *flops, error_t *err);

#endif
