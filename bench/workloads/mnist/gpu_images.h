/* The images on a GPU, for a whole case: as halves where the case's dtype is f16, else as floats.
 */
#ifndef BENCH_WORKLOADS_MNIST_GPU_IMAGES_H
#define BENCH_WORKLOADS_MNIST_GPU_IMAGES_H

#include "workloads/common/gpu_memory.h"
#include "workloads/mnist/data.h"

typedef struct mnist_gpu_images {
    cu_pointer_t images; /* (n, 784) */
    cu_pointer_t labels; /* one byte each */
} mnist_gpu_images_t;

/* Put the images of the training there, or those of the test, and wait until they are. */
status_t mnist_gpu_images_place(gpu_memory_t *memory, gpu_t *gpu, const mnist_data_t *data,
                                bool test, mnist_gpu_images_t *set, error_t *err);
/* Of both sets. */
double mnist_gpu_images_bytes(bool f16);

#endif
