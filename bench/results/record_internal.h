/* What the files of record.c share: run.json in and out. */
#ifndef BENCH_RESULTS_RECORD_INTERNAL_H
#define BENCH_RESULTS_RECORD_INTERNAL_H

#include "results/record.h"

/* Read <folder>/run.json into an empty record. */
status_t record_read_header(const char *folder, record_t *run, error_t *err);
/* Append `result` to the run, or replace the one with its id; the record owns it from then on. */
void record_add(record_t *run, case_result_t *result);

#endif
