/* NVTX ranges, so that an external profiler (nsys, ncu) shows case, phase and round. The header of
 * the toolkit is used where it is there at build time; without it every call here does nothing. */
#ifndef BENCH_CUDA_NVTX_H
#define BENCH_CUDA_NVTX_H

#include <stdbool.h>

bool nvtx_available(void); /* was the header there at build time? */
void nvtx_push(const char *name);
void nvtx_pop(void);

/* Also tell `listener` of every range: its name where one begins, NULL where the innermost ends.
 * NULL: nobody listens. */
void nvtx_listen(void (*listener)(void *context, const char *name), void *context);

#endif
