/* What a worker's process gets of the CPU: which cores its threads may use, how long they have run and waited, and what
 * other programs took. */
#ifndef BENCH_WORKER_CPU_USE_H
#define BENCH_WORKER_CPU_USE_H

#include "model/result.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct bindings {
    pid_t pid;
    struct thread_binding {
        pid_t thread;
        int policy, nice;
        cpu_set_t cores;
    } * items;
    size_t n;
} bindings_t;

/* Empty if it cannot be read. */
bindings_t bindings_read(pid_t pid);
void bindings_free(bindings_t *bindings);

/* What is different now in the threads that there were before, and still are: "cores" or "priority"; NULL:
 * nothing. With `restore` it is set back, as far as this user may. */
const char *bindings_changed(const bindings_t *before, bool restore);

/* Are the main threads of two processes bound alike? */
bool bindings_agree(pid_t a, pid_t b);

/* Is a worker interrupted by other programs? */

/* How long a thread has run and has waited for a core since it started, in ns, and how often it ran: the numbers of
 * /proc/PID/task/TID/schedstat (Linux, Documentation/scheduler/sched-stats.rst). */
typedef struct cpu_use {
    double ran_ns, waited_ns, times;
} cpu_use_t;

typedef struct run_queue {
    pid_t pid;
    struct thread_use {
        pid_t thread;
        cpu_use_t use;
    } * items;
    size_t n;
} run_queue_t;

/* Empty if it cannot be read. */
run_queue_t run_queue_read(pid_t pid);
/* Of the threads that process `pid` has now, since then, together; 0 if it is another process. Frees `before`. */
cpu_use_t run_queue_since(run_queue_t *before, pid_t pid);

/* Is the machine busy with other programs? What they take of the CPU time that a case's worker could have had, and the
 * load before a run. */

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
