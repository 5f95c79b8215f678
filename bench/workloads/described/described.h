/* The workloads of this process that folders describe. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DESCRIBED_H
#define BENCH_WORKLOADS_DESCRIBED_DESCRIBED_H

#include "workloads/common/session_parts.h"
#include "workloads/described/description.h"

/* Inputs of a described workload's case in host memory. Cases with equal ones share them. */

typedef struct described_data {
    shared_data_t shared;
    const description_t *description;
    char *key; /* params and dtype */
    uint64_t seed;
    char *made;    /* folder of inputs that a function makes (measure/made_inputs.h); or NULL */
    error_t *lost; /* why they could not be read */
    described_shape_t shapes[DESCRIBED_ARRAYS];
    void *values[DESCRIBED_ARRAYS]; /* of inputs; NULL for outputs */
} described_data_t;

/* Every take needs a release. Not thread-safe. */
const described_data_t *described_data_take(const description_t *description, const case_t *spec,
                                            uint64_t seed, const char *made);
/* Could all inputs be had? To be asked after a take or a refill. */
status_t described_data_check(const described_data_t *data, error_t *err);
/* Fill `values` with input number `i` of a refill seed. */
void described_data_fill(const described_data_t *data, size_t i, void *values, uint64_t refill);
/* Refill the case's own inputs. */
void described_data_refill(const described_data_t *data, uint64_t seed);
/* Write `values` as NAME.npy of array number `i`; bf16 as f32. */
status_t described_data_write(const described_data_t *data, size_t i, const void *values,
                              const char *folder, error_t *err);
void described_data_release(const described_data_t *data);
/* What an output of this type holds before a run. */
random_kind_t described_random_kind(element_t element);

/* Says that a folder that was added has a description with its former name; NULL: nobody is told. Set by main. */
extern void (*described_tell)(const char *sentence);

/* Read and add the workload of a folder. STATUS_USAGE if the description is wrong, or its name is that of another
 * described workload or, by `is_taken` (may be NULL), of something else; adding a folder again does nothing. */
status_t described_add(const char *folder, bool (*is_taken)(const char *name),
                       const description_t **added, error_t *err);
/* Add the copy in a saved run, unless a described workload has its name; `file` is for messages. */
status_t described_add_saved(const char *file, const json_t *description, error_t *err);

/* Look for workloads in <root>/kernels, too: that of a folder is read when its name is first asked for, or all are. */
void described_search(const char *root, bool (*is_taken)(const char *name),
                      void (*left_out)(const char *why));

/* NULL for another workload. */
const description_t *described_find(const char *name);
const workload_t *described_find_workload(const char *name);
/* Number `index`; NULL beyond the last. */
const workload_t *described_workload(size_t index);

/* What a case moves, computes and allocates, without a workspace; as workload_t.cost. */
workload_cost_t described_cost(const case_t *spec);

/* The value of "operator" in the request `open`: arrays and scalars of this case, and where its files are. STATUS_FAILED
 * for a shape that cannot be computed. */
status_t described_request(const description_t *description, const case_t *spec, json_t **request,
                           error_t *err);

#endif
