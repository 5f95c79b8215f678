/* Events while a case runs, on the host clock: ranges and phases of the harness, driver calls,
 * kernels, copies. Written as Chrome Trace JSON for Perfetto and chrome://tracing. Measured runs
 * record no events. */
#ifndef BENCH_ENGINE_TRACE_H
#define BENCH_ENGINE_TRACE_H

#include "cuda/cupti.h"
#include "engine/session.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum trace_kind {
    TRACE_RANGE,  /* an NVTX range */
    TRACE_PHASE,  /* a host-clock phase of a sample */
    TRACE_CALL,   /* of the driver API */
    TRACE_KERNEL, /* on the device, from CUPTI */
    TRACE_COPY,
    TRACE_SET,
    TRACE_DEVICE, /* a phase between two CUDA events, without CUPTI */
} trace_kind_t;

typedef struct trace_event {
    trace_kind_t kind;
    char *name;
    int64_t start_ns, end_ns;
    uint32_t track;       /* stream of device work, thread of a call, else 0 */
    uint32_t correlation; /* links a call to the device work it started; 0: none */
    uint64_t graph_node;  /* 0: not from a graph */
    uint64_t bytes;       /* of copies and sets */
    int32_t grid[3], block[3];
    uint32_t registers, shared_bytes; /* per thread, per block */
} trace_event_t;

enum { TRACE_MAX_DEPTH = 16 };

typedef struct trace {
    bool on;
    bool device_records;  /* CUPTI records device work: omit TRACE_DEVICE */
    char *source;         /* of device events, for display */
    pthread_mutex_t lock; /* of events: CUPTI delivers records on its own thread */
    trace_event_t *events;
    size_t n, capacity;
    trace_event_t open[TRACE_MAX_DEPTH]; /* ranges */
    size_t depth;
    recorder_watch_t watch; /* for session recorders */
} trace_t;

/* Discard all events and start recording, including NVTX ranges. `trace` must not move until
 * trace_stop(). Copies `source`. */
void trace_start(trace_t *trace, const char *source);
/* Frees everything. Does nothing if not started. */
void trace_stop(trace_t *trace);

/* All events that start within a range, sorted by time, in µs since `origin_ns`:
 * {"traceEvents": […], "otherData": {"source": …}}. Omits events outside all ranges, such as
 * warm-up. A new reference. */
json_t *trace_to_json(const trace_t *trace, int64_t origin_ns);

/* CUPTI activity records become events. CUPTI takes its timestamps from clock_ns(). */

/* Add CUPTI records to `trace` until trace_cupti_detach(). One trace at a time. Attach before
 * creating graphs whose kernels are to be recorded. `*source` names the library; the caller frees
 * it. */
status_t trace_cupti_attach(trace_t *trace, char **source, error_t *err);
/* Deliver records that CUPTI still buffers, if attached; the device must be idle. */
void trace_cupti_flush(void);
void trace_cupti_detach(void);
bool trace_cupti_attached(void);
/* After a detach: shut CUPTI down, so that it does not slow later measurements. */
void trace_cupti_finish(void);

/* Add one record; ignores other kinds and work without an end time. */
void trace_cupti_record(trace_t *trace, const cupti_api_t *api, const void *record);

#endif
