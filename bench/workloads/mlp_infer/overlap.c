/* copy=overlapped: the batch goes to the GPU in chunks, and while one is copied in, the one before it
 * is computed and the one before that copied out. A bus carries both directions at once, so the
 * larger of the two copies hides the rest but for the ends. */
#include "workloads/mlp_infer/cuda.h"

#include <math.h>
#include <stdlib.h>

/* Each chunk costs a few µs of its own, so none is smaller than what takes about that long. */
enum { CHUNKS_MOST = 16, CHUNK_LEAST_BYTES = 1 << 19 };

static size_t x_bytes(const mlp_cuda_t *s) {
    return s->arrays[MLP_X].bytes;
}

static size_t y_bytes(const mlp_cuda_t *s) {
    return s->arrays[MLP_Y].bytes;
}

#define CUDA(call) TRY(cuda_check(&s->sample.gpu->api, s->sample.gpu->api.call, #call, err))

status_t mlp_overlap_applies(const mlp_cuda_t *s, error_t *err) {
    return s->kernel.launch.constant_items == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "copy=overlapped launches the kernel for parts of the batch, but this "
                           "one is compiled for all of it");
}

status_t mlp_overlap_prepare(mlp_cuda_t *s, error_t *err) {
    mlp_overlap_t *overlap = &s->overlap;
    CUDA(stream_create(&overlap->in, CU_STREAM_NON_BLOCKING));
    CUDA(stream_create(&overlap->out, CU_STREAM_NON_BLOCKING));
    CUDA(event_create(&overlap->done, CU_EVENT_NO_TIMING));
    return STATUS_OK;
}

/* Also after a failure: ignores the driver's errors. */
void mlp_overlap_release(mlp_cuda_t *s) {
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

status_t mlp_overlap_submit(gpu_sample_t *sample, error_t *err) {
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
