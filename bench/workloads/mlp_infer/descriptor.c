#include "workloads/common/workload.h"

#include <string.h>

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
