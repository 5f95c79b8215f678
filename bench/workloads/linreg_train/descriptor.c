#include "workloads/common/workload.h"
#include "workloads/linreg_train/data.h"
#include "workloads/linreg_train/fit.h"

#include <math.h>

static const param_spec_t PARAMS[] = {
    {"points", VALUE_INT, 1, 2147483647, "5000000",
     .summary = "points in the data set, four fifths for training", .always_in_id = true},
    {"epochs", VALUE_INT, 1, 100000, "200", .summary = "passes over the training points"},
    {"rate", VALUE_REAL, 1e-9, 1, "0.01", .summary = "learning rate"},
};

static size_t points_of(const case_t *spec) {
    return (size_t)case_param_int(spec, "points", 1);
}

static size_t epochs_of(const case_t *spec) {
    return (size_t)case_param_int(spec, "epochs", 1);
}

/* An implementation that visits every point in every epoch must read them at least once and can
 * then keep on the chip what fits. Operations per point and epoch: 3 for the error w·x + b − y, 3
 * for its sums for both gradients, and 2 for the sum of its squares where the loss is recorded.
 * (Five sums over the data would suffice for all epochs: rungs that use them are marked algorithmic
 * and not compared with this limit.) */
static workload_cost_t cost(const case_t *spec) {
    const double n_train = (double)linreg_n_train(points_of(spec));
    const size_t epochs = epochs_of(spec);
    const double n_recorded = (double)((epochs + LINREG_LOSS_EVERY - 1) / LINREG_LOSS_EVERY);
    return (workload_cost_t){.bytes = 8 * n_train,
                             .flops = n_train * (6 * (double)epochs + 2 * n_recorded),
                             .working_set_bytes = 8 * n_train,
                             .further_passes = (double)epochs - 1,
                             .device_bytes = 8 * (double)points_of(spec)};
}

/* The norm of the parameters is about 2.2, so this keeps w and b within 1e-5 of the oracle's. With
 * few points, float32 roundings (each 1e-6 of an error of 0.3) do not average out. */
static double tolerance(const case_t *spec) {
    return fmax(5e-6, 1e-4 / sqrt((double)points_of(spec)));
}

static void constants(const case_t *spec, text_list_t *defines) {
    const size_t points = points_of(spec), epochs = epochs_of(spec);
    text_list_add_format(defines, "POINTS=%zu", points);
    text_list_add_format(defines, "N_TRAIN=%zu", linreg_n_train(points));
    text_list_add_format(defines, "N_TEST=%zu", linreg_n_test(points));
    text_list_add_format(defines, "EPOCHS=%zu", epochs);
    text_list_add_format(defines, "LOSS_EVERY=%d", LINREG_LOSS_EVERY);
    text_list_add_format(defines, "RATE=%.17g", case_param(spec, "rate")->real);
}

const workload_t workload_linreg_train = {
    .name = "linreg_train",
    .summary = "linear regression by full-batch gradient descent",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .size_param = "points",
    .size_noun = "data-set size",
    .size_title = "points in the data set",
    .host_to_host = "from start values to fitted values in host memory, points on the device",
    .dtypes = NAMES("f32"),
    .has_stages = true,
    .cpu_variants = NAMES("ref", "omp"),
    .pytorch_variants = NAMES("eager", "compile", "graph", "compile_graph", "combo_graph"),
    .jax_variants = NAMES("jit", "scan"),
    .arithmetic = workload_uses_lanes,
    .cost = cost,
    .tolerance = tolerance,
    .constants = constants,
};
