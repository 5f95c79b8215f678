/* Is a worker interrupted by other programs? */
#ifndef BENCH_WORKER_RUN_QUEUE_H
#define BENCH_WORKER_RUN_QUEUE_H

#include <stddef.h>
#include <sys/types.h>

/* How long each thread of a process has waited for a core since it started, in ns: the second number of
 * /proc/PID/task/TID/schedstat (Linux, Documentation/scheduler/sched-stats.rst). */
typedef struct run_queue {
    pid_t pid;
    struct thread_wait {
        pid_t thread;
        double waited_ns;
    } * items;
    size_t n, capacity;
} run_queue_t;

/* Empty if it cannot be read. */
run_queue_t run_queue_read(pid_t pid);
/* How long the threads that process `pid` has now have waited since, together; 0 if it is another process.
 * Frees `before`. */
double run_queue_waited_ns(run_queue_t *before, pid_t pid);

#endif
