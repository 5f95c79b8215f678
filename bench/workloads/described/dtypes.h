/* "dtypes" of a description: what its type letters and "math" are in cases of each. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DTYPES_H
#define BENCH_WORKLOADS_DESCRIBED_DTYPES_H

#include "io/json.h"
#include "workloads/described/description.h"

/* Read "dtypes"; params have been read. */
status_t dtypes_read(const node_t *top, description_t *description, error_t *err);
/* Before dtypes could be an object, "math" was by dtype in "cost": that of an old file or run. */
status_t dtypes_read_former_math(const node_t *math, description_t *description, error_t *err);
/* The default bounds of an output in cases of a dtype. Where an input is rounded for products, it is as precise as what
 * that is rounded to. */
bounds_t dtypes_bounds(const description_t *description, const described_array_t *array,
                       size_t dtype);

#endif
