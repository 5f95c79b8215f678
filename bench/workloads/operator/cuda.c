/* An operator on a GPU: opens and closes a case, and writes its outputs. */
#include "workloads/operator/cuda.h"

#include "base/bfloat16.h"
#include "base/half.h"
#include "base/memory.h"
#include "io/npy.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/sessions.h"
#include "workloads/operator/operators.h"

#include <stdlib.h>
#include <string.h>

static const random_kind_t RANDOM[ELEMENT_KINDS] = {
    [ELEMENT_F32] = RANDOM_F32,   [ELEMENT_F16] = RANDOM_F16,   [ELEMENT_BF16] = RANDOM_BF16,
    [ELEMENT_F64] = RANDOM_F64,   [ELEMENT_I32] = RANDOM_BYTES, [ELEMENT_I64] = RANDOM_BYTES,
    [ELEMENT_U8] = RANDOM_BYTES, [ELEMENT_BOOL] = RANDOM_BYTES};

/* The workspace is the last array; without one it stays NULL in the kernel. */
static void list_arrays(operator_cuda_t *s, size_t workspace_bytes) {
    const operator_description_t *d = s->description;
    for (size_t i = 0; i < d->n_arrays; i++) {
        const operator_array_t *array = &d->arrays[i];
        s->arrays[i] = (gpu_array_t){.role = !array->is_input    ? ARRAY_OUTPUT
                                             : array->is_output ? ARRAY_IN_PLACE
                                                                : ARRAY_INPUT,
                                     .bytes = s->data->shapes[i].bytes,
                                     .data = s->data->values[i],
                                     .random = RANDOM[s->data->shapes[i].element]};
    }
    s->arrays[d->n_arrays] = (gpu_array_t){
        .role = ARRAY_WORKSPACE, .bytes = workspace_bytes, .random = RANDOM_BYTES};
    s->sample.arrays = s->arrays;
    s->sample.n_arrays = d->n_arrays + (workspace_bytes > 0);
}

static void refill_array(gpu_sample_t *sample, size_t i, void *values, const uint64_t seeds[2]) {
    const operator_data_t *data = ((operator_cuda_t *)sample)->data;
    fill_refill(values, data->shapes[i].n, data->shapes[i].element,
                &data->description->arrays[i].fill, seeds[0], seeds[1]);
}

static void refill_data(gpu_sample_t *sample, uint64_t seed) {
    operator_data_refill(((operator_cuda_t *)sample)->data, seed);
}

static status_t check_room(session_t *session, const case_t *spec, size_t workspace_bytes,
                           error_t *err) {
    const operator_cuda_t *s = session->state;
    const workload_cost_t cost = workload_cost(spec);
    const unsigned copies = s->sample.copy == COPY_PAGEABLE ? 1 : 2;
    TRY(host_room(copies * (cost.bus_in_bytes + cost.bus_out_bytes), err));
    return gpu_sample_applies(&s->sample, spec, cost.device_bytes + (double)workspace_bytes, err);
}
