#include "engine/trace.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cuda/nvtx.h"
#include "io/folders.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4 << 20, BUFFER_ALIGNMENT = 8 };

static const int KINDS[] = {CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMSET,
                            CUPTI_KIND_DRIVER};

enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

/* Static, because CUPTI's callbacks take no context. */
static struct {
    trace_t *trace;
    cupti_api_t api;
} attached;

static const char *copy_name(unsigned kind) {
    static const char *const NAMES[] = {[1] = "copy, host to device",
                                        [2] = "copy, device to host",
                                        [8] = "copy, device to device",
                                        [9] = "copy, host to host",
                                        [10] = "copy, device to other device"};
    const bool known = kind < sizeof NAMES / sizeof *NAMES && NAMES[kind] != NULL;
    return known ? NAMES[kind] : "copy";
}

static trace_event_t event_of(trace_kind_t kind, const char *name, uint64_t start_ns,
                              uint64_t end_ns, uint32_t track, uint32_t correlation) {
    return (trace_event_t){.kind = kind,
                           .name = (char *)name,
                           .start_ns = (int64_t)start_ns,
                           .end_ns = (int64_t)end_ns,
                           .track = track,
                           .correlation = correlation};
}

static trace_event_t kernel_event(const cupti_kernel_t *kernel) {
    trace_event_t event = event_of(TRACE_KERNEL, kernel->name, kernel->start_ns, kernel->end_ns,
                                   kernel->stream, kernel->correlation);
    event.graph_node = kernel->graph_node;
    event.registers = kernel->registers;
    event.shared_bytes =
        (uint32_t)kernel->static_shared_bytes + (uint32_t)kernel->dynamic_shared_bytes;
    memcpy(event.grid, kernel->grid, sizeof event.grid);
    memcpy(event.block, kernel->block, sizeof event.block);
    return event;
}

/* Copies the event and its name. Thread-safe. */
static void trace_add(trace_t *trace, const trace_event_t *event) {
    pthread_mutex_lock(&trace->lock);
    mem_grow(&trace->events, trace->n, &trace->capacity, sizeof *trace->events);
    trace->events[trace->n] = *event;
    trace->events[trace->n++].name = mem_text(event->name != NULL ? event->name : "(no name)");
    pthread_mutex_unlock(&trace->lock);
}

void trace_cupti_record(trace_t *trace, const cupti_api_t *api, const void *record) {
    const cupti_memcpy_t *copy = record;
    const cupti_memset_t *set = record;
    const cupti_call_t *call = record;
    const char *name = NULL;
    trace_event_t event;
    switch (*(const uint32_t *)record) {
    case CUPTI_KIND_CONCURRENT_KERNEL:
        event = kernel_event(record);
        break;
    case CUPTI_KIND_MEMCPY:
        event = event_of(TRACE_COPY, copy_name(copy->copy_kind), copy->start_ns, copy->end_ns,
                         copy->stream, copy->correlation);
        event.bytes = copy->bytes;
        break;
    case CUPTI_KIND_MEMSET:
        event =
            event_of(TRACE_SET, "set", set->start_ns, set->end_ns, set->stream, set->correlation);
        event.bytes = set->bytes;
        break;
    case CUPTI_KIND_DRIVER:
        api->callback_name(CUPTI_DOMAIN_DRIVER, call->callback, &name);
        event = event_of(TRACE_CALL, name != NULL ? name : "driver call", call->start_ns,
                         call->end_ns, call->thread, call->correlation);
        break;
    default:
        return;
    }
    if (event.end_ns != 0 || event.kind == TRACE_CALL)
        trace_add(trace, &event);
}

static uint64_t now_ns(void) {
    return (uint64_t)clock_ns();
}

static void on_requested(uint8_t **buffer, size_t *bytes, size_t *most_records) {
    *buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
    *bytes = *buffer != NULL ? BUFFER_BYTES : 0;
    *most_records = 0;
}

static void on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                         size_t valid_bytes) {
    (void)context;
    (void)stream;
    (void)bytes;
    void *record = NULL;
    while (attached.trace != NULL &&
           attached.api.next_record(buffer, valid_bytes, &record) == CUPTI_OK)
        trace_cupti_record(attached.trace, &attached.api, record);
    free(buffer);
}

static status_t begin(const cupti_api_t *api, error_t *err) {
    TRY(cupti_check(api, api->register_clock(now_ns), "cuptiActivityRegisterTimestampCallback",
                    err));
    TRY(cupti_check(api, api->register_callbacks(on_requested, on_completed),
                    "cuptiActivityRegisterCallbacks", err));
    for (size_t i = 0; i < N_KINDS; i++)
        TRY(cupti_check(api, api->enable(KINDS[i]), "cuptiActivityEnable", err));
    return STATUS_OK;
}

status_t trace_cupti_attach(trace_t *trace, char **source, error_t *err) {
    AUTO(text_list_free) text_list_t paths = {0};
    AUTO_FREE char *root = NULL;
    uint32_t version = 0;
    *source = NULL;
    TRY(folders_data(&root, err));
    cupti_candidates(root, &paths);
    error_t why = ERROR_INIT; /* of the first library, the most likely one */
    status_t status = STATUS_FAILED;
    for (size_t i = 0; i < paths.n && status != STATUS_OK; i++) {
        cupti_api_t api;
        status = cupti_open(paths.items[i], &api, &version, &why);
        if (status != STATUS_OK)
            continue;
        attached.api = api;
        attached.trace = trace;
        status = begin(&api, &why);
        if (status != STATUS_OK)
            trace_cupti_detach();
        else
            *source = mem_format("CUPTI, version %u (%s)", version, paths.items[i]);
    }
    return status == STATUS_OK ? STATUS_OK : error_set(err, why.status, "%s", why.text);
}

void trace_cupti_flush(void) {
    if (attached.trace != NULL)
        attached.api.flush_all(CUPTI_FLUSH_FORCED);
}

void trace_cupti_detach(void) {
    if (attached.trace == NULL)
        return;
    for (size_t i = 0; i < N_KINDS; i++)
        attached.api.disable(KINDS[i]);
    trace_cupti_flush();
    attached.trace = NULL;
}

bool trace_cupti_attached(void) {
    return attached.trace != NULL;
}

void trace_cupti_finish(void) {
    if (attached.trace == NULL && attached.api.finalize != NULL)
        attached.api.finalize();
    attached.api = (cupti_api_t){0};
}

static void on_range(void *context, const char *name) {
    trace_t *trace = context;
    if (name != NULL) {
        if (trace->depth < TRACE_MAX_DEPTH)
            trace->open[trace->depth] = (trace_event_t){
                .kind = TRACE_RANGE, .name = mem_text(name), .start_ns = clock_ns()};
        trace->depth++;
    } else if (trace->depth > 0 && --trace->depth < TRACE_MAX_DEPTH) {
        trace_event_t *range = &trace->open[trace->depth];
        range->end_ns = clock_ns();
        trace_add(trace, range);
        free(range->name);
    }
}

/* A device phase has an unknown position in the interval: end it with the interval. */
static void on_phase(void *context, const char *name, clock_domain_t clock, double ns,
                     int64_t from_ns, int64_t to_ns) {
    trace_t *trace = context;
    const bool device = clock == CLOCK_DEVICE;
    if (device && trace->device_records)
        return;
    const int64_t latest_ns = to_ns - (int64_t)ns;
    if (device && latest_ns > from_ns)
        from_ns = latest_ns;
    trace_add(trace, &(trace_event_t){.kind = device ? TRACE_DEVICE : TRACE_PHASE,
                                      .name = (char *)name,
                                      .start_ns = from_ns,
                                      .end_ns = to_ns});
}

static void discard_events(trace_t *trace) {
    for (size_t i = 0; i < trace->n; i++)
        free(trace->events[i].name);
    free(trace->events);
    for (size_t i = 0; i < trace->depth && i < TRACE_MAX_DEPTH; i++)
        free(trace->open[i].name);
    trace->events = NULL;
    trace->n = trace->capacity = trace->depth = 0;
}

void trace_start(trace_t *trace, const char *source) {
    if (!trace->on) {
        pthread_mutex_init(&trace->lock, NULL);
        trace->watch = (recorder_watch_t){on_phase, trace};
    }
    char *copy = mem_text(source); /* it may be trace->source */
    discard_events(trace);
    free(trace->source);
    trace->source = copy;
    trace->on = true;
    nvtx_listen(on_range, trace);
}

void trace_stop(trace_t *trace) {
    if (!trace->on)
        return;
    nvtx_listen(NULL, NULL);
    discard_events(trace);
    free(trace->source);
    pthread_mutex_destroy(&trace->lock);
    *trace = (trace_t){0};
}

/* A row in the viewer. Slices of a row may nest but not overlap, so overlapping work (kernels of
 * one stream under programmatic dependent launch) gets another row. */
typedef struct row {
    bool device;
    uint32_t track;
    unsigned number; /* among the rows of this track */
    int64_t end_ns;
} row_t;

enum { MOST_ROWS = 128, HARNESS_TID = 1, FIRST_CALL_TID = 10, FIRST_DEVICE_TID = 1000 };

typedef struct rows {
    row_t items[MOST_ROWS];
    size_t n;
} rows_t;

static bool on_device(const trace_event_t *event) {
    return event->kind >= TRACE_KERNEL;
}

static int row_tid(const trace_event_t *event, size_t row) {
    return (on_device(event) ? FIRST_DEVICE_TID : FIRST_CALL_TID) + (int)row;
}

static json_t *name_row(int tid, const char *name) {
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:{s:s}}", "ph", "M", "name", "thread_name", "pid",
                     1, "tid", tid, "ts", 0, "args", "name", name);
}

static void announce_row(json_t *events, const trace_event_t *event, const row_t *row, int tid) {
    AUTO_FREE char *name = NULL;
    if (event->kind == TRACE_DEVICE)
        name = mem_text("GPU, between events");
    else if (on_device(event))
        name = mem_format("GPU, stream %u%s", row->track, row->number > 0 ? ", overlapping" : "");
    else
        name = mem_format("driver calls%s", row->number > 0 ? ", of another thread" : "");
    json_array_append_new(events, name_row(tid, name));
}

static int find_row(rows_t *rows, json_t *events, const trace_event_t *event) {
    if (event->kind == TRACE_RANGE || event->kind == TRACE_PHASE)
        return HARNESS_TID;
    unsigned number = 0;
    for (size_t i = 0; i < rows->n; i++) {
        row_t *row = &rows->items[i];
        if (row->device != on_device(event) || row->track != event->track)
            continue;
        number++;
        if (row->end_ns <= event->start_ns || i + 1 == MOST_ROWS) {
            row->end_ns = event->end_ns;
            return row_tid(event, i);
        }
    }
    if (rows->n == MOST_ROWS)
        return row_tid(event, MOST_ROWS - 1);
    row_t *row = &rows->items[rows->n++];
    *row = (row_t){on_device(event), event->track, number, event->end_ns};
    int tid = row_tid(event, rows->n - 1);
    announce_row(events, event, row, tid);
    return tid;
}

static const char *category(trace_kind_t kind) {
    static const char *const NAMES[] = {
        [TRACE_RANGE] = "range",   [TRACE_PHASE] = "phase", [TRACE_CALL] = "call",
        [TRACE_KERNEL] = "kernel", [TRACE_COPY] = "copy",   [TRACE_SET] = "set",
        [TRACE_DEVICE] = "device",
    };
    return NAMES[kind];
}

static json_t *arguments_of(const trace_event_t *event) {
    json_t *arguments = json_object();
    if (event->correlation != 0)
        json_object_set_new(arguments, "correlation", json_integer(event->correlation));
    if (event->graph_node != 0)
        json_object_set_new(arguments, "graph node", json_integer((json_int_t)event->graph_node));
    if (event->kind == TRACE_KERNEL) {
        const int32_t *g = event->grid, *b = event->block;
        json_object_set_new(arguments, "grid", json_pack("[i,i,i]", g[0], g[1], g[2]));
        json_object_set_new(arguments, "block", json_pack("[i,i,i]", b[0], b[1], b[2]));
        json_object_set_new(arguments, "registers per thread", json_integer(event->registers));
        json_object_set_new(arguments, "shared memory", json_integer(event->shared_bytes));
    }
    if (event->kind == TRACE_COPY || event->kind == TRACE_SET)
        json_object_set_new(arguments, "bytes", json_integer((json_int_t)event->bytes));
    if (event->kind == TRACE_DEVICE)
        json_object_set_new(arguments, "place",
                            json_string("unknown: only the duration is measured"));
    return arguments;
}

/* By start; of two that start together, the longer one first, so that it encloses the other. */
static int by_start(const void *a, const void *b) {
    const trace_event_t *left = *(trace_event_t *const *)a, *right = *(trace_event_t *const *)b;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    return (int)left->kind - (int)right->kind;
}

json_t *trace_to_json(const trace_t *trace, int64_t origin_ns) {
    json_t *events = json_array();
    rows_t rows = {.n = 0};
    AUTO_FREE const trace_event_t **sorted = mem_zeroed(trace->n + 1, sizeof(trace_event_t *));
    for (size_t i = 0; i < trace->n; i++)
        sorted[i] = &trace->events[i];
    qsort(sorted, trace->n, sizeof *sorted, by_start);
    json_array_append_new(events, name_row(HARNESS_TID, "ranges and phases"));
    int64_t window_end_ns = INT64_MIN;
    for (size_t i = 0; i < trace->n; i++) {
        const trace_event_t *event = sorted[i];
        if (event->kind == TRACE_RANGE && event->start_ns >= window_end_ns)
            window_end_ns = event->end_ns; /* of an outermost range */
        if (event->start_ns > window_end_ns)
            continue;
        const int tid = find_row(&rows, events, event);
        json_array_append_new(events, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "ph",
                                                "X", "name", event->name, "cat",
                                                category(event->kind), "pid", 1, "tid", tid, "ts",
                                                (double)(event->start_ns - origin_ns) / 1e3, "dur",
                                                (double)(event->end_ns - event->start_ns) / 1e3,
                                                "args", arguments_of(event)));
    }
    return json_pack("{s:o, s:{s:s}}", "traceEvents", events, "otherData", "source", trace->source);
}
