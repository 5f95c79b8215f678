/* Inputs of a described workload's case in host memory. Cases with equal ones share them. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DATA_H
#define BENCH_WORKLOADS_DESCRIBED_DATA_H

#include "workloads/common/session_parts.h"
#include "workloads/described/description.h"

typedef struct described_data {
    unsigned users; /* open cases */
    struct described_data *next;
    const description_t *description;
    char *key; /* params and dtype */
    uint64_t seed;
    char *made;    /* folder of inputs that a function makes (measure/made_inputs.h); or NULL */
    error_t *lost; /* why they could not be read */
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n_arrays;
    void *values[DESCRIBED_SHAPES];      /* of inputs; NULL for outputs */
    uint64_t refilled[DESCRIBED_SHAPES]; /* with these seeds: what they are now */
} described_data_t;

/* Refilled with seed 0. Every take needs a release; the last one frees. Not thread-safe. Each case refills before it runs:
 * others may have done so with other seeds. */
described_data_t *described_data_take(const description_t *description, const case_t *spec,
                                      uint64_t seed, const char *made);
/* Could all inputs be had? To be asked after a take or a refill. */
status_t described_data_check(const described_data_t *data, error_t *err);
/* Fill `values` with input number `i` of a refill seed. */
void described_data_fill(const described_data_t *data, size_t i, void *values, uint64_t refill);
/* Refill the case's own inputs. Whoever does that itself has to set `refilled`. */
void described_data_refill(described_data_t *data, uint64_t seed);
/* Is this array one that the session writes? Those in place are left out where a training goes on. */
bool described_writes(const session_t *session, const described_array_t *array);
/* Write `values` as NAME.npy of array number `i`; bf16 as f32. */
status_t described_data_write(const described_data_t *data, size_t i, const void *values,
                              const char *folder, error_t *err);
void described_data_release(described_data_t *data);
/* What an output of this type holds before a run. */
random_kind_t described_random_kind(element_t element);

#endif
