#include "workloads/linreg_train/data.h"

#include "base/memory.h"
#include "base/rng.h"
#include "workloads/common/workload.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* ==== the fit ================================================================================= */

linreg_fit_t linreg_fit_new(const case_t *spec) {
    linreg_fit_t fit = {.epochs = (size_t)case_param_int(spec, "epochs", 1),
                        .rate = case_param(spec, "rate")->real,
                        .w = NAN,
                        .b = NAN,
                        .test_loss = NAN};
    fit.n_losses = (fit.epochs + LINREG_LOSS_EVERY - 1) / LINREG_LOSS_EVERY + 1;
    fit.losses = mem_zeroed(fit.n_losses, sizeof *fit.losses);
    for (size_t i = 0; i < fit.n_losses; i++)
        fit.losses[i] = NAN;
    return fit;
}

void linreg_fit_free(linreg_fit_t *fit) {
    free(fit->losses);
    *fit = (linreg_fit_t){0};
}

void linreg_fit_fill(linreg_fit_t *fit) {
    random_fill(&fit->w, sizeof fit->w, RANDOM_F64);
    random_fill(&fit->b, sizeof fit->b, RANDOM_F64);
    random_fill(fit->losses, fit->n_losses * sizeof *fit->losses, RANDOM_F64);
    random_fill(&fit->test_loss, sizeof fit->test_loss, RANDOM_F64);
}

/* The epoch of losses[i]; `epochs` for the last one. */
static size_t linreg_loss_epoch(const linreg_fit_t *fit, size_t i) {
    return i + 1 < fit->n_losses ? i * LINREG_LOSS_EVERY : fit->epochs;
}

status_t linreg_fit_check(const linreg_fit_t *fit, error_t *err) {
    for (size_t i = 0; i < fit->n_losses; i++)
        if (!(fabs(fit->losses[i]) <= (double)FLT_MAX))
            return error_set(err, STATUS_FAILED, "loss is not finite from epoch %zu on",
                             linreg_loss_epoch(fit, i));
    return STATUS_OK;
}

status_t linreg_fit_write(const linreg_fit_t *fit, const char *folder, text_list_t *arrays,
                          error_t *err) {
    const double params[2] = {fit->w, fit->b};
    const output_array_t outputs[] = {{.name = "params", .f64 = params, .rows = 2},
                                      {.name = "losses", .f64 = fit->losses, .rows = fit->n_losses},
                                      {.name = "test_loss", .f64 = &fit->test_loss, .rows = 1}};
    for (size_t i = 0; i < (isnan(fit->test_loss) ? 2 : 3); i++)
        TRY(output_write(&outputs[i], folder, arrays, err));
    return STATUS_OK;
}

char *linreg_fit_json(const linreg_fit_t *fit) {
    json_t *losses = json_array();
    for (size_t i = 0; i < fit->n_losses; i++)
        json_array_append_new(
            losses, json_pack("[I, f]", (json_int_t)linreg_loss_epoch(fit, i), fit->losses[i]));
    json_t *json = json_pack("{s:f, s:f, s:o}", "w", fit->w, "b", fit->b, "loss", losses);
    if (!isnan(fit->test_loss))
        json_object_set_new(json, "test_loss", json_real(fit->test_loss));
    return results_text(json);
}

/* ==== points ================================================================================== */

/* Every fifth point, starting with number 4, is a test point: training point k has number k + k / 4
 * of all, test point k has number 5 k + 4. */
enum { LINREG_TEST_EVERY = 5 };

/* A fused multiply-add for 2 x + 1 would round once instead of twice and change the bits. gcc does
 * not contract under -std=c11 and does not know the pragma. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* A chunk's noise stays in the L1 cache, and chunks start at a whole number of test intervals. */
enum { STREAM_NOISE = 1, CHUNK = 1000 * LINREG_TEST_EVERY };

size_t linreg_n_test(size_t points) {
    return points / LINREG_TEST_EVERY;
}

size_t linreg_n_train(size_t points) {
    return points - linreg_n_test(points);
}

/* Points `first` to `first + n - 1`. */
static void fill_chunk(linreg_data_t *data, size_t first, size_t n) {
    const float step = (float)(10.0 / (double)data->points);
    float noise[CHUNK];
    rng_fill_uniform(noise, n, (rng_position_t){data->seed, STREAM_NOISE, first}, -0.5f, 0.5f);
    for (size_t k = 0; k < n; k++) {
        const size_t i = first + k;
        const float x = (float)i * step;
        const float y = 2.0f * x + 1.0f + noise[k];
        const size_t at = i / LINREG_TEST_EVERY;
        if (i % LINREG_TEST_EVERY == LINREG_TEST_EVERY - 1) {
            data->x_test[at] = x;
            data->y_test[at] = y;
        } else {
            data->x_train[i - at] = x;
            data->y_train[i - at] = y;
        }
    }
}

/* A static schedule: on NUMA machines, each thread trains mostly on points in local memory. */
static void *make(const void *shape) {
    linreg_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const linreg_data_t *)shape;
    data->n_train = linreg_n_train(data->points);
    data->n_test = linreg_n_test(data->points);
    data->x_train = mem_alloc(data->n_train * sizeof(float));
    data->y_train = mem_alloc(data->n_train * sizeof(float));
    data->x_test = mem_zeroed(data->n_test + 1, sizeof(float));
    data->y_test = mem_zeroed(data->n_test + 1, sizeof(float));
    const size_t points = data->points;
#pragma omp parallel for schedule(static)
    for (size_t first = 0; first < points; first += CHUNK)
        fill_chunk(data, first, points - first < CHUNK ? points - first : CHUNK);
    return data;
}

static bool same(const void *data, const void *shape) {
    const linreg_data_t *a = data, *b = shape;
    return a->points == b->points && a->seed == b->seed;
}

static void free_data(void *dead) {
    linreg_data_t *data = dead;
    free(data->x_train);
    free(data->y_train);
    free(data->x_test);
    free(data->y_test);
    free(data);
}

static void refill(void *refilled, uint64_t from, uint64_t to) {
    signs_t flips;
    signs_between(from, to, &flips);
    linreg_data_t *data = refilled;
    signs_flip_floats(data->x_train, data->n_train, &flips);
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data, .refill = refill};

static linreg_data_t shape_of(const case_t *spec, uint64_t seed) {
    return (linreg_data_t){.points = (size_t)case_param_int(spec, "points", 1), .seed = seed};
}

status_t linreg_data_room(const case_t *spec, uint64_t seed, double more_bytes, error_t *err) {
    const linreg_data_t shape = shape_of(spec, seed);
    if (shared_data_find(&open_data, &shape) == NULL)
        more_bytes += 2.0 * sizeof(float) * (double)shape.points;
    return host_room(more_bytes, err);
}

const linreg_data_t *linreg_data_take(const case_t *spec, uint64_t seed) {
    const linreg_data_t shape = shape_of(spec, seed);
    return shared_data_take(&open_data, &shape);
}

void linreg_data_refill(const linreg_data_t *data, uint64_t seed) {
    shared_data_refill(&open_data, data, seed);
}

void linreg_data_release(const linreg_data_t *data) {
    shared_data_release(&open_data, data);
}

/* ==== description ============================================================================= */

static const param_spec_t PARAMS[] = {
    {"points", VALUE_INT, 1, 2147483647, "5000000",
     .summary = "points in the data set, four fifths for training", .always_in_id = true},
    {"epochs", VALUE_INT, 1, 100000, "200", .summary = "passes over the training points"},
    {"rate", VALUE_REAL, 1e-9, 1, "0.01", .summary = "learning rate"},
};

static size_t points_of(const case_t *spec) {
    return (size_t)case_param_int(spec, "points", 1);
}

static size_t epoch_count(const case_t *spec) {
    return (size_t)case_param_int(spec, "epochs", 1);
}

/* An implementation that visits every point in every epoch must read them at least once and can
 * then keep on the chip what fits. Operations per point and epoch: 3 for the error w·x + b − y, 3
 * for its sums for both gradients, and 2 for the sum of its squares where the loss is recorded.
 * (Five sums over the data would suffice for all epochs: rungs that use them are marked algorithmic
 * and not compared with this limit.) */
static workload_cost_t cost(const case_t *spec) {
    const double n_train = (double)linreg_n_train(points_of(spec));
    const size_t epochs = epoch_count(spec);
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
    const size_t points = points_of(spec), epochs = epoch_count(spec);
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
    .size_label = "points in the data set",
    .size_after = " points",
    .reference_size = 5000000,
    .bounded_by = BOUNDED_BY_PASSES,
    .has_loss = true,
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
