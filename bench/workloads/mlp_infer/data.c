#include "workloads/mlp_infer/data.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/rng.h"
#include "workloads/common/session_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_X = 1, STREAM_W = 16, STREAM_B = 17, CHUNK = 1 << 20 };

static void fill(float *values, size_t n, uint64_t seed, uint32_t stream, float bound) {
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < n; first += CHUNK)
        rng_fill_uniform(values + first, n - first < CHUNK ? n - first : CHUNK,
                         (rng_position_t){seed, stream, first}, -bound, bound);
}

static bool same(const void *data, const void *shape) {
    const mlp_data_t *a = data, *b = shape;
    if (a->batch != b->batch || a->n_layers != b->n_layers || a->seed != b->seed ||
        a->f16 != b->f16)
        return false;
    for (size_t l = 0; l <= a->n_layers; l++)
        if (a->sizes[l] != b->sizes[l])
            return false;
    return true;
}

/* The oracle gets the same rounded values as f16 contenders: only arithmetic is compared. */
static void round_to_f16(mlp_data_t *data) {
    size_t n = data->batch * data->sizes[0];
    data->x16 = mem_zeroed(n, sizeof *data->x16);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        data->x16[i] = half_from_float(data->x[i]);
        data->x[i] = half_to_float(data->x16[i]);
    }
    half_round(data->weights, data->n_weights);
}

static void *make(const void *shape) {
    mlp_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const mlp_data_t *)shape;
    for (size_t l = 0; l < data->n_layers; l++)
        data->n_weights += (data->sizes[l] + 1) * data->sizes[l + 1];
    data->x = mem_zeroed(data->batch * data->sizes[0], sizeof *data->x);
    data->weights = mem_zeroed(data->n_weights, sizeof *data->weights);
    fill(data->x, data->batch * data->sizes[0], data->seed, STREAM_X, 1.0f);
    float *next = data->weights;
    for (size_t l = 0; l < data->n_layers; l++) {
        size_t in = data->sizes[l], out = data->sizes[l + 1];
        /* The range of torch.nn.Linear, so that activations keep their scale. */
        float bound = (float)(1.0 / sqrt((double)in));
        fill(next, in * out, data->seed, STREAM_W + 2 * (uint32_t)l, bound);
        data->w[l] = next;
        next += in * out;
        fill(next, out, data->seed, STREAM_B + 2 * (uint32_t)l, bound);
        data->b[l] = next;
        next += out;
    }
    if (data->f16)
        round_to_f16(data);
    return data;
}

static void free_data(void *dead) {
    mlp_data_t *data = dead;
    free(data->x);
    free(data->x16);
    free(data->weights);
    free(data);
}

static void refill(void *refilled, uint64_t from, uint64_t to) {
    signs_t flips;
    signs_between(from, to, &flips);
    mlp_data_t *data = refilled;
    const size_t n = data->batch * data->sizes[0];
    signs_flip_floats(data->x, n, &flips);
    if (data->f16)
        signs_flip_halves(data->x16, n, &flips);
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data, .refill = refill};

status_t mlp_data_room(const case_t *spec, unsigned copies, error_t *err) {
    const value_t *layers = case_param(spec, "layers");
    double n_in = (double)layers->ints[0], n_out = (double)layers->ints[layers->n_ints - 1];
    /* Inputs in float32 and f16; outputs in float64 (the oracle's) or twice in float32. */
    double per_sample = n_in * (sizeof(float) + sizeof(uint16_t)) + n_out * sizeof(double);
    return host_room(copies * (double)case_param_int(spec, "batch", 1) * per_sample, err);
}

const mlp_data_t *mlp_data_take(const case_t *spec, uint64_t seed) {
    const value_t *layers = case_param(spec, "layers");
    mlp_data_t shape = {.batch = (size_t)case_param_int(spec, "batch", 1),
                        .n_layers = layers->n_ints - 1,
                        .seed = seed,
                        .f16 = strcmp(spec->dtype, "f16") == 0};
    for (size_t l = 0; l <= shape.n_layers; l++)
        shape.sizes[l] = (size_t)layers->ints[l];
    return shared_data_take(&open_data, &shape);
}

void mlp_data_refill(const mlp_data_t *data, uint64_t seed) {
    shared_data_refill(&open_data, data, seed);
}

void mlp_data_release(const mlp_data_t *data) {
    shared_data_release(&open_data, data);
}
