/* `bench run --shard`: which part of the cases a process measures. */
#ifndef BENCH_SWEEP_SHARD_H
#define BENCH_SWEEP_SHARD_H

#include "base/error.h"
#include "sweep/sweep.h"

typedef struct shard {
    unsigned number, n; /* shard `number` of n, counted from 1 */
    const char *from;   /* the variable that gave the number; NULL: given as I/N */
} shard_t;

/* The value of an environment variable, or NULL. */
typedef const char *shard_lookup_t(const char *name, const void *context);

/* Read "I/N", "auto" or "auto/N". For the last two the number comes from a Slurm job array, else
 * Kubernetes' completion index, else the rank that torchrun, MPI or srun gave. */
status_t shard_read(const char *text, shard_lookup_t *get, const void *context, shard_t *shard,
                    error_t *err);

/* Which shard measures which cases. */

/* Remove the cases of other shards. Those that are compared with each other stay in one, and all shards
 * take about as long. Returns the number of groups of all shards. */
size_t sweeps_keep_shard(sweep_t *sweeps, size_t n, const shard_t *shard);

#endif
