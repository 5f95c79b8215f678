#include "workloads/common/workload.h"
#include "workloads/mlp_train/data.h"

#include <string.h>

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
    .sampled_arrays = NAMES("losses"),
    .sample_is_epoch = true,
    .summary = "whole epochs of training a multilayer perceptron on MNIST",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .compared_by = "train",
    .size_param = "width",
    .size_noun = "width",
    .size_title = "width of the hidden layers, units",
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
