/* Cases with little to compute, which a described workload is tried at before it is measured. */
#ifndef BENCH_EMULATE_EXAMPLES_H
#define BENCH_EMULATE_EXAMPLES_H

#include "base/text.h"
#include "measure/contender.h"
#include "workloads/common/workload.h"

/* A case of PyTorch's worker on the CPU: the default sizes, or the smallest. */
case_t example_case(const workload_t *workload, const char *dtype, bool smallest);
/* "rows=1 cols=1 f32", for messages; the caller frees it. */
char *example_sizes_text(const case_t *spec);

enum { EXAMPLE_TIMEOUT_S = 60 }; /* for one answer */

typedef struct examples {
    const workload_t *workload; /* a described workload */
    const char *root;           /* the project's folder */
    const text_list_t *sets;    /* "cols=4096": in every case */
} examples_t;

/* Are there such params? To be asked first: the rest takes a while. */
status_t examples_check_sets(const examples_t *examples, error_t *err);

/* Look at a case whose oracle is open, and at what that has computed. */
typedef status_t example_use_t(const case_t *spec, contender_t *oracle,
                               const reference_t *reference, void *with, error_t *err);
/* In each dtype the smallest sizes, small ones and uneven ones, but those that "where" excludes; `*n`: how many there are.
 * In the small and uneven ones a training has at least three steps, where it can. */
status_t examples_each(const examples_t *examples, example_use_t *use, void *with, size_t *n,
                       error_t *err);

#endif
