/* The images on a GPU while a case is open: f16 if that is the dtype of the case, else float32. */
#ifndef BENCH_WORKLOADS_MNIST_GPU_IMAGES_H
#define BENCH_WORKLOADS_MNIST_GPU_IMAGES_H

#include "workloads/common/gpu_memory.h"
#include "workloads/mnist/data.h"

typedef struct mnist_gpu_images {
    cu_pointer_t images; /* (n, 784) */
    cu_pointer_t labels; /* one byte each */
} mnist_gpu_images_t;

/* Copy the training or test images to the GPU and wait. */
status_t mnist_gpu_images_place(gpu_memory_t *memory, gpu_t *gpu, const mnist_data_t *data,
                                bool test, mnist_gpu_images_t *set, error_t *err);
/* For both sets. */
double mnist_gpu_images_bytes(bool f16);

#endif
