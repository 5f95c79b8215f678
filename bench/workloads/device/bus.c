/* The bus between host and GPU, from and to pinned memory: one way, the other, and both at once. */
#include "base/memory.h"
#include "workloads/common/gpu_memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/device/descriptor.h"

#include <stdlib.h>
#include <string.h>

enum { PHASE_IN, PHASE_OUT, PHASE_BOTH };

static const unsigned char FILL = 0x5A; /* zeros can be cheaper to move */

typedef struct state {
    gpu_t *gpu;
    size_t bytes;
    gpu_memory_t memory;
    unsigned char *host_from, *host_to;
    cu_pointer_t device_to, device_from;
    cu_stream_t back; /* for the copies out; those in are in gpu->stream */
    cu_event_t forked, joined;
} state_t;

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

static status_t copy_in(state_t *s, error_t *err) {
    CUDA(copy_in_async(s->device_to, s->host_from, s->bytes, s->gpu->stream));
    return STATUS_OK;
}

static status_t copy_out(state_t *s, cu_stream_t stream, error_t *err) {
    CUDA(copy_out_async(s->host_to, s->device_from, s->bytes, stream));
    return STATUS_OK;
}

/* The second stream starts after what the first has submitted, and the first waits for it. */
static status_t copy_both(state_t *s, error_t *err) {
    CUDA(event_record(s->forked, s->gpu->stream));
    CUDA(stream_wait(s->back, s->forked, 0));
    TRY(copy_in(s, err));
    TRY(copy_out(s, s->back, err));
    CUDA(event_record(s->joined, s->back));
    CUDA(stream_wait(s->gpu->stream, s->joined, 0));
    return STATUS_OK;
}

static status_t copy(state_t *s, unsigned phase, error_t *err) {
    return phase == PHASE_IN    ? copy_in(s, err)
           : phase == PHASE_OUT ? copy_out(s, s->gpu->stream, err)
                                : copy_both(s, err);
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    state_t *s = session->state;
    for (unsigned phase = PHASE_IN; phase <= PHASE_BOTH; phase++) {
        double ns;
        TRY(gpu_sync(s->gpu, err));
        TRY(gpu_record(s->gpu, 0, err));
        TRY(copy(s, phase, err));
        TRY(device_time(s->gpu, &ns, err));
        recorder_add(recorder, phase, ns);
    }
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    if (s->joined != NULL)
        s->gpu->api.event_destroy(s->joined);
    if (s->forked != NULL)
        s->gpu->api.event_destroy(s->forked);
    if (s->back != NULL)
        s->gpu->api.stream_destroy(s->back);
    gpu_memory_free(&s->memory, s->gpu);
    free(s);
}

/* Everything there and back again. */
static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    state_t *s = session->state;
    (void)folder;
    (void)arrays;
    size_t wrong = 0;
    random_fill(s->host_to, s->bytes, RANDOM_F32);
    TRY(gpu_random_fill(s->gpu, s->device_to, s->bytes, RANDOM_F32, err));
    TRY(copy_both(s, err));
    TRY(gpu_sync(s->gpu, err));
    for (size_t i = 0; i < s->bytes; i++)
        wrong += s->host_to[i] != FILL;
    TRY(gpu_copy_out(s->gpu, s->host_to, s->device_to, s->bytes, err));
    for (size_t i = 0; i < s->bytes; i++)
        wrong += s->host_to[i] != FILL;
    return wrong == 0 ? STATUS_OK
                      : error_set(err, STATUS_FAILED, "%zu of %zu bytes were not copied", wrong,
                                  2 * s->bytes);
}

static const session_ops_t DEVICE_BUS = {
    .workload = "device", .open = device_bus_open, .output = output, .close = close_case};

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    state_t *s = session->state;
    s->bytes = (size_t)case_param_int(request->spec, "bytes", 0);
    TRY(session_skip(session, gpu_room(s->gpu, 2.0 * (double)s->bytes, err)));
    TRY(gpu_memory_pinned(&s->memory, s->gpu, s->bytes, &s->host_from, err));
    TRY(gpu_memory_pinned(&s->memory, s->gpu, s->bytes, &s->host_to, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->bytes, &s->device_to, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->bytes, &s->device_from, err));
    CUDA(stream_create(&s->back, CU_STREAM_NON_BLOCKING));
    CUDA(event_create(&s->forked, CU_EVENT_NO_TIMING));
    CUDA(event_create(&s->joined, CU_EVENT_NO_TIMING));
    memset(s->host_from, FILL, s->bytes);
    TRY(gpu_fill(s->gpu, s->device_from, FILL, s->bytes, err));
    TRY(copy_both(s, err));
    TRY(gpu_sync(s->gpu, err));
    session->resources.peak_device_bytes = 2 * (int64_t)s->bytes;
    session_add_phases(session, CLOCK_DEVICE, NAMES("h2d", "d2h", "both"));
    session_add_probe(session, "bus", probe);
    return STATUS_OK;
}

status_t device_bus_open(session_t *session, const open_request_t *request, error_t *err) {
    session->ops = &DEVICE_BUS;
    return session_open(session, request, sizeof(state_t), prepare, err);
}
