/* A described workload: a folder says what it is (workload.json, reference.py, rungs), and nothing is programmed.
 * docs/your-kernel.md has the format; kernels/workload.schema.json is the same for editors. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_H
#define BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_H

#include "base/hash.h"
#include "base/memory.h"
#include "expression/element.h"
#include "expression/expression.h"
#include "io/npy.h"
#include "workloads/common/workload.h"
#include "workloads/described/fill.h"

#include <jansson.h>

/* A shape has as many dimensions as the files of outputs may have. */
enum {
    DESCRIBED_DIMENSIONS = NPY_MAX_DIMENSIONS,
    DESCRIBED_ARRAYS = 16,
    DESCRIBED_SHAPES = 48, /* arrays of a case, with each of a list */
    DESCRIBED_PARAMS = 16,
    DESCRIBED_DTYPES = 16,
    DESCRIBED_TECHNIQUES = 5,
    DESCRIBED_OWN = 4, /* … and techniques of its own rungs, … */
    DESCRIBED_VALUES =
        DESCRIBED_PARAMS + DESCRIBED_OWN + 1, /* … and a number: described_values_t */
    DESCRIBED_CHOICES = 4,                    /* each with so many choices */
    DESCRIBED_ITEMS = 16,                     /* of a param that is a list */
    DESCRIBED_WORD = 64,                      /* bytes of a name in kernels */
    DESCRIBED_NAME = DESCRIBED_WORD + 8       /* of an array, with its number in a list */
};

/* Of a training's call: each is a launch, or a node of a graph. */
enum { DESCRIBED_STEPS = 1000000 };

/* Of params, in both directions: their ranges are doubles, and this is the last integer that no other is rounded to. */
#define DESCRIBED_LARGEST (0x1p53 - 1)

/* What cases of a dtype compute with. */
typedef struct described_dtype {
    /* By type letter, from 0 for A: its element type, of so many bytes; 0: the description has no such letter. */
    element_t elements[ELEMENT_LETTERS];
    int64_t itemsizes[ELEMENT_LETTERS];
    /* The rate that `flops` are held against, "fp32", "tf32", …, and what factors of products may be rounded to;
     * NULL: not given. */
    const char *math;
} described_dtype_t;

typedef struct described_array {
    const char *name;
    char letter; /* of its element type in a case: 'T', 'W', …; '\0': it is `element` */
    element_t element;
    expression_t *shape[DESCRIBED_DIMENSIONS];
    unsigned n_dimensions;
    /* It stands for a list of so many inputs, in whose shapes and fills `i` is their number; NULL: it is one array. */
    expression_t *repeat;
    bool is_input, is_output; /* both: in place */
    bool is_weight;           /* an input that may stay on the device: technique `weights` */
    bool is_resident;         /* an input that is copied when the case is opened */
    bool is_cut;              /* with `splits`: its first size is the size param */
    bool is_curve;       /* an output of a training with a value, or a row, for its steps … */
    expression_t *every; /* … divisible by this; NULL: for each */
    fill_t fill;         /* of an input, but for these, over params; NULL: a number */
    expression_t *fill_low, *fill_high;
    size_t fill_adds; /* the number of an input before it, plus 1, `fill.times` over; 0: none */
    bounds_t bounds[DESCRIBED_DTYPES];      /* of an output, by the case's dtype, but for … */
    expression_t *rel_l2[DESCRIBED_DTYPES]; /* … these, over params; NULL: a number */
} described_array_t;

typedef struct described_scalar {
    const char *name;
    element_t element; /* f32, f64, i32 or i64 */
    double value;
    expression_t *expression; /* its value, over params; NULL: `value` */
    bool is_param;            /* `value` is a default, and this the range: */
    double least, most;
} described_scalar_t;

/* What moves and what is computed at least. */
typedef struct described_cost {
    expression_t *bytes, *flops; /* NULL: not given */
    expression_t
        *working_set; /* what may stay in a cache; NULL: the bytes, as far as there are arrays */
} described_cost_t;

/* The files of a described workload's folder that count, each with the hash of its content. */
typedef struct described_files {
    text_list_t names, hashes;
} described_files_t;

/* Names and texts are those of its JSON, or `texts`. */
typedef struct description {
    /* First: described.c finds this by it. Reading fills in `summary` ("" if not given), `size_param` (default: the last one)
     * and the words around a size, `reference_size`, `study`, `compared_by` and `bounded_by`; described.c the rest. */
    workload_t workload;
    const char *name;
    char *folder;         /* an absolute path, or NULL if only a saved run has it */
    char hash[HASH_TEXT]; /* of workload.json and the .py, .cu and .c files in its folder */
    described_files_t files;
    bool has_jax;         /* its reference.py has a function jax_reference, or jax_step */
    bool has_c_reference; /* reference.c, the reference output in place of reference.py */
    json_t *json;         /* workload.json, or its copy in a saved run */
    arena_t texts;
    text_list_t params;
    int64_t defaults[DESCRIBED_PARAMS], least[DESCRIBED_PARAMS], most[DESCRIBED_PARAMS];
    /* Defaults of params that are lists, whose items have the range above; no list: n is 0. */
    scope_list_t lists[DESCRIBED_VALUES];
    size_t least_items[DESCRIBED_PARAMS], most_items[DESCRIBED_PARAMS];
    bool constant[DESCRIBED_PARAMS];      /* compiled in; lists always are */
    bool omits_default[DESCRIBED_PARAMS]; /* ids do, too */
    bool offered[DESCRIBED_PARAMS]; /* an argument, and a constant for a rung that mentions it */
    /* What a rung may be measured with: DESCRIBED_TECHNIQUES of every description, then `own`, which only its rungs know, by
     * macros; in expressions of tolerances these are the number of the choice. */
    technique_spec_t techniques[DESCRIBED_TECHNIQUES + DESCRIBED_OWN];
    const char *choices[DESCRIBED_TECHNIQUES + DESCRIBED_OWN][DESCRIBED_CHOICES + 1];
    technique_spec_t *own;
    size_t n_own;
    text_list_t dtypes; /* names; the first is the default */
    described_dtype_t
        types[DESCRIBED_DTYPES]; /* of each; all have the same letters, T among them */
    /* Inputs, in-place ones too, in their order; then outputs. */
    described_array_t arrays[DESCRIBED_ARRAYS];
    size_t n_arrays;
    described_scalar_t scalars[DESCRIBED_ARRAYS];
    size_t n_scalars;
    expression_t *where; /* NULL: every combination */
    described_cost_t cost;
    bool deterministic;       /* two runs of the reference give the same bits; default true */
    bool needs_deterministic; /* … and of each contender: "deterministic": "required" */
    bool splits;              /* kernels may be launched for a part of the size */
    expression_t *steps;      /* of a call, which is a training; NULL: it is none */
    expression_t *whole; /* steps of all of it, of which a call is a part; NULL: it is a call */
    expression_t *seed;  /* whose inputs it has; NULL: 1 */
    bool
        has_manual_training; /* its reference.py has gradients by hand beside those of PyTorch, … */
    bool has_dataloader;     /* … and all steps with a loader of data in host memory */
    bool has_evaluate;       /* its reference.py says what a whole training has learned */
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

/* Can the case be run with these techniques? STATUS_FAILED: `weights=upload: no input of gemm has "weights": true`. */
status_t description_techniques(const description_t *description, const case_t *spec, error_t *err);

/* The default bounds of an output of this type. */
bounds_t description_bounds(element_t element);

/* The number of a case's choice of a technique of its own. */
size_t description_choice(const description_t *description, const case_t *spec, size_t technique);
/* The number of a case's dtype. */
size_t description_dtype(const description_t *description, const case_t *spec);
/* The element type of T in cases of a dtype. */
element_t description_element(const description_t *description, size_t dtype);
/* The element type of an array in cases of a dtype. */
element_t description_element_of(const description_t *description, const described_array_t *array,
                                 size_t dtype);
/* May products of float32 in cases of a dtype use TF32? */
bool description_allows_tf32(const description_t *description, size_t dtype);
/* The type of the least precise factors that a product may have in cases of a dtype, "f16", "tf32", …: that of an
 * input, or what they may be rounded to; NULL if T is an integer. */
const char *description_factors(const description_t *description, size_t dtype);

/* An array of one case: one of the description's, or one of a list. */
typedef struct described_shape {
    const described_array_t *array;
    size_t item;               /* its number in the list */
    char name[DESCRIBED_NAME]; /* in files and messages: "x", or in the list w "w_0" */
    size_t sizes[DESCRIBED_DIMENSIONS];
    size_t n, bytes; /* elements; bytes */
    element_t element;
    fill_t fill;  /* of an input */
    size_t every; /* of a curve: it has a value for the steps 0, every, 2 · every, …; else 0 */
} described_shape_t;

/* Is it the first array of an argument, as all are but the others of a list? */
bool described_starts(const described_shape_t *shape);
/* How many arrays an argument has that starts with the first of these `n`: those of a list, or 1. */
size_t described_length(const described_shape_t *shapes, size_t n);
/* Numbers of the `n` arrays of a case in the order of a kernel's parameters: inputs, arrays in place, outputs. */
void described_order(const described_shape_t *shapes, size_t n, size_t order[DESCRIBED_SHAPES]);

/* A scalar's value as a kernel gets it, in its first bytes. */
typedef union described_value {
    float f32;
    double f64;
    int32_t i32;
    int64_t i64;
} described_value_t;

/* Values of a case's params in the order of description->params; sm_count 0: unknown here. */
typedef struct described_values {
    /* Then sm_count, and i in a list of temporaries; or, of tolerances, techniques of its own and i. */
    int64_t params[DESCRIBED_VALUES];
    scope_list_t lists[DESCRIBED_VALUES];
    const char *names[DESCRIBED_VALUES];
    size_t dtype; /* its number */
    scope_t
        scope; /* points into this struct, which must not be copied, the description and the case */
} described_values_t;

/* `spec` has passed workload_check(): every param in range, a dtype of the description. */
void description_values(const description_t *description, const case_t *spec, int sm_count,
                        described_values_t *values);
/* All arrays of a case in the description's order. STATUS_FAILED with array and place: `x: shape[1]: "rows - 8": -4, expected
 * at least 1`; so for a fill; or they are over DESCRIBED_SHAPES. */
status_t description_arrays(const description_t *description, const case_t *spec,
                            described_shape_t shapes[DESCRIBED_SHAPES], size_t *n, error_t *err);
/* Of one of the description's; of a list the first. */
status_t description_shape(const description_t *description, size_t array, const case_t *spec,
                           described_shape_t *shape, error_t *err);
/* Of an output, by its number, and by its own in a list. STATUS_FAILED as above. */
status_t description_bounds_of(const description_t *description, size_t array, size_t item,
                               const case_t *spec, bounds_t *bounds, error_t *err);
/* STATUS_FAILED as above. */
status_t description_scalar(const description_t *description, size_t scalar, const case_t *spec,
                            double *value, error_t *err);
/* Of a case that has passed workload_check(). */
described_value_t description_scalar_value(const description_t *description, size_t scalar,
                                           const case_t *spec);
/* Of a call: 1 without "training". STATUS_FAILED as above. */
status_t description_steps(const description_t *description, const case_t *spec, size_t *steps,
                           error_t *err);
/* description_steps() of a case that has passed workload_check(). */
size_t description_steps_of(const description_t *description, const case_t *spec);
/* Is the case one that `where` allows? STATUS_FAILED if that cannot be computed. */
status_t description_where(const description_t *description, const case_t *spec, bool *allowed,
                           error_t *err);
/* Bytes, operations and the working set; NaN for what is not given. STATUS_FAILED for an overflow, a division by zero or
 * a negative result. */
status_t description_cost(const description_t *description, const case_t *spec,
                          workload_cost_t *cost, error_t *err);

#endif
