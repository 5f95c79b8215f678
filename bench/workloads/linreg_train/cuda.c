/* linreg_train on a GPU: opens and closes a case, and writes its output. */
#include "workloads/linreg_train/cuda.h"

#include "base/clock.h"
#include "base/memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/linreg_train/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

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
