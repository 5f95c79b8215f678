/* An operator on a GPU: opens and closes a case, and writes its outputs. */
#include "workloads/operator/cuda.h"

#include "base/memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/sessions.h"
#include "workloads/operator/operators.h"

#include <stdlib.h>
#include <string.h>

static const random_kind_t RANDOM[ELEMENT_KINDS] = {
    [ELEMENT_F32] = RANDOM_F32,  [ELEMENT_F16] = RANDOM_F16,   [ELEMENT_BF16] = RANDOM_BF16,
    [ELEMENT_F64] = RANDOM_F64,  [ELEMENT_I32] = RANDOM_BYTES, [ELEMENT_I64] = RANDOM_BYTES,
    [ELEMENT_U8] = RANDOM_BYTES, [ELEMENT_BOOL] = RANDOM_BYTES};

/* The workspace is the last array; without one it stays NULL in the kernel. */
static void list_roles(operator_cuda_t *s, size_t workspace_bytes) {
    const operator_description_t *d = s->description;
    for (size_t i = 0; i < d->n_arrays; i++) {
        s->arrays[i].name = d->arrays[i].name;
        s->arrays[i].role = !d->arrays[i].is_input   ? ARRAY_OUTPUT
                            : d->arrays[i].is_output ? ARRAY_IN_PLACE
                                                     : ARRAY_INPUT;
    }
    s->arrays[d->n_arrays] =
        (gpu_array_t){.role = ARRAY_WORKSPACE, .bytes = workspace_bytes, .random = RANDOM_BYTES};
    s->sample.arrays = s->arrays;
    s->sample.n_arrays = d->n_arrays + (workspace_bytes > 0);
}

static void take_data(operator_cuda_t *s) {
    const bool shifted = getenv("BENCH_SHIFT_ARRAYS") != NULL; /* docs/testing.md */
    for (size_t i = 0; i < s->description->n_arrays; i++) {
        const operator_shape_t *shape = &s->data->shapes[i];
        gpu_array_t *array = &s->arrays[i];
        array->bytes = shape->bytes;
        array->shift = shifted ? element_bytes(shape->element) : 0;
        array->data = s->data->values[i];
        array->random = RANDOM[shape->element];
    }
}

static void refill_array(gpu_sample_t *sample, size_t i, void *values, const uint64_t seeds[2]) {
    operator_data_fill(((operator_cuda_t *)sample)->data, i, values, seeds[1]);
}

/* Without permutations, which are sorted, and constants, which stay. */
static status_t refill_fixed(gpu_sample_t *sample, size_t i, uint64_t seed, bool *possible,
                             error_t *err) {
    operator_cuda_t *s = (operator_cuda_t *)sample;
    const operator_shape_t *shape = &s->data->shapes[i];
    const fill_t *fill = &shape->fill;
    cu_pointer_t values = s->arrays[i].fixed;
    uint64_t n = shape->n, key = fill_key(s->data->seed, seed);
    uint32_t stream = OPERATOR_STREAM + (uint32_t)i, element = shape->element, kind = fill->kind;
    double low = fill->low, high = fill->high;
    void *arguments[] = {&values, &n, &key, &stream, &element, &kind, &low, &high};
    *possible = kind == FILL_UNIFORM || kind == FILL_NORMAL || kind == FILL_INTEGERS;
    if (!*possible || n == 0)
        return STATUS_OK;
    return gpu_kernel_launch(sample->gpu, &s->refill, n, arguments, err);
}

static void refill_data(gpu_sample_t *sample, uint64_t seed) {
    operator_data_refill(((operator_cuda_t *)sample)->data, seed);
}

static status_t prepare_refill(operator_cuda_t *s, const char *cubin, error_t *err) {
    s->sample.refill = refill_array;
    s->sample.refill_data = refill_data;
    if (cubin == NULL)
        return STATUS_OK;
    TRY(gpu_kernel_load(s->sample.gpu, cubin, "refill", &s->refill, err));
    s->sample.refill_fixed = refill_fixed;
    s->sample.data_seed = shared_data_seed(s->data);
    return STATUS_OK;
}

static status_t check_room(session_t *session, const case_t *spec, size_t workspace_bytes,
                           error_t *err) {
    const operator_cuda_t *s = session->state;
    const workload_cost_t cost = operators_cost(spec);
    const unsigned copies = s->sample.copy == COPY_PAGEABLE ? 1 : 2;
    TRY(host_room(copies * (cost.bus_in_bytes + cost.bus_out_bytes), err));
    return gpu_sample_applies(&s->sample, spec, cost.device_bytes + (double)workspace_bytes, err);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    operator_cuda_t *s = session->state;
    gpu_sample_t *sample = &s->sample;
    const case_t *spec = request->spec;
    size_t workspace_bytes;
    s->description = operators_find(spec->workload);
    gpu_sample_techniques(sample, spec);
    TRY(operator_program_load(session, request->cubin, &workspace_bytes, err));
    list_roles(s, workspace_bytes);
    /* Before making gigabytes of data. */
    TRY(session_skip(session, check_room(session, spec, workspace_bytes, err)));
    sample->launch = operator_launch;
    s->data = operator_data_take(s->description, spec, request->seed);
    take_data(s);
    TRY(prepare_refill(s, request->refill, err));
    operator_list_arguments(s, spec);
    for (size_t i = 0; i < sample->n_arrays; i++)
        session->resources.peak_device_bytes +=
            (int64_t)s->arrays[i].bytes * (gpu_sample_allocates(sample) ? 2 : 1);
    TRY(gpu_sample_prepare(session, err));
    return gpu_sample_add_probes(session, err);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(operator_cuda_t), prepare, err);
}

static void close_case(session_t *session) {
    operator_cuda_t *s = session->state;
    gpu_sample_free(&s->sample);
    operator_program_unload(s);
    gpu_kernel_unload(s->sample.gpu, &s->refill);
    if (s->data != NULL)
        operator_data_release(s->data);
    free(s);
}

/* ---- outputs --------------------------------------------------------------------------------- */

typedef enum left { LEFT_BY_RUN, LEFT_BY_SAMPLE, LEFT_IN_THE_MIDDLE } left_t;

static status_t write_arrays(const operator_cuda_t *s, left_t left, const char *folder,
                             text_list_t *names, error_t *err) {
    for (size_t i = 0; i < s->description->n_arrays; i++) {
        if (!s->description->arrays[i].is_output)
            continue;
        const gpu_array_t *array = &s->arrays[i];
        const void *values = left == LEFT_BY_RUN      ? array->to
                             : left == LEFT_BY_SAMPLE ? array->last
                                                      : array->middle;
        TRY(operator_data_write(s->data, i, values, folder, err));
        text_list_add(names, s->description->arrays[i].name);
    }
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *names, error_t *err) {
    TRY(gpu_sample_output(session, err));
    return write_arrays(session->state, LEFT_BY_RUN, folder, names, err);
}

static status_t write_middle(session_t *session, const char *folder, text_list_t *names,
                             error_t *err) {
    return write_arrays(session->state, LEFT_IN_THE_MIDDLE, folder, names, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *names, error_t *err) {
    TRY(write_arrays(session->state, LEFT_BY_SAMPLE, folder, names, err));
    return gpu_sample_write_middle(session, write_middle, folder, err);
}

const session_ops_t operator_cuda = {.workload = SESSION_OPERATORS,
                                     .open = open_case,
                                     .refill = gpu_sample_refill,
                                     .fill = gpu_sample_fill,
                                     .output = output,
                                     .last = last,
                                     .close = close_case};
