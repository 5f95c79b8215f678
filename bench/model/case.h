/* A case, the unit of measurement: a workload with parameters, run by one contender (engine,
 * device, variant) with given techniques and dtype. Plain data; copies own their strings. */
#ifndef BENCH_MODEL_CASE_H
#define BENCH_MODEL_CASE_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum value_kind { VALUE_INT, VALUE_REAL, VALUE_TEXT, VALUE_INTS } value_kind_t;

/* One JSON scalar, or a list of integers (`layers`). */
typedef struct value {
    value_kind_t kind;
    int64_t integer;
    double real;
    char *text;
    int64_t *ints;
    size_t n_ints;
} value_t;

typedef struct named_value {
    char *name;
    value_t value;
} named_value_t;

typedef struct bench_case {
    char *id;              /* set by case_set_id(): "softmax/cuda/03_online/rows=64/copy=pinned" */
    char *workload;        /* "softmax" */
    char *engine;          /* "cuda", "cpu", "null", "pytorch", "jax", or yours */
    char *device;          /* "cuda" or "cpu" */
    char *variant;         /* rung, C implementation, or PyTorch mode */
    char *dtype;           /* "f32", "tf32", "f16" */
    named_value_t *params; /* in the workload's order, defaults filled in */
    size_t n_params;
    named_value_t *techniques; /* VALUE_TEXT; in the workload's order, defaults filled in */
    size_t n_techniques;
} case_t;

value_t value_copy(const value_t *value);
void value_free(value_t *value);
bool value_equal(const value_t *a, const value_t *b);
/* "64", "0.01", "pinned", "4-5-1"; the caller frees it. */
char *value_text(const value_t *value);

/* Look up a value by name; NULL if absent. */
const value_t *case_param(const case_t *spec, const char *name);
int64_t case_param_int(const case_t *spec, const char *name, int64_t otherwise);
const char *case_technique(const case_t *spec, const char *name); /* text, or NULL */
/* Where device memory comes from: the technique that has one of two names; or NULL. */
#define TECHNIQUE_ALLOC "alloc"
#define TECHNIQUE_ALLOCATOR "allocator"
const char *case_allocator(const case_t *spec);

/* Append copies. */
void case_add_param(case_t *spec, const char *name, const value_t *value);
void case_add_technique(case_t *spec, const char *name, const char *choice);
/* As for another engine than cuda. */
void case_drop_techniques(case_t *spec);

/* Is the engine part of this program? Others are separate workers, reference_<engine>/worker.py. */
bool case_engine_is_built_in(const char *engine);

/* The contender's name in ids and charts: "cuda", "cpu", "null", "pytorch-cpu", "pytorch-cuda". May
 * be written into `text`. */
const char *case_engine_label(const case_t *spec, char text[32]);

/* Does torch.compile compile it: "compile_graph", "mine+compile", "mapped"? */
bool case_compiles(const case_t *spec);

/* Does it measure the device itself, as every run on a GPU does before other cases? */
bool is_calibration(const case_t *spec);

/* Cases of a group do the same work on the same data, and are interleaved and compared:
 * "softmax/rows=64/f32", with every parameter that is not the default. The caller frees it. */
char *case_group(const case_t *spec, const case_t *defaults);

/* Set spec->id: workload/engine label/variant, then each parameter that is in `always` or differs
 * from `defaults` (a case with the workload's defaults), then techniques and dtype that differ. */
void case_set_id(case_t *spec, const case_t *defaults, const char *const *always, size_t n_always);
/* Fail if the id names another workload, contender, param, technique or dtype than the case has. */
status_t case_check_id(const case_t *spec, error_t *err);

case_t case_copy(const case_t *spec);
void case_free(case_t *spec);

/* Cases as JSON, for the worker protocol and cases.jsonl. */

status_t value_from_json(const json_t *json, value_t *value, error_t *err);

/* The identity part of a case: id, workload, engine, device, variant, params, techniques, dtype. */
json_t *case_to_json(const case_t *spec);
status_t case_from_json(const json_t *json, case_t *spec, error_t *err);

#endif
