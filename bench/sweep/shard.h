/* `bench run --shard`: which part of the cases a process measures. */
#ifndef BENCH_SWEEP_SHARD_H
#define BENCH_SWEEP_SHARD_H

#include "sweep/sweep.h"

typedef struct shard {
    unsigned number, n; /* shard `number` of n, counted from 1 */
} shard_t;

/* Remove the cases of other shards. Those that are compared with each other stay in one, and all shards
 * take about as long. Returns the number of groups of all shards. */
size_t sweeps_keep_shard(sweep_t *sweeps, size_t n, const shard_t *shard);

#endif
