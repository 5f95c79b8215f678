/* What the time of a training's call is spent on, by a trace of one more call. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/trace.h"
#include "workloads/common/gpu_sample.h"

#include <jansson.h>
#include <stdlib.h>

/* Of a call: more would take minutes and gigabytes. */
enum { KERNELS_MOST = 200000 };

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

gpu_split_t gpu_split(const trace_t *trace, int64_t from_ns, int64_t to_ns) {
    gpu_split_t split = {.epoch_ns = to_ns - from_ns};
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

static status_t run_call(gpu_sample_t *s, int64_t *from_ns, int64_t *to_ns, error_t *err) {
    if (s->takes_in_sample)
        TRY(gpu_sample_allocate(s, false, err));
    TRY(gpu_training_upload(s, err));
    TRY(gpu_sync(s->gpu, err));
    *from_ns = clock_ns();
    TRY(gpu_training_run(s, err));
    TRY(gpu_sync(s->gpu, err));
    *to_ns = clock_ns();
    return s->takes_in_sample ? gpu_sample_release(s, err) : STATUS_OK;
}

/* CUPTI reports kernels only of graphs that are captured after it is attached. The first call includes its set-up. */
static status_t run_calls(gpu_sample_t *s, int64_t *from_ns, int64_t *to_ns, error_t *err) {
    TRY(gpu_sample_host_inputs(s, err));
    TRY(s->recapture(s, err));
    TRY(run_call(s, from_ns, to_ns, err));
    return run_call(s, from_ns, to_ns, err);
}

status_t gpu_sample_split(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    if (s->steps == 0 || !gpu_sample_has(s, ARRAY_TEMPORARY) || s->kernels > KERNELS_MOST ||
        trace_cupti_attached())
        return STATUS_OK;
    trace_t trace = {0};
    AUTO_FREE char *source = NULL;
    error_t absent = ERROR_INIT;
    int64_t from_ns = 0, to_ns = 0;
    status_t status = STATUS_OK;
    trace_start(&trace, "");
    if (trace_cupti_attach(&trace, &source, &absent) == STATUS_OK) {
        status = run_calls(s, &from_ns, &to_ns, err);
        trace_cupti_detach();
        const gpu_split_t split = gpu_split(&trace, from_ns, to_ns);
        if (status == STATUS_OK && split.kernels_ns > 0)
            session_add_result(session, "split",
                               json_pack("{s:I, s:I, s:I}", "kernels_ns",
                                         (json_int_t)split.kernels_ns, "driver_ns",
                                         (json_int_t)split.driver_ns, "epoch_ns",
                                         (json_int_t)split.epoch_ns));
        trace_cupti_finish();
    }
    trace_stop(&trace);
    return status;
}
