/* mlp_train on a GPU: what lies in its memory for the whole case. */
#include "base/memory.h"
#include "workloads/mlp_train/cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

/* Images that are turned into floats at once: 31 MB. */
enum { ALIGNMENT = 256, STAGED_IMAGES = 10000, SUMS = 2 };

static const size_t IMAGE_BYTES = MNIST_PIXELS * sizeof(float);

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
    const double images =
        (double)(MNIST_IMAGES + MNIST_TEST_IMAGES) * (double)(IMAGE_BYTES + sizeof(uint8_t));
    const double orders = 2.0 * MNIST_IMAGES * sizeof(uint32_t);
    const double passes =
        fmax(mlpt_step_bytes(shape, mlpt_rows(shape, 0)), mlpt_validation_bytes(shape));
    return images + orders + 2 * (double)parameter_bytes(shape) + passes;
}

static status_t place_set(mlpt_cuda_t *s, const uint8_t *pixels, const uint8_t *labels, size_t n,
                          float *staging, mlpt_images_t *set, error_t *err) {
    CUDA(alloc(&set->images, n * IMAGE_BYTES));
    CUDA(alloc(&set->labels, n));
    for (size_t first = 0; first < n; first += STAGED_IMAGES) {
        const size_t count = n - first < STAGED_IMAGES ? n - first : STAGED_IMAGES;
        const uint8_t *from = pixels + first * MNIST_PIXELS;
#pragma omp parallel for
        for (size_t i = 0; i < count * MNIST_PIXELS; i++)
            staging[i] = s->data->x[from[i]];
        CUDA(copy_in_async(set->images + first * IMAGE_BYTES, staging, count * IMAGE_BYTES,
                           s->gpu->stream));
        TRY(gpu_sync(s->gpu, err));
    }
    CUDA(copy_in_async(set->labels, labels, n, s->gpu->stream));
    return gpu_sync(s->gpu, err);
}

static status_t place_images(mlpt_cuda_t *s, error_t *err) {
    const dataset_t *set = s->data->images;
    float *staging = mem_alloc(STAGED_IMAGES * IMAGE_BYTES);
    status_t status = place_set(s, set->train_images, set->train_labels, MNIST_IMAGES, staging,
                                &s->loop.train, err);
    if (status == STATUS_OK)
        status = place_set(s, set->test_images, set->test_labels, MNIST_TEST_IMAGES, staging,
                           &s->loop.test, err);
    free(staging);
    return status;
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

static status_t place_pinned(mlpt_cuda_t *s, error_t *err) {
    void *order, *losses, *sums;
    CUDA(host_alloc(&order, MNIST_IMAGES * sizeof *s->host_order, CU_HOST_ALLOC_PORTABLE));
    s->host_order = order;
    CUDA(host_alloc(&losses, s->shape.steps * sizeof *s->host_losses, CU_HOST_ALLOC_PORTABLE));
    s->host_losses = losses;
    CUDA(host_alloc(&sums, SUMS * sizeof *s->host_sums, CU_HOST_ALLOC_PORTABLE));
    s->host_sums = sums;
    return STATUS_OK;
}

status_t mlpt_cuda_place(mlpt_cuda_t *s, error_t *err) {
    const mlpt_shape_t *shape = &s->shape;
    TRY(place_images(s, err));
    TRY(place_parameters(s, err));
    TRY(place_pinned(s, err));
    CUDA(alloc(&s->order, MNIST_IMAGES * sizeof(uint32_t)));
    CUDA(alloc(&s->losses, shape->steps * sizeof(float)));
    CUDA(alloc(&s->sums, SUMS * sizeof(float)));
    if (s->program.plan.graph) {
        CUDA(alloc(&s->window_order, MNIST_IMAGES * sizeof(uint32_t)));
        CUDA(alloc(&s->window_losses, MLPT_GRAPH_STEPS * sizeof(float)));
    }
    return STATUS_OK;
}

void mlpt_cuda_release(mlpt_cuda_t *s) {
    error_t ignored = ERROR_INIT;
    const cu_pointer_t device[] = {s->loop.train.images,
                                   s->loop.train.labels,
                                   s->loop.test.images,
                                   s->loop.test.labels,
                                   s->parameters,
                                   s->start,
                                   s->order,
                                   s->losses,
                                   s->sums,
                                   s->window_order,
                                   s->window_losses};
    void *const pinned[] = {s->host_order, s->host_losses, s->host_sums};
    allocator_close(s->allocator);
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        if (device[i] != 0)
            gpu_free(s->gpu, device[i], &ignored);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
        if (pinned[i] != NULL)
            s->gpu->api.host_free(pinned[i]);
}
