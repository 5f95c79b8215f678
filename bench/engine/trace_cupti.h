/* Activity records of CUPTI as events of a trace. CUPTI is asked to use this program's own clock,
 * so that nothing has to be converted. */
#ifndef BENCH_ENGINE_TRACE_CUPTI_H
#define BENCH_ENGINE_TRACE_CUPTI_H

#include "cuda/cupti.h"
#include "engine/trace.h"

/* Let CUPTI tell `trace`, from now until trace_cupti_detach(). One trace at a time. To see kernels
 * in graphs, attach before the graphs are made. `*source` says which CUPTI; the caller frees it. */
status_t trace_cupti_attach(trace_t *trace, char **source, error_t *err);
/* Bring what CUPTI still keeps; the device must be idle. Nothing when it is not attached. */
void trace_cupti_flush(void);
void trace_cupti_detach(void);
bool trace_cupti_attached(void);
/* Behind a detach: take CUPTI out of the process, so that what is timed later pays nothing for it.
 */
void trace_cupti_finish(void);

/* One record; kinds that were not asked for, and work without a time, are passed over. */
void trace_cupti_record(trace_t *trace, const cupti_api_t *api, const void *record);

#endif
