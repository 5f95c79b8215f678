#include "workloads/mlp_infer/data.h"

#include "base/clock.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "results/study_csv.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ==== data ==================================================================================== */

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

/* ==== description ============================================================================= */

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

/* ==== on the CPU ============================================================================== */

/* The published study: a 4-5-1 MLP; a cudaMalloc and a pageable copy per array in every sample. */
static const char *const STUDY_SETTINGS[][2] = {{"layers", "4-5-1"},
                                                {"alloc", "malloc"},
                                                {"copy", "pageable"},
                                                {"weights", "upload"},
                                                {"launch", "stream"}};

static const study_t STUDY = {
    .workload = "mlp_infer",
    .size_param = "batch",
    .dtype = "f32",
    .settings = STUDY_SETTINGS,
    .n_settings = sizeof STUDY_SETTINGS / sizeof *STUDY_SETTINGS,
    .sides = {{.file = "mlp_timing_log.csv",
               .engine = "cuda",
               .variant = "01_study",
               .pattern = "01_*",
               .n = 7,
               .columns = {"Batch", "Malloc", "H2D", "Kernel", "D2H", "Free", "Total"},
               .phases = {NULL, "malloc", "h2d", "kernel", "d2h", "free", "total"}},
              {.file = "mlp_timing_log_pytorch.csv",
               .engine = "pytorch",
               .variant = "eager",
               .pattern = "eager",
               .n = 6,
               .columns = {"Batch", "Init", "H2D", "Forward", "D2H", "Total"},
               .phases = {NULL, "init", "h2d", "forward", "d2h", "total"}}}};

const workload_t workload_mlp_infer = {
    .name = "mlp_infer",
    .summary = "batched inference of a small multilayer perceptron",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .size_param = "batch",
    .size_noun = "batch size",
    .size_label = "batch, samples",
    .size_before = "batch ",
    .reference_size = 64,
    .study = &STUDY,
    .charts_have_no_prefix = true,
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

/* mlp_infer in C: `ref`, the float64 oracle, written to be obviously right; and `omp`, what a
 * careful C programmer would run: float32, all cores, vectorised across samples. */

/* Samples per tile: a whole number of cache lines and of the widest vectors. */
enum { TILE = 64, VECTOR = 16, PAGE = 4096 / sizeof(float) };

enum { STUDY_IN = 4, STUDY_HIDDEN = 5 };

enum { PHASE_FORWARD, PHASE_TOTAL, PHASE_RESIDUAL, PHASE_HOST_TO_HOST };

typedef struct state {
    const mlp_data_t *data;
    size_t widest;
    double *y64, *scratch64; /* ref */
    double terms;            /* ref: squares of the terms of every output, summed */
    float *y32, *scratch32;  /* omp */
    float *tiles;            /* omp, of each thread: 2 tiles of the widest layer */
} state_t;

static void forward_ref(state_t *s) {
    const mlp_data_t *d = s->data;
    s->terms = 0;
    size_t n_in = d->sizes[0], n_out = d->sizes[d->n_layers];
    double *in = s->scratch64, *out = s->scratch64 + s->widest;
    for (size_t i = 0; i < d->batch; i++) {
        for (size_t k = 0; k < n_in; k++)
            in[k] = d->x[i * n_in + k];
        for (size_t l = 0; l < d->n_layers; l++) {
            size_t width = d->sizes[l];
            double squares = 0;
            for (size_t j = 0; j < d->sizes[l + 1]; j++) {
                double sum = d->b[l][j];
                squares += sum * sum;
                for (size_t k = 0; k < width; k++) {
                    const double term = (double)d->w[l][j * width + k] * in[k];
                    sum += term;
                    squares += term * term;
                }
                out[j] = l + 1 < d->n_layers && sum < 0 ? 0 : sum;
            }
            memcpy(in, out, d->sizes[l + 1] * sizeof *in);
            s->terms += l + 1 == d->n_layers ? squares : 0;
        }
        memcpy(s->y64 + i * n_out, in, n_out * sizeof *in);
    }
}

/* The study's shape: its weights and a sample's units stay in registers. */
WIDEST_VECTORS
static void forward_study(const mlp_data_t *d, size_t n, const float *restrict x,
                          float *restrict y) {
    float w[STUDY_HIDDEN][STUDY_IN], b[STUDY_HIDDEN], v[STUDY_HIDDEN];
    memcpy(w, d->w[0], sizeof w);
    memcpy(b, d->b[0], sizeof b);
    memcpy(v, d->w[1], sizeof v);
    const float b_out = d->b[1][0];
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float *at = x + i * STUDY_IN;
        const float x0 = at[0], x1 = at[1], x2 = at[2], x3 = at[3];
        float sum = b_out;
#pragma GCC unroll 8
        for (int j = 0; j < STUDY_HIDDEN; j++) {
            const float unit = b[j] + w[j][0] * x0 + w[j][1] * x1 + w[j][2] * x2 + w[j][3] * x3;
            sum += v[j] * (0 > unit ? 0 : unit);
        }
        y[i] = sum;
    }
}

static bool is_study(const mlp_data_t *d) {
    return d->n_layers == 2 && d->sizes[0] == STUDY_IN && d->sizes[1] == STUDY_HIDDEN &&
           d->sizes[2] == 1;
}

/* Layer l of one tile: in and out are (units, TILE). */
WIDEST_VECTORS
static void layer_tile(const mlp_data_t *d, size_t l, const float *restrict in,
                       float *restrict out) {
    const float *restrict w = d->w[l], *restrict b = d->b[l];
    const size_t n_in = d->sizes[l], n_out = d->sizes[l + 1];
    const bool relu = l + 1 < d->n_layers;
    for (size_t j = 0; j < n_out; j++)
        for (size_t first = 0; first < TILE; first += VECTOR) {
            float sum[VECTOR]; /* in registers */
            for (size_t t = 0; t < VECTOR; t++)
                sum[t] = b[j];
            for (size_t k = 0; k < n_in; k++) {
#pragma omp simd
                for (size_t t = 0; t < VECTOR; t++)
                    sum[t] += w[j * n_in + k] * in[k * TILE + first + t];
            }
#pragma omp simd
            for (size_t t = 0; t < VECTOR; t++)
                out[j * TILE + first + t] = relu && sum[t] < 0 ? 0 : sum[t];
        }
}

static void forward_tile(const state_t *s, size_t first, float *scratch) {
    const mlp_data_t *d = s->data;
    size_t n_in = d->sizes[0], n_out = d->sizes[d->n_layers];
    size_t n = d->batch - first < TILE ? d->batch - first : TILE;
    float *in = scratch, *out = scratch + s->widest * TILE;
    const float *x = d->x + first * n_in;
    for (size_t k = 0; k < n_in; k++)
        for (size_t t = 0; t < TILE; t++)
            in[k * TILE + t] = t < n ? x[t * n_in + k] : 0;
    for (size_t l = 0; l < d->n_layers; l++) {
        layer_tile(d, l, in, out);
        float *swap = in;
        in = out;
        out = swap;
    }
    float *y = s->y32 + first * n_out;
    for (size_t o = 0; o < n_out; o++)
        for (size_t t = 0; t < n; t++)
            y[t * n_out + o] = in[o * TILE + t];
}

/* Its own pages, and an unused one between: processors read ahead, and threads that write near each
 * other, or near what all read, wait for each other. Two threads then took 1.7 times as long. */
static size_t floats_per_thread(const state_t *s) {
    return (2 * s->widest * TILE / PAGE + 2) * PAGE;
}

static void forward_omp(const state_t *s) {
    const mlp_data_t *d = s->data;
    const size_t batch = d->batch, each = floats_per_thread(s);
    const bool study = is_study(d);
    const size_t part = study ? 16 * TILE : TILE;
    /* For fewer samples, starting threads costs more than the work. */
#pragma omp parallel for schedule(static) if (batch > 16 * TILE)
    for (size_t first = 0; first < batch; first += part)
        if (study)
            forward_study(d, batch - first < part ? batch - first : part, d->x + first * STUDY_IN,
                          s->y32 + first);
        else
            forward_tile(s, first, s->tiles + (size_t)omp_get_thread_num() * each);
}

static void forward(const session_t *session) {
    state_t *s = session->state;
    if (s->y64 != NULL)
        forward_ref(s);
    else
        forward_omp(s);
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    int64_t start_ns = clock_ns();
    int64_t before_ns = clock_ns();
    forward(session);
    int64_t after_ns = clock_ns();
    int64_t end_ns = clock_ns();
    recorder_add_between(recorder, PHASE_FORWARD, (double)(after_ns - before_ns), before_ns,
                         after_ns);
    recorder_add_between(recorder, PHASE_TOTAL, (double)(end_ns - start_ns), start_ns, end_ns);
    recorder_add(recorder, PHASE_RESIDUAL, (double)((end_ns - start_ns) - (after_ns - before_ns)));
    return STATUS_OK;
}

static status_t probe_host_to_host(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    int64_t start_ns = clock_ns();
    forward(session);
    int64_t end_ns = clock_ns();
    recorder_add_between(recorder, PHASE_HOST_TO_HOST, (double)(end_ns - start_ns), start_ns,
                         end_ns);
    return STATUS_OK;
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    bool is_ref;
    TRY(session_is_ref(session, request->spec, &is_ref, err));
    TRY(session_skip(session, mlp_data_room(request->spec, 1, err)));
    state_t *s = mem_zeroed(1, sizeof *s);
    s->data = mlp_data_take(request->spec, request->seed);
    for (size_t l = 0; l <= s->data->n_layers; l++)
        if (s->data->sizes[l] > s->widest)
            s->widest = s->data->sizes[l];
    size_t n = s->data->batch * s->data->sizes[s->data->n_layers];
    if (is_ref) {
        s->y64 = mem_zeroed(n, sizeof *s->y64);
        s->scratch64 = mem_zeroed(2 * s->widest, sizeof *s->scratch64);
    } else {
        s->y32 = mem_zeroed(n, sizeof *s->y32);
        const size_t threads = (size_t)omp_get_max_threads();
        s->scratch32 = mem_zeroed(threads * floats_per_thread(s) + 2 * PAGE, sizeof *s->scratch32);
        const size_t past_a_page = (uintptr_t)s->scratch32 / sizeof *s->tiles % PAGE;
        s->tiles = s->scratch32 + 2 * PAGE - past_a_page;
    }
    session->state = s;
    session_add_phases(session, CLOCK_HOST, NAMES("forward", "total", "residual", "host_to_host"));
    session_add_probe(session, "phases", probe_phases);
    session_add_probe(session, "host_to_host", probe_host_to_host);
    int64_t start_ns = clock_ns();
    forward(session);
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

static status_t refill_cpu(session_t *session, uint64_t seed, error_t *err) {
    (void)err;
    mlp_data_refill(((const state_t *)session->state)->data, seed);
    return STATUS_OK;
}

static status_t fill_cpu(session_t *session, error_t *err) {
    (void)err;
    const state_t *s = session->state;
    const size_t n = s->data->batch * s->data->sizes[s->data->n_layers];
    if (s->y64 != NULL)
        random_fill(s->y64, n * sizeof *s->y64, RANDOM_F64);
    else
        random_fill(s->y32, n * sizeof *s->y32, RANDOM_F32);
    return STATUS_OK;
}

/* A sum of terms of either sign can be nearly zero, with one output in a thousand seeds. */
static status_t write_scale(const state_t *s, const char *folder, error_t *err) {
    const size_t n = s->data->batch * s->data->sizes[s->data->n_layers];
    return output_write_scale("y", sqrt(s->terms / (double)n), folder, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const state_t *s = session->state;
    if (s->y64 != NULL)
        TRY(write_scale(s, folder, err));
    const output_array_t y = {.name = "y",
                              .f32 = s->y32,
                              .f64 = s->y64,
                              .rows = s->data->batch,
                              .columns = s->data->sizes[s->data->n_layers]};
    return output_write(&y, folder, arrays, err);
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    TRY(fill_cpu(session, err));
    forward(session);
    return last(session, folder, arrays, err);
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    mlp_data_release(s->data);
    free(s->y64);
    free(s->scratch64);
    free(s->y32);
    free(s->scratch32);
    free(s);
}

const session_ops_t mlp_infer_cpu = {.workload = "mlp_infer",
                                     .open = open_case,
                                     .refill = refill_cpu,
                                     .fill = fill_cpu,
                                     .output = output,
                                     .last = last,
                                     .close = close_case};
