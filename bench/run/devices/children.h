/* Child programs that run side by side. What they write to stderr goes to ours, line by line with a
 * label in front; their stdout is dropped. */
#ifndef BENCH_RUN_CHILDREN_H
#define BENCH_RUN_CHILDREN_H

#include "io/subprocess.h"

#include <signal.h>

typedef struct child {
    const char *label; /* "GPU 0" */
    subprocess_t process;
    char *line; /* of stderr, as far as it was read */
    size_t n_line, capacity_line;
    int exit_code; /* of a child that has ended; -1: a signal killed it */
} child_t;

status_t child_start(child_t *child, const char *label, const char *const *argv, error_t *err);
/* Wait until all have ended. An interrupt is passed on, and ends them; so does a child that ends with
 * an exit code above 1. Frees the children's parts. */
void children_wait(child_t *children, size_t n, const volatile sig_atomic_t *interrupted);

#endif
