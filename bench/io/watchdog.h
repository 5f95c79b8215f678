/* A process of its own that takes something for us and gives it back when we end, however we end:
 * by ourselves, by a signal, by SIGKILL. It waits for the end of a pipe whose other end only this
 * process holds; programs that we start do not get it. Signals that reach a whole terminal or
 * process group pass it by: it is in a session of its own, and has all of them blocked.
 * It is forked, and goes on without exec: start it before any thread. */
#ifndef BENCH_IO_WATCHDOG_H
#define BENCH_IO_WATCHDOG_H

#include "base/error.h"

#include <sys/types.h>

typedef struct watchdog_task {
    const char *name; /* of the process, as ps shows it: at most 15 characters */
    /* Both run in the watchdog, whose streams are /dev/null and which has none of our files. Where
     * take() fails there is nothing to give back. */
    status_t (*take)(void *context, double *value, error_t *err);
    status_t (*give_back)(void *context, error_t *err);
    void *context;
} watchdog_task_t;

/* Zeroed: none. */
typedef struct watchdog {
    pid_t pid;
    int life_fd, answer_fd; /* valid with a pid; close-on-exec */
} watchdog_t;

/* Start it and wait for take(). Fails with what take() said, or where there was no answer within
 * `timeout_s`; there is no watchdog then, or one that gives back and ends as soon as it can. */
status_t watchdog_start(const watchdog_task_t *task, double timeout_s, watchdog_t *watchdog,
                        double *value, error_t *err);

/* Have it give back, and wait until it has ended. Fails with what give_back() said, or where it has
 * died, or does not answer within `timeout_s`. Without a watchdog: nothing to do. */
status_t watchdog_end(watchdog_t *watchdog, double timeout_s, error_t *err);

#endif
