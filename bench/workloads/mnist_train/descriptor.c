#include "workloads/common/workload.h"
#include "workloads/mnist/cpu.h"
#include "workloads/mnist/data.h"
#include "workloads/mnist/oracle.h"

#include <string.h>

/* ==== on the CPU ============================================================================== */

/* mnist_train in C: describes its training for the session in workloads/mnist/cpu.c. */

static status_t can_run(const case_t *spec, bool is_ref, error_t *err) {
    const size_t hidden = (size_t)case_param_int(spec, "hidden", 1);
    if (!is_ref)
        TRY(mnist_cpu_width("hidden", hidden, err));
    /* For the gradients in float32 while they are written. */
    const double gradient_bytes = mnist_matrix_elements(hidden) * sizeof(float);
    return mnist_data_room(spec, mnist_net_bytes(spec) + gradient_bytes, err);
}

static status_t describe(const case_t *spec, mnist_training_t *training, error_t *err) {
    TRY(mnist_data_take(spec, &training->data, err));
    const mnist_data_t *data = training->data;
    training->network = *data;
    training->sample_steps = mnist_sample_steps(data->steps);
    training->checked_steps = mnist_checked_steps(data->hidden, data->steps);
    training->tolerance = workload_mnist_train.tolerance(spec);
    training->descent_steps = mnist_descent_steps(data->hidden, data->steps);
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

const session_ops_t mnist_train_cpu = {.workload = "mnist_train",
                                       .open = open_case,
                                       .refill = mnist_cpu_refill,
                                       .fill = mnist_cpu_fill,
                                       .output = mnist_cpu_output,
                                       .last = mnist_cpu_last,
                                       .learned = mnist_cpu_learned,
                                       .loss = loss,
                                       .close = mnist_cpu_close};

static const param_spec_t PARAMS[] = {
    {"hidden", VALUE_INT, 8, 16384, "128", .summary = "width of each of the three hidden layers",
     .always_in_id = true},
    {"batch", VALUE_INT, 1, 4096, "32",
     .summary = "images per step; must divide the 60000 training images"},
    {"steps", VALUE_INT, 1, 1000000, "5000",
     .summary = "steps of the complete training; a sample is the first 200"},
    {"rate", VALUE_REAL, 1e-9, 1, "0.003", .summary = "learning rate"},
    {"seed", VALUE_INT, 1, 2147483647, "1",
     .summary = "seed of the start weights and the image order"},
};

static const technique_spec_t TECHNIQUES[] = {
    {"accumulate", "precision of the sums in matrix products", NAMES("f32", "f16")},
};

typedef struct shape {
    size_t hidden, batch, steps, sample_steps;
    double elements;                /* of all matrices */
    double elem_bytes, image_bytes; /* of a weight, of a pixel */
    double passes;                  /* over the weights, per step */
} shape_t;

static bool is_mixed(const case_t *spec) {
    return strcmp(spec->dtype, "mixed") == 0;
}

static shape_t shape_of(const case_t *spec) {
    shape_t shape = {.hidden = (size_t)case_param_int(spec, "hidden", 1),
                     .batch = (size_t)case_param_int(spec, "batch", 1),
                     .steps = (size_t)case_param_int(spec, "steps", 1),
                     .elem_bytes = strcmp(spec->dtype, "f16") == 0 ? 2 : 4,
                     .image_bytes = strcmp(spec->dtype, "f32") == 0 ? 4 : 2,
                     .passes = is_mixed(spec) ? 2.5 : 3};
    shape.sample_steps = mnist_sample_steps(shape.steps);
    shape.elements = mnist_matrix_elements(shape.hidden);
    return shape;
}

static status_t validate(const case_t *spec, error_t *err) {
    const shape_t shape = shape_of(spec);
    if (MNIST_IMAGES % shape.batch == 0)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE, "batch %zu does not divide the %d training images",
                     shape.batch, MNIST_IMAGES);
}

/* A step reads every weight forward and backward and writes it; with dtype mixed, forward needs only
 * the half that is its float16. Activations and images of the batch stay in caches. Each weight takes part in three products per image: forward, backward, and its
 * gradient; those of the first layer not in the second. */
static workload_cost_t cost(const case_t *spec) {
    const shape_t shape = shape_of(spec);
    const double weights_bytes = shape.elem_bytes * shape.elements;
    const double images_bytes = (double)MNIST_IMAGES * (shape.image_bytes * MNIST_PIXELS + 1);
    const double first = (double)MNIST_PIXELS * (double)shape.hidden;
    const double order_bytes = 4 * (double)shape.batch * (double)shape.steps;
    return (workload_cost_t){.bytes = (double)shape.sample_steps * shape.passes * weights_bytes,
                             .flops = (double)shape.sample_steps * (double)shape.batch *
                                      (6 * shape.elements - 2 * first),
                             .working_set_bytes = weights_bytes,
                             .device_bytes = weights_bytes + images_bytes + order_bytes};
}

static bool sums_in_half(const case_t *spec) {
    const char *accumulate = case_technique(spec, "accumulate");
    return accumulate != NULL && strcmp(accumulate, "f16") == 0;
}

/* Contenders and the oracle round the same numbers to float16, so most gradients agree to 0.03 %.
 * But a float32 sum sometimes rounds to the other neighbour; if that moves a ReLU input across
 * zero, one image's path through it appears or vanishes, which alone is about 1 %. For 221 sets of
 * start weights, hidden = 128 … 4096, each in up to three summation orders, the worst case was
 * 1.6 %, or 2.0 % with sums truncated after 24 bits, as tensor cores may do. Sums in float16 move
 * some inputs across zero in every batch; the worst of 103 sets was 6.6 %. docs/mnist-train.md has
 * a table. */
static double tolerance(const case_t *spec) {
    if (strcmp(spec->dtype, "f32") == 0)
        return 1e-4;
    return sums_in_half(spec) ? 1e-1 : 2.5e-2;
}

static const char *arithmetic(const case_t *spec) {
    return is_mixed(spec) ? "f16" : spec->dtype;
}

/* Without the steps: a sample has fewer than the complete training. */
static void constants(const case_t *spec, text_list_t *defines) {
    const shape_t shape = shape_of(spec);
    text_list_add_format(defines, "HIDDEN=%zu", shape.hidden);
    text_list_add_format(defines, "BATCH=%zu", shape.batch);
    text_list_add_format(defines, "DTYPE_F16=%d", strcmp(spec->dtype, "f16") == 0);
    text_list_add_format(defines, "DTYPE_MIXED=%d", is_mixed(spec));
    text_list_add_format(defines, "ACCUMULATE_F16=%d", sums_in_half(spec));
}

static size_t sample_steps(const case_t *spec) {
    return mnist_sample_steps((size_t)case_param_int(spec, "steps", 1));
}

const workload_t workload_mnist_train = {
    .name = "mnist_train",
    .files = &mnist_files,
    .sampled_arrays = NAMES("losses"),
    .summary = "training of a multilayer perceptron on MNIST",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .size_param = "hidden",
    .size_noun = "hidden size",
    .size_label = "hidden size, units",
    .size_before = "width ",
    .reference_size = 1024,
    .bounded_by = BOUNDED_BY_STEPS,
    .has_loss = true,
    .compared_by = "step",
    .sample_steps = sample_steps,
    .techniques = TECHNIQUES,
    .n_techniques = sizeof TECHNIQUES / sizeof TECHNIQUES[0],
    .dtypes = NAMES("f16", "mixed", "f32"),
    .has_stages = true,
    .cpu_variants = NAMES("ref", "omp"),
    .pytorch_variants = NAMES("eager", "compile", "graph", "compile_graph", "manual_graph"),
    .jax_variants = NAMES("jit", "scan"),
    .validate = validate,
    .arithmetic = arithmetic,
    .cost = cost,
    .tolerance = tolerance,
    .constants = constants,
};
