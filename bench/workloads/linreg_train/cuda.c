/* linreg_train on a GPU: opens and closes a case, and writes its output. */
#include "base/clock.h"
#include "base/memory.h"
#include "engine/gpu.h"
#include "engine/session.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/linreg_train/data.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ==== steps of a sample ======================================================================= */

enum {
    LINREG_STATE_SLOTS = 1536,
    LINREG_MAX_STREAMS = 8,
    LINREG_GRAPH_EPOCHS = 1024, /* maximum per graph: longer trainings replay it */
};

/* As in kernels/linreg_train/linreg_train.cuh, which asserts the same sizes. */
typedef struct linreg_state {
    double w, b;
    double e, ex, ee;
    uint32_t epoch, ticket;
    double reserved[2];
    double slot[LINREG_STATE_SLOTS];
} linreg_state_t;

enum linreg_result { RESULT_W, RESULT_B, RESULT_LAST_LOSS, RESULT_TEST_LOSS, RESULT_LOSSES };

typedef struct linreg_problem {
    cu_pointer_t x, y;
    cu_pointer_t x_test, y_test;
    cu_pointer_t prediction;
    cu_pointer_t state;
    cu_pointer_t results;
    uint64_t seed;
    double gain;
    double inverse_n;
    float x_step;
    uint32_t points, n, n_test, epochs;
} linreg_problem_t;

_Static_assert(sizeof(linreg_state_t) == 64 + 8 * LINREG_STATE_SLOTS, "the device's layout");
_Static_assert(sizeof(linreg_problem_t) == 104, "the device's layout");

/* The buffers of one training. */
typedef struct linreg_buffers {
    cu_pointer_t state, results, prediction;
} linreg_buffers_t;

typedef struct linreg_cuda {
    gpu_t *gpu;
    gpu_program_t program;
    linreg_problem_t problem; /* with the buffers for the next launches */
    linreg_buffers_t fixed;   /* allocated once: host_to_host, graphs and output */
    linreg_buffers_t own;     /* of a sample that allocates */
    gpu_memory_t memory;
    train_phases_t phases;
    unsigned host_to_host; /* phase */
    linreg_fit_t fit;
    linreg_state_t *start; /* pinned: for the upload … */
    double *results;       /* … and the download */
    size_t n_results, prediction_bytes;
    uint64_t seed; /* of the signs of problem.x */
    float *staged; /* pinned: part of x, while its signs change */
    cu_stream_t streams[LINREG_MAX_STREAMS];
    cu_event_t forked, joined[LINREG_MAX_STREAMS];
    cu_graph_exec_t graph; /* plan.graph: some epochs */
    unsigned graph_replays;
    unsigned first_operation; /* phase; epochs = 1 */
} linreg_cuda_t;

/* The steps of one training on the GPU. */

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

static status_t linreg_cuda_allocate(linreg_cuda_t *s, linreg_buffers_t *buffers, error_t *err) {
    CUDA(alloc(&buffers->state, sizeof *s->start));
    CUDA(alloc(&buffers->results, s->n_results * sizeof *s->results));
    if (s->prediction_bytes > 0)
        CUDA(alloc(&buffers->prediction, s->prediction_bytes));
    return STATUS_OK;
}

static status_t drop(linreg_cuda_t *s, cu_pointer_t *pointer, error_t *err) {
    if (*pointer != 0)
        CUDA(release(*pointer));
    *pointer = 0;
    return STATUS_OK;
}

static status_t linreg_cuda_release(linreg_cuda_t *s, linreg_buffers_t *buffers, error_t *err) {
    TRY(drop(s, &buffers->state, err));
    TRY(drop(s, &buffers->results, err));
    return drop(s, &buffers->prediction, err);
}

static void linreg_cuda_use(linreg_cuda_t *s, const linreg_buffers_t *buffers) {
    s->problem.state = buffers->state;
    s->problem.results = buffers->results;
    s->problem.prediction = buffers->prediction;
}

static status_t launch(linreg_cuda_t *s, const gpu_stage_t *stage, size_t items, uint32_t part,
                       cu_stream_t stream, error_t *err) {
    void *arguments[] = {&s->problem, &part};
    return gpu_stage_launch(s->gpu, stage, items, stream, arguments, err);
}

/* Each part on its own stream, after earlier and before later work of the main stream. */
static status_t launch_split(linreg_cuda_t *s, const gpu_stage_t *stage, error_t *err) {
    const uint32_t parts = s->program.plan.streams;
    CUDA(event_record(s->forked, s->gpu->stream));
    for (uint32_t part = 0; part < parts; part++) {
        CUDA(stream_wait(s->streams[part], s->forked, 0));
        TRY(launch(s, stage, (s->problem.n + parts - 1) / parts, part, s->streams[part], err));
        CUDA(event_record(s->joined[part], s->streams[part]));
        CUDA(stream_wait(s->gpu->stream, s->joined[part], 0));
    }
    return STATUS_OK;
}

static status_t run_stages(linreg_cuda_t *s, enum stage_when when, size_t items, error_t *err) {
    for (size_t i = 0; i < s->program.n_stages; i++)
        if (s->program.stages[i].spec.when == when)
            TRY(launch(s, &s->program.stages[i], items, 0, s->gpu->stream, err));
    return STATUS_OK;
}

static status_t linreg_cuda_run_stage(linreg_cuda_t *s, const gpu_stage_t *stage, error_t *err) {
    if ((stage->spec.flags & STAGE_SPLIT) != 0 && s->program.plan.streams > 1)
        return launch_split(s, stage, err);
    return launch(s, stage, s->problem.n, 0, s->gpu->stream, err);
}

static status_t run_epoch(linreg_cuda_t *s, size_t epoch, error_t *err) {
    for (size_t i = 0; i < s->program.n_stages; i++) {
        const gpu_stage_t *stage = &s->program.stages[i];
        if (stage->spec.when == STAGE_EPOCH ||
            (stage->spec.when == STAGE_LOSS && epoch % LINREG_LOSS_EVERY == 0))
            TRY(linreg_cuda_run_stage(s, stage, err));
    }
    return STATUS_OK;
}

/* These submit work without waiting. Those that take a `void *` are phases of a sample. */
static status_t linreg_cuda_make_data(linreg_cuda_t *s, error_t *err) {
    return run_stages(s, STAGE_ONCE, s->problem.points, err);
}

static status_t linreg_cuda_upload(void *linreg_cuda, error_t *err) {
    linreg_cuda_t *s = linreg_cuda;
    CUDA(copy_in_async(s->problem.state, s->start, sizeof *s->start, s->gpu->stream));
    return STATUS_OK;
}

static status_t linreg_cuda_train(void *linreg_cuda, error_t *err) {
    linreg_cuda_t *s = linreg_cuda;
    if (s->graph != NULL) {
        for (unsigned i = 0; i < s->graph_replays; i++)
            CUDA(graph_launch(s->graph, s->gpu->stream));
        return STATUS_OK;
    }
    TRY(run_stages(s, STAGE_TRAINING, s->problem.n, err));
    for (size_t epoch = 0; epoch < s->problem.epochs; epoch++)
        TRY(run_epoch(s, epoch, err));
    return STATUS_OK;
}

static status_t linreg_cuda_copy_out(void *linreg_cuda, error_t *err) {
    linreg_cuda_t *s = linreg_cuda;
    CUDA(copy_out_async(s->results, s->problem.results, s->n_results * sizeof *s->results,
                        s->gpu->stream));
    return STATUS_OK;
}

/* Keep the copied results of a training in s->fit. Then evaluate it on the device and add the two
 * losses of the evaluation. Waits. */
static status_t linreg_cuda_keep(linreg_cuda_t *s, error_t *err) {
    linreg_fit_t *fit = &s->fit;
    fit->w = s->results[RESULT_W];
    fit->b = s->results[RESULT_B];
    for (size_t i = 0; i + 1 < fit->n_losses; i++)
        fit->losses[i] = s->results[RESULT_LOSSES + i];
    TRY(run_stages(s, STAGE_AFTER, s->problem.n, err));
    TRY(linreg_cuda_copy_out(s, err));
    TRY(gpu_sync(s->gpu, err));
    fit->losses[fit->n_losses - 1] = s->results[RESULT_LAST_LOSS];
    fit->test_loss = s->problem.n_test > 0 ? s->results[RESULT_TEST_LOSS] : NAN;
    return STATUS_OK;
}

/* Capture the epochs, with the buffers of `fixed`, if the rung's plan asks for a graph. */
/* Equal replays waste few launches: those after the last epoch end at once. */
static status_t linreg_cuda_capture(linreg_cuda_t *s, error_t *err) {
    if (!s->program.plan.graph)
        return STATUS_OK;
    const unsigned epochs = s->problem.epochs;
    s->graph_replays = (epochs + LINREG_GRAPH_EPOCHS - 1) / LINREG_GRAPH_EPOCHS;
    const unsigned in_graph = (epochs + s->graph_replays - 1) / s->graph_replays;
    TRY(gpu_capture_begin(s->gpu, err));
    for (unsigned epoch = 0; epoch < in_graph; epoch++)
        TRY(run_epoch(s, epoch, err));
    return gpu_capture_end(s->gpu, &s->graph, err);
}

/* ==== operations ============================================================================== */

/* One epoch on a GPU, operation by operation, for sweeps with epochs = 1. Each operation is timed
 * separately on an idle device: event, launches, event. As with PyTorch's operations, the time
 * includes the latency of a launch. */

static const char *const OPERATIONS[] = {"forward", "loss", "backward", "update", "fused"};

enum { FORWARD, LOSS, BACKWARD, UPDATE, FUSED, N_OPERATIONS };

/* The operation of a stage, by its name. */
static const struct {
    const char *entry;
    unsigned operation;
} ENTRIES[] = {
    {"forward", FORWARD},   {"loss", LOSS},     {"gradient", BACKWARD},
    {"backward", BACKWARD}, {"update", UPDATE},
};

static unsigned operation_of(const gpu_stage_t *stage) {
    for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++)
        if (strcmp(stage->spec.entry, ENTRIES[i].entry) == 0)
            return ENTRIES[i].operation;
    return FUSED;
}

static bool trains(const gpu_stage_t *stage) {
    const enum stage_when when = stage->spec.when;
    return when == STAGE_TRAINING || when == STAGE_EPOCH || when == STAGE_LOSS;
}

/* One bit per operation. A stage with several operations, or a graph, cannot be split: the epoch is
 * then a single operation. */
static unsigned operations_of(const linreg_cuda_t *s) {
    unsigned operations = s->graph != NULL ? 1u << FUSED : 0;
    for (size_t i = 0; i < s->program.n_stages; i++)
        if (trains(&s->program.stages[i]))
            operations |= 1u << operation_of(&s->program.stages[i]);
    return (operations & 1u << FUSED) != 0 ? 1u << FUSED : operations;
}

/* Add a stage to `span`; NULL is the complete training. */
static status_t time_stage(linreg_cuda_t *s, const gpu_stage_t *stage, device_span_t *span,
                           error_t *err) {
    TRY(device_span_begin(span, s->gpu, err));
    TRY(stage == NULL ? linreg_cuda_train(s, err) : linreg_cuda_run_stage(s, stage, err));
    return device_span_end(span, s->gpu, err);
}

static status_t run_operations(linreg_cuda_t *s, device_span_t spans[N_OPERATIONS], error_t *err) {
    memset(spans, 0, N_OPERATIONS * sizeof *spans);
    if (operations_of(s) == 1u << FUSED)
        return time_stage(s, NULL, &spans[FUSED], err);
    for (size_t i = 0; i < s->program.n_stages; i++) {
        const gpu_stage_t *stage = &s->program.stages[i];
        if (trains(stage))
            TRY(time_stage(s, stage, &spans[operation_of(stage)], err));
    }
    return STATUS_OK;
}

static status_t linreg_cuda_train_by_operation(void *linreg_cuda, error_t *err) {
    device_span_t spans[N_OPERATIONS];
    return run_operations(linreg_cuda, spans, err);
}

static status_t probe_operations(session_t *session, recorder_t *recorder, error_t *err) {
    linreg_cuda_t *s = session->state;
    device_span_t spans[N_OPERATIONS];
    TRY(linreg_cuda_upload(s, err));
    TRY(run_operations(s, spans, err));
    unsigned phase = s->first_operation;
    for (unsigned i = 0; i < N_OPERATIONS; i++)
        if ((operations_of(s) & 1u << i) != 0)
            recorder_add_between(recorder, phase++, spans[i].ns, spans[i].from_ns, spans[i].to_ns);
    return STATUS_OK;
}

/* If epochs = 1, declare the phases and the probe of single operations; and run one epoch like this
 * probe, which waits for each operation (operations.c). */
static void linreg_cuda_add_operations(session_t *session) {
    linreg_cuda_t *s = session->state;
    if (s->problem.epochs != 1)
        return;
    s->first_operation = (unsigned)session->recorder.n_phases;
    for (unsigned i = 0; i < N_OPERATIONS; i++)
        if ((operations_of(s) & 1u << i) != 0)
            recorder_phase(&session->recorder, OPERATIONS[i], CLOCK_DEVICE);
    session_add_probe(session, "operations", probe_operations);
}

/* ==== probes ================================================================================== */

/* The probes of linreg_train on a GPU: with a synchronisation after each phase, and as in a program
 * that already has its buffers. */

static status_t allocate(void *state, error_t *err) {
    linreg_cuda_t *s = state;
    TRY(linreg_cuda_allocate(s, &s->own, err));
    linreg_cuda_use(s, &s->own);
    return STATUS_OK;
}

static status_t release(void *state, error_t *err) {
    linreg_cuda_t *s = state;
    return linreg_cuda_release(s, &s->own, err);
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    linreg_cuda_t *s = session->state;
    status_t status = train_phases_sample(&s->phases, s, recorder, err);
    linreg_cuda_use(s, &s->fixed);
    return status;
}

static status_t probe_host_to_host(session_t *session, recorder_t *recorder, error_t *err) {
    linreg_cuda_t *s = session->state;
    TRY(gpu_sync(s->gpu, err));
    int64_t start_ns = clock_ns();
    TRY(linreg_cuda_upload(s, err));
    TRY(linreg_cuda_train(s, err));
    TRY(linreg_cuda_copy_out(s, err));
    TRY(gpu_sync(s->gpu, err));
    int64_t end_ns = clock_ns();
    recorder_add_between(recorder, s->host_to_host, (double)(end_ns - start_ns), start_ns, end_ns);
    return session->fresh ? linreg_cuda_keep(s, err) : STATUS_OK;
}

static void linreg_cuda_add_probes(session_t *session) {
    linreg_cuda_t *s = session->state;
    const bool allocates = s->graph == NULL;
    s->phases = (train_phases_t){.gpu = s->gpu,
                                 .allocate = allocates ? allocate : NULL,
                                 .release = allocates ? release : NULL,
                                 .upload = linreg_cuda_upload,
                                 .train = linreg_cuda_train,
                                 .copy_out = linreg_cuda_copy_out};
    train_phases_declare(&s->phases, &session->recorder);
    s->host_to_host = recorder_phase(&session->recorder, "host_to_host", CLOCK_HOST);
    session_add_probe(session, "phases", probe_phases);
    session_add_probe(session, "host_to_host", probe_host_to_host);
    linreg_cuda_add_operations(session);
}

/* ==== the case ================================================================================ */

/* Points whose signs change at a time, 16 MiB: whole periods of the signs. */
enum { STAGED = 64 * SIGNS_PERIOD };

typedef status_t train_t(void *linreg_cuda, error_t *err);

static status_t fill_results(linreg_cuda_t *s, error_t *err) {
    const size_t bytes = s->n_results * sizeof *s->results;
    random_fill(s->results, bytes, RANDOM_F64);
    return gpu_random_fill(s->gpu, s->problem.results, bytes, RANDOM_F64, err);
}

/* Train and evaluate into s->fit, with no results left from an earlier training. */
static status_t train_once(linreg_cuda_t *s, train_t *train, error_t *err) {
    TRY(fill_results(s, err));
    TRY(linreg_cuda_upload(s, err));
    TRY(train(s, err));
    TRY(linreg_cuda_copy_out(s, err));
    TRY(gpu_sync(s->gpu, err));
    return linreg_cuda_keep(s, err);
}

static void describe_problem(linreg_cuda_t *s, const open_request_t *request) {
    const size_t points = (size_t)case_param_int(request->spec, "points", 1);
    const double n = (double)linreg_n_train(points);
    s->fit = linreg_fit_new(request->spec);
    s->problem = (linreg_problem_t){.seed = request->seed,
                                    .gain = 2 * s->fit.rate / n,
                                    .inverse_n = 1 / n,
                                    .x_step = (float)(10.0 / (double)points),
                                    .points = (uint32_t)points,
                                    .n = (uint32_t)linreg_n_train(points),
                                    .n_test = (uint32_t)linreg_n_test(points),
                                    .epochs = (uint32_t)s->fit.epochs};
    s->n_results = RESULT_LOSSES + s->fit.n_losses - 1;
}

static double buffer_bytes(const linreg_cuda_t *s) {
    return (double)(sizeof *s->start + s->n_results * sizeof *s->results + s->prediction_bytes);
}

static status_t make_host_side(linreg_cuda_t *s, error_t *err) {
    TRY(gpu_memory_pinned(&s->memory, s->gpu, sizeof *s->start, &s->start, err));
    TRY(gpu_memory_pinned(&s->memory, s->gpu, s->n_results * sizeof *s->results, &s->results, err));
    memset(s->start, 0, sizeof *s->start);
    s->start->w = LINREG_W0;
    s->start->b = LINREG_B0;
    return STATUS_OK;
}

static status_t make_streams(linreg_cuda_t *s, error_t *err) {
    const uint32_t n = s->program.plan.streams;
    if (n > LINREG_MAX_STREAMS)
        return error_set(err, STATUS_FAILED, "its PLAN asks for %u streams; at most %d", n,
                         LINREG_MAX_STREAMS);
    if (n < 2)
        return STATUS_OK;
    CUDA(event_create(&s->forked, CU_EVENT_NO_TIMING));
    for (uint32_t i = 0; i < n; i++) {
        CUDA(stream_create(&s->streams[i], CU_STREAM_NON_BLOCKING));
        CUDA(event_create(&s->joined[i], CU_EVENT_NO_TIMING));
    }
    return STATUS_OK;
}

static status_t make_points(session_t *session, error_t *err) {
    linreg_cuda_t *s = session->state;
    linreg_problem_t *problem = &s->problem;
    int64_t start_ns = clock_ns();
    const size_t train_bytes = problem->n * sizeof(float);
    const size_t test_bytes = (problem->n_test + 1) * sizeof(float); /* not 0 */
    TRY(gpu_memory_device(&s->memory, s->gpu, train_bytes, &problem->x, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, train_bytes, &problem->y, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, test_bytes, &problem->x_test, err));
    TRY(gpu_memory_device(&s->memory, s->gpu, test_bytes, &problem->y_test, err));
    TRY(linreg_cuda_make_data(s, err));
    TRY(gpu_sync(s->gpu, err));
    session_add_once(session, "data", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

/* Occupancy of the first training stage. */
static double occupancy_frac(const gpu_program_t *program) {
    for (size_t i = 0; i < program->n_stages; i++)
        if (program->stages[i].spec.when == STAGE_TRAINING ||
            program->stages[i].spec.when == STAGE_EPOCH)
            return program->stages[i].occupancy_frac;
    return NAN;
}

static status_t check_room(session_t *session, error_t *err) {
    linreg_cuda_t *s = session->state;
    s->prediction_bytes = (size_t)s->program.plan.scratch_per_item * s->problem.n;
    /* Twice: the fixed buffers and those of a sample. */
    const double bytes = 8.0 * s->problem.points + 2 * buffer_bytes(s);
    TRY(session_skip(session, gpu_room(s->gpu, bytes, err)));
    session->resources.peak_device_bytes = (int64_t)bytes;
    return STATUS_OK;
}

static char *results_json(const linreg_cuda_t *s) {
    char *fit = linreg_fit_json(&s->fit);
    if (!s->program.plan.algorithmic)
        return fit;
    char *text = mem_format("{\"algorithmic\":true,%s", fit + 1);
    free(fit);
    return text;
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    linreg_cuda_t *s = session->state;
    describe_problem(s, request);
    TRY(gpu_program_load(s->gpu, request->cubin, &s->program, err));
    session_add_once(session, "module_load", s->program.load_ns);
    TRY(session_skip(session, gpu_program_resident(s->gpu, &s->program, err)));
    TRY(check_room(session, err));
    TRY(make_host_side(s, err));
    TRY(make_streams(s, err));
    TRY(make_points(session, err));
    TRY(linreg_cuda_allocate(s, &s->fixed, err));
    linreg_cuda_use(s, &s->fixed);
    TRY(linreg_cuda_capture(s, err));
    int64_t start_ns = clock_ns();
    TRY(train_once(s, linreg_cuda_train, err));
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    TRY(linreg_fit_check(&s->fit, err));
    session->results_json = results_json(s);
    session->resources.occupancy_frac = occupancy_frac(&s->program);
    linreg_cuda_add_probes(session);
    return STATUS_OK;
}

/* Also after a failure, when the driver may refuse every call: ignores its errors. */
static void close_case(session_t *session) {
    linreg_cuda_t *s = session->state;
    error_t ignored = ERROR_INIT;
    gpu_graph_free(s->gpu, &s->graph);
    linreg_cuda_release(s, &s->fixed, &ignored);
    for (size_t i = 0; i < LINREG_MAX_STREAMS; i++) {
        if (s->streams[i] != NULL)
            s->gpu->api.stream_destroy(s->streams[i]);
        if (s->joined[i] != NULL)
            s->gpu->api.event_destroy(s->joined[i]);
    }
    if (s->forked != NULL)
        s->gpu->api.event_destroy(s->forked);
    gpu_memory_free(&s->memory, s->gpu);
    gpu_program_unload(s->gpu, &s->program);
    linreg_fit_free(&s->fit);
    free(s);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    return session_open_program(session, request, sizeof(linreg_cuda_t), prepare, err);
}

/* The same kernels in the same order: only the order of atomics may differ. */
static bool nearly_equal(double a, double b) {
    return fabs(a - b) <= 1e-6 * fabs(b);
}

/* Does the probe of single operations give the same training as the others? */
static status_t check_operations(linreg_cuda_t *s, error_t *err) {
    TRY(train_once(s, linreg_cuda_train_by_operation, err));
    const double w = s->fit.w, b = s->fit.b, loss = s->fit.losses[0];
    TRY(train_once(s, linreg_cuda_train, err));
    if (nearly_equal(w, s->fit.w) && nearly_equal(b, s->fit.b) &&
        nearly_equal(loss, s->fit.losses[0]))
        return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "output: an epoch run operation by operation gives w %.9g, b %.9g, loss %.9g; "
                     "a complete run gives %.9g, %.9g, %.9g",
                     w, b, loss, s->fit.w, s->fit.b, s->fit.losses[0]);
}

static status_t output(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    linreg_cuda_t *s = session->state;
    TRY(s->fit.epochs == 1 ? check_operations(s, err) : train_once(s, linreg_cuda_train, err));
    return linreg_fit_write(&s->fit, folder, arrays, err);
}

/* The points are on the device only. */
static status_t refill(session_t *session, uint64_t seed, error_t *err) {
    linreg_cuda_t *s = session->state;
    if (seed == s->seed)
        return STATUS_OK;
    signs_t flips;
    signs_between(s->seed, seed, &flips);
    if (s->staged == NULL)
        TRY(gpu_memory_pinned(&s->memory, s->gpu, STAGED * sizeof *s->staged, &s->staged, err));
    for (size_t first = 0; first < s->problem.n; first += STAGED) {
        const size_t n = s->problem.n - first < STAGED ? s->problem.n - first : STAGED;
        const cu_pointer_t x = s->problem.x + first * sizeof *s->staged;
        TRY(gpu_copy_out(s->gpu, s->staged, x, n * sizeof *s->staged, err));
        signs_flip_floats(s->staged, n, &flips);
        CUDA(copy_in_async(x, s->staged, n * sizeof *s->staged, s->gpu->stream));
        TRY(gpu_sync(s->gpu, err));
    }
    s->seed = seed;
    return STATUS_OK;
}

static status_t fill(session_t *session, error_t *err) {
    linreg_cuda_t *s = session->state;
    TRY(fill_results(s, err));
    return gpu_sync(s->gpu, err);
}

/* linreg_cuda_keep() kept it. */
static status_t last(session_t *session, const char *folder, text_list_t *arrays, error_t *err) {
    return linreg_fit_write(&((const linreg_cuda_t *)session->state)->fit, folder, arrays, err);
}

const session_ops_t linreg_train_cuda = {.workload = "linreg_train",
                                         .open = open_case,
                                         .refill = refill,
                                         .fill = fill,
                                         .output = output,
                                         .last = last,
                                         .close = close_case};
