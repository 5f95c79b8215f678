/* The kernel of mlp_infer and its arguments. */
#include "workloads/mlp_infer/cuda.h"

status_t mlp_cuda_launch_part(mlp_cuda_t *s, size_t first, size_t count, error_t *err) {
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

status_t mlp_cuda_launch(gpu_sample_t *sample, error_t *err) {
    mlp_cuda_t *s = (mlp_cuda_t *)sample;
    return mlp_cuda_launch_part(s, 0, s->data->batch, err);
}
