/* Device memory of a sample, and its copies and launches one by one. */
#include "workloads/mlp_infer/cuda.h"

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

static size_t array_bytes(const mlp_cuda_t *s, size_t array) {
    const mlp_data_t *d = s->data;
    size_t layer = array % d->n_layers;
    size_t rows = d->sizes[layer + 1];
    return (array < d->n_layers ? rows * d->sizes[layer] : rows) * sizeof(float);
}

static const float *array_data(const mlp_cuda_t *s, size_t array) {
    size_t n = s->data->n_layers;
    return array < n ? s->data->w[array] : s->data->b[array - n];
}

static size_t n_arrays(const mlp_cuda_t *s) {
    return s->weights_by_value ? 0 : 2 * s->data->n_layers;
}

bool mlp_cuda_allocates(const mlp_cuda_t *s) {
    bool weights = n_arrays(s) > 0 && s->upload;
    return s->alloc != ALLOC_ARENA && (s->copy != COPY_MAPPED || weights);
}

bool mlp_cuda_copies_in(const mlp_cuda_t *s) {
    return s->copy != COPY_MAPPED || (n_arrays(s) > 0 && s->upload);
}

bool mlp_cuda_copies_out(const mlp_cuda_t *s) {
    return s->copy != COPY_MAPPED;
}

static status_t take(mlp_cuda_t *s, bool fixed, size_t bytes, cu_pointer_t *pointer, error_t *err) {
    if (!fixed && s->alloc == ALLOC_ASYNC)
        CUDA(alloc_async(pointer, bytes, s->gpu->stream));
    else
        CUDA(alloc(pointer, bytes));
    return STATUS_OK;
}

/* A sample allocates what it does not take from `fixed`. */
status_t mlp_cuda_allocate(mlp_cuda_t *s, mlp_buffers_t *buffers, error_t *err) {
    bool fixed = buffers == &s->fixed;
    if (!fixed)
        *buffers = s->fixed;
    if (!fixed && s->alloc == ALLOC_ARENA)
        return STATUS_OK;
    if (s->copy == COPY_MAPPED) {
        CUDA(host_device_pointer(&buffers->x, s->x, 0));
        CUDA(host_device_pointer(&buffers->y, s->y, 0));
    } else {
        TRY(take(s, fixed, s->x_bytes, &buffers->x, err));
        TRY(take(s, fixed, s->y_bytes, &buffers->y, err));
    }
    if (fixed || s->upload)
        for (size_t i = 0; i < n_arrays(s); i++)
            TRY(take(s, fixed, array_bytes(s, i), &buffers->wb[i], err));
    return STATUS_OK;
}

static status_t drop(mlp_cuda_t *s, cu_pointer_t *pointer, error_t *err) {
    if (s->alloc == ALLOC_ASYNC)
        CUDA(release_async(*pointer, s->gpu->stream));
    else
        CUDA(release(*pointer));
    *pointer = 0;
    return STATUS_OK;
}

status_t mlp_cuda_release(mlp_cuda_t *s, error_t *err) {
    if (s->alloc == ALLOC_ARENA)
        return STATUS_OK;
    if (s->copy != COPY_MAPPED) {
        TRY(drop(s, &s->current.x, err));
        TRY(drop(s, &s->current.y, err));
    }
    for (size_t i = 0; s->upload && i < n_arrays(s); i++)
        TRY(drop(s, &s->current.wb[i], err));
    return STATUS_OK;
}

static void release_both(mlp_cuda_t *s, cu_pointer_t current, cu_pointer_t fixed) {
    if (current != 0 && current != fixed)
        s->gpu->api.release(current);
    if (fixed != 0)
        s->gpu->api.release(fixed);
}

/* Also after a failure halfway, when the driver may refuse every call: ignores its errors. */
void mlp_cuda_release_all(mlp_cuda_t *s) {
    for (size_t i = 0; i < n_arrays(s); i++)
        release_both(s, s->current.wb[i], s->fixed.wb[i]);
    if (s->copy != COPY_MAPPED) {
        release_both(s, s->current.x, s->fixed.x);
        release_both(s, s->current.y, s->fixed.y);
    }
    s->current = s->fixed = (mlp_buffers_t){0};
}

status_t mlp_cuda_copy_weights(mlp_cuda_t *s, mlp_buffers_t *buffers, error_t *err) {
    for (size_t i = 0; i < n_arrays(s); i++)
        CUDA(copy_in_async(buffers->wb[i], array_data(s, i), array_bytes(s, i), s->gpu->stream));
    return STATUS_OK;
}

status_t mlp_cuda_copy_in(mlp_cuda_t *s, error_t *err) {
    if (s->copy != COPY_MAPPED)
        CUDA(copy_in_async(s->current.x, s->x, s->x_bytes, s->gpu->stream));
    return s->upload ? mlp_cuda_copy_weights(s, &s->current, err) : STATUS_OK;
}

status_t mlp_cuda_launch_part(mlp_cuda_t *s, size_t first, size_t count, error_t *err) {
    const size_t batch = s->data->batch;
    cu_pointer_t x = s->current.x + first * (s->x_bytes / batch);
    cu_pointer_t y = s->current.y + first * (s->y_bytes / batch);
    unsigned n = (unsigned)count;
    void *arguments[] = {&x, s->current.wb, &y, &n, s->weights};
    return gpu_kernel_launch(s->gpu, &s->kernel, count, arguments, err);
}

status_t mlp_cuda_launch(mlp_cuda_t *s, error_t *err) {
    return mlp_cuda_launch_part(s, 0, s->data->batch, err);
}

status_t mlp_cuda_copy_out(mlp_cuda_t *s, error_t *err) {
    if (s->copy != COPY_MAPPED)
        CUDA(copy_out_async(s->y, s->current.y, s->y_bytes, s->gpu->stream));
    return STATUS_OK;
}
