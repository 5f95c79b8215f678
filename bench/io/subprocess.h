/* Child processes by fork and exec with an argument list, without a shell. A child dies with the
 * thread that started it (PR_SET_PDEATHSIG): start long-running ones from a thread that stays. Each
 * has its own process group, so Ctrl-C reaches only the supervisor. The first start makes the
 * process ignore SIGPIPE, so that writing to a dead child is an error. */
#ifndef BENCH_IO_SUBPROCESS_H
#define BENCH_IO_SUBPROCESS_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A child program that the user watches: it writes to our stderr, and Ctrl-C ends it cleanly. */

/* Run `argv` to its end, with its stdout discarded. SIGINT and SIGTERM that reach us are passed on;
 * `*interrupted` says whether one was. Fails if the program cannot be started or a signal killed it;
 * a non-zero exit is a result. */
status_t foreground_run(const char *const *argv, int *exit_code, bool *interrupted, error_t *err);

/* Result of a complete run. Each output stream is kept up to 1 MiB (subprocess_run_keep(): more of stdout), the rest is
 * dropped. */
typedef struct subprocess_result {
    int exit_code; /* -1 if a signal killed it */
    int signal;    /* 0, or the signal's number */
    bool timed_out;
    char *out, *err; /* NUL-terminated, owned by the caller (subprocess_result_free) */
    size_t n_out;    /* bytes kept of stdout */
} subprocess_result_t;

/* Fails only if the program cannot be started; a non-zero exit is a result. `input` (may be NULL)
 * goes to its stdin. Past `timeout_s` (0: none) the process group is killed, as is whatever the
 * program leaves running in its group at its end. */
status_t subprocess_run(const char *const *argv, const char *input, double timeout_s,
                        subprocess_result_t *result, error_t *err);
/* What a program prints that ends well; else NULL. The caller frees it. */
char *subprocess_output(const char *const *argv, double timeout_s);
/* The same for a program that prints up to `most` bytes. */
status_t subprocess_run_keep(const char *const *argv, size_t most, double timeout_s,
                             subprocess_result_t *result, error_t *err);
/* The same, and what it prints on stderr in lines that start with `mark` goes to our stderr at once. */
status_t subprocess_run_marked(const char *const *argv, const char *mark, double timeout_s,
                               subprocess_result_t *result, error_t *err);
void subprocess_result_free(subprocess_result_t *result);

/* A long-running child with pipes on its standard streams. */
typedef struct subprocess {
    pid_t pid;
    int in_fd, out_fd, err_fd; /* our ends; all non-blocking, close-on-exec */
} subprocess_t;

/* `by_socket`: its stdin, child->in_fd, is a socket: files can be handed over. */
status_t subprocess_start(const char *const *argv, bool by_socket, subprocess_t *child,
                          error_t *err);
/* Pipes for a child of ours that another process starts: `theirs` become its standard streams, and the caller
 * closes them once they are handed over. Set child->pid then, or subprocess_close() it. */
status_t subprocess_streams(subprocess_t *child, int theirs[3], error_t *err);
void subprocess_close(subprocess_t *child);
/* Has it ended? Call subprocess_stop() all the same: it reports how. */
bool subprocess_has_ended(const subprocess_t *child);
/* Kill the process group, reap, close. Writes how it ended ("exit code 3", "signal 11 (Segmentation
 * fault)", "still running, killed") into `how[64]`. Safe to call twice. */
void subprocess_stop(subprocess_t *child, char how[64]);

/* Call `watch(context)` several times a second while this process waits for a child, from whichever thread does; NULL: nothing.
 * Waiting for the answer of a worker (worker/client.h) is such a wait. */
void subprocess_watch(void (*watch)(void *context), void *context);
/* This process waits: call it. */
void subprocess_waiting(void);

/* Seconds of clock_ns(), for time-outs. */
double subprocess_now_s(void);

/* A close-on-exec pipe without the numbers 0 to 2, which are free if our own standard streams are
 * closed: a child's dup2() onto them would overwrite one pipe with another. */
bool subprocess_pipe(int ends[2]);

/* Processes that a child of ours started and left: a worker's server that began a session of its
 * own, which the end of the worker's process group does not reach. */

/* From now on they become our children, not init's (PR_SET_CHILD_SUBREAPER). Returns the children
 * that we have already, from before an exec: they are not ours to end. */
text_list_t orphans_adopt(void);

/* Which of our children have a right to be there. */
typedef struct orphans_owned {
    const text_list_t *spared;                        /* of orphans_adopt() */
    bool (*is_known)(pid_t pid, const void *context); /* we started it */
    const char *variable;                             /* in its environment: who did */
    bool (*has_owner)(const char *value, const void *context);
    const void *context;
} orphans_owned_t;

/* Kill the children that have none, as far as they run another program than ours. Returns the first's name
 * and number, which the caller frees; NULL: there were none. */
char *orphans_end(const orphans_owned_t *owned);

/* Kill all other children that run another program than ours, and theirs in turn; frees the list.
 * Only when no child is needed any more. */
void orphans_kill(text_list_t *spared);

#endif
