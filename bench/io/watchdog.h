/* A separate process that acquires something for us and gives it back when this process ends in any
 * way: normally, by a signal, by SIGKILL. It waits for the end of a pipe whose other end only this
 * process holds; child processes do not inherit it. It has its own session and blocks all signals,
 * so signals to a terminal or process group do not reach it. It is forked without exec: start it
 * before any thread. */
#ifndef BENCH_IO_WATCHDOG_H
#define BENCH_IO_WATCHDOG_H

#include "base/error.h"

#include <sys/types.h>

typedef struct watchdog_task {
    const char *name; /* of the process in ps: at most 15 characters */
    /* Both run in the watchdog, whose streams are /dev/null and which has none of our files. If
     * take() fails, give_back() is not called. */
    status_t (*take)(void *context, double *value, error_t *err);
    status_t (*give_back)(void *context, error_t *err);
    void *context;
} watchdog_task_t;

/* All zeros: no watchdog. */
typedef struct watchdog {
    pid_t pid;
    int life_fd, answer_fd; /* valid with a pid; close-on-exec */
} watchdog_t;

/* Start it and wait for take(). Fails with the error of take(), or without an answer within
 * `timeout_s`; then there is no watchdog, or one that gives back and ends as soon as it can. */
status_t watchdog_start(const watchdog_task_t *task, double timeout_s, watchdog_t *watchdog,
                        double *value, error_t *err);

/* Make it give back and wait for its end. Fails with the error of give_back(), or if it has died or
 * does not answer within `timeout_s`. Does nothing without a watchdog. */
status_t watchdog_end(watchdog_t *watchdog, double timeout_s, error_t *err);

#endif
