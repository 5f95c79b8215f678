/* Another build of this project, for `bench run --against`: its program, its project folder (with
 * its kernels and Python code) and its source revision. */
#ifndef BENCH_RUN_OTHER_BUILD_H
#define BENCH_RUN_OTHER_BUILD_H

#include "base/error.h"

#include <stdbool.h>

typedef struct build {
    bool self;                /* this program */
    char *root, *bench;       /* absolute paths: project folder, program */
    char *version, *revision; /* from its --version */
    bool dirty;
} build_t;

/* `given`: "self", a project folder that contains build/bench, or the path of a bench in one. Runs
 * its --version and says hello to its worker: STATUS_USAGE if it is no build of this project or its
 * worker speaks another protocol. */
status_t build_find(const char *given, const char *own_root, build_t *build, error_t *err);
void build_free(build_t *build);

#endif
