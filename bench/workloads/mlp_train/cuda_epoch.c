/* mlp_train on a GPU: the loop's functions, an epoch, and its graphs. */
#include "workloads/mlp_train/cuda.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/trace_cupti.h"
#include "workloads/common/session_parts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ==== an epoch ================================================================================ */

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

/* ---- functions for the loop ------------------------------------------------------------------ */

static status_t begin(void *context, mlpt_pass_t pass, error_t *err) {
    const mlpt_cuda_t *s = context;
    return allocator_begin(s->allocator, pass, err);
}

static status_t end(void *context, error_t *err) {
    const mlpt_cuda_t *s = context;
    return allocator_end(s->allocator, err);
}

static status_t allocate(void *context, size_t bytes, cu_pointer_t *at, error_t *err) {
    const mlpt_cuda_t *s = context;
    return allocator_allocate(s->allocator, bytes, s->gpu->stream, at, err);
}

static status_t release(void *context, cu_pointer_t at, error_t *err) {
    const mlpt_cuda_t *s = context;
    return allocator_free(s->allocator, at, s->gpu->stream, err);
}

static status_t launch(void *context, mlpt_operator_t which, size_t blocks, const void *argument,
                       error_t *err) {
    const mlpt_cuda_t *s = context;
    void *arguments[] = {(void *)argument};
    return gpu_stage_launch(s->gpu, s->stages[which], blocks, s->gpu->stream, arguments, err);
}

static status_t connect_stage(mlpt_cuda_t *s, const gpu_stage_t *stage, error_t *err) {
    for (size_t i = 0; i < MLPT_OPERATORS; i++) {
        if (strcmp(stage->spec.entry, MLPT_OPERATOR_NAMES[i]) != 0)
            continue;
        s->stages[i] = stage;
        s->loop.kernels.has[i] = true;
        s->loop.kernels.stage[i] = stage->spec;
        return STATUS_OK;
    }
    return error_set(err, STATUS_FAILED, "its stage \"%s\" is no operator of mlp_train",
                     stage->spec.entry);
}

status_t mlpt_cuda_connect(mlpt_cuda_t *s, error_t *err) {
    s->loop.device = (mlpt_device_t){.context = s,
                                     .begin = begin,
                                     .end = end,
                                     .allocate = allocate,
                                     .release = release,
                                     .launch = launch};
    s->loop.layers = s->shape.layers;
    memcpy(s->loop.sizes, s->shape.sizes, sizeof s->loop.sizes);
    s->loop.rate = (float)s->shape.rate;
    for (size_t i = 0; i < s->program.n_stages; i++)
        TRY(connect_stage(s, &s->program.stages[i], err));
    return mlpt_kernels_check(&s->loop.kernels, err);
}

/* ---- an epoch -------------------------------------------------------------------------------- */

status_t mlpt_cuda_restore(mlpt_cuda_t *s, error_t *err) {
    CUDA(copy_device_async(s->parameters, s->start, s->parameter_bytes, s->gpu->stream));
    return STATUS_OK;
}

void mlpt_cuda_shuffle(mlpt_cuda_t *s, uint32_t epoch) {
    if (epoch == 0)
        memcpy(s->host_order, s->data->order, MNIST_IMAGES * sizeof *s->host_order);
    else
        mnist_images_order(s->host_order, s->shape.seed, epoch);
}

status_t mlpt_cuda_upload_order(mlpt_cuda_t *s, error_t *err) {
    CUDA(copy_in_async(s->order, s->host_order, MNIST_IMAGES * sizeof *s->host_order,
                       s->gpu->stream));
    return STATUS_OK;
}

static cu_pointer_t order_of(const mlpt_cuda_t *s, cu_pointer_t order, size_t step) {
    return order + step * s->shape.batch * sizeof(uint32_t);
}

/* Steps first … first + n - 1 of an epoch; `order` and `losses` are those of the first. */
typedef struct steps {
    size_t first, n;
    cu_pointer_t order, losses;
} steps_t;

static status_t run_steps(mlpt_cuda_t *s, steps_t steps, error_t *err) {
    for (size_t i = 0; i < steps.n; i++)
        TRY(mlpt_loop_step(&s->loop, mlpt_rows(&s->shape, steps.first + i),
                           order_of(s, steps.order, i), steps.losses + i * sizeof(float), err));
    return STATUS_OK;
}

status_t mlpt_cuda_first_step(mlpt_cuda_t *s, error_t *err) {
    return run_steps(s, (steps_t){0, 1, s->order, s->losses}, err);
}

status_t mlpt_cuda_last_step(mlpt_cuda_t *s, error_t *err) {
    const size_t last = s->shape.steps - 1;
    return run_steps(s, (steps_t){last, 1, order_of(s, s->order, last), s->losses}, err);
}

static status_t replay(mlpt_cuda_t *s, error_t *err) {
    const cu_stream_t stream = s->gpu->stream;
    const size_t loss_bytes = s->whole.steps * sizeof(float);
    const size_t order_bytes = s->whole.steps * s->shape.batch * sizeof(uint32_t);
    for (size_t i = 0; i < s->replays; i++) {
        CUDA(copy_device_async(s->window_order, order_of(s, s->order, i * s->whole.steps),
                               order_bytes, stream));
        CUDA(graph_launch(s->whole.exec, stream));
        CUDA(copy_device_async(s->losses + i * loss_bytes, s->window_losses, loss_bytes, stream));
    }
    if (s->rest.exec != NULL)
        CUDA(graph_launch(s->rest.exec, stream));
    return STATUS_OK;
}

static status_t train_in_one_launch(mlpt_cuda_t *s, size_t steps, error_t *err) {
    const size_t batch = s->shape.batch;
    const size_t rows = (steps - 1) * batch + mlpt_rows(&s->shape, steps - 1);
    return mlpt_loop_steps(&s->loop, rows, batch, s->order, s->losses, err);
}

status_t mlpt_cuda_epoch(mlpt_cuda_t *s, size_t steps, error_t *err) {
    if (s->whole.exec != NULL || s->rest.exec != NULL)
        TRY(replay(s, err));
    else if (s->stages[MLPT_TRAIN_STEPS] != NULL)
        TRY(train_in_one_launch(s, steps, err));
    else
        TRY(run_steps(s, (steps_t){0, steps, s->order, s->losses}, err));
    CUDA(copy_out_async(s->host_losses, s->losses, steps * sizeof(float), s->gpu->stream));
    return STATUS_OK;
}

status_t mlpt_cuda_validate(mlpt_cuda_t *s, error_t *err) {
    TRY(mlpt_loop_validate(&s->loop, MNIST_TEST_IMAGES, s->sums, err));
    CUDA(copy_out_async(s->host_sums, s->sums, 2 * sizeof(float), s->gpu->stream));
    return STATUS_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static status_t capture_steps(mlpt_cuda_t *s, mlpt_graph_t *graph, steps_t steps, error_t *err) {
    if (steps.n == 0)
        return STATUS_OK;
    graph->steps = steps.n;
    TRY(gpu_capture_begin(s->gpu, err));
    TRY(run_steps(s, steps, err));
    return gpu_capture_end(s->gpu, &graph->exec, err);
}

/* Equal replays leave few remaining steps. */
status_t mlpt_cuda_capture(mlpt_cuda_t *s, error_t *err) {
    if (!s->program.plan.graph)
        return STATUS_OK;
    const size_t steps = s->shape.steps;
    const size_t whole = mlpt_rows(&s->shape, steps - 1) == s->shape.batch ? steps : steps - 1;
    const size_t graphs = (whole + MLPT_GRAPH_STEPS - 1) / MLPT_GRAPH_STEPS;
    const size_t each = graphs > 0 ? whole / graphs : 0, replayed = graphs * each;
    s->replays = graphs;
    TRY(capture_steps(s, &s->whole, (steps_t){0, each, s->window_order, s->window_losses}, err));
    const steps_t rest = {replayed, steps - replayed, order_of(s, s->order, replayed),
                          s->losses + replayed * sizeof(float)};
    return capture_steps(s, &s->rest, rest, err);
}

void mlpt_cuda_drop_graphs(mlpt_cuda_t *s) {
    gpu_graph_free(s->gpu, &s->whole.exec);
    gpu_graph_free(s->gpu, &s->rest.exec);
    s->whole = s->rest = (mlpt_graph_t){0};
}

/* ==== what its time is spent on =============================================================== */

/* Maximum kernels per epoch: more would take minutes and gigabytes. */
static const double MAX_KERNELS = 2e5;

enum { KERNELS_PER_LAYER = 8 };

/* The start (+1) or end (-1) of an interval. */
typedef struct edge {
    int64_t at_ns;
    int kernels, calls;
} edge_t;

static bool is_allocation(const trace_event_t *event) {
    return event->kind == TRACE_CALL &&
           (text_starts(event->name, "cuMemAlloc") || text_starts(event->name, "cuMemFree"));
}

static bool is_device_work(const trace_event_t *event) {
    return event->kind == TRACE_KERNEL || event->kind == TRACE_COPY || event->kind == TRACE_SET;
}

static int by_time(const void *a, const void *b) {
    const edge_t *left = a, *right = b;
    return (left->at_ns > right->at_ns) - (left->at_ns < right->at_ns);
}

static int64_t clamp(int64_t ns, int64_t from_ns, int64_t to_ns) {
    return ns < from_ns ? from_ns : ns > to_ns ? to_ns : ns;
}

mlpt_split_t mlpt_split(const trace_t *trace, int64_t from_ns, int64_t to_ns) {
    mlpt_split_t split = {.epoch_ns = to_ns - from_ns};
    AUTO_FREE edge_t *edges = mem_zeroed(2 * trace->n + 1, sizeof *edges);
    size_t n = 0;
    for (size_t i = 0; i < trace->n; i++) {
        const trace_event_t *event = &trace->events[i];
        const int kernels = is_device_work(event), calls = is_allocation(event);
        if (kernels + calls == 0)
            continue;
        edges[n++] = (edge_t){clamp(event->start_ns, from_ns, to_ns), kernels, calls};
        edges[n++] = (edge_t){clamp(event->end_ns, from_ns, to_ns), -kernels, -calls};
    }
    qsort(edges, n, sizeof *edges, by_time);
    int kernels = 0, calls = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        kernels += edges[i].kernels;
        calls += edges[i].calls;
        const int64_t length_ns = edges[i + 1].at_ns - edges[i].at_ns;
        if (kernels > 0)
            split.kernels_ns += length_ns;
        else if (calls > 0)
            split.driver_ns += length_ns;
    }
    return split;
}

static status_t run_epoch(mlpt_cuda_t *s, int64_t *from_ns, int64_t *to_ns, error_t *err) {
    mlpt_cuda_shuffle(s, 0);
    TRY(mlpt_cuda_restore(s, err));
    TRY(gpu_sync(s->gpu, err));
    *from_ns = clock_ns();
    TRY(mlpt_cuda_upload_order(s, err));
    TRY(mlpt_cuda_epoch(s, s->shape.steps, err));
    TRY(gpu_sync(s->gpu, err));
    *to_ns = clock_ns();
    return STATUS_OK;
}

/* CUPTI reports kernels only of graphs that are captured after it is attached. The first epoch
 * includes its set-up. */
static status_t run_epochs(mlpt_cuda_t *s, int64_t *from_ns, int64_t *to_ns, error_t *err) {
    mlpt_cuda_drop_graphs(s);
    TRY(mlpt_cuda_capture(s, err));
    TRY(run_epoch(s, from_ns, to_ns, err));
    return run_epoch(s, from_ns, to_ns, err);
}

static void add_split(session_t *session, const mlpt_split_t *split) {
    json_t *results = json_loads(session->results_json, 0, NULL);
    json_object_set_new(results, "split",
                        json_pack("{s:I, s:I, s:I}", "kernels_ns", (json_int_t)split->kernels_ns,
                                  "driver_ns", (json_int_t)split->driver_ns, "epoch_ns",
                                  (json_int_t)split->epoch_ns));
    free(session->results_json);
    session->results_json = results_text(results);
}

status_t mlpt_cuda_split(session_t *session, error_t *err) {
    mlpt_cuda_t *s = session->state;
    if (trace_cupti_attached() ||
        (double)s->shape.steps * (double)s->shape.layers * KERNELS_PER_LAYER > MAX_KERNELS)
        return STATUS_OK;
    trace_t trace = {0};
    AUTO_FREE char *source = NULL;
    error_t absent = ERROR_INIT;
    int64_t from_ns = 0, to_ns = 0;
    trace_start(&trace, "");
    status_t status = STATUS_OK;
    if (trace_cupti_attach(&trace, &source, &absent) == STATUS_OK) {
        status = run_epochs(s, &from_ns, &to_ns, err);
        trace_cupti_detach();
        const mlpt_split_t split = mlpt_split(&trace, from_ns, to_ns);
        if (status == STATUS_OK && split.kernels_ns > 0)
            add_split(session, &split);
        trace_cupti_finish();
    }
    trace_stop(&trace);
    return status;
}
