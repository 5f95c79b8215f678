/* Inputs and weights of an mlp_infer case, from Philox: the same bits in every engine (streams and
 * ranges: docs/workloads.md). Cases of the same shape and seed share one copy. */
#ifndef BENCH_WORKLOADS_MLP_INFER_DATA_H
#define BENCH_WORKLOADS_MLP_INFER_DATA_H

#include "model/case.h"
#include "workloads/common/session_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MLP_MAX_LAYERS = 7 };

typedef struct mlp_data {
    shared_data_t shared;
    size_t batch;
    size_t n_layers;                  /* weight matrices */
    size_t sizes[MLP_MAX_LAYERS + 1]; /* inputs, hidden layers, outputs */
    uint64_t seed;
    bool f16;       /* round inputs and weights to f16 */
    float *x;       /* (batch, sizes[0]) */
    uint16_t *x16;  /* the same as f16 bits; NULL unless f16 */
    float *weights; /* W_1, b_1, W_2, b_2, … packed; W_l is (sizes[l], sizes[l-1]) row-major */
    size_t n_weights;
    const float *w[MLP_MAX_LAYERS], *b[MLP_MAX_LAYERS]; /* into weights */
} mlp_data_t;

/* Does free host memory have room for `copies` copies of the inputs and outputs? Otherwise fails
 * with both numbers. */
status_t mlp_data_room(const case_t *spec, unsigned copies, error_t *err);

/* Every take needs a release; the last one frees. Not thread-safe. */
const mlp_data_t *mlp_data_take(const case_t *spec, uint64_t seed);
/* Give x the signs of this seed, until another case that shares it gives it others. */
void mlp_data_refill(const mlp_data_t *data, uint64_t seed);
void mlp_data_release(const mlp_data_t *data);

#endif
