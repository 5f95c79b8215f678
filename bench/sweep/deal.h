/* Which shard measures which cases. */
#ifndef BENCH_SWEEP_DEAL_H
#define BENCH_SWEEP_DEAL_H

#include "sweep/shard.h"
#include "sweep/sweep.h"

/* Remove the cases of other shards. Those that are compared with each other stay in one, and all shards
 * take about as long. Returns the number of groups of all shards. */
size_t sweeps_keep_shard(sweep_t *sweeps, size_t n, const shard_t *shard);

#endif
