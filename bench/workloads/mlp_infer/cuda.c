/* mlp_infer on a GPU: opens and closes a case, and writes its output. */
#include "workloads/mlp_infer/cuda.h"

#include "base/clock.h"
#include "base/half.h"
#include "base/memory.h"
#include "workloads/common/descriptors.h"
#include "workloads/common/gpu_memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/sessions.h"

#include <stdlib.h>
#include <string.h>

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

static bool is(const case_t *spec, const char *technique, const char *choice) {
    const char *chosen = case_technique(spec, technique);
    return chosen != NULL && strcmp(chosen, choice) == 0;
}

/* Can this machine run this combination of techniques? */
static status_t check_applies(const case_t *spec, const mlp_cuda_t *s, error_t *err) {
    double need = workload_mlp_infer.cost(spec).device_bytes;
    /* Twice: the fixed buffers and those of a sample. */
    TRY(gpu_room(s->gpu, s->copy == COPY_MAPPED ? 0 : 2 * need, err));
    if (is(spec, "launch", "graph") && s->alloc != ALLOC_ARENA)
        return error_set(err, STATUS_FAILED,
                         "launch=graph replays fixed addresses: needs alloc=arena");
    if (is(spec, "launch", "graph") && s->copy == COPY_PAGEABLE)
        return error_set(err, STATUS_FAILED,
                         "launch=graph copies without a call: needs copy=pinned, mapped or "
                         "overlapped");
    if (s->poll && s->copy != COPY_MAPPED)
        return error_set(err, STATUS_FAILED,
                         "wait=poll watches the output in host memory: needs copy=mapped");
    if (s->alloc == ALLOC_ASYNC && !gpu_has_pool(s->gpu))
        return error_set(err, STATUS_FAILED, "this driver has no cuMemAllocAsync");
    return STATUS_OK;
}

static status_t make_host_side(mlp_cuda_t *s, error_t *err) {
    const mlp_data_t *d = s->data;
    size_t element_bytes = d->f16 ? sizeof *d->x16 : sizeof *d->x;
    void *x = d->f16 ? (void *)d->x16 : (void *)d->x;
    s->x_bytes = d->batch * d->sizes[0] * element_bytes;
    s->y_bytes = d->batch * d->sizes[d->n_layers] * element_bytes;
    s->last = mem_alloc(s->y_bytes);
    if (s->copy == COPY_PAGEABLE) {
        s->x = x;
        s->y = mem_alloc(s->y_bytes);
        random_fill(s->y, s->y_bytes, mlp_cuda_random(s)); /* touch every page before timing */
        return STATUS_OK;
    }
    unsigned flags = CU_HOST_ALLOC_PORTABLE;
    if (s->copy == COPY_MAPPED)
        flags |= CU_HOST_ALLOC_DEVICEMAP;
    CUDA(host_alloc(&s->x, s->x_bytes, flags));
    CUDA(host_alloc(&s->y, s->y_bytes, flags));
    memcpy(s->x, x, s->x_bytes);
    random_fill(s->y, s->y_bytes, mlp_cuda_random(s));
    return STATUS_OK;
}

/* For the probes that only launch the kernel. */
static status_t copy_x_to_fixed(mlp_cuda_t *s, error_t *err) {
    CUDA(copy_in_async(s->fixed.x, s->x, s->x_bytes, s->gpu->stream));
    return gpu_sync(s->gpu, err);
}

static void read_techniques(mlp_cuda_t *s, const case_t *spec) {
    s->alloc = is(spec, "alloc", "arena")   ? ALLOC_ARENA
               : is(spec, "alloc", "async") ? ALLOC_ASYNC
                                            : ALLOC_MALLOC;
    s->copy = is(spec, "copy", "pinned")       ? COPY_PINNED
              : is(spec, "copy", "mapped")     ? COPY_MAPPED
              : is(spec, "copy", "overlapped") ? COPY_OVERLAPPED
                                               : COPY_PAGEABLE;
    s->upload = !is(spec, "weights", "resident");
    s->poll = is(spec, "wait", "poll");
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    mlp_cuda_t *s = session->state;
    const case_t *spec = request->spec;
    TRY(session_skip(session, mlp_data_room(spec, is(spec, "copy", "pageable") ? 1 : 2, err)));
    read_techniques(s, spec);
    TRY(session_skip(session, check_applies(spec, s, err))); /* before making gigabytes of data */
    s->data = mlp_data_take(spec, request->seed);
    TRY(gpu_kernel_load(s->gpu, request->cubin, "mlp_infer", &s->kernel, err));
    session_add_once(session, "module_load", s->kernel.load_ns);
    s->weights_by_value = s->kernel.launch.weights == WEIGHTS_AS_ARGUMENT;
    if (s->weights_by_value)
        memcpy(s->weights, s->data->weights, s->data->n_weights * sizeof(float));
    if (s->copy == COPY_OVERLAPPED) {
        TRY(session_skip(session, mlp_overlap_applies(s, err)));
        TRY(mlp_overlap_prepare(s, err));
    }
    if (s->alloc == ALLOC_ASYNC)
        TRY(gpu_pool_keep(s->gpu, err));
    TRY(make_host_side(s, err));
    TRY(mlp_cuda_allocate(s, &s->fixed, err));
    TRY(mlp_cuda_copy_weights(s, &s->fixed, err));
    TRY(gpu_sync(s->gpu, err));
    if (s->copy != COPY_MAPPED)
        TRY(copy_x_to_fixed(s, err));
    int64_t start_ns = clock_ns();
    TRY(mlp_cuda_sample(s, err));
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    session->resources.occupancy_frac = s->kernel.occupancy_frac;
    session->resources.peak_device_bytes =
        (int64_t)(workload_mlp_infer.cost(&session->spec).device_bytes *
                  (mlp_cuda_allocates(s) ? 2 : 1));
    return mlp_cuda_add_probes(session, err);
}

/* Also after a failure, when the driver may refuse every call: ignores its errors. */
static void release(mlp_cuda_t *s) {
    gpu_graph_free(s->gpu, &s->batch);
    gpu_graph_free(s->gpu, &s->whole);
    mlp_overlap_release(s);
    mlp_cuda_release_all(s);
    if (s->alloc == ALLOC_ASYNC)
        gpu_pool_trim(s->gpu);
    gpu_kernel_unload(s->gpu, &s->kernel);
    free(s->last);
    if (s->copy == COPY_PAGEABLE) {
        free(s->y);
    } else {
        if (s->x != NULL)
            s->gpu->api.host_free(s->x);
        if (s->y != NULL)
            s->gpu->api.host_free(s->y);
    }
    mlp_data_release(s->data);
}

static void close_case(session_t *session) {
    mlp_cuda_t *s = session->state;
    if (s->data != NULL) /* not skipped */
        release(s);
    free(s);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(mlp_cuda_t), prepare, err);
}

static status_t refill(session_t *session, uint64_t seed, error_t *err) {
    mlp_cuda_t *s = session->state;
    if (s->copy == COPY_PAGEABLE) {
        mlp_data_refill(s->data, seed);
    } else if (s->x_seed != seed) {
        signs_t flips;
        signs_between(s->x_seed, seed, &flips);
        if (s->data->f16)
            signs_flip_halves(s->x, s->x_bytes / sizeof(uint16_t), &flips);
        else
            signs_flip_floats(s->x, s->x_bytes / sizeof(float), &flips);
        s->x_seed = seed;
    }
    if (s->copy == COPY_MAPPED || s->fixed_seed == seed)
        return STATUS_OK;
    TRY(copy_x_to_fixed(s, err));
    s->fixed_seed = seed;
    return STATUS_OK;
}

static status_t fill(session_t *session, error_t *err) {
    mlp_cuda_t *s = session->state;
    random_fill(s->y, s->y_bytes, mlp_cuda_random(s));
    if (s->copy != COPY_MAPPED)
        TRY(gpu_random_fill(s->gpu, s->fixed.y, s->y_bytes, mlp_cuda_random(s), err));
    return gpu_sync(s->gpu, err);
}

static status_t write_y(const mlp_cuda_t *s, const void *from, const char *folder,
                        text_list_t *arrays, error_t *err) {
    const size_t rows = s->data->batch, columns = s->data->sizes[s->data->n_layers];
    const size_t n = rows * columns;
    float *widened = s->data->f16 ? mem_zeroed(n, sizeof *widened) : NULL;
    for (size_t i = 0; widened != NULL && i < n; i++)
        widened[i] = half_to_float(((const uint16_t *)from)[i]);
    const output_array_t y = {
        .name = "y", .f32 = widened != NULL ? widened : from, .rows = rows, .columns = columns};
    const status_t status = output_write(&y, folder, arrays, err);
    free(widened);
    return status;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    mlp_cuda_t *s = session->state;
    TRY(fill(session, err));
    s->fill_y = s->copy != COPY_MAPPED && s->alloc != ALLOC_ARENA; /* then not filled yet */
    status_t status = mlp_cuda_sample(s, err);
    s->fill_y = false;
    TRY(status);
    return write_y(s, s->y, folder, arrays, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const mlp_cuda_t *s = session->state;
    return write_y(s, s->last, folder, arrays, err);
}

const session_ops_t mlp_infer_cuda = {.workload = "mlp_infer",
                                      .open = open_case,
                                      .refill = refill,
                                      .fill = fill,
                                      .output = output,
                                      .last = last,
                                      .close = close_case};
