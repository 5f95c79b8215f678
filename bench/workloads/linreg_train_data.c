#include "workloads/linreg_train_data.h"

#include "engines/host.h"
#include "ground/memory.h"
#include "ground/rng.h"
#include "ground/units.h"

#include <stdlib.h>

/* Contracting 2 x + 1 to one fused operation rounds once instead of twice and changes the bits.
 * gcc does not contract under -std=c11 and does not know the pragma. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* A chunk's noise stays in the L1 cache, and chunks start at a whole number of test intervals. */
enum { STREAM_NOISE = 1, CHUNK = 1000 * LINREG_TEST_EVERY };

static linreg_data_t *shared; /* the cases that are open in this process */

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
    rng_fill_uniform(noise, n, data->seed, STREAM_NOISE, first, -0.5f, 0.5f);
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

/* A static schedule: on machines with several memories, a thread that trains later on a part of the
 * points has most of them in its own. */
static linreg_data_t *make(size_t points, uint64_t seed) {
    linreg_data_t *data = mem_zeroed(1, sizeof *data);
    *data = (linreg_data_t){.points = points,
                            .n_train = linreg_n_train(points),
                            .n_test = linreg_n_test(points),
                            .seed = seed};
    data->x_train = mem_alloc(data->n_train * sizeof(float));
    data->y_train = mem_alloc(data->n_train * sizeof(float));
    data->x_test = mem_zeroed(data->n_test + 1, sizeof(float));
    data->y_test = mem_zeroed(data->n_test + 1, sizeof(float));
#pragma omp parallel for schedule(static)
    for (size_t first = 0; first < points; first += CHUNK)
        fill_chunk(data, first, points - first < CHUNK ? points - first : CHUNK);
    return data;
}

status_t linreg_data_room(const case_t *spec, double more_bytes, error_t *err) {
    double need = 2.0 * sizeof(float) * (double)case_param_int(spec, "points", 1) + more_bytes;
    double room = host_available_bytes();
    if (!(need > room)) /* also when the room is not known */
        return STATUS_OK;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    return error_set(err, STATUS_FAILED, "needs %s of host memory, %s are free",
                     units_bytes(a, need), units_bytes(b, room));
}

const linreg_data_t *linreg_data_take(const case_t *spec, uint64_t seed) {
    const size_t points = (size_t)case_param_int(spec, "points", 1);
    linreg_data_t *data = shared;
    while (data != NULL && (data->points != points || data->seed != seed))
        data = data->next;
    if (data == NULL) {
        data = make(points, seed);
        data->next = shared;
        shared = data;
    }
    data->users++;
    return data;
}

void linreg_data_release(const linreg_data_t *data) {
    for (linreg_data_t **at = &shared; *at != NULL; at = &(*at)->next) {
        if (*at != data || --(*at)->users > 0)
            continue;
        linreg_data_t *dead = *at;
        *at = dead->next;
        free(dead->x_train);
        free(dead->y_train);
        free(dead->x_test);
        free(dead->y_test);
        free(dead);
        return;
    }
}
