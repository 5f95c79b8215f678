/* Are the rungs of an operator right? Each is compiled for this machine's CPU and run at small sizes, in a process of its
 * own; the reference and the tolerances are those of a measured case. */
#ifndef BENCH_EMULATE_EMULATE_H
#define BENCH_EMULATE_EMULATE_H

#include "base/text.h"
#include "workloads/common/workload.h"

typedef struct emulate_options {
    const workload_t *workload; /* an operator */
    const char *root;           /* the project's folder */
    const char *variant;        /* only this rung; NULL: all */
    const text_list_t *sets;    /* "cols=4096": in every case */
} emulate_options_t;

/* Are there such a rung and such params? To be asked first: emulation takes a while. */
status_t emulate_check_options(const emulate_options_t *options, error_t *err);

/* Prints a line for each rung. STATUS_FAILED: one is wrong; STATUS_USAGE: the options, or a C++ compiler or the reference is
 * missing. */
status_t emulate_rungs(const emulate_options_t *options, error_t *err);

#endif
