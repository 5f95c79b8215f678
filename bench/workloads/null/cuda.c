/* Timing floors of a GPU, which every kernel time contains: two events with nothing between them;
 * an empty kernel alone, in a graph and back to back; launch and synchronise on the host. */
#include "base/clock.h"
#include "workloads/common/gpu_memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"

#include <stdlib.h>

enum { BATCH = 256 }; /* as for the short kernels of mlp_infer */

enum { EVENT_PAIR, KERNEL, KERNEL_GRAPH, KERNEL_STREAM, LAUNCH_SYNC };

typedef struct state {
    gpu_t *gpu;
    gpu_kernel_t kernel;
    cu_graph_exec_t batch;
} state_t;

static status_t between_events(state_t *s, recorder_t *recorder, unsigned phase, unsigned launches,
                               error_t *err) {
    double ns;
    TRY(gpu_record(s->gpu, 0, err));
    for (unsigned i = 0; i < launches; i++)
        TRY(gpu_kernel_launch(s->gpu, &s->kernel, 1, NULL, err));
    TRY(device_time(s->gpu, &ns, err));
    recorder_add(recorder, phase, ns / (launches > 1 ? launches : 1));
    return STATUS_OK;
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    state_t *s = session->state;
    TRY(between_events(s, recorder, EVENT_PAIR, 0, err));
    TRY(between_events(s, recorder, KERNEL, 1, err));
    TRY(between_events(s, recorder, KERNEL_STREAM, BATCH, err));
    double ns;
    TRY(gpu_record(s->gpu, 0, err));
    TRY(cuda_check(&s->gpu->api, s->gpu->api.graph_launch(s->batch, s->gpu->stream), "graph_launch",
                   err));
    TRY(device_time(s->gpu, &ns, err));
    recorder_add(recorder, KERNEL_GRAPH, ns / BATCH);
    int64_t start_ns = clock_ns();
    TRY(gpu_kernel_launch(s->gpu, &s->kernel, 1, NULL, err));
    TRY(gpu_sync(s->gpu, err));
    recorder_add(recorder, LAUNCH_SYNC, (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    gpu_graph_free(s->gpu, &s->batch);
    gpu_kernel_unload(s->gpu, &s->kernel);
    free(s);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    state_t *s = session->state;
    TRY(gpu_kernel_load(s->gpu, request->cubin, "null", &s->kernel, err));
    session_add_once(session, "module_load", s->kernel.load_ns);
    int64_t start_ns = clock_ns();
    TRY(gpu_kernel_launch(s->gpu, &s->kernel, 1, NULL, err));
    TRY(gpu_sync(s->gpu, err));
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    TRY(gpu_capture_begin(s->gpu, err));
    for (unsigned i = 0; i < BATCH; i++)
        TRY(gpu_kernel_launch(s->gpu, &s->kernel, 1, NULL, err));
    TRY(gpu_capture_end(s->gpu, &s->batch, err));
    session_add_phases(session, CLOCK_DEVICE,
                       NAMES("event_pair", "kernel", "kernel_graph", "kernel_stream"));
    recorder_phase(&session->recorder, "launch_sync", CLOCK_HOST);
    session_add_probe(session, "floors", probe);
    return STATUS_OK;
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(state_t), prepare, err);
}

/* Nothing is computed, so there is nothing to check. */
static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    (void)session;
    (void)folder;
    (void)arrays;
    (void)err;
    return STATUS_OK;
}

const session_ops_t null_cuda = {
    .workload = "null", .open = open_case, .output = output, .close = close_case};
