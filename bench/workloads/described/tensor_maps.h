/* The tensor maps of a workload's rung, by which TMA copies tiles of its arrays: the table TENSOR_MAPS, read from the
 * cubin and evaluated for a case. Host copy of the struct in kernels/common/tensor_maps.cuh (a test compares the two). */
#ifndef BENCH_WORKLOADS_DESCRIBED_TENSOR_MAPS_H
#define BENCH_WORKLOADS_DESCRIBED_TENSOR_MAPS_H

#include "cuda/cubin.h"
#include "engine/gpu.h"
#include "workloads/described/description.h"

#include <stdint.h>

enum { MOST_TENSOR_MAPS = 8, TENSOR_MAP_RANK = 5, TENSOR_MAP_ALIGNMENT = 16 };

typedef struct described_tensor_map {
    char array[64];
    char sizes[5][64];
    char box[5][32];
    uint32_t swizzle;
    uint32_t l2;
    char strides[4][64];
    char steps[5][16];
} described_tensor_map_t;

typedef struct tensor_maps {
    described_tensor_map_t items[MOST_TENSOR_MAPS];
    size_t n;
} tensor_maps_t;

/* None is no failure. STATUS_FAILED: what the table lacks. */
status_t tensor_maps_read(const cubin_t *cubin, tensor_maps_t *maps, error_t *err);
/* The same from the table's bytes. */
status_t tensor_maps_take(const void *table, size_t bytes, tensor_maps_t *maps, error_t *err);
/* Is the table one that some size makes possible? Arrays, expressions, and what is the same in every case. */
status_t tensor_maps_check(const description_t *description, const cubin_t *cubin, error_t *err);

/* A map of one case, innermost dimension first. */
typedef struct tensor_map_size {
    size_t array; /* number in the description */
    element_t element;
    unsigned rank;
    uint64_t sizes[TENSOR_MAP_RANK];       /* elements */
    uint64_t strides[TENSOR_MAP_RANK - 1]; /* bytes from one to the next; of dimension 1 first */
    uint32_t box[TENSOR_MAP_RANK], steps[TENSOR_MAP_RANK]; /* elements */
    unsigned swizzle, l2;
} tensor_map_size_t;

/* Evaluate all maps and check them against what cuTensorMapEncodeTiled() takes and against their arrays. STATUS_FAILED with
 * number, array, key, what was found and expected: the case is then skipped. */
status_t tensor_maps_size(const tensor_maps_t *maps, const description_t *description,
                          const case_t *spec, int sm_count,
                          tensor_map_size_t sizes[MOST_TENSOR_MAPS], error_t *err);
/* STATUS_FAILED: this GPU or its driver has no tensor maps; the case is then skipped. */
status_t tensor_maps_offered(const tensor_maps_t *maps, const gpu_t *gpu, error_t *err);
/* Of a rung that takes weights by value: STATUS_FAILED if a map is of one. `shapes`: of all arrays. */
status_t tensor_maps_of_memory(const tensor_maps_t *maps, const tensor_map_size_t *sizes,
                               const described_shape_t *shapes, error_t *err);
/* Add to a message which map it is of. Returns STATUS_FAILED. */
status_t tensor_maps_within(const tensor_maps_t *maps, size_t which, error_t *err);

#endif
