/* `bench run --devices 0,1,…`: groups of cases on several GPUs of one host at once. A child `bench run`
 * per device measures a shard, in OUT/devices/I, on cores of its own; then the shards are merged into
 * OUT. */
#ifndef BENCH_RUN_DEVICES_DEVICES_H
#define BENCH_RUN_DEVICES_DEVICES_H

#include "measure/machine.h"
#include "run/state.h"

/* Which cores each of several GPUs gets, if all are used at once: those near it, disjoint, as many for
 * each, and both hyperthreads of a physical core for one GPU. */

enum {
    SHARE_FEWEST =
        4, /* cores for a GPU: its worker, the supervisor, the driver's threads, and one more */
    SHARE_WORDS = MOST_CORES / (8 * sizeof(unsigned long))
};

/* A core, and the lowest number of a core on the same physical one. */
typedef struct core_place {
    int core, physical;
} core_place_t;

typedef struct core_share {
    int device;                      /* its index, for messages */
    unsigned long near[SHARE_WORDS]; /* cores near it, 64 a word; all if that is unknown */
    int cores[MOST_CORES];           /* made: ascending */
    size_t n;
} core_share_t;

/* Sorts `places`. STATUS_USAGE if a device would have fewer than SHARE_FEWEST. */
status_t core_shares_make(core_place_t *places, size_t n_places, core_share_t *shares,
                          size_t n_shares, error_t *err);

/* All steps of such a run. */
status_t run_on_devices(run_t *run, error_t *err);

#endif
