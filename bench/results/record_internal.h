/* Shared by record.c, run_json.c and merge.c. */
#ifndef BENCH_RESULTS_RECORD_INTERNAL_H
#define BENCH_RESULTS_RECORD_INTERNAL_H

#include "results/record.h"

/* Read <folder>/run.json into an empty record. */
status_t record_read_header(const char *folder, record_t *run, error_t *err);
/* Append `result`, or replace the one with its id; the record takes it over. */
void record_add(record_t *run, case_result_t *result);

#endif
