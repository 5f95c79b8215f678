#include "workloads/mlp_train/data.h"

#include <math.h>
#include <string.h>

/* Multiply-adds of the oracle's checked steps; FLOPS_PER_WEIGHT is per image and step. */
static const double CHECKED_FLOPS = 2e10;
enum { FLOPS_PER_WEIGHT = 6, LEAST_CHECKED_STEPS = 2 };

mlpt_shape_t mlpt_shape(const case_t *spec) {
    mlpt_shape_t shape = {.layers = (size_t)case_param_int(spec, "depth", 1),
                          .batch = (size_t)case_param_int(spec, "batch", 1),
                          .epochs = (size_t)case_param_int(spec, "epochs", 1),
                          .seed = (uint64_t)case_param_int(spec, "seed", 1),
                          .rate = case_param(spec, "rate")->real};
    mnist_sizes(shape.layers, (size_t)case_param_int(spec, "width", 1), shape.sizes);
    shape.steps = (MNIST_IMAGES + shape.batch - 1) / shape.batch;
    return shape;
}

size_t mlpt_rows(const mlpt_shape_t *shape, size_t step) {
    const size_t left = MNIST_IMAGES - step * shape->batch;
    return left < shape->batch ? left : shape->batch;
}

double mlpt_parameters(const mlpt_shape_t *shape) {
    return mnist_parameters(shape->layers, shape->sizes);
}

size_t mlpt_checked_steps(const mlpt_shape_t *shape) {
    const double of_step =
        FLOPS_PER_WEIGHT * (double)shape->batch * mnist_elements(shape->layers, shape->sizes);
    const double fits = fmax(LEAST_CHECKED_STEPS, floor(CHECKED_FLOPS / of_step));
    const double all = (double)shape->steps * (double)shape->epochs;
    return (size_t)fmin(MLPT_MAX_CHECKED_STEPS, fmin(fits, all));
}

static mnist_data_t start_of(const case_t *spec) {
    const mlpt_shape_t shape = mlpt_shape(spec);
    mnist_data_t start = {.hidden = shape.sizes[1],
                          .layers = shape.layers,
                          .n_order = MNIST_IMAGES,
                          .seed = shape.seed};
    memcpy(start.sizes, shape.sizes, sizeof start.sizes);
    return start;
}

status_t mlpt_data_room(const case_t *spec, double more_bytes, error_t *err) {
    const mnist_data_t start = start_of(spec);
    return mnist_shape_room(&start, more_bytes, err);
}

status_t mlpt_data_take(const case_t *spec, const mnist_data_t **data, error_t *err) {
    mnist_data_t start = start_of(spec);
    return mnist_shape_take(&start, data, err);
}

mnist_data_t mlpt_network(const mnist_data_t *data, const mlpt_shape_t *shape) {
    mnist_data_t network = *data;
    network.batch = shape->batch;
    network.steps = shape->steps;
    return network;
}
