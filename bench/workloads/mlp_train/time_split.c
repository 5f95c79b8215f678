#include "workloads/mlp_train/time_split.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/trace_cupti.h"
#include "workloads/common/session_parts.h"
#include "workloads/mlp_train/cuda.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
    edge_t *edges = mem_zeroed(2 * trace->n + 1, sizeof *edges);
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
    free(edges);
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
    char *source = NULL;
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
    free(source);
    return status;
}
