#include "workloads/mlp_train/data.h"

#include "base/memory.h"
#include "base/units.h"
#include "engine/host_info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The multiply-adds of the oracle's checked steps, and those of one image and weight in a step. */
static const double CHECKED_FLOPS = 2e10;
enum { FLOPS_PER_WEIGHT = 6, LEAST_CHECKED_STEPS = 2 };

mlpt_shape_t mlpt_shape(const case_t *spec) {
    mlpt_shape_t shape = {.layers = (size_t)case_param_int(spec, "depth", 1),
                          .batch = (size_t)case_param_int(spec, "batch", 1),
                          .epochs = (size_t)case_param_int(spec, "epochs", 1),
                          .seed = (uint64_t)case_param_int(spec, "seed", 1),
                          .rate = case_param(spec, "rate")->real};
    const size_t width = (size_t)case_param_int(spec, "width", 1);
    shape.sizes[0] = MNIST_PIXELS;
    for (size_t l = 1; l < shape.layers; l++)
        shape.sizes[l] = width;
    shape.sizes[shape.layers] = MNIST_CLASSES;
    shape.steps = (MNIST_IMAGES + shape.batch - 1) / shape.batch;
    return shape;
}

size_t mlpt_rows(const mlpt_shape_t *shape, size_t step) {
    const size_t left = MNIST_IMAGES - step * shape->batch;
    return left < shape->batch ? left : shape->batch;
}

double mlpt_matrix_elements(const mlpt_shape_t *shape) {
    double n = 0;
    for (size_t l = 0; l < shape->layers; l++)
        n += (double)shape->sizes[l] * (double)shape->sizes[l + 1];
    return n;
}

double mlpt_parameters(const mlpt_shape_t *shape) {
    double n = mlpt_matrix_elements(shape);
    for (size_t l = 0; l < shape->layers; l++)
        n += (double)shape->sizes[l + 1];
    return n;
}

size_t mlpt_checked_steps(const mlpt_shape_t *shape) {
    const double of_step = FLOPS_PER_WEIGHT * (double)shape->batch * mlpt_matrix_elements(shape);
    const double fits = fmax(LEAST_CHECKED_STEPS, floor(CHECKED_FLOPS / of_step));
    const double all = (double)shape->steps * (double)shape->epochs;
    return (size_t)fmin(MLPT_MAX_CHECKED_STEPS, fmin(fits, all));
}

static void make_weights(mlpt_data_t *data) {
    const size_t *sizes = data->shape.sizes;
    data->n_weights = (size_t)mlpt_parameters(&data->shape);
    data->weights = mem_alloc(data->n_weights * sizeof *data->weights);
    float *next = data->weights;
    for (uint32_t l = 0; l < data->shape.layers; l++) {
        data->w[l] = next;
        data->b[l] = next + sizes[l] * sizes[l + 1];
        next = data->b[l] + sizes[l + 1];
        mnist_start_layer(data->w[l], data->b[l], sizes[l], sizes[l + 1], data->shape.seed, l,
                          false);
    }
}

static void *make(const void *shape) {
    mlpt_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const mlpt_data_t *)shape;
    for (unsigned pixel = 0; pixel < 256; pixel++)
        data->x[pixel] = (float)pixel / 255.0f;
    make_weights(data);
    data->order = mem_alloc(MNIST_IMAGES * sizeof *data->order);
    mnist_images_order(data->order, data->shape.seed, 0);
    return data;
}

static bool same(const void *data, const void *shape) {
    const mlpt_shape_t *a = &((const mlpt_data_t *)data)->shape;
    const mlpt_shape_t *b = &((const mlpt_data_t *)shape)->shape;
    return a->seed == b->seed && a->layers == b->layers &&
           memcmp(a->sizes, b->sizes, sizeof a->sizes) == 0;
}

static void free_data(void *dead) {
    mlpt_data_t *data = dead;
    free(data->weights);
    free(data->order);
    free(data);
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data};

status_t mlpt_data_room(const case_t *spec, double more_bytes, error_t *err) {
    const mlpt_data_t shape = {.shape = mlpt_shape(spec)};
    double need = more_bytes, room = host_available_bytes();
    if (!mnist_images_held())
        need += (double)(MNIST_IMAGES + MNIST_TEST_IMAGES) * (MNIST_PIXELS + 1);
    if (shared_data_find(&open_data, &shape) == NULL)
        need += mlpt_parameters(&shape.shape) * sizeof(float) + MNIST_IMAGES * sizeof(uint32_t);
    if (!(need > room)) /* also when the room is not known */
        return STATUS_OK;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    return error_set(err, STATUS_FAILED, "needs %s of host memory, %s are free",
                     units_bytes(a, need), units_bytes(b, room));
}

status_t mlpt_data_take(const case_t *spec, const mlpt_data_t **data, error_t *err) {
    mlpt_data_t shape = {.shape = mlpt_shape(spec)};
    TRY(mnist_images_take(&shape.images, err));
    *data = shared_data_take(&open_data, &shape);
    return STATUS_OK;
}

void mlpt_data_release(const mlpt_data_t *data) {
    shared_data_release(&open_data, data);
    mnist_images_release();
}

mnist_data_t mlpt_network(const mlpt_data_t *data, const mlpt_shape_t *shape) {
    mnist_data_t network = {.hidden = shape->sizes[1],
                            .batch = shape->batch,
                            .steps = shape->steps,
                            .layers = shape->layers,
                            .n_order = MNIST_IMAGES,
                            .seed = shape->seed,
                            .images = data->images,
                            .n_weights = data->n_weights,
                            .weights = data->weights,
                            .order = data->order};
    memcpy(network.sizes, shape->sizes, sizeof network.sizes);
    memcpy(network.x, data->x, sizeof network.x);
    memcpy(network.w, data->w, sizeof network.w);
    memcpy(network.b, data->b, sizeof network.b);
    return network;
}
