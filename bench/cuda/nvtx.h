/* NVTX ranges, so that an external profiler (nsys, ncu) shows case, phase and round. Without the
 * toolkit's header at build time no ranges reach a profiler. */
#ifndef BENCH_CUDA_NVTX_H
#define BENCH_CUDA_NVTX_H

#include <stdbool.h>

bool nvtx_available(void); /* built with the toolkit's header? */
void nvtx_push(const char *name);
void nvtx_pop(void);

/* Call `listener` with the name of each range that begins, and with NULL when the innermost range
 * ends. NULL: no listener. */
void nvtx_listen(void (*listener)(void *context, const char *name), void *context);

#endif
