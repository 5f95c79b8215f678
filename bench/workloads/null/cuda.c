/* The floors of the clocks on a GPU: what two events read with nothing between them, what an empty
 * kernel reads, alone, in a graph and back to back, and what a launch with a synchronise costs the
 * host. Every kernel time contains these. */
#include "base/clock.h"
#include "base/memory.h"
#include "engine/gpu.h"
#include "workloads/common/sessions.h"

#include <stdlib.h>

enum { BATCH = 256 }; /* as many as mlp_infer has of its short kernels */

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
    TRY(gpu_record(s->gpu, 1, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(gpu_elapsed(s->gpu, 0, 1, &ns, err));
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
    TRY(gpu_record(s->gpu, 1, err));
    TRY(gpu_sync(s->gpu, err));
    TRY(gpu_elapsed(s->gpu, 0, 1, &ns, err));
    recorder_add(recorder, KERNEL_GRAPH, ns / BATCH);
    int64_t start_ns = clock_ns();
    TRY(gpu_kernel_launch(s->gpu, &s->kernel, 1, NULL, err));
    TRY(gpu_sync(s->gpu, err));
    recorder_add(recorder, LAUNCH_SYNC, (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

static void close_case(session_t *session) {
    state_t *s = session->state;
    if (s->batch != NULL)
        s->gpu->api.graph_exec_destroy(s->batch);
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
    recorder_phase(&session->recorder, "event_pair", CLOCK_DEVICE);
    recorder_phase(&session->recorder, "kernel", CLOCK_DEVICE);
    recorder_phase(&session->recorder, "kernel_graph", CLOCK_DEVICE);
    recorder_phase(&session->recorder, "kernel_stream", CLOCK_DEVICE);
    recorder_phase(&session->recorder, "launch_sync", CLOCK_HOST);
    session_add_probe(session, "floors", probe);
    return STATUS_OK;
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    if (request->cubin == NULL)
        return error_set(err, STATUS_FAILED, "a cuda case needs \"program\"");
    state_t *s = mem_zeroed(1, sizeof *s);
    s->gpu = session->engine;
    session->state = s;
    status_t status = prepare(session, request, err);
    if (status != STATUS_OK)
        close_case(session);
    return status;
}

/* There is nothing to compute, so there is nothing to check. */
static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    (void)session;
    (void)folder;
    (void)arrays;
    (void)err;
    return STATUS_OK;
}

const session_ops_t null_cuda = {
    .workload = "null", .open = open_case, .output = output, .close = close_case};
