/* mlp_infer on a GPU: its arrays and its launch. */
#include "base/half.h"
#include "base/memory.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/mlp_infer/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== a launch ================================================================================ */

enum { MLP_MAX_ARGUMENT_WEIGHTS = 960 }; /* as in kernels/mlp_infer/mlp_infer.cuh */

typedef struct mlp_overlap {
    cu_stream_t in, out; /* copies; kernels are in gpu->stream */
    cu_event_t done;     /* of the latest step, for the stream that waits for it */
} mlp_overlap_t;

/* x, y, then unless the weights are an argument W_1 … W_L, b_1 … b_L: struct mlp_pointers. */
enum { MLP_X, MLP_Y, MLP_WEIGHTS, MLP_ARRAYS = MLP_WEIGHTS + 2 * MLP_MAX_LAYERS };

typedef struct mlp_cuda {
    gpu_sample_t sample; /* first, as gpu_sample.h asks */
    gpu_array_t arrays[MLP_ARRAYS];
    const mlp_data_t *data;
    gpu_kernel_t kernel;
    mlp_overlap_t overlap; /* copy=overlapped */
    float weights[MLP_MAX_ARGUMENT_WEIGHTS];
} mlp_cuda_t;

/* The kernel of mlp_infer and its arguments. */

static status_t mlp_cuda_launch_part(mlp_cuda_t *s, size_t first, size_t count, error_t *err) {
    const gpu_array_t *in = &s->arrays[MLP_X], *out = &s->arrays[MLP_Y];
    const size_t batch = s->data->batch;
    cu_pointer_t x = in->current + first * (in->bytes / batch);
    cu_pointer_t y = out->current + first * (out->bytes / batch);
    cu_pointer_t pointers[2 * MLP_MAX_LAYERS];
    for (size_t i = MLP_WEIGHTS; i < s->sample.n_arrays; i++)
        pointers[i - MLP_WEIGHTS] = s->arrays[i].current;
    unsigned n = (unsigned)count;
    void *arguments[] = {&x, pointers, &y, &n, s->weights};
    return gpu_kernel_launch(s->sample.gpu, &s->kernel, count, arguments, err);
}

/* launch.c: over the batch, or over `count` samples from number `first`. */
static status_t mlp_cuda_launch(gpu_sample_t *sample, error_t *err) {
    mlp_cuda_t *s = (mlp_cuda_t *)sample;
    return mlp_cuda_launch_part(s, 0, s->data->batch, err);
}

/* ==== copy=overlapped ========================================================================= */

/* copy=overlapped: the batch goes to the GPU in chunks, and while one is copied in, the one before it
 * is computed and the one before that copied out. A bus carries both directions at once, so the
 * larger of the two copies hides the rest but for the ends. */

/* Each chunk costs a few µs of its own, so none is smaller than what takes about that long. */
enum { CHUNKS_MOST = 16, CHUNK_LEAST_BYTES = 1 << 19 };

static size_t x_bytes(const mlp_cuda_t *s) {
    return s->arrays[MLP_X].bytes;
}

static size_t y_bytes(const mlp_cuda_t *s) {
    return s->arrays[MLP_Y].bytes;
}

#define CUDA(call) TRY(cuda_check(&s->sample.gpu->api, s->sample.gpu->api.call, #call, err))

/* copy=overlapped: a sample whose copies run while the kernel computes. */
static status_t mlp_overlap_applies(const mlp_cuda_t *s, error_t *err) {
    return s->kernel.launch.constant_items == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "copy=overlapped launches the kernel for parts of the batch, but this "
                           "one is compiled for all of it");
}

static status_t mlp_overlap_prepare(mlp_cuda_t *s, error_t *err) {
    mlp_overlap_t *overlap = &s->overlap;
    CUDA(stream_create(&overlap->in, CU_STREAM_NON_BLOCKING));
    CUDA(stream_create(&overlap->out, CU_STREAM_NON_BLOCKING));
    CUDA(event_create(&overlap->done, CU_EVENT_NO_TIMING));
    return STATUS_OK;
}

/* Also after a failure: ignores the driver's errors. */
static void mlp_overlap_release(mlp_cuda_t *s) {
    mlp_overlap_t *overlap = &s->overlap;
    if (overlap->done != NULL)
        s->sample.gpu->api.event_destroy(overlap->done);
    if (overlap->out != NULL)
        s->sample.gpu->api.stream_destroy(overlap->out);
    if (overlap->in != NULL)
        s->sample.gpu->api.stream_destroy(overlap->in);
}

/* What the copies cannot hide is one chunk's way out (or in, where the output is larger). So chunks
 * become smaller towards that end, as fast as the smaller copy of one still ends before the larger
 * copy of the next: by the ratio of the two, less a quarter. Sizes are whole blocks of the kernel,
 * which keeps every chunk aligned. `ends[c]` is where chunk c ends; returns the number of chunks. */
static unsigned divide(const mlp_cuda_t *s, size_t ends[CHUNKS_MOST]) {
    const size_t batch = s->data->batch, block = s->kernel.launch.items_per_block;
    const double larger = (double)(x_bytes(s) > y_bytes(s) ? x_bytes(s) : y_bytes(s));
    const double smaller = (double)(x_bytes(s) > y_bytes(s) ? y_bytes(s) : x_bytes(s));
    const double ratio = fmin(fmax(0.75 * larger / smaller, 1.25), 4);
    const bool falling = x_bytes(s) >= y_bytes(s);
    unsigned n = 1;
    double sum = 1; /* 1 + ratio + … : in units of the smallest chunk */
    while (n < CHUNKS_MOST && larger / (sum + pow(ratio, n)) >= CHUNK_LEAST_BYTES)
        sum += pow(ratio, n++);
    double done = 0;
    for (unsigned c = 0; c < n; c++) {
        done += pow(ratio, falling ? n - 1 - c : c) / sum;
        const size_t end = (size_t)(done * (double)batch) / block * block;
        ends[c] = c + 1 < n ? end : batch;
    }
    return n;
}

static status_t follow(mlp_cuda_t *s, cu_stream_t first, cu_stream_t second, error_t *err) {
    CUDA(event_record(s->overlap.done, first));
    CUDA(stream_wait(second, s->overlap.done, 0));
    return STATUS_OK;
}

static status_t submit_chunk(mlp_cuda_t *s, size_t first, size_t count, error_t *err) {
    const size_t x_each = x_bytes(s) / s->data->batch, y_each = y_bytes(s) / s->data->batch;
    const gpu_array_t *x = &s->arrays[MLP_X], *y = &s->arrays[MLP_Y];
    const mlp_overlap_t *overlap = &s->overlap;
    CUDA(copy_in_async(x->current + first * x_each, (const char *)x->from + first * x_each,
                       count * x_each, overlap->in));
    TRY(follow(s, overlap->in, s->sample.gpu->stream, err));
    TRY(mlp_cuda_launch_part(s, first, count, err));
    TRY(follow(s, s->sample.gpu->stream, overlap->out, err));
    CUDA(copy_out_async((char *)y->to + first * y_each, y->current + first * y_each, count * y_each,
                        overlap->out));
    return STATUS_OK;
}

static status_t mlp_overlap_submit(gpu_sample_t *sample, error_t *err) {
    mlp_cuda_t *s = (mlp_cuda_t *)sample;
    size_t ends[CHUNKS_MOST], first = 0;
    const unsigned n = divide(s, ends);
    TRY(follow(s, sample->gpu->stream, s->overlap.in, err));
    if (sample->upload)
        TRY(gpu_sample_copy_weights(sample, false, err));
    for (unsigned c = 0; c < n; c++) {
        if (ends[c] > first)
            TRY(submit_chunk(s, first, ends[c] - first, err));
        first = ends[c];
    }
    return follow(s, s->overlap.out, sample->gpu->stream, err);
}

/* ==== the case ================================================================================ */

static void add_array(mlp_cuda_t *s, const gpu_array_t *array) {
    s->arrays[s->sample.n_arrays++] = *array;
}

static void list_arrays(mlp_cuda_t *s) {
    const mlp_data_t *d = s->data;
    const random_kind_t random = d->f16 ? RANDOM_F16 : RANDOM_F32;
    const size_t bytes = d->f16 ? sizeof *d->x16 : sizeof *d->x, n = d->n_layers;
    s->sample.arrays = s->arrays;
    add_array(s, &(gpu_array_t){.role = ARRAY_INPUT,
                                .name = "x",
                                .bytes = d->batch * d->sizes[0] * bytes,
                                .data = d->f16 ? (void *)d->x16 : (void *)d->x,
                                .random = random});
    add_array(s, &(gpu_array_t){.role = ARRAY_OUTPUT,
                                .bytes = d->batch * d->sizes[n] * bytes,
                                .random = random});
    for (size_t i = 0; i < 2 * n && s->kernel.launch.weights != WEIGHTS_AS_ARGUMENT; i++) {
        const size_t layer = i % n, rows = d->sizes[layer + 1];
        const float *weights = i < n ? d->w[layer] : d->b[layer];
        add_array(s,
                  &(gpu_array_t){.role = ARRAY_WEIGHT,
                                 .name = "weights",
                                 .bytes = (i < n ? rows * d->sizes[layer] : rows) * sizeof(float),
                                 .data = (void *)weights});
    }
}

static void refill_array(gpu_sample_t *sample, size_t i, void *values, const uint64_t seeds[2]) {
    const gpu_array_t *array = &sample->arrays[i];
    signs_t flips;
    signs_between(seeds[0], seeds[1], &flips);
    if (array->random == RANDOM_F16)
        signs_flip_halves(values, array->bytes / sizeof(uint16_t), &flips);
    else
        signs_flip_floats(values, array->bytes / sizeof(float), &flips);
}

static void refill_data(gpu_sample_t *sample, uint64_t seed) {
    mlp_data_refill(((mlp_cuda_t *)sample)->data, seed);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    mlp_cuda_t *s = session->state;
    gpu_sample_t *sample = &s->sample;
    const case_t *spec = request->spec;
    const double device_bytes = workload_mlp_infer.cost(spec).device_bytes;
    gpu_sample_techniques(sample, spec);
    TRY(session_skip(session, mlp_data_room(spec, sample->copy == COPY_PAGEABLE ? 1 : 2, err)));
    /* Before making gigabytes of data. */
    TRY(session_skip(session, gpu_sample_applies(sample, spec, device_bytes, err)));
    sample->launch = mlp_cuda_launch;
    sample->overlap = mlp_overlap_submit;
    sample->refill = refill_array;
    sample->refill_data = refill_data;
    s->data = mlp_data_take(spec, request->seed);
    TRY(gpu_kernel_load(sample->gpu, request->cubin, "mlp_infer", &s->kernel, err));
    session_add_once(session, "module_load", s->kernel.load_ns);
    list_arrays(s);
    if (s->kernel.launch.weights == WEIGHTS_AS_ARGUMENT)
        memcpy(s->weights, s->data->weights, s->data->n_weights * sizeof(float));
    if (sample->copy == COPY_OVERLAPPED) {
        TRY(session_skip(session, mlp_overlap_applies(s, err)));
        TRY(mlp_overlap_prepare(s, err));
    }
    session->resources.occupancy_frac = s->kernel.occupancy_frac;
    session->resources.peak_device_bytes =
        (int64_t)(device_bytes * (gpu_sample_allocates(sample) ? 2 : 1));
    TRY(gpu_sample_prepare(session, err));
    return gpu_sample_add_probes(session, err);
}

static void close_case(session_t *session) {
    mlp_cuda_t *s = session->state;
    if (s->data != NULL) { /* not skipped */
        gpu_sample_free(&s->sample);
        mlp_overlap_release(s);
        gpu_kernel_unload(s->sample.gpu, &s->kernel);
        mlp_data_release(s->data);
    }
    free(s);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(mlp_cuda_t), prepare, err);
}

static status_t write_y(const mlp_cuda_t *s, const void *from, const char *folder,
                        text_list_t *arrays, error_t *err) {
    const size_t rows = s->data->batch, columns = s->data->sizes[s->data->n_layers];
    const size_t n = rows * columns;
    float *widened = s->data->f16 ? mem_zeroed(n, sizeof *widened) : NULL;
    for (size_t i = 0; widened != NULL && i < n; i++)
        widened[i] = half_to_float(((const uint16_t *)from)[i]);
    const output_array_t y = {
        .name = "y", .f32 = widened != NULL ? widened : from, .rows = rows, .columns = columns};
    const status_t status = output_write(&y, folder, arrays, err);
    free(widened);
    return status;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const mlp_cuda_t *s = session->state;
    TRY(gpu_sample_output(session, err));
    return write_y(s, s->arrays[MLP_Y].to, folder, arrays, err);
}

static status_t write_middle(session_t *session, const char *folder, text_list_t *arrays,
                             error_t *err) {
    const mlp_cuda_t *s = session->state;
    return write_y(s, s->arrays[MLP_Y].middle, folder, arrays, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const mlp_cuda_t *s = session->state;
    TRY(write_y(s, s->arrays[MLP_Y].last, folder, arrays, err));
    return gpu_sample_write_middle(session, write_middle, folder, err);
}

const session_ops_t mlp_infer_cuda = {.workload = "mlp_infer",
                                      .open = open_case,
                                      .refill = gpu_sample_refill,
                                      .fill = gpu_sample_fill,
                                      .output = output,
                                      .last = last,
                                      .close = close_case};
