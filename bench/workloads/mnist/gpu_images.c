#include "workloads/mnist/gpu_images.h"

#include "base/half.h"
#include "base/memory.h"

#include <stdlib.h>

#define CUDA(call) TRY(cuda_check(&gpu->api, gpu->api.call, #call, err))

/* Images per conversion: 31 MB as floats. */
enum { STAGED_IMAGES = 10000 };

static size_t image_bytes(bool f16) {
    return MNIST_PIXELS * (f16 ? sizeof(uint16_t) : sizeof(float));
}

double mnist_gpu_images_bytes(bool f16) {
    return (double)(MNIST_IMAGES + MNIST_TEST_IMAGES) * (double)(image_bytes(f16) + 1);
}

static void convert(const mnist_data_t *data, const uint8_t *pixels, size_t n, void *to) {
    uint16_t half_of[256], *halves = to;
    float *floats = to;
    for (unsigned pixel = 0; pixel < 256; pixel++)
        half_of[pixel] = half_from_float(data->x[pixel]);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        if (data->f16)
            halves[i] = half_of[pixels[i]];
        else
            floats[i] = data->x[pixels[i]];
}

static status_t copy_images(gpu_t *gpu, const mnist_data_t *data, const uint8_t *pixels, size_t n,
                            cu_pointer_t to, error_t *err) {
    const size_t of_image = image_bytes(data->f16);
    void *staging = mem_alloc(STAGED_IMAGES * of_image);
    status_t status = STATUS_OK;
    for (size_t first = 0; first < n && status == STATUS_OK; first += STAGED_IMAGES) {
        const size_t count = n - first < STAGED_IMAGES ? n - first : STAGED_IMAGES;
        convert(data, pixels + first * MNIST_PIXELS, count * MNIST_PIXELS, staging);
        status = cuda_check(
            &gpu->api,
            gpu->api.copy_in_async(to + first * of_image, staging, count * of_image, gpu->stream),
            "copy_in_async", err);
        if (status == STATUS_OK)
            status = gpu_sync(gpu, err);
    }
    free(staging);
    return status;
}

status_t mnist_gpu_images_place(gpu_memory_t *memory, gpu_t *gpu, const mnist_data_t *data,
                                bool test, mnist_gpu_images_t *set, error_t *err) {
    const dataset_t *from = data->images;
    const size_t n = test ? MNIST_TEST_IMAGES : MNIST_IMAGES;
    TRY(gpu_memory_device(memory, gpu, n * image_bytes(data->f16), &set->images, err));
    TRY(gpu_memory_device(memory, gpu, n, &set->labels, err));
    TRY(copy_images(gpu, data, test ? from->test_images : from->train_images, n, set->images, err));
    CUDA(copy_in_async(set->labels, test ? from->test_labels : from->train_labels, n, gpu->stream));
    return gpu_sync(gpu, err);
}
