#include "workloads/mnist/images.h"

#include "base/rng.h"
#include "io/folders.h"

#include <stdlib.h>

enum { STREAM_ORDER = 64 };

static struct {
    dataset_t set;
    unsigned users;
} images;

status_t mnist_images_take(const dataset_t **set, error_t *err) {
    if (images.users == 0) {
        char *root;
        TRY(folders_data(&root, err));
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
