/* Are the rungs of a workload right? Each is compiled for this machine's CPU and run at small sizes, in a process of its
 * own; the reference and the tolerances are those of a measured case. */
#ifndef BENCH_EMULATE_EMULATE_H
#define BENCH_EMULATE_EMULATE_H

#include "emulate/examples.h"

typedef struct emulate_options {
    examples_t examples;
    const char *variant; /* only this rung; NULL: all */
} emulate_options_t;

/* Is there such a rung? To be asked first: emulation takes a while. */
status_t emulate_check_options(const emulate_options_t *options, error_t *err);

/* Prints a line for each rung. STATUS_FAILED: one is wrong; STATUS_USAGE: the options, or a C++ compiler or the reference is
 * missing. */
status_t emulate_rungs(const emulate_options_t *options, error_t *err);

#endif
