/* Work in parts on several cores. Its threads end with it: those of OpenMP go on spinning for milliseconds, on cores on
 * which somebody measures next. */
#ifndef BENCH_BASE_PARALLEL_H
#define BENCH_BASE_PARALLEL_H

#include "base/error.h"

#include <stddef.h>

typedef status_t part_work_t(void *context, size_t part, error_t *err);

/* Call `work` for parts 0 to `n` - 1, each once, on as many of this thread's cores as there are parts, 16 at most. After a
 * failure no further parts begin; the error is that of the first part that fails. */
status_t parallel_parts(size_t n, part_work_t *work, void *context, error_t *err);

/* That this thread may run on; at least one. */
size_t parallel_cores(void);

/* For short loops over arrays: the compiler emits several versions, and the program picks the one
 * with the widest vectors at start-up. The sanitizers do not support this. A version for
 * "arch=haswell" would be picked on Haswell alone: names of processors are compared, not features. */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__)
#if __GNUC__ >= 12
#define WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else /* cannot dispatch these */
#define WIDEST_VECTORS __attribute__((target_clones("fma", "default")))
#endif
#else
#define WIDEST_VECTORS
#endif

#endif
