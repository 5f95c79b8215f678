/* Find programs. */
#ifndef BENCH_IO_FIND_H
#define BENCH_IO_FIND_H

#include "base/error.h"

/* First program `name` on $PATH, or NULL; owned by the caller. */
char *fs_find_program(const char *name);

/* Path of the running executable; owned by the caller. */
status_t fs_executable(char **path, error_t *err);

#endif
