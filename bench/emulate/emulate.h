/* Are the rungs of a workload right? Each is compiled for this machine's CPU and run at small sizes, in a process of its
 * own; the reference and the tolerances are those of a measured case. */
#ifndef BENCH_EMULATE_EMULATE_H
#define BENCH_EMULATE_EMULATE_H

#include "base/text.h"
#include "workloads/common/workload.h"

/* Cases that a described workload is tried at before it is measured. */

/* A case of PyTorch's worker on the CPU: the default sizes, or the smallest. */
case_t example_case(const workload_t *workload, const char *dtype, bool smallest);
/* "rows=1 cols=1 f32", for messages; the caller frees it. */
char *example_sizes_text(const case_t *spec);

/* Number `which` of EXAMPLES with little to compute: the smallest sizes; the default ones, halved until arrays are small; those
 * less 1. Two may be the same, and one may be none of the described workload's. */
enum { EXAMPLES = 3 };
case_t example_small(const workload_t *workload, const char *dtype, size_t which);
bool example_is_possible(const workload_t *workload, const case_t *spec);

typedef struct emulate_options {
    const workload_t *workload; /* a described workload */
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
