/* Child processes by fork and exec with an argument list: no shell, ever. Children die with us
 * (PR_SET_PDEATHSIG) and get their own process group, so a Ctrl-C reaches only the supervisor. To
 * the kernel "us" is the thread that started the child: start long-running ones from a thread that
 * stays. The first start makes the process ignore SIGPIPE, so that writing to a dead child is an
 * error. */
#ifndef BENCH_IO_SUBPROCESS_H
#define BENCH_IO_SUBPROCESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Run to the end. Output of both streams is kept up to 1 MiB each (the rest is dropped).
 * `timeout_s` 0 means none; past it the process group is killed, as is whatever the program leaves
 * running in its group when it ends. */
typedef struct subprocess_result {
    int exit_code; /* -1 when a signal ended it */
    int signal;    /* 0, or the signal's number */
    bool timed_out;
    char *out, *err; /* NUL-terminated, owned by the caller (subprocess_result_free) */
} subprocess_result_t;

/* Fails only when the program cannot be started (error names it); a non-zero exit is a result.
 * `input` (may be NULL) is written to its stdin. */
status_t subprocess_run(const char *const *argv, const char *input, double timeout_s,
                        subprocess_result_t *result, error_t *err);
void subprocess_result_free(subprocess_result_t *result);

/* A long-running child with pipes on its three streams. */
typedef struct subprocess {
    pid_t pid;
    int in_fd, out_fd, err_fd; /* our ends; all non-blocking, close-on-exec */
} subprocess_t;

status_t subprocess_start(const char *const *argv, subprocess_t *child, error_t *err);
/* Has it ended by itself? It is still to be stopped, which says how. */
bool subprocess_has_ended(const subprocess_t *child);
/* Kill the process group, reap, close. Writes how it ended ("exit code 3", "signal 11 (Segmentation
 * fault)", "still running, killed") into `how[64]`. Safe to call twice. */
void subprocess_stop(subprocess_t *child, char how[64]);

/* Seconds for time-outs: real time, even where a test has replaced the measuring clock. */
double subprocess_now_s(void);

/* A close-on-exec pipe without the numbers 0 to 2. Those come up when our own standard streams are
 * closed, and a child's dup2() onto them would then overwrite one pipe with another. */
bool subprocess_pipe(int ends[2]);

#endif
