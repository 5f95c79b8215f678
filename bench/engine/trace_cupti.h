/* Converts CUPTI activity records to trace events. CUPTI takes its timestamps from clock_ns(). */
#ifndef BENCH_ENGINE_TRACE_CUPTI_H
#define BENCH_ENGINE_TRACE_CUPTI_H

#include "cuda/cupti.h"
#include "engine/trace.h"

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
