/* Where programs are, and the project's folder. */
#ifndef BENCH_IO_FIND_H
#define BENCH_IO_FIND_H

#include "base/error.h"

/* First hit of `name` on $PATH, or NULL; owned by the caller. */
char *fs_find_program(const char *name);

/* The project's folder (the one that holds kernels/ and sweeps/): $BENCH_ROOT, else the folder
 * above the executable's, else the current one. Owned by the caller. */
status_t fs_project_root(char **root, error_t *err);
/* The absolute path of `folder` when it holds what a project's folder holds, or NULL. */
char *fs_project_at(const char *folder);
/* Path of the running executable; owned by the caller. */
status_t fs_executable(char **path, error_t *err);

#endif
