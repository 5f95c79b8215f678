/* The rate of repeated reads of a buffer: the L2 rate if the buffer fits into the L2. */
#include "base/memory.h"
#include "workloads/common/gpu_memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/device/descriptor.h"

#include <stdlib.h>

enum { PHASE_KERNEL };

/* Zeros can be cheaper to move. */
static const unsigned char FILL = 0x5A;
static const uint32_t FILL_WORD = 0x5A5A5A5A;

typedef struct state {
    gpu_t *gpu;
    gpu_kernel_t kernel;
    unsigned words; /* of 16 bytes */
    size_t n_sums;
    gpu_memory_t memory;
    cu_pointer_t buffer, sums;
} state_t;

static status_t launch(state_t *s, error_t *err) {
    void *arguments[] = {&s->buffer, &s->sums, &s->words};
    return gpu_kernel_launch(s->gpu, &s->kernel, s->words, arguments, err);
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    state_t *s = session->state;
    double ns;
    TRY(gpu_record(s->gpu, 0, err));
    TRY(launch(s, err));
    TRY(device_time(s->gpu, &ns, err));
    recorder_add(recorder, PHASE_KERNEL, ns / DEVICE_READ_PASSES);
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    gpu_memory_free(&s->memory, s->gpu);
    gpu_kernel_unload(s->gpu, &s->kernel);
    free(s);
}

/* The sum over all threads' sums covers every byte. */
static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    state_t *s = session->state;
    (void)folder;
    (void)arrays;
    TRY(gpu_fill(s->gpu, s->sums, 0, s->n_sums * sizeof(uint32_t), err));
    TRY(launch(s, err));
    TRY(gpu_sync(s->gpu, err));
    uint32_t *sums = mem_zeroed(s->n_sums, sizeof *sums);
    status_t status = gpu_copy_out(s->gpu, sums, s->sums, s->n_sums * sizeof *sums, err);
    uint32_t sum = 0, expected = FILL_WORD * 4 * s->words * DEVICE_READ_PASSES;
    for (size_t i = 0; i < s->n_sums; i++)
        sum += sums[i];
    free(sums);
    TRY(status);
    return sum == expected
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "the words read add up to %u, expected %u (modulo 2^32)", sum, expected);
}

static const session_ops_t DEVICE_READ = {
    .workload = "device", .open = device_read_open, .output = output, .close = close_case};

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    state_t *s = session->state;
    s->words = (unsigned)(case_param_int(request->spec, "bytes", 0) / 16);
    TRY(session_skip(session, gpu_room(s->gpu, 16.0 * s->words, err)));
    TRY(gpu_kernel_load(s->gpu, request->cubin, "device", &s->kernel, err));
    session_add_once(session, "module_load", s->kernel.load_ns);
    s->n_sums =
        (size_t)s->kernel.launch.threads *
        ((s->words + s->kernel.launch.items_per_block - 1) / s->kernel.launch.items_per_block);
    TRY(gpu_memory_device(&s->memory, s->gpu, (size_t)s->words * 16, &s->buffer, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, s->n_sums * sizeof(uint32_t), &s->sums, err));
    TRY(gpu_fill(s->gpu, s->buffer, FILL, (size_t)s->words * 16, err));
    TRY(launch(s, err));
    TRY(gpu_sync(s->gpu, err));
    recorder_phase(&session->recorder, "kernel", CLOCK_DEVICE);
    session_add_probe(session, "read", probe);
    return STATUS_OK;
}

status_t device_read_open(session_t *session, const open_request_t *request, error_t *err) {
    session->ops = &DEVICE_READ;
    return session_open(session, request, sizeof(state_t), prepare, err);
}
