/* A sample of mlp_infer on a GPU from host memory to host memory: what is submitted, and the wait. */
#include "base/clock.h"
#include "workloads/common/gpu_memory.h"
#include "workloads/mlp_infer/cuda.h"

#include <string.h>

enum { POLL_MOST_NS = 1000000000 };

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

random_kind_t mlp_cuda_random(const mlp_cuda_t *s) {
    return s->data->f16 ? RANDOM_F16 : RANDOM_F32;
}

void mlp_cuda_keep(mlp_cuda_t *s) {
    memcpy(s->last, s->y, s->y_bytes);
}

static void fill_with_nans(mlp_cuda_t *s) {
    s->nans = random_fill(s->y, s->y_bytes, s->data->f16 ? RANDOM_NAN_F16 : RANDOM_NAN_F32);
}

/* Does every element differ from the NaN that was written there? */
static bool output_complete(const mlp_cuda_t *s) {
    if (s->data->f16) {
        const volatile uint16_t *y = s->y;
        const uint16_t *nans = s->nans;
        for (size_t i = 0; i < s->y_bytes / sizeof *y; i++)
            if (y[i] == nans[i % RANDOM_TILE])
                return false;
    } else {
        const volatile uint32_t *y = s->y;
        const uint32_t *nans = s->nans;
        for (size_t i = 0; i < s->y_bytes / sizeof *y; i++)
            if (y[i] == nans[i % RANDOM_TILE])
                return false;
    }
    return true;
}

/* Checks every element, so the device may write them in any order. */
static status_t wait_for_output(mlp_cuda_t *s, error_t *err) {
    if (!s->poll)
        return gpu_sync(s->gpu, err);
    int64_t start_ns = clock_ns();
    for (unsigned turn = 1; !output_complete(s); turn++)
        if (turn % 1024 == 0 && clock_ns() - start_ns > POLL_MOST_NS) {
            TRY(gpu_sync(s->gpu, err)); /* reports the cause, if the device knows it */
            return output_complete(s) ? STATUS_OK
                                      : error_set(err, STATUS_FAILED,
                                                  "the kernel ended without writing every output");
        }
    return STATUS_OK;
}

status_t mlp_cuda_submit(mlp_cuda_t *s, error_t *err) {
    if (s->fill_y)
        TRY(gpu_random_fill(s->gpu, s->current.y, s->y_bytes, mlp_cuda_random(s), err));
    if (s->copy == COPY_OVERLAPPED)
        return mlp_overlap_submit(s, err);
    TRY(mlp_cuda_copy_in(s, err));
    TRY(mlp_cuda_launch(s, err));
    return mlp_cuda_copy_out(s, err);
}

status_t mlp_cuda_sample(mlp_cuda_t *s, error_t *err) {
    if (s->poll)
        fill_with_nans(s);
    if (s->whole != NULL) {
        CUDA(graph_launch(s->whole, s->gpu->stream));
        return wait_for_output(s, err);
    }
    TRY(mlp_cuda_allocate(s, &s->current, err));
    TRY(mlp_cuda_submit(s, err));
    TRY(wait_for_output(s, err));
    return mlp_cuda_release(s, err);
}
