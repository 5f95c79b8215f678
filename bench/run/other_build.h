/* Another build of this project, for `bench run --against`: its program, its folder (whose kernels
 * and Python are that build's too) and which source it was made from. */
#ifndef BENCH_RUN_OTHER_BUILD_H
#define BENCH_RUN_OTHER_BUILD_H

#include "base/error.h"

#include <stdbool.h>

typedef struct build {
    bool self;                /* this very program */
    char *root, *bench;       /* absolute: the project's folder, the program */
    char *version, *revision; /* as its --version says */
    bool dirty;
} build_t;

/* `given`: "self", a project's folder with build/bench in it, or the path of a bench inside one.
 * Asks the program for its version and its worker for a hello: STATUS_USAGE, saying what was found,
 * for anything that is not a build of this project or whose worker speaks another protocol. */
status_t build_find(const char *given, const char *own_root, build_t *build, error_t *err);
void build_free(build_t *build);

#endif
