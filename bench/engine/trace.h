/* What happened while a case ran, on the host's clock: ranges and phases of the harness, calls of
 * the driver, kernels and copies. Written as Chrome Trace JSON, which Perfetto and chrome://tracing
 * read. Only a traced run has one of these: a measured run records nothing. */
#ifndef BENCH_ENGINE_TRACE_H
#define BENCH_ENGINE_TRACE_H

#include "engine/recorder.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum trace_kind {
    TRACE_RANGE,  /* an NVTX range */
    TRACE_PHASE,  /* of the host's clock, as a sample has it */
    TRACE_CALL,   /* of the driver API */
    TRACE_KERNEL, /* on the device, as CUPTI saw it */
    TRACE_COPY,
    TRACE_SET,
    TRACE_DEVICE, /* a phase between two events, where there is no CUPTI */
} trace_kind_t;

typedef struct trace_event {
    trace_kind_t kind;
    char *name;
    int64_t start_ns, end_ns;
    uint32_t track;       /* stream of device work, thread of a call, else 0 */
    uint32_t correlation; /* of a call and the device work that it started; 0: none */
    uint64_t graph_node;  /* 0: not from a graph */
    uint64_t bytes;       /* of copies and sets */
    int32_t grid[3], block[3];
    uint32_t registers, shared_bytes; /* a thread's, a block's */
} trace_event_t;

enum { TRACE_MAX_DEPTH = 16 };

typedef struct trace {
    bool on;
    bool device_records;  /* CUPTI tells of the device: no need for times between events */
    char *source;         /* where device work is known from, for people */
    pthread_mutex_t lock; /* of events: CUPTI brings records from a thread of its own */
    trace_event_t *events;
    size_t n, capacity;
    trace_event_t open[TRACE_MAX_DEPTH]; /* ranges that have begun */
    size_t depth;
    recorder_watch_t watch; /* for session recorders */
} trace_t;

/* Forget all events and begin, listening to NVTX ranges. `trace` stays where it is until
 * trace_stop(). `source` is copied. */
void trace_start(trace_t *trace, const char *source);
/* Frees everything; nothing for one that never started. */
void trace_stop(trace_t *trace);
/* Keep a copy of the event, its name included. Any thread. */
void trace_add(trace_t *trace, const trace_event_t *event);

/* Everything that began within an outermost range, in the order of time, as
 * {"traceEvents": […], "otherData": {"source": …}}: µs since `origin_ns`. What ran outside of all
 * ranges, such as a warm-up, is left out. A new reference. */
json_t *trace_to_json(const trace_t *trace, int64_t origin_ns);

#endif
