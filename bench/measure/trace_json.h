/* The trace of `bench run --trace`: what each contender's worker recorded of one run, put together
 * into one file for Perfetto or chrome://tracing, one process a case, on one clock. */
#ifndef BENCH_MEASURE_TRACE_JSON_H
#define BENCH_MEASURE_TRACE_JSON_H

#include "io/table.h"
#include "measure/contender.h"

#include <stdint.h>

typedef struct trace_file {
    json_t *events;    /* of all cases */
    json_t *sources;   /* by case id: where device work is known from, or why there is no trace */
    table_t table;     /* what a person is shown */
    int64_t origin_ns; /* clock_ns() at time 0 of the file */
    int n_processes;
} trace_file_t;

void trace_file_init(trace_file_t *file, int64_t origin_ns);
void trace_file_free(trace_file_t *file);

/* Open the case, let its worker trace one run of it, close it. A contender that cannot be traced is
 * in the table with the reason; one that failed is not active any more and its result says why. A
 * worker that does not know how to trace is no failure. */
void trace_file_add(trace_file_t *file, contender_t *contender);
status_t trace_file_write(const trace_file_t *file, const char *path, error_t *err);

#endif
