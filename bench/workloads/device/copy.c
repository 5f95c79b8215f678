/* The copy bandwidth of this device in this run: the roof for other cases. Both sides count bytes
 * read plus bytes written. */
#include "base/clock.h"
#include "base/memory.h"
#include "workloads/common/gpu_memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/device/descriptor.h"

#include <stdlib.h>
#include <string.h>

/* Small copies are timed in a batch that is long compared with the event pair around it. */
enum { BATCH_BYTES = 1 << 28, BATCH_MOST = 100 };

enum { PHASE_KERNEL, PHASE_TOTAL };

typedef struct state {
    gpu_t *gpu; /* NULL: host memory */
    size_t bytes;
    unsigned batch;
    gpu_memory_t memory;
    cu_pointer_t device_from, device_to;
    char *from, *to;
} state_t;

static status_t copy_batch(state_t *s, error_t *err) {
    for (unsigned i = 0; i < s->batch; i++)
        TRY(cuda_check(
            &s->gpu->api,
            s->gpu->api.copy_device_async(s->device_to, s->device_from, s->bytes, s->gpu->stream),
            "copy_device_async", err));
    return STATUS_OK;
}

static status_t probe_cuda(session_t *session, recorder_t *recorder, error_t *err) {
    state_t *s = session->state;
    double ns;
    TRY(gpu_sync(s->gpu, err));
    int64_t start_ns = clock_ns();
    TRY(gpu_record(s->gpu, 0, err));
    TRY(copy_batch(s, err));
    TRY(gpu_record(s->gpu, 1, err));
    TRY(gpu_sync(s->gpu, err));
    double total_ns = (double)(clock_ns() - start_ns);
    TRY(gpu_elapsed(s->gpu, 0, 1, &ns, err));
    recorder_add(recorder, PHASE_KERNEL, ns / s->batch);
    recorder_add(recorder, PHASE_TOTAL, total_ns / s->batch);
    return STATUS_OK;
}

static void copy_host(const state_t *s) {
    const size_t chunk = 1 << 20;
#pragma omp parallel for schedule(static) if (s->bytes > 4 * chunk)
    for (size_t at = 0; at < s->bytes; at += chunk)
        memcpy(s->to + at, s->from + at, s->bytes - at < chunk ? s->bytes - at : chunk);
}

static status_t probe_cpu(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    int64_t start_ns = clock_ns();
    copy_host(session->state);
    double ns = (double)(clock_ns() - start_ns);
    recorder_add(recorder, PHASE_KERNEL, ns);
    recorder_add(recorder, PHASE_TOTAL, ns);
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    if (s->gpu != NULL)
        gpu_memory_free(&s->memory, s->gpu);
    free(s->from);
    free(s->to);
    free(s);
}

static status_t prepare_cuda(session_t *session, const open_request_t *request, error_t *err) {
    state_t *s = session->state;
    s->bytes = (size_t)case_param_int(request->spec, "bytes", 0);
    TRY(session_skip(session, gpu_room(s->gpu, 2.0 * (double)s->bytes, err)));
    size_t batch = BATCH_BYTES / s->bytes;
    s->batch = batch < 1 ? 1 : batch > BATCH_MOST ? BATCH_MOST : (unsigned)batch;
    TRY(gpu_memory_device(&s->memory, s->gpu, s->bytes, &s->device_from, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->bytes, &s->device_to, err));
    TRY(gpu_fill(s->gpu, s->device_from, 0x5A, s->bytes, err)); /* zeros can be cheaper */
    TRY(copy_batch(s, err));
    TRY(gpu_sync(s->gpu, err));
    session->resources.peak_device_bytes = 2 * (int64_t)s->bytes;
    recorder_phase(&session->recorder, "kernel", CLOCK_DEVICE);
    recorder_phase(&session->recorder, "total", CLOCK_HOST);
    session_add_probe(session, "copy", probe_cuda);
    return STATUS_OK;
}

static status_t open_cuda(session_t *session, const open_request_t *request, error_t *err) {
    if (strcmp(request->spec->variant, DEVICE_BUS_VARIANT) == 0)
        return device_bus_open(session, request, err);
    if (strcmp(request->spec->variant, DEVICE_MATMUL_VARIANT) == 0)
        return device_matmul_open(session, request, err);
    if (request->cubin != NULL)
        return strcmp(request->spec->variant, DEVICE_BARRIER_VARIANT) == 0
                   ? device_barrier_open(session, request, err)
                   : device_read_open(session, request, err);
    return session_open(session, request, sizeof(state_t), prepare_cuda, err);
}

static status_t prepare_cpu(session_t *session, const open_request_t *request, error_t *err) {
    (void)err;
    state_t *s = session->state;
    s->bytes = (size_t)case_param_int(request->spec, "bytes", 0);
    s->from = mem_alloc(s->bytes);
    s->to = mem_alloc(s->bytes);
    memset(s->from, 0x5A, s->bytes);
    memset(s->to, 0, s->bytes);
    session_add_phases(session, CLOCK_HOST, NAMES("kernel", "total"));
    session_add_probe(session, "copy", probe_cpu);
    return STATUS_OK;
}

static status_t open_cpu(session_t *session, const open_request_t *request, error_t *err) {
    return session_open(session, request, sizeof(state_t), prepare_cpu, err);
}

static size_t count_wrong(const char *copied, size_t bytes) {
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += copied[i] != 0x5A;
    return wrong;
}

static status_t refuse(size_t wrong, size_t bytes, error_t *err) {
    return wrong == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%zu of %zu bytes were not copied", wrong, bytes);
}

/* Part by part: to allocate memory for all of it would take longer than the copies. */
enum { PART_BYTES = 16 << 20 };

static status_t count_wrong_on_device(state_t *s, char *part, size_t *wrong, error_t *err) {
    TRY(gpu_random_fill(s->gpu, s->device_to, s->bytes, RANDOM_F32, err));
    TRY(copy_batch(s, err));
    TRY(gpu_sync(s->gpu, err));
    for (size_t done = 0, n; done < s->bytes; done += n) {
        n = s->bytes - done < PART_BYTES ? s->bytes - done : PART_BYTES;
        TRY(gpu_copy_out(s->gpu, part, s->device_to + done, n, err));
        *wrong += count_wrong(part, n);
    }
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    state_t *s = session->state;
    (void)folder;
    (void)arrays;
    if (s->gpu == NULL) {
        random_fill(s->to, s->bytes, RANDOM_F32);
        copy_host(s);
        return refuse(count_wrong(s->to, s->bytes), s->bytes, err);
    }
    char *part = mem_alloc(PART_BYTES);
    size_t wrong = 0;
    status_t status = count_wrong_on_device(s, part, &wrong, err);
    free(part);
    return status == STATUS_OK ? refuse(wrong, s->bytes, err) : status;
}

const session_ops_t device_copy_cuda = {
    .workload = "device", .open = open_cuda, .output = output, .close = close_case};
const session_ops_t device_copy_cpu = {
    .workload = "device", .open = open_cpu, .output = output, .close = close_case};
