/* Is the machine busy with other programs? What they take of the CPU time that a case's worker could have had, and the
 * load before a run. */
#ifndef BENCH_WORKER_CPU_SHARE_H
#define BENCH_WORKER_CPU_SHARE_H

#include "model/result.h"
#include "worker/run_queue.h"

#include <stdbool.h>

/* Of a worker while its samples were taken. */
typedef struct cpu_share {
    double ran_ns;   /* what it had, */
    double taken_ns; /* and what others took from it */
} cpu_share_t;

/* Add what a worker used in `took_ns` on `n_cores` cores. Others took what it waited for a core, but not the moment
 * that every wake-up takes, nor what its own threads kept from each other: cores that it filled itself. */
void cpu_share_add(cpu_share_t *share, const cpu_use_t *use, double took_ns, size_t n_cores);
/* 0 … 1; NaN if nothing is known. */
double cpu_share_taken_frac(const cpu_share_t *share);
/* Note it in the result; flag the case (FLAG_BUSY) if it is over BUSY_FRAC. */
void cpu_share_settle(const cpu_share_t *share, case_result_t *result);

/* Of /proc/loadavg: averaged over a minute, and how many threads ran or waited as it was read, but this one. */
typedef struct load {
    double average; /* NaN: unknown */
    long running;
} load_t;

load_t load_parse(const char *loadavg);
load_t load_read(void);
/* Is it worth a warning before a run? Not if it is only what has just ended: a build. */
bool load_is_high(const load_t *load, size_t n_cores);

#endif
