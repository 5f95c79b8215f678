/* A child program that the user watches: it writes to our stderr, and Ctrl-C ends it cleanly. */
#ifndef BENCH_IO_FOREGROUND_H
#define BENCH_IO_FOREGROUND_H

#include "base/error.h"

#include <stdbool.h>

/* Run `argv` to its end, with its stdout discarded. SIGINT and SIGTERM that reach us are passed on;
 * `*interrupted` says whether one was. Fails if the program cannot be started or a signal killed it;
 * a non-zero exit is a result. */
status_t foreground_run(const char *const *argv, int *exit_code, bool *interrupted, error_t *err);

#endif
