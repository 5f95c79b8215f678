/* Which cores each of several GPUs gets, if all are used at once: those near it, disjoint, as many for
 * each, and both hyperthreads of a physical core for one GPU. */
#ifndef BENCH_RUN_SHARE_H
#define BENCH_RUN_SHARE_H

#include "measure/cores.h"

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

/* Of these cores, as the system describes them. */
void core_places(const cores_t *cores, core_place_t places[MOST_CORES]);
/* Sorts `places`. STATUS_USAGE if a device would have fewer than SHARE_FEWEST. */
status_t core_shares_make(core_place_t *places, size_t n_places, core_share_t *shares,
                          size_t n_shares, error_t *err);

#endif
