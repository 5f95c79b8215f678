/* `bench run --lock-clocks`: the SM clock of the GPU that a run uses, held at one frequency for as
 * long as the run lasts. A watchdog process locks it, and sets it free when the run ends, however
 * it ends. */
#ifndef BENCH_MEASURE_CLOCK_LOCK_H
#define BENCH_MEASURE_CLOCK_LOCK_H

#include "base/error.h"
#include "io/watchdog.h"

#include <stddef.h>

/* Zeroed: no lock. */
typedef struct clock_lock {
    watchdog_t watchdog;
    unsigned mhz; /* 0: not locked */
} clock_lock_t;

/* The clock out of `mhz` that is nearest to `asked_mhz`, the lower of two; STATUS_USAGE where it is
 * below or above all of them. A driver that lists none (n 0) takes what it likes up to `max_mhz`,
 * or NaN: asked for is taken then. */
status_t lock_clocks_choose(const unsigned *mhz, size_t n, double max_mhz, unsigned asked_mhz,
                            unsigned *chosen_mhz, error_t *err);

/* Lock the device of this CUDA UUID. STATUS_USAGE: it has no such clock; STATUS_FAILED: it cannot
 * be locked here, and why. Nothing is locked then. This process must not have NVML open, and no
 * thread: the watchdog is a fork of it. */
status_t lock_clocks(const char *uuid, unsigned asked_mhz, clock_lock_t *lock, error_t *err);
/* Set it free. Fails where it may still be locked. Without a lock: nothing to do. */
status_t lock_clocks_release(clock_lock_t *lock, error_t *err);

#endif
