/* Find programs; how to install what is missing. */
#ifndef BENCH_IO_FIND_H
#define BENCH_IO_FIND_H

#include "base/error.h"

/* First program `name` on $PATH, or NULL; owned by the caller. */
char *fs_find_program(const char *name);

typedef struct package {
    const char *apt, *dnf, *pacman; /* its name in each */
} package_t;

/* "apt-get install g++", for the package manager on $PATH, or apt-get if there is none; for messages. The caller
 * frees it. reference_common/needs.py does the same. */
char *package_install(const package_t *package);

/* Path of the running executable; owned by the caller. */
status_t fs_executable(char **path, error_t *err);

#endif
