/* `bench run`: sweeps → cases → compiled programs → { verify → sample in rounds → summarise } →
 * results/<run>/. */
#ifndef BENCH_RUN_RUN_H
#define BENCH_RUN_RUN_H

#include "run/options.h"

/* Measure, or trace. STATUS_FAILED if a case was wrong or failed, or the run was interrupted; the
 * folder then holds all finished cases. With `against`, the status of compare_runs(). */
status_t run(const run_options_t *options, error_t *err);

/* `bench plan`: print the cases, and which of CUDA would be skipped for lack of a GPU. */
status_t plan(const run_options_t *options, error_t *err);

/* Load the sweeps only: fails if they are wrong, or if there are more shards than groups of cases. */
status_t run_check(const run_options_t *options, error_t *err);

#endif
