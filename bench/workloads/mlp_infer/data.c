#include "workloads/mlp_infer/data.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/rng.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_X = 1, STREAM_W = 16, STREAM_B = 17, CHUNK = 1 << 20 };

static void fill(float *values, size_t n, uint64_t seed, uint32_t stream, float bound) {
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < n; first += CHUNK)
        rng_fill_uniform(values + first, n - first < CHUNK ? n - first : CHUNK,
                         (rng_position_t){seed, stream, first}, -bound, bound);
}

static bool same(const void *data, const void *shape) {
    const mlp_data_t *a = data, *b = shape;
    if (a->batch != b->batch || a->n_layers != b->n_layers || a->seed != b->seed ||
        a->f16 != b->f16)
        return false;
    for (size_t l = 0; l <= a->n_layers; l++)
        if (a->sizes[l] != b->sizes[l])
            return false;
    return true;
}

/* The oracle gets the same rounded values as f16 contenders: only arithmetic is compared. */
static void round_to_f16(mlp_data_t *data) {
    size_t n = data->batch * data->sizes[0];
    data->x16 = mem_zeroed(n, sizeof *data->x16);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        data->x16[i] = half_from_float(data->x[i]);
        data->x[i] = half_to_float(data->x16[i]);
    }
    half_round(data->weights, data->n_weights);
}

static void *make(const void *shape) {
    mlp_data_t *data = mem_zeroed(1, sizeof *data);
    *data = *(const mlp_data_t *)shape;
    for (size_t l = 0; l < data->n_layers; l++)
        data->n_weights += (data->sizes[l] + 1) * data->sizes[l + 1];
    data->x = mem_zeroed(data->batch * data->sizes[0], sizeof *data->x);
    data->weights = mem_zeroed(data->n_weights, sizeof *data->weights);
    fill(data->x, data->batch * data->sizes[0], data->seed, STREAM_X, 1.0f);
    float *next = data->weights;
    for (size_t l = 0; l < data->n_layers; l++) {
        size_t in = data->sizes[l], out = data->sizes[l + 1];
        /* The range of torch.nn.Linear, so that activations keep their scale. */
        float bound = (float)(1.0 / sqrt((double)in));
        fill(next, in * out, data->seed, STREAM_W + 2 * (uint32_t)l, bound);
        data->w[l] = next;
        next += in * out;
        fill(next, out, data->seed, STREAM_B + 2 * (uint32_t)l, bound);
        data->b[l] = next;
        next += out;
    }
    if (data->f16)
        round_to_f16(data);
    return data;
}

static void free_data(void *dead) {
    mlp_data_t *data = dead;
    free(data->x);
    free(data->x16);
    free(data->weights);
    free(data);
}

static void refill(void *refilled, uint64_t from, uint64_t to) {
    signs_t flips;
    signs_between(from, to, &flips);
    mlp_data_t *data = refilled;
    const size_t n = data->batch * data->sizes[0];
    signs_flip_floats(data->x, n, &flips);
    if (data->f16)
        signs_flip_halves(data->x16, n, &flips);
}

static shared_pool_t open_data = {.same = same, .make = make, .free = free_data, .refill = refill};

status_t mlp_data_room(const case_t *spec, unsigned copies, error_t *err) {
    const value_t *layers = case_param(spec, "layers");
    double n_in = (double)layers->ints[0], n_out = (double)layers->ints[layers->n_ints - 1];
    /* Inputs in float32 and f16; outputs in float64 (the oracle's) or twice in float32. */
    double per_sample = n_in * (sizeof(float) + sizeof(uint16_t)) + n_out * sizeof(double);
    return host_room(copies * (double)case_param_int(spec, "batch", 1) * per_sample, err);
}

const mlp_data_t *mlp_data_take(const case_t *spec, uint64_t seed) {
    const value_t *layers = case_param(spec, "layers");
    mlp_data_t shape = {.batch = (size_t)case_param_int(spec, "batch", 1),
                        .n_layers = layers->n_ints - 1,
                        .seed = seed,
                        .f16 = strcmp(spec->dtype, "f16") == 0};
    for (size_t l = 0; l <= shape.n_layers; l++)
        shape.sizes[l] = (size_t)layers->ints[l];
    return shared_data_take(&open_data, &shape);
}

void mlp_data_refill(const mlp_data_t *data, uint64_t seed) {
    shared_data_refill(&open_data, data, seed);
}

void mlp_data_release(const mlp_data_t *data) {
    shared_data_release(&open_data, data);
}

static const param_spec_t PARAMS[] = {
    {"batch", VALUE_INT, 1, 1 << 28, "64", .summary = "samples per run", .always_in_id = true},
    {"layers", VALUE_INTS, 1, 4096, "[4,5,1]",
     .summary = "sizes of input, hidden layers and output", .min_items = 2, .max_items = 8},
};

static const technique_spec_t TECHNIQUES[] = {
    {"alloc", "source of device memory in each sample (async: a pool that keeps freed memory)",
     NAMES("malloc", "async", "arena")},
    {"copy",
     "type of host memory to copy from and to (overlapped: pinned, in chunks on three streams)",
     NAMES("pageable", "pinned", "mapped", "overlapped")},
    {"weights", "copy weights in each sample, or once", NAMES("upload", "resident")},
    {"launch", "submit work call by call, or as a captured graph", NAMES("stream", "graph")},
    {"wait", "synchronise, or poll the mapped output", NAMES("sync", "poll")},
};

typedef struct shape {
    int64_t batch;
    const int64_t *sizes; /* n_matrices + 1 */
    size_t n_matrices;
    double n_weights;        /* matrices and biases */
    double flops_per_sample; /* a multiply-add counts as two, ReLU as none */
} shape_t;

static shape_t shape_of(const case_t *spec) {
    const value_t *layers = case_param(spec, "layers");
    shape_t shape = {.batch = case_param_int(spec, "batch", 0),
                     .sizes = layers->ints,
                     .n_matrices = layers->n_ints - 1};
    for (size_t l = 0; l < shape.n_matrices; l++) {
        double in = (double)shape.sizes[l], out = (double)shape.sizes[l + 1];
        shape.n_weights += in * out + out;
        shape.flops_per_sample += 2 * in * out + out;
    }
    return shape;
}

static bool is_f16(const case_t *spec) {
    return strcmp(spec->dtype, "f16") == 0;
}

/* Input, output and weights cross memory once; hidden activations can stay in registers. */
static workload_cost_t cost(const case_t *spec) {
    shape_t shape = shape_of(spec);
    double elem_bytes = is_f16(spec) ? 2 : 4;
    double in_and_out = (double)(shape.sizes[0] + shape.sizes[shape.n_matrices]);
    double bytes = ((double)shape.batch * in_and_out + shape.n_weights) * elem_bytes;
    return (workload_cost_t){
        .bytes = bytes,
        .flops = (double)shape.batch * shape.flops_per_sample,
        .working_set_bytes = bytes,
        .device_bytes = bytes,
        .bus_in_bytes = (double)(shape.batch * shape.sizes[0]) * elem_bytes,
        .bus_out_bytes = (double)(shape.batch * shape.sizes[shape.n_matrices]) * elem_bytes};
}

/* A few float32 roundings (6e-8 each), or one rounding of the output to float16 (at most 4.9e-4)
 * after float32 sums, with room for long sums and rounded hidden layers. */
static double tolerance(const case_t *spec) {
    return is_f16(spec) ? 2e-3 : 1e-5;
}

static void constants(const case_t *spec, text_list_t *defines) {
    shape_t shape = shape_of(spec);
    text_list_add_format(defines, "DTYPE_F16=%d", is_f16(spec));
    text_list_add_format(defines, "BATCH=%lld", (long long)shape.batch);
    text_list_add_format(defines, "N_LAYERS=%zu", shape.n_matrices);
    for (size_t l = 0; l <= shape.n_matrices; l++)
        text_list_add_format(defines, "N%zu=%lld", l, (long long)shape.sizes[l]);
    text_list_add_format(defines, "N_IN=%lld", (long long)shape.sizes[0]);
    if (shape.n_matrices == 2) /* kernels for one hidden layer fail to compile for other shapes */
        text_list_add_format(defines, "N_HIDDEN=%lld", (long long)shape.sizes[1]);
    text_list_add_format(defines, "N_OUT=%lld", (long long)shape.sizes[shape.n_matrices]);
    text_list_add_format(defines, "N_WEIGHTS=%.0f", shape.n_weights);
}

const workload_t workload_mlp_infer = {
    .name = "mlp_infer",
    .summary = "batched inference of a small multilayer perceptron",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .size_param = "batch",
    .size_noun = "batch",
    .size_title = "batch, samples",
    .techniques = TECHNIQUES,
    .n_techniques = sizeof TECHNIQUES / sizeof TECHNIQUES[0],
    .host_to_host = "from input in host memory to output in host memory",
    .dtypes = NAMES("f32", "f16"),
    .cpu_variants = NAMES("ref", "omp"),
    .pytorch_variants = NAMES("eager", "inference", "compile", "graph", "compile_graph", "overlap",
                              "compile_overlap", "mapped"),
    .pytorch_polling = NAMES("mapped"),
    .jax_variants = NAMES("jit", "aot", "overlap"),
    .arithmetic = workload_multiplies,
    .cost = cost,
    .tolerance = tolerance,
    .constants = constants,
};
