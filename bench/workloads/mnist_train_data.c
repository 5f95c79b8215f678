#include "workloads/mnist_train_data.h"

#include "engines/host.h"
#include "ground/fs.h"
#include "ground/half.h"
#include "ground/memory.h"
#include "ground/rng.h"
#include "ground/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_W = 16, STREAM_B = 17, STREAM_ORDER = 64, CHUNK = 1 << 20 };

/* The multiply-adds of the oracle's checked steps, at the standard batch of 32. */
static const double CHECKED_FLOPS = 2e10;
enum { CHECKED_FLOPS_PER_WEIGHT = 6 * 32 };

static void sizes_of(size_t hidden, size_t sizes[MNIST_LAYERS + 1]) {
    sizes[0] = MNIST_PIXELS;
    for (size_t l = 1; l < MNIST_LAYERS; l++)
        sizes[l] = hidden;
    sizes[MNIST_LAYERS] = DATASET_CLASSES;
}

double mnist_matrix_elements(size_t hidden) {
    size_t sizes[MNIST_LAYERS + 1];
    double n = 0;
    sizes_of(hidden, sizes);
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        n += (double)sizes[l] * (double)sizes[l + 1];
    return n;
}

size_t mnist_sample_steps(size_t steps) {
    return steps < MNIST_SAMPLE_STEPS ? steps : MNIST_SAMPLE_STEPS;
}

size_t mnist_checked_steps(size_t hidden, size_t steps) {
    const size_t in_sample = mnist_sample_steps(steps);
    const double fits =
        fmax(2, floor(CHECKED_FLOPS / (CHECKED_FLOPS_PER_WEIGHT * mnist_matrix_elements(hidden))));
    return fits < (double)in_sample ? (size_t)fits : in_sample;
}

size_t mnist_descent_steps(size_t hidden, size_t steps) {
    const size_t checked = mnist_checked_steps(hidden, steps);
    return checked < MNIST_DESCENT_STEPS ? checked : MNIST_DESCENT_STEPS;
}

/* ---- images --------------------------------------------------------------------------------- */

/* Read with the first case that is open, freed with the last. */
static struct {
    dataset_t set;
    unsigned users;
} images;

static status_t take_images(error_t *err) {
    if (images.users == 0) {
        char *root;
        TRY(fs_project_root(&root, err));
        status_t status = dataset_load(root, &images.set, err);
        free(root);
        TRY(status);
    }
    images.users++;
    return STATUS_OK;
}

static void release_images(void) {
    if (--images.users == 0)
        dataset_free(&images.set);
}

/* ---- weights and order ---------------------------------------------------------------------- */

static void fill(float *values, size_t n, const mnist_data_t *data, uint32_t stream, float bound) {
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t some = n - first < CHUNK ? n - first : CHUNK;
        rng_fill_uniform(values + first, some, data->seed, stream, first, -bound, bound);
        if (data->f16)
            half_round(values + first, some);
    }
}

static void make_weights(mnist_data_t *data) {
    data->n_weights = 0;
    for (size_t l = 0; l < MNIST_LAYERS; l++)
        data->n_weights += (data->sizes[l] + 1) * data->sizes[l + 1];
    data->weights = mem_alloc(data->n_weights * sizeof *data->weights);
    float *next = data->weights;
    for (uint32_t l = 0; l < MNIST_LAYERS; l++) {
        const size_t in = data->sizes[l], out = data->sizes[l + 1];
        /* torch.nn.Linear's own range, so that activations keep their scale. */
        const float bound = (float)(1.0 / sqrt((double)in));
        fill(next, in * out, data, STREAM_W + 2 * l, bound);
        data->w[l] = next;
        next += in * out;
        fill(next, out, data, STREAM_B + 2 * l, bound);
        data->b[l] = next;
        next += out;
    }
}

/* Fisher–Yates; a word's high bits choose, where rng_permutation() takes a remainder. */
static void make_epoch(uint32_t *order, uint64_t seed, uint32_t epoch) {
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

/* The batch divides the images, so epochs follow each other without a gap. */
static size_t epochs_of(const mnist_data_t *shape) {
    return (shape->steps * shape->batch + MNIST_IMAGES - 1) / MNIST_IMAGES;
}

static void make_order(mnist_data_t *data) {
    const size_t epochs = epochs_of(data);
    data->order = mem_alloc(epochs * MNIST_IMAGES * sizeof *data->order);
#pragma omp parallel for schedule(dynamic)
    for (size_t epoch = 0; epoch < epochs; epoch++)
        make_epoch(data->order + epoch * MNIST_IMAGES, data->seed, (uint32_t)epoch);
}

static void *make(const void *shape) {
    mnist_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const mnist_data_t *)shape;
    for (unsigned pixel = 0; pixel < 256; pixel++)
        data->x[pixel] = (float)pixel / 255.0f;
    if (data->f16)
        half_round(data->x, 256);
    make_weights(data);
    make_order(data);
    return data;
}

static bool same(const void *data, const void *shape) {
    const mnist_data_t *a = data, *b = shape;
    return a->hidden == b->hidden && a->batch == b->batch && a->steps == b->steps &&
           a->seed == b->seed && a->f16 == b->f16;
}

static void free_data(void *dead) {
    mnist_data_t *data = dead;
    free(data->weights);
    free(data->order);
    free(data);
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data};

static mnist_data_t shape_of(const case_t *spec) {
    mnist_data_t shape = {.hidden = (size_t)case_param_int(spec, "hidden", 1),
                          .batch = (size_t)case_param_int(spec, "batch", 1),
                          .steps = (size_t)case_param_int(spec, "steps", 1),
                          .seed = (uint64_t)case_param_int(spec, "seed", 1),
                          .f16 = strcmp(spec->dtype, "f16") == 0,
                          .images = &images.set};
    sizes_of(shape.hidden, shape.sizes);
    return shape;
}

status_t mnist_data_room(const case_t *spec, double more_bytes, error_t *err) {
    const mnist_data_t shape = shape_of(spec);
    double need = more_bytes, room = host_available_bytes();
    if (images.users == 0)
        need += (double)(MNIST_IMAGES + MNIST_TEST_IMAGES) * (MNIST_PIXELS + 1);
    if (shared_data_find(&open_data, &shape) == NULL)
        need += mnist_matrix_elements(shape.hidden) * sizeof(float) +
                (double)epochs_of(&shape) * MNIST_IMAGES * sizeof(uint32_t);
    if (!(need > room)) /* also when the room is not known */
        return STATUS_OK;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    return error_set(err, STATUS_FAILED, "needs %s of host memory, %s are free",
                     units_bytes(a, need), units_bytes(b, room));
}

status_t mnist_data_take(const case_t *spec, const mnist_data_t **data, error_t *err) {
    const mnist_data_t shape = shape_of(spec);
    TRY(take_images(err));
    *data = shared_data_take(&open_data, &shape);
    return STATUS_OK;
}

void mnist_data_release(const mnist_data_t *data) {
    shared_data_release(&open_data, data);
    release_images();
}
