/* copy=overlapped: the arrays that are cut go to the GPU in chunks of rows, and while one is copied in, the one before it
 * is computed and the one before that copied out. A bus carries both directions at once, so the larger of the two copies
 * hides the rest but for the ends. */
#include "workloads/common/gpu_sample.h"

#include <math.h>

/* Each chunk costs a few µs of its own, so none is smaller than what takes about that long. */
enum { CHUNK_LEAST_BYTES = 1 << 19 };

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

status_t gpu_overlap_prepare(gpu_sample_t *s, error_t *err) {
    gpu_overlap_t *overlap = &s->overlap;
    CUDA(stream_create(&overlap->in, CU_STREAM_NON_BLOCKING));
    CUDA(stream_create(&overlap->out, CU_STREAM_NON_BLOCKING));
    CUDA(event_create(&overlap->done, CU_EVENT_NO_TIMING));
    return STATUS_OK;
}

void gpu_overlap_release(gpu_sample_t *s) {
    gpu_overlap_t *overlap = &s->overlap;
    if (overlap->done != NULL)
        s->gpu->api.event_destroy(overlap->done);
    if (overlap->out != NULL)
        s->gpu->api.stream_destroy(overlap->out);
    if (overlap->in != NULL)
        s->gpu->api.stream_destroy(overlap->in);
}

static double cut_bytes(const gpu_sample_t *s, bool (*is)(const gpu_array_t *array)) {
    double bytes = 0;
    for (size_t i = 0; i < s->n_arrays; i++)
        bytes += s->arrays[i].is_cut && is(&s->arrays[i]) ? (double)s->arrays[i].bytes : 0;
    return bytes;
}

/* What the copies cannot hide is one chunk's way out (or in, where the output is larger). So chunks
 * become smaller towards that end, as fast as the smaller copy of one still ends before the larger
 * copy of the next: by the ratio of the two, less a quarter. Sizes are multiples of the unit, which
 * keeps every chunk aligned. */
unsigned gpu_overlap_divide(const gpu_sample_t *s, size_t ends[OVERLAP_CHUNKS_MOST]) {
    const size_t rows = s->overlap.rows, unit = s->overlap.unit_rows;
    const double in = cut_bytes(s, array_is_input), out = cut_bytes(s, array_is_output);
    const double larger = fmax(in, out), smaller = fmin(in, out);
    const double ratio = fmin(fmax(0.75 * larger / smaller, 1.25), 4);
    unsigned n = 1;
    double sum = 1; /* 1 + ratio + … : in units of the smallest chunk */
    while (n < OVERLAP_CHUNKS_MOST && larger / (sum + pow(ratio, n)) >= CHUNK_LEAST_BYTES)
        sum += pow(ratio, n++);
    double done = 0;
    unsigned kept = 0; /* one of less than a unit is part of the next */
    for (unsigned c = 0; c < n; c++) {
        done += pow(ratio, in >= out ? n - 1 - c : c) / sum;
        const size_t end = c + 1 < n ? (size_t)(done * (double)rows) / unit * unit : rows;
        if (end > (kept > 0 ? ends[kept - 1] : 0))
            ends[kept++] = end;
    }
    return kept;
}

static status_t follow(gpu_sample_t *s, cu_stream_t first, cu_stream_t second, error_t *err) {
    CUDA(event_record(s->overlap.done, first));
    CUDA(stream_wait(second, s->overlap.done, 0));
    return STATUS_OK;
}

static status_t copy_chunk(gpu_sample_t *s, bool in, size_t first, size_t count, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const gpu_array_t *array = &s->arrays[i];
        const size_t each = array->bytes / s->overlap.rows;
        const cu_pointer_t at = array->current + first * each;
        if (!array->is_cut)
            continue;
        if (in && array_is_input(array))
            CUDA(copy_in_async(at, (const char *)array->from + first * each, count * each,
                               s->overlap.in));
        if (!in && array_is_output(array))
            CUDA(
                copy_out_async((char *)array->to + first * each, at, count * each, s->overlap.out));
    }
    return STATUS_OK;
}

static status_t submit_chunk(gpu_sample_t *s, size_t first, size_t count, error_t *err) {
    TRY(copy_chunk(s, true, first, count, err));
    TRY(follow(s, s->overlap.in, s->gpu->stream, err));
    TRY(s->overlap.launch(s, first, count, err));
    TRY(follow(s, s->gpu->stream, s->overlap.out, err));
    return copy_chunk(s, false, first, count, err);
}

/* Inputs that are not cut, before the first chunk. */
static status_t copy_whole(gpu_sample_t *s, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const gpu_array_t *array = &s->arrays[i];
        if (array_is_input(array) && !array->is_cut)
            CUDA(copy_in_async(array->current, array->from, array->bytes, s->gpu->stream));
    }
    return s->upload ? gpu_sample_copy_weights(s, false, err) : STATUS_OK;
}

status_t gpu_overlap_submit(gpu_sample_t *s, error_t *err) {
    size_t ends[OVERLAP_CHUNKS_MOST], first = 0;
    const unsigned n = gpu_overlap_divide(s, ends);
    TRY(follow(s, s->gpu->stream, s->overlap.in, err));
    TRY(copy_whole(s, err));
    for (unsigned c = 0; c < n; c++) {
        TRY(submit_chunk(s, first, ends[c] - first, err));
        first = ends[c];
    }
    return follow(s, s->overlap.out, s->gpu->stream, err);
}
