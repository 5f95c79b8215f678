/* mlp_infer on a GPU: its arrays and its launch. */
#include "base/half.h"
#include "base/memory.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/mlp_infer/data.h"

#include <stdlib.h>
#include <string.h>

/* ==== a launch ================================================================================ */

enum { MLP_MAX_ARGUMENT_WEIGHTS = 960 }; /* as in kernels/mlp_infer/mlp_infer.cuh */

/* x, y, then unless the weights are an argument W_1 … W_L, b_1 … b_L: struct mlp_pointers. */
enum { MLP_X, MLP_Y, MLP_WEIGHTS, MLP_ARRAYS = MLP_WEIGHTS + 2 * MLP_MAX_LAYERS };

typedef struct mlp_cuda {
    gpu_sample_t sample; /* first, as gpu_sample.h asks */
    gpu_array_t arrays[MLP_ARRAYS];
    const mlp_data_t *data;
    gpu_kernel_t kernel;
    float weights[MLP_MAX_ARGUMENT_WEIGHTS];
} mlp_cuda_t;

/* The kernel of mlp_infer and its arguments. */

static status_t mlp_cuda_launch_part(gpu_sample_t *sample, size_t first, size_t count,
                                     error_t *err) {
    mlp_cuda_t *s = (mlp_cuda_t *)sample;
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

/* launch.c: over the batch, or over `count` samples from number `first`. */
static status_t mlp_cuda_launch(gpu_sample_t *sample, error_t *err) {
    return mlp_cuda_launch_part(sample, 0, ((mlp_cuda_t *)sample)->data->batch, err);
}

static status_t mlp_overlap_applies(const mlp_cuda_t *s, error_t *err) {
    return s->kernel.launch.constant_items == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "copy=overlapped launches the kernel for parts of the batch, but this "
                           "one is compiled for all of it");
}

/* ==== the case ================================================================================ */

static void add_array(mlp_cuda_t *s, const gpu_array_t *array) {
    s->arrays[s->sample.n_arrays++] = *array;
}

static void list_arrays(mlp_cuda_t *s) {
    const mlp_data_t *d = s->data;
    const random_kind_t random = d->f16 ? RANDOM_F16 : RANDOM_F32;
    const size_t bytes = d->f16 ? sizeof *d->x16 : sizeof *d->x, n = d->n_layers;
    s->sample.arrays = s->arrays;
    add_array(s, &(gpu_array_t){.role = ARRAY_INPUT,
                                .name = "x",
                                .bytes = d->batch * d->sizes[0] * bytes,
                                .data = d->f16 ? (void *)d->x16 : (void *)d->x,
                                .random = random,
                                .is_cut = true});
    add_array(s, &(gpu_array_t){.role = ARRAY_OUTPUT,
                                .bytes = d->batch * d->sizes[n] * bytes,
                                .random = random,
                                .is_cut = true});
    for (size_t i = 0; i < 2 * n && s->kernel.launch.weights != WEIGHTS_AS_ARGUMENT; i++) {
        const size_t layer = i % n, rows = d->sizes[layer + 1];
        const float *weights = i < n ? d->w[layer] : d->b[layer];
        add_array(s,
                  &(gpu_array_t){.role = ARRAY_WEIGHT,
                                 .name = "weights",
                                 .bytes = (i < n ? rows * d->sizes[layer] : rows) * sizeof(float),
                                 .data = (void *)weights});
    }
}

static void refill_array(gpu_sample_t *sample, size_t i, void *values, const uint64_t seeds[2]) {
    const gpu_array_t *array = &sample->arrays[i];
    signs_t flips;
    signs_between(seeds[0], seeds[1], &flips);
    if (array->random == RANDOM_F16)
        signs_flip_halves(values, array->bytes / sizeof(uint16_t), &flips);
    else
        signs_flip_floats(values, array->bytes / sizeof(float), &flips);
}

static void refill_data(gpu_sample_t *sample, uint64_t seed) {
    mlp_data_refill(((mlp_cuda_t *)sample)->data, seed);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    mlp_cuda_t *s = session->state;
    gpu_sample_t *sample = &s->sample;
    const case_t *spec = request->spec;
    const double device_bytes = workload_mlp_infer.cost(spec).device_bytes;
    gpu_sample_techniques(sample, spec);
    TRY(session_skip(session, mlp_data_room(spec, sample->copy == COPY_PAGEABLE ? 1 : 2, err)));
    /* Before making gigabytes of data. */
    TRY(session_skip(session, gpu_sample_applies(sample, spec, device_bytes, err)));
    sample->launch = mlp_cuda_launch;
    sample->refill = refill_array;
    sample->refill_data = refill_data;
    s->data = mlp_data_take(spec, request->seed);
    TRY(gpu_kernel_load(sample->gpu, request->cubin, "mlp_infer", &s->kernel, err));
    session_add_once(session, "module_load", s->kernel.load_ns);
    list_arrays(s);
    if (s->kernel.launch.weights == WEIGHTS_AS_ARGUMENT)
        memcpy(s->weights, s->data->weights, s->data->n_weights * sizeof(float));
    if (sample->copy == COPY_OVERLAPPED) {
        TRY(session_skip(session, mlp_overlap_applies(s, err)));
        sample->overlap.launch = mlp_cuda_launch_part;
        sample->overlap.rows = s->data->batch;
        sample->overlap.unit_rows = s->kernel.launch.items_per_block;
        TRY(gpu_overlap_prepare(sample, err));
    }
    session->resources.occupancy_frac = s->kernel.occupancy_frac;
    session->resources.peak_device_bytes =
        (int64_t)(device_bytes * (gpu_sample_allocates(sample) ? 2 : 1));
    TRY(gpu_sample_prepare(session, err));
    return gpu_sample_add_probes(session, err);
}

static void close_case(session_t *session) {
    mlp_cuda_t *s = session->state;
    if (s->data != NULL) { /* not skipped */
        gpu_sample_free(&s->sample);
        gpu_overlap_release(&s->sample);
        gpu_kernel_unload(s->sample.gpu, &s->kernel);
        mlp_data_release(s->data);
    }
    free(s);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(mlp_cuda_t), prepare, err);
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
    const mlp_cuda_t *s = session->state;
    TRY(gpu_sample_output(session, err));
    return write_y(s, s->arrays[MLP_Y].to, folder, arrays, err);
}

static status_t write_middle(session_t *session, const char *folder, text_list_t *arrays,
                             error_t *err) {
    const mlp_cuda_t *s = session->state;
    return write_y(s, s->arrays[MLP_Y].middle, folder, arrays, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    const mlp_cuda_t *s = session->state;
    TRY(write_y(s, s->arrays[MLP_Y].last, folder, arrays, err));
    return gpu_sample_write_middle(session, write_middle, folder, err);
}

const session_ops_t mlp_infer_cuda = {.workload = "mlp_infer",
                                      .open = open_case,
                                      .refill = gpu_sample_refill,
                                      .fill = gpu_sample_fill,
                                      .output = output,
                                      .last = last,
                                      .close = close_case};
