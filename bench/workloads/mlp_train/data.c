#include "workloads/mlp_train/data.h"

#include "workloads/common/workload.h"
#include "workloads/mnist/cpu.h"

#include <math.h>
#include <string.h>

/* ==== data ==================================================================================== */

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

/* The data with batch and steps of this shape. */
static mnist_data_t mlpt_network(const mnist_data_t *data, const mlpt_shape_t *shape) {
    mnist_data_t network = *data;
    network.batch = shape->batch;
    network.steps = shape->steps;
    return network;
}

/* ==== on the CPU ============================================================================== */

/* mlp_train in C: describes its training for the session in workloads/mnist/cpu.c. The arithmetic
 * is that of mnist_train, with any number of layers. */

/* Per epoch: about a minute on two cores. */
static const double OMP_MAX_FLOPS = 1e12;

/* Weights, activations and their gradients, doubled: room for either variant's storage. */
static double network_bytes(const mlpt_shape_t *shape) {
    double units = 0;
    for (size_t l = 0; l <= shape->layers; l++)
        units += (double)shape->sizes[l];
    return 2 * sizeof(double) * (mlpt_parameters(shape) + 2 * (double)shape->batch * units);
}

static status_t can_run(const case_t *spec, bool is_ref, error_t *err) {
    const mlpt_shape_t shape = mlpt_shape(spec);
    const double flops = workload_mlp_train.cost(spec).flops;
    if (!is_ref)
        TRY(mnist_cpu_width("width", shape.sizes[1], err));
    if (!is_ref && flops > OMP_MAX_FLOPS)
        return error_set(err, STATUS_FAILED,
                         "too slow for %s: an epoch has %.3g floating-point operations",
                         spec->variant, flops);
    return mlpt_data_room(spec, network_bytes(&shape) + sizeof(float) * mlpt_parameters(&shape),
                          err);
}

static status_t describe(const case_t *spec, mnist_training_t *training, error_t *err) {
    const mlpt_shape_t shape = mlpt_shape(spec);
    TRY(mlpt_data_take(spec, &training->data, err));
    training->network = mlpt_network(training->data, &shape);
    training->epochs = shape.epochs;
    training->sample_steps = shape.steps;
    training->tolerance = workload_mlp_train.tolerance(spec);
    training->checked_steps = mlpt_checked_steps(&shape);
    return STATUS_OK;
}

static const mnist_cpu_workload_t WORKLOAD = {can_run, describe};

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return mnist_cpu_open(session, request, &WORKLOAD, err);
}

static status_t loss(const case_t *spec, const char *folder, double *loss, error_t *err) {
    return mnist_loss(spec, &WORKLOAD, folder, loss, err);
}

/* ==== description ============================================================================= */

const session_ops_t mlp_train_cpu = {.workload = "mlp_train",
                                     .open = open_case,
                                     .refill = mnist_cpu_refill,
                                     .fill = mnist_cpu_fill,
                                     .output = mnist_cpu_output,
                                     .last = mnist_cpu_last,
                                     .learned = mnist_cpu_learned,
                                     .loss = loss,
                                     .close = mnist_cpu_close};

static const param_spec_t PARAMS[] = {
    {"width", VALUE_INT, 1, 8192, "784", .summary = "units of each hidden layer",
     .always_in_id = true},
    {"depth", VALUE_INT, 2, MLPT_MAX_LAYERS, "4",
     .summary = "number of linear layers, with depth - 1 hidden layers"},
    {"batch", VALUE_INT, 1, MNIST_IMAGES, "64",
     .summary = "images per step; the last step of an epoch has the rest of the 60000"},
    {"epochs", VALUE_INT, 1, 1000, "3",
     .summary = "epochs of the complete training; a sample is the first one"},
    {"rate", VALUE_REAL, 1e-9, 1000, "0.1", .summary = "learning rate"},
    {"seed", VALUE_INT, 1, 2147483647, "1",
     .summary = "seed of the start weights and the image order"},
};

static const technique_spec_t TECHNIQUES[] = {
    {"allocator", "source of the memory for operator results",
     NAMES("caching", "malloc", "async", "arena")},
};

static bool is_tf32(const case_t *spec) {
    return strcmp(spec->dtype, "tf32") == 0;
}

/* The training of a sample, without the validation (a forward pass of a sixth of the images). One
 * multiply-add per weight each: forward, for the weight gradient, and for the input gradient, which
 * the first layer does not need.
 * A step reads the weights forward and backward and writes them; they stay in the L2 if the working
 * set fits. */
static workload_cost_t cost(const case_t *spec) {
    const mlpt_shape_t shape = mlpt_shape(spec);
    const double weights = mnist_elements(shape.layers, shape.sizes),
                 bytes = sizeof(float) * weights;
    const double first = (double)shape.sizes[0] * (double)shape.sizes[1];
    const double images_bytes =
        (double)(MNIST_IMAGES + MNIST_TEST_IMAGES) * (double)(sizeof(float) * MNIST_PIXELS + 1);
    return (workload_cost_t){.bytes = (double)shape.steps * 3 * bytes,
                             .flops = MNIST_IMAGES * (6 * weights - 2 * first),
                             .working_set_bytes = bytes,
                             .device_bytes = images_bytes + 2 * bytes};
}

static double tolerance(const case_t *spec) {
    return is_tf32(spec) ? 5e-2 : 1e-4;
}

static void constants(const case_t *spec, text_list_t *defines) {
    text_list_add_format(defines, "WIDTH=%lld", (long long)case_param_int(spec, "width", 1));
    text_list_add_format(defines, "DEPTH=%lld", (long long)case_param_int(spec, "depth", 1));
    text_list_add_format(defines, "BATCH=%lld", (long long)case_param_int(spec, "batch", 1));
    text_list_add_format(defines, "DTYPE_TF32=%d", is_tf32(spec));
}

const workload_t workload_mlp_train = {
    .name = "mlp_train",
    .files = &mnist_files,
    .sampled_arrays = NAMES("losses"),
    .sample_is_epoch = true,
    .has_loss = true,
    .summary = "whole epochs of training a multilayer perceptron on MNIST",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .compared_by = "train",
    .size_param = "width",
    .size_noun = "width",
    .size_label = "width of the hidden layers, units",
    .size_before = "width ",
    .reference_size = 784,
    .techniques = TECHNIQUES,
    .n_techniques = sizeof TECHNIQUES / sizeof TECHNIQUES[0],
    .dtypes = NAMES("f32", "tf32"),
    .has_stages = true,
    .cpu_variants = NAMES("ref", "omp"),
    .pytorch_variants =
        NAMES("dataloader", "eager", "compile", "graph", "compile_graph", "manual_graph"),
    .jax_variants = NAMES("jit", "scan"),
    .arithmetic = workload_multiplies,
    .cost = cost,
    .tolerance = tolerance,
    .constants = constants,
};
