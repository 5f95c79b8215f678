/* Is a worker interrupted by other programs? */
#ifndef BENCH_WORKER_RUN_QUEUE_H
#define BENCH_WORKER_RUN_QUEUE_H

#include <sys/types.h>

/* For how long all threads that process `pid` has now were ready to run, since they started, while
 * others had the core, in ns together: the second number of each /proc/PID/task/TID/schedstat (Linux,
 * Documentation/scheduler/sched-stats.rst). 0 if it cannot be read. */
double run_queue_waited_ns(pid_t pid);

#endif
