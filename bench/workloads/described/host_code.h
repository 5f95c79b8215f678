/* The user's own code in this process: shared objects of bench/compile/native.h, which define workload_run(). */
#ifndef BENCH_WORKLOADS_WORKLOAD_HOST_CODE_H
#define BENCH_WORKLOADS_WORKLOAD_HOST_CODE_H

#include "base/error.h"

#include <stdbool.h>

/* Start with zeros. */
typedef struct host_code {
    void *object; /* of dlopen() */
    /* Calls run(); each argument points to its value, as those of a launch do. Of a rung: what the CUDA runtime complains
     * about, or NULL (kernels/common/workload_host.cuh). In C there is no stream. */
    const char *(*run)(void *const *arguments, void *stream);
    bool as_graph;         /* a rung asks to be launched as a CUDA graph */
    const char *workspace; /* the text WORKSPACE of a rung; "": none */
    /* Of code in C: calls its function scale(), once run() has; returns 0 if it has none. NULL: not in C. */
    int (*scale)(void *const *arguments, double *scales);
} host_code_t;

/* STATUS_FAILED: why it cannot be loaded. */
status_t host_code_open(const char *path, host_code_t *code, error_t *err);
void host_code_close(host_code_t *code);

#endif
