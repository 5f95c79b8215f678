/* Is a worker interrupted by other programs? */
#ifndef BENCH_WORKER_RUN_QUEUE_H
#define BENCH_WORKER_RUN_QUEUE_H

#include <stddef.h>
#include <sys/types.h>

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
    size_t n, capacity;
} run_queue_t;

/* Empty if it cannot be read. */
run_queue_t run_queue_read(pid_t pid);
/* Of the threads that process `pid` has now, since then, together; 0 if it is another process. Frees `before`. */
cpu_use_t run_queue_since(run_queue_t *before, pid_t pid);

#endif
