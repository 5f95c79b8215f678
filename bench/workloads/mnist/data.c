#include "workloads/mnist/data.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/rng.h"
#include "workloads/common/session_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds of the oracle's checked steps, at the default batch of 32. */
static const double CHECKED_FLOPS = 2e10;
enum { CHECKED_FLOPS_PER_WEIGHT = 6 * 32 };

enum { STREAM_W = 16, STREAM_B = 17, CHUNK = 1 << 20 };

void mnist_sizes(size_t layers, size_t hidden, size_t *sizes) {
    sizes[0] = MNIST_PIXELS;
    for (size_t l = 1; l < layers; l++)
        sizes[l] = hidden;
    sizes[layers] = MNIST_CLASSES;
}

double mnist_elements(size_t layers, const size_t *sizes) {
    double n = 0;
    for (size_t l = 0; l < layers; l++)
        n += (double)sizes[l] * (double)sizes[l + 1];
    return n;
}

double mnist_parameters(size_t layers, const size_t *sizes) {
    double n = mnist_elements(layers, sizes);
    for (size_t l = 0; l < layers; l++)
        n += (double)sizes[l + 1];
    return n;
}

double mnist_matrix_elements(size_t hidden) {
    size_t sizes[MNIST_LAYERS + 1];
    mnist_sizes(MNIST_LAYERS, hidden, sizes);
    return mnist_elements(MNIST_LAYERS, sizes);
}

size_t mnist_step_images(const mnist_data_t *data, size_t step) {
    const size_t left = data->n_order - step * data->batch;
    return left < data->batch ? left : data->batch;
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

const mnist_descent_t *mnist_descents(const mnist_data_t *data, size_t *n) {
    static const mnist_descent_t DESCENTS[] = {{"descent", 0.25}, {"small_descent", 0.005}};
    *n = data->f16 && !data->f16_weights ? 2 : 1;
    return DESCENTS;
}

/* ---- weights and order ----------------------------------------------------------------------- */

static void fill(float *values, size_t n, const mnist_data_t *data, uint32_t stream, float bound) {
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t count = n - first < CHUNK ? n - first : CHUNK;
        rng_fill_uniform(values + first, count, (rng_position_t){data->seed, stream, first}, -bound,
                         bound);
        if (data->f16_weights)
            half_round(values + first, count);
    }
}

/* Layer l takes w from stream 16 + 2 l and b from the next, in the range of torch.nn.Linear,
 * ±1/√in. */
static void make_weights(mnist_data_t *data) {
    data->n_weights = (size_t)mnist_parameters(data->layers, data->sizes);
    data->weights = mem_alloc(data->n_weights * sizeof *data->weights);
    float *next = data->weights;
    for (uint32_t l = 0; l < data->layers; l++) {
        const size_t in = data->sizes[l], out = data->sizes[l + 1];
        data->w[l] = next;
        data->b[l] = next + in * out;
        next = data->b[l] + out;
        const float bound = (float)(1.0 / sqrt((double)in));
        fill(data->w[l], in * out, data, STREAM_W + 2 * l, bound);
        fill(data->b[l], out, data, STREAM_B + 2 * l, bound);
    }
}

static void make_order(mnist_data_t *data) {
    const size_t epochs = data->n_order / MNIST_IMAGES;
    data->order = mem_alloc(data->n_order * sizeof *data->order);
#pragma omp parallel for schedule(dynamic)
    for (size_t epoch = 0; epoch < epochs; epoch++)
        mnist_images_order(data->order + epoch * MNIST_IMAGES, data->seed, (uint32_t)epoch);
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
    return a->layers == b->layers && a->hidden == b->hidden && a->batch == b->batch &&
           a->steps == b->steps && a->seed == b->seed && a->f16 == b->f16 &&
           a->f16_weights == b->f16_weights;
}

static void free_data(void *dead) {
    mnist_data_t *data = dead;
    free(data->weights);
    free(data->order);
    free(data);
}

static void refill(void *refilled, uint64_t from, uint64_t to) {
    signs_t flips;
    signs_between(from, to, &flips);
    mnist_data_t *data = refilled;
    for (size_t l = 0; l < data->layers; l++) {
        signs_flip_floats(data->w[l], data->sizes[l] * data->sizes[l + 1], &flips);
        signs_flip_floats(data->b[l], data->sizes[l + 1], &flips);
    }
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data, .refill = refill};

status_t mnist_shape_room(const mnist_data_t *shape, double more_bytes, error_t *err) {
    double need_bytes = more_bytes;
    if (!mnist_images_held())
        need_bytes += (double)(MNIST_IMAGES + MNIST_TEST_IMAGES) * (MNIST_PIXELS + 1);
    if (shared_data_find(&open_data, shape) == NULL)
        need_bytes += mnist_parameters(shape->layers, shape->sizes) * sizeof(float) +
                      (double)shape->n_order * sizeof(uint32_t);
    return host_room(need_bytes, err);
}

status_t mnist_shape_take(mnist_data_t *shape, const mnist_data_t **data, error_t *err) {
    TRY(mnist_images_take(&shape->images, err));
    *data = shared_data_take(&open_data, shape);
    return STATUS_OK;
}

/* `order` holds whole epochs: the batch divides the images. */
static mnist_data_t shape_of(const case_t *spec) {
    mnist_data_t shape = {.layers = MNIST_LAYERS,
                          .hidden = (size_t)case_param_int(spec, "hidden", 1),
                          .batch = (size_t)case_param_int(spec, "batch", 1),
                          .steps = (size_t)case_param_int(spec, "steps", 1),
                          .seed = (uint64_t)case_param_int(spec, "seed", 1),
                          .f16 = strcmp(spec->dtype, "f32") != 0,
                          .f16_weights = strcmp(spec->dtype, "f16") == 0};
    mnist_sizes(shape.layers, shape.hidden, shape.sizes);
    shape.n_order = (shape.steps * shape.batch + MNIST_IMAGES - 1) / MNIST_IMAGES * MNIST_IMAGES;
    return shape;
}

status_t mnist_data_room(const case_t *spec, double more_bytes, error_t *err) {
    const mnist_data_t shape = shape_of(spec);
    return mnist_shape_room(&shape, more_bytes, err);
}

status_t mnist_data_take(const case_t *spec, const mnist_data_t **data, error_t *err) {
    mnist_data_t shape = shape_of(spec);
    return mnist_shape_take(&shape, data, err);
}

void mnist_data_refill(const mnist_data_t *data, uint64_t seed) {
    shared_data_refill(&open_data, data, seed);
}

void mnist_data_release(const mnist_data_t *data) {
    shared_data_release(&open_data, data);
    mnist_images_release();
}
