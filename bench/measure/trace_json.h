/* The trace of `bench run --trace`: the events that each worker recorded during one run of a case,
 * merged into one file for Perfetto or chrome://tracing: one process per case, one clock. */
#ifndef BENCH_MEASURE_TRACE_JSON_H
#define BENCH_MEASURE_TRACE_JSON_H

#include "io/table.h"
#include "measure/contender.h"

#include <stdint.h>

typedef struct trace_file {
    json_t *events;
    json_t *sources;   /* by case id: the source of device events, or why there is no trace */
    table_t table;     /* for the terminal */
    int64_t origin_ns; /* clock_ns() at time 0 of the file */
    int n_processes;
} trace_file_t;

void trace_file_init(trace_file_t *file, int64_t origin_ns);
void trace_file_free(trace_file_t *file);

/* Open the case, have its worker trace one run, close it. If that fails, the table shows the reason
 * and the contender is dropped; a worker without tracing support only appears in the table. */
void trace_file_add(trace_file_t *file, contender_t *contender);
status_t trace_file_write(const trace_file_t *file, const char *path, error_t *err);

#endif
