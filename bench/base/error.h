/* Errors: the caller owns an error_t, the first message set in it wins, and every function that can
 * fail returns a status_t. A status is also the process's exit code (see `bench help`). */
#ifndef BENCH_BASE_ERROR_H
#define BENCH_BASE_ERROR_H

/* With _GNU_SOURCE, glibc's <errno.h> defines its own error_t (an int). Include it first and rename
 * ours for the compiler, so that the order of includes does not matter. */
#include <errno.h>
#define error_t bench_error_t

typedef enum status {
    STATUS_OK = 0,           /* success */
    STATUS_FAILED = 1,       /* a regression was found, or a case was wrong or failed */
    STATUS_USAGE = 2,        /* usage, unreadable input, or something needed is missing */
    STATUS_INCOMPARABLE = 3, /* runs that cannot be compared */
    STATUS_NOISY = 4,        /* too noisy to decide (only with --strict) */
} status_t;

typedef struct error {
    status_t status; /* STATUS_OK until the first error */
    char text[2048]; /* one message, no trailing newline; empty until the first error */
} error_t;

/* clang-format off */
#define ERROR_INIT {STATUS_OK, ""}
/* clang-format on */

/* Record a failure. If `err` already holds one, that one stays: the first error is the cause, later
 * ones are consequences. `err` may be NULL: nobody asks why. Returns `status`, so that `return error_set(…)` works.
 * Messages quote files and workers: invalid UTF-8 and control characters other than line breaks and
 * tabs become "?". */
status_t error_set(error_t *err, status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "what: " (the file or step that failed) in front of a recorded message. Returns the recorded
 * status; STATUS_FAILED if `err` is NULL. */
status_t error_within(error_t *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forget a recorded failure that the caller has handled. */
void error_clear(error_t *err);

/* Return the status of a call that failed. Locals that are to be freed then are AUTO (base/memory.h). */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        status_t try_status_ = (call);                                                             \
        if (try_status_ != STATUS_OK)                                                              \
            return try_status_;                                                                    \
    } while (0)

#endif
