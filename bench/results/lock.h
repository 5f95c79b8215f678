/* A run's folder is written by one process at a time, also if several machines share it. */
#ifndef BENCH_RESULTS_LOCK_H
#define BENCH_RESULTS_LOCK_H

#include "base/error.h"

/* Zero-initialise it: not held. */
typedef struct run_lock {
    char *path, *text; /* <folder>/run.lock, and what it says: who writes, where and since when */
    int folder;        /* has a flock(), which ends with the process */
} run_lock_t;

/* Lock the folder, which must exist. STATUS_USAGE if another process writes there. What a process left
 * is taken over: one that ended on this machine, and an earlier start of the same Slurm task on any. */
status_t run_lock(const char *folder, run_lock_t *lock, error_t *err);
void run_unlock(run_lock_t *lock);

#endif
