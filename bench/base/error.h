/* Errors: the caller owns an error_t, the first message set in it wins, and every function that can
 * fail returns a status_t. A status is also the process's exit code (see `bench help`), so no
 * second table maps one to the other. */
#ifndef BENCH_BASE_ERROR_H
#define BENCH_BASE_ERROR_H

/* With _GNU_SOURCE, glibc's <errno.h> has an error_t of its own (an int). Let it be declared first,
 * and give ours another name for the compiler, so that the order of includes does not matter. */
#include <errno.h>
#define error_t bench_error_t

typedef enum status {
    STATUS_OK = 0,           /* fine */
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

/* Messages quote files and workers: what is not UTF-8 in them, and control characters other than
 * line breaks and tabs, become "?".
 *
 * Record a failure. If `err` already holds one, it stays (the first error is the cause, later ones
 * are consequences). `err` may be NULL. Returns `status`, so that `return error_set(…)` works. */
status_t error_set(error_t *err, status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "what: " in front of a recorded message, for the file or step it happened in. Returns the
 * recorded status. */
status_t error_within(error_t *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forget a recorded failure, for a caller that has dealt with it. */
void error_clear(error_t *err);

/* Leave the function with the status of a call that failed. Owners of something use
 * `if ((status = f(…)) != STATUS_OK) goto cleanup;` instead. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        status_t try_status_ = (call);                                                             \
        if (try_status_ != STATUS_OK)                                                              \
            return try_status_;                                                                    \
    } while (0)

#endif
