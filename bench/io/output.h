/* What the user gets: the standard streams, and files under names that the user gave. */
#ifndef BENCH_IO_OUTPUT_H
#define BENCH_IO_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* First in main(): a file that is opened later must not get the number of a closed standard stream, or what is printed
 * would be in that file. Reading finds the end, writing fails. A file that may grow no further (ulimit -f) is an error
 * like a full disk, not a signal. */
void output_begin(void);

/* Last in main(): write what is left for stdout, close it, and return the exit code: STATUS_OK, STATUS_USAGE with a
 * message if anything printed since the start was lost, or that of SIGPIPE, without a message, if it was lost because
 * its reader has left (| head). */
int output_finish(error_t *err);

/* Print without control characters: names of folders may hold some, and must not control the terminal. */
void output_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write to a path that the user named: a file (or the one that a link leads to) as fs_write_atomic() does; a pipe, a
 * device or an open descriptor ("-", /dev/stdout, ">(command)") is written to, never replaced. */
status_t output_write_file(const char *path, const void *data, size_t size, error_t *err);
/* Is it such a pipe, device or descriptor? */
bool output_is_stream(const char *path);

#endif
