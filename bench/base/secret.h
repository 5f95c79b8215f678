/* Numbers that nobody can know before. */
#ifndef BENCH_BASE_SECRET_H
#define BENCH_BASE_SECRET_H

#include <stdint.h>

/* From the system's random source: 1 … 2^53 - 1, which JSON holds exactly. */
uint64_t secret_seed(void);

#endif
