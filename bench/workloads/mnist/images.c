#include "workloads/mnist/images.h"

#include "base/half.h"
#include "base/rng.h"
#include "io/find.h"

#include <math.h>
#include <stdlib.h>

enum { STREAM_W = 16, STREAM_B = 17, STREAM_ORDER = 64, CHUNK = 1 << 20 };

static struct {
    dataset_t set;
    unsigned users;
} images;

status_t mnist_images_take(const dataset_t **set, error_t *err) {
    if (images.users == 0) {
        char *root;
        TRY(fs_project_root(&root, err));
        status_t status = dataset_load(root, &images.set, err);
        free(root);
        TRY(status);
    }
    images.users++;
    *set = &images.set;
    return STATUS_OK;
}

void mnist_images_release(void) {
    if (--images.users == 0)
        dataset_free(&images.set);
}

bool mnist_images_held(void) {
    return images.users > 0;
}

void mnist_images_order(uint32_t *order, uint64_t seed, uint32_t epoch) {
    for (uint32_t i = 0; i < MNIST_IMAGES; i++)
        order[i] = i;
    for (uint32_t i = MNIST_IMAGES - 1; i >= 1; i--) {
        const uint64_t word = rng_word(seed, STREAM_ORDER + epoch, i);
        const uint32_t j = (uint32_t)(word * (i + 1) >> 32);
        const uint32_t moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

static void fill(float *values, size_t n, uint64_t seed, uint32_t stream, float bound, bool f16) {
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t some = n - first < CHUNK ? n - first : CHUNK;
        rng_fill_uniform(values + first, some, (rng_position_t){seed, stream, first}, -bound,
                         bound);
        if (f16)
            half_round(values + first, some);
    }
}

void mnist_start_layer(float *w, float *b, size_t in, size_t out, uint64_t seed, uint32_t layer,
                       bool f16) {
    const float bound = (float)(1.0 / sqrt((double)in));
    fill(w, in * out, seed, STREAM_W + 2 * layer, bound, f16);
    fill(b, out, seed, STREAM_B + 2 * layer, bound, f16);
}
