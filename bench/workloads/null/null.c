#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ==== made-up times =========================================================================== */

/* The null engine: contenders without work. `noop` is really timed and shows the cost of the
 * harness; the others generate times from a seed, to test rounds, stopping, checks and failures
 * without a GPU and without waiting. Only the engine "null" has them. */

enum { PHASE_KERNEL, PHASE_TOTAL, PHASE_RESIDUAL };

/* How the time of a sample is generated, and the contender's fault. */
typedef struct behaviour {
    const char *variant;
    bool timed;        /* really timed */
    double noise;      /* relative standard deviation */
    double log_noise;  /* standard deviation of the logarithm */
    double slow_share; /* fraction of samples that take 25 % longer */
    double drift;      /* relative, per sample */
    enum { NO_FAULT, WRONG, CRASH, HANG } fault;
} behaviour_t;

static const behaviour_t BEHAVIOURS[] = {
    {"steady", .noise = 0.005},
    {"noisy", .log_noise = 0.2},
    {"bimodal", .noise = 0.005, .slow_share = 0.3},
    {"drifting", .noise = 0.002, .drift = 1e-4},
    {"wrong", .noise = 0.005, .fault = WRONG},
    {"crash", .noise = 0.005, .fault = CRASH},
    {"hang", .noise = 0.005, .fault = HANG},
    {"noop", .timed = true},
};

typedef struct state_synthetic {
    const behaviour_t *behaviour;
    int64_t work_ns;
    uint64_t seed, taken;
} state_synthetic_t;

static double synthetic_ns(state_synthetic_t *s) {
    uint64_t i = s->taken++;
    double u1 = (rng_word(s->seed, 1, i) + 0.5) / 4294967296.0;
    double u2 = (rng_word(s->seed, 2, i) + 0.5) / 4294967296.0;
    double normal = sqrt(-2 * log(u1)) * cos(2 * M_PI * u2); /* Box–Muller */
    double uniform = (rng_word(s->seed, 3, i) + 0.5) / 4294967296.0;
    double base_ns = s->work_ns > 0 ? (double)s->work_ns : 1e5;
    const behaviour_t *b = s->behaviour;
    double factor = (uniform < b->slow_share ? 1.25 : 1) * exp(b->log_noise * normal) *
                    (1 + b->noise * normal) * (1 + b->drift * (double)i);
    return fmax(round(base_ns * factor), 1); /* 0 is no time */
}

static status_t probe_synthetic(session_t *session, recorder_t *recorder, error_t *err) {
    (void)err;
    state_synthetic_t *s = session->state;
    if (s->behaviour->fault == CRASH)
        raise(SIGSEGV);
    while (s->behaviour->fault == HANG)
        clock_sleep_ns(1000000000);
    if (!s->behaviour->timed) {
        double kernel_ns = synthetic_ns(s);
        recorder_add(recorder, PHASE_KERNEL, kernel_ns);
        recorder_add(recorder, PHASE_TOTAL, kernel_ns + 100);
        recorder_add(recorder, PHASE_RESIDUAL, 100);
        return STATUS_OK;
    }
    int64_t start_ns = clock_ns(), done_ns = clock_ns();
    while (done_ns - start_ns < s->work_ns)
        done_ns = clock_ns();
    int64_t end_ns = clock_ns();
    double kernel_ns = (double)(done_ns - start_ns), total_ns = (double)(end_ns - start_ns);
    recorder_add_between(recorder, PHASE_KERNEL, kernel_ns, start_ns, done_ns);
    recorder_add_between(recorder, PHASE_TOTAL, total_ns, start_ns, end_ns);
    recorder_add(recorder, PHASE_RESIDUAL, total_ns - kernel_ns);
    return STATUS_OK;
}

static status_t open_case_synthetic(session_t *session, const open_request_t *request,
                                    error_t *err) {
    const char *variant = request->spec->variant;
    state_synthetic_t *s = mem_zeroed(1, sizeof *s);
    for (size_t i = 0; i < sizeof BEHAVIOURS / sizeof *BEHAVIOURS; i++)
        if (strcmp(BEHAVIOURS[i].variant, variant) == 0)
            s->behaviour = &BEHAVIOURS[i];
    if (s->behaviour == NULL) {
        free(s);
        return error_set(err, STATUS_FAILED, "no variant \"%s\" of the null engine", variant);
    }
    s->work_ns = case_param_int(request->spec, "work_ns", 0);
    s->seed = request->seed;
    session->state = s;
    session_add_phases(session, CLOCK_HOST, NAMES("kernel", "total", "residual"));
    session_add_probe(session, "phases", probe_synthetic);
    session_add_once(session, "first_run", 0);
    return STATUS_OK;
}

/* Nothing is run, so this is also what the last sample left. */
static status_t output_synthetic(session_t *session, const char *folder, text_list_t *arrays,
                                 error_t *err) {
    const state_synthetic_t *s = session->state;
    float y[4] = {1, 2, 3, s->behaviour->fault == WRONG ? 5 : 4};
    text_list_add(arrays, "y");
    return output_write("y", y, 4, folder, err);
}

static void close_case_synthetic(session_t *session) {
    free(session->state);
}

/* ==== on a GPU ================================================================================ */

const session_ops_t null_synthetic = {.workload = "null",
                                      .open = open_case_synthetic,
                                      .output = output_synthetic,
                                      .last = output_synthetic,
                                      .close = close_case_synthetic};

/* Timing floors of a GPU, which every kernel time contains: two events with nothing between them;
 * an empty kernel alone, in a graph and back to back; launch and synchronise on the host. */

enum { BATCH = 256 }; /* as for the short kernels of mlp_infer */

enum { EVENT_PAIR, KERNEL, KERNEL_GRAPH, KERNEL_STREAM, LAUNCH_SYNC };

typedef struct state_cuda {
    gpu_t *gpu;
    gpu_kernel_t kernel;
    cu_graph_exec_t batch;
} state_cuda_t;

static status_t between_events(state_cuda_t *s, recorder_t *recorder, unsigned phase,
                               unsigned launches, error_t *err) {
    double ns;
    TRY(gpu_record(s->gpu, 0, err));
    for (unsigned i = 0; i < launches; i++)
        TRY(gpu_kernel_launch(s->gpu, &s->kernel, 1, NULL, err));
    TRY(device_time(s->gpu, &ns, err));
    recorder_add(recorder, phase, ns / (launches > 1 ? launches : 1));
    return STATUS_OK;
}

static status_t probe_cuda(session_t *session, recorder_t *recorder, error_t *err) {
    state_cuda_t *s = session->state;
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

static void close_case_cuda(session_t *session) {
    state_cuda_t *s = session->state;
    gpu_graph_free(s->gpu, &s->batch);
    gpu_kernel_unload(s->gpu, &s->kernel);
    free(s);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    state_cuda_t *s = session->state;
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
    session_add_probe(session, "floors", probe_cuda);
    return STATUS_OK;
}

static status_t open_case_cuda(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(state_cuda_t), prepare, err);
}

/* Nothing is computed, so there is nothing to check. */
static status_t output_cuda(session_t *session, const char *folder, text_list_t *arrays,
                            error_t *err) {
    (void)session;
    (void)folder;
    (void)arrays;
    (void)err;
    return STATUS_OK;
}

/* ==== description ============================================================================= */

const session_ops_t null_cuda = {
    .workload = "null", .open = open_case_cuda, .output = output_cuda, .close = close_case_cuda};

/* No arithmetic: the variants of the null engine behave in every way a contender can. */
static const param_spec_t PARAMS[] = {
    {"work_ns", VALUE_INT, 0, 1e9, "0", .summary = "time of one sample", .always_in_id = true},
};

static workload_cost_t cost(const case_t *spec) {
    (void)spec;
    return (workload_cost_t){0};
}

const workload_t workload_null = {
    .name = "null",
    .summary = "no work: tests the harness itself",
    .params = PARAMS,
    .n_params = sizeof PARAMS / sizeof *PARAMS,
    .dtypes = NAMES("f32"),
    .null_variants =
        NAMES("noop", "steady", "noisy", "bimodal", "drifting", "wrong", "crash", "hang"),
    .cost = cost,
    .tolerance = workload_exact,
};
