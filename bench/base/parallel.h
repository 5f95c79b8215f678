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

#endif
