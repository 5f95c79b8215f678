/* The cost of a grid barrier: the floor of kernels with many dependent steps in one launch. */
#include "engine/gpu.h"
#include "workloads/common/gpu_memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/device/descriptor.h"

#include <stdlib.h>
#include <string.h>

enum { PHASE_BARRIER };

typedef struct state {
    gpu_t *gpu;
    gpu_program_t program;
    gpu_memory_t memory;
    size_t n_words;
    cu_pointer_t words; /* barriers passed by all blocks, errors, one word per block */
} state_t;

enum { WORD_COUNTER, WORD_WRONG, WORD_ARRIVED };

static cu_pointer_t word_at(const state_t *s, unsigned index) {
    return s->words + index * sizeof(uint32_t);
}

/* One block per multiprocessor. */
static status_t launch(state_t *s, const char *entry, error_t *err) {
    cu_pointer_t words[] = {word_at(s, WORD_COUNTER), word_at(s, WORD_ARRIVED),
                            word_at(s, WORD_WRONG)};
    void *arguments[] = {&words[0], &words[1], &words[2]};
    for (size_t i = 0; i < s->program.n_stages; i++)
        if (strcmp(s->program.stages[i].spec.entry, entry) == 0)
            return gpu_stage_launch(s->gpu, &s->program.stages[i], (size_t)s->gpu->multiprocessors,
                                    s->gpu->stream, arguments, err);
    return error_set(err, STATUS_FAILED, "its STAGES have no kernel \"%s\"", entry);
}

static status_t clear(state_t *s, error_t *err) {
    return gpu_fill(s->gpu, s->words, 0, s->n_words * sizeof(uint32_t), err);
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    state_t *s = session->state;
    double ns;
    TRY(clear(s, err));
    TRY(gpu_record(s->gpu, 0, err));
    TRY(launch(s, "barrier", err));
    TRY(device_time(s->gpu, &ns, err));
    recorder_add(recorder, PHASE_BARRIER, ns / DEVICE_BARRIERS);
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    gpu_memory_free(&s->memory, s->gpu);
    gpu_program_unload(s->gpu, &s->program);
    free(s);
}

/* A barrier that lets blocks through too early would be fast and useless. */
static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    state_t *s = session->state;
    (void)folder;
    (void)arrays;
    uint32_t words[WORD_ARRIVED];
    TRY(clear(s, err));
    TRY(launch(s, "check", err));
    TRY(gpu_sync(s->gpu, err));
    TRY(gpu_copy_out(s->gpu, words, s->words, sizeof words, err));
    const uint32_t passed = DEVICE_BARRIERS * (uint32_t)s->gpu->multiprocessors;
    if (words[WORD_WRONG] > 0)
        return error_set(err, STATUS_FAILED, "blocks passed a barrier too early %u times",
                         words[WORD_WRONG]);
    return words[WORD_COUNTER] == passed
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "blocks arrived %u times at barriers, expected %u",
                           words[WORD_COUNTER], passed);
}

static const session_ops_t DEVICE_BARRIER = {
    .workload = "device", .open = device_barrier_open, .output = output, .close = close_case};

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    state_t *s = session->state;
    if (s->gpu->api.launch_ex == NULL)
        return session_skip(
            session,
            error_set(
                err, STATUS_FAILED,
                "a grid barrier needs cuLaunchKernelEx: this driver is older than CUDA 11.8"));
    TRY(gpu_program_load(s->gpu, request->cubin, &s->program, err));
    session_add_once(session, "module_load", s->program.load_ns);
    s->n_words = WORD_ARRIVED + (size_t)s->gpu->multiprocessors;
    TRY(gpu_memory_device(&s->memory, s->gpu, s->n_words * sizeof(uint32_t), &s->words, err));
    TRY(clear(s, err));
    TRY(launch(s, "barrier", err));
    TRY(gpu_sync(s->gpu, err));
    recorder_phase(&session->recorder, "barrier", CLOCK_DEVICE);
    session_add_probe(session, "barrier", probe);
    return STATUS_OK;
}

status_t device_barrier_open(session_t *session, const open_request_t *request, error_t *err) {
    session->ops = &DEVICE_BARRIER;
    return session_open(session, request, sizeof(state_t), prepare, err);
}
