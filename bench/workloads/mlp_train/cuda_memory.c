/* mlp_train on a GPU: what lies in its memory for the whole case. */
#include "workloads/mlp_train/cuda.h"

#include <math.h>

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

enum { ALIGNMENT = 256, SUMS = 2 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t parameter_bytes(const mlpt_shape_t *shape) {
    size_t bytes = 0;
    for (size_t l = 0; l < shape->layers; l++)
        bytes += aligned(shape->sizes[l] * shape->sizes[l + 1] * sizeof(float)) +
                 aligned(shape->sizes[l + 1] * sizeof(float));
    return bytes;
}

double mlpt_cuda_bytes(const mlpt_shape_t *shape) {
    const double orders = 2.0 * MNIST_IMAGES * sizeof(uint32_t);
    const double passes =
        fmax(mlpt_step_bytes(shape, mlpt_rows(shape, 0)), mlpt_validation_bytes(shape));
    return mnist_gpu_images_bytes(false) + orders + 2 * (double)parameter_bytes(shape) + passes;
}

static status_t place_parameters(mlpt_cuda_t *s, error_t *err) {
    const mlpt_shape_t *shape = &s->shape;
    s->parameter_bytes = parameter_bytes(shape);
    CUDA(alloc(&s->parameters, s->parameter_bytes));
    CUDA(alloc(&s->start, s->parameter_bytes));
    size_t at = 0;
    for (size_t l = 0; l < shape->layers; l++) {
        const size_t w_bytes = shape->sizes[l] * shape->sizes[l + 1] * sizeof(float);
        const size_t b_bytes = shape->sizes[l + 1] * sizeof(float);
        s->loop.w[l] = s->parameters + at;
        CUDA(copy_in_async(s->start + at, s->data->w[l], w_bytes, s->gpu->stream));
        at += aligned(w_bytes);
        s->loop.b[l] = s->parameters + at;
        CUDA(copy_in_async(s->start + at, s->data->b[l], b_bytes, s->gpu->stream));
        at += aligned(b_bytes);
    }
    return gpu_sync(s->gpu, err);
}

status_t mlpt_cuda_place(mlpt_cuda_t *s, error_t *err) {
    gpu_memory_t *memory = &s->memory;
    gpu_t *gpu = s->gpu;
    const size_t order_bytes = MNIST_IMAGES * sizeof *s->host_order;
    const size_t loss_bytes = s->shape.steps * sizeof *s->host_losses;
    const size_t sum_bytes = SUMS * sizeof *s->host_sums;
    TRY(mnist_gpu_images_place(memory, gpu, s->data, false, &s->loop.train, err));
    TRY(mnist_gpu_images_place(memory, gpu, s->data, true, &s->loop.test, err));
    TRY(place_parameters(s, err));
    TRY(gpu_memory_pinned(memory, gpu, order_bytes, &s->host_order, err));
    TRY(gpu_memory_pinned(memory, gpu, loss_bytes, &s->host_losses, err));
    TRY(gpu_memory_pinned(memory, gpu, sum_bytes, &s->host_sums, err));
    TRY(gpu_memory_device(memory, gpu, order_bytes, &s->order, err));
    TRY(gpu_memory_device(memory, gpu, loss_bytes, &s->losses, err));
    TRY(gpu_memory_device(memory, gpu, sum_bytes, &s->sums, err));
    if (!s->program.plan.graph)
        return STATUS_OK;
    TRY(gpu_memory_device(memory, gpu, order_bytes, &s->window_order, err));
    return gpu_memory_device(memory, gpu, MLPT_GRAPH_STEPS * sizeof(float), &s->window_losses, err);
}
