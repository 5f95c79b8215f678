#include "workloads/linreg_train/data.h"

#include "base/memory.h"
#include "base/rng.h"
#include "workloads/common/session_parts.h"

#include <stdlib.h>

/* A fused multiply-add for 2 x + 1 would round once instead of twice and change the bits. gcc does
 * not contract under -std=c11 and does not know the pragma. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* A chunk's noise stays in the L1 cache, and chunks start at a whole number of test intervals. */
enum { STREAM_NOISE = 1, CHUNK = 1000 * LINREG_TEST_EVERY };

size_t linreg_n_test(size_t points) {
    return points / LINREG_TEST_EVERY;
}

size_t linreg_n_train(size_t points) {
    return points - linreg_n_test(points);
}

/* Points `first` to `first + n - 1`. */
static void fill_chunk(linreg_data_t *data, size_t first, size_t n) {
    const float step = (float)(10.0 / (double)data->points);
    float noise[CHUNK];
    rng_fill_uniform(noise, n, (rng_position_t){data->seed, STREAM_NOISE, first}, -0.5f, 0.5f);
    for (size_t k = 0; k < n; k++) {
        const size_t i = first + k;
        const float x = (float)i * step;
        const float y = 2.0f * x + 1.0f + noise[k];
        const size_t at = i / LINREG_TEST_EVERY;
        if (i % LINREG_TEST_EVERY == LINREG_TEST_EVERY - 1) {
            data->x_test[at] = x;
            data->y_test[at] = y;
        } else {
            data->x_train[i - at] = x;
            data->y_train[i - at] = y;
        }
    }
}

/* A static schedule: on NUMA machines, each thread trains mostly on points in local memory. */
static void *make(const void *shape) {
    linreg_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const linreg_data_t *)shape;
    data->n_train = linreg_n_train(data->points);
    data->n_test = linreg_n_test(data->points);
    data->x_train = mem_alloc(data->n_train * sizeof(float));
    data->y_train = mem_alloc(data->n_train * sizeof(float));
    data->x_test = mem_zeroed(data->n_test + 1, sizeof(float));
    data->y_test = mem_zeroed(data->n_test + 1, sizeof(float));
    const size_t points = data->points;
#pragma omp parallel for schedule(static)
    for (size_t first = 0; first < points; first += CHUNK)
        fill_chunk(data, first, points - first < CHUNK ? points - first : CHUNK);
    return data;
}

static bool same(const void *data, const void *shape) {
    const linreg_data_t *a = data, *b = shape;
    return a->points == b->points && a->seed == b->seed;
}

static void free_data(void *dead) {
    linreg_data_t *data = dead;
    free(data->x_train);
    free(data->y_train);
    free(data->x_test);
    free(data->y_test);
    free(data);
}

static void refill(void *refilled, uint64_t from, uint64_t to) {
    signs_t flips;
    signs_between(from, to, &flips);
    linreg_data_t *data = refilled;
    signs_flip_floats(data->x_train, data->n_train, &flips);
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data, .refill = refill};

static linreg_data_t shape_of(const case_t *spec, uint64_t seed) {
    return (linreg_data_t){.points = (size_t)case_param_int(spec, "points", 1), .seed = seed};
}

status_t linreg_data_room(const case_t *spec, uint64_t seed, double more_bytes, error_t *err) {
    const linreg_data_t shape = shape_of(spec, seed);
    if (shared_data_find(&open_data, &shape) == NULL)
        more_bytes += 2.0 * sizeof(float) * (double)shape.points;
    return host_room(more_bytes, err);
}

const linreg_data_t *linreg_data_take(const case_t *spec, uint64_t seed) {
    const linreg_data_t shape = shape_of(spec, seed);
    return shared_data_take(&open_data, &shape);
}

void linreg_data_refill(const linreg_data_t *data, uint64_t seed) {
    shared_data_refill(&open_data, data, seed);
}

void linreg_data_release(const linreg_data_t *data) {
    shared_data_release(&open_data, data);
}
