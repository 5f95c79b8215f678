/* `bench run --lock-clocks`: lock the GPU's SM clock at one frequency during a run. A watchdog
 * process locks it, and unlocks it when the run ends for any reason. */
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

/* The clock in `mhz` nearest to `asked_mhz`, the lower one of a tie; STATUS_USAGE if `asked_mhz` is
 * out of their range. If the driver lists none (n 0): `asked_mhz`, at most `max_mhz` (NaN: any). */
status_t lock_clocks_choose(const unsigned *mhz, size_t n, double max_mhz, unsigned asked_mhz,
                            unsigned *chosen_mhz, error_t *err);

/* Lock the device with this CUDA UUID. On failure nothing is locked; STATUS_USAGE: it has no such
 * clock. The watchdog is a fork of this process, which must not have NVML open or other threads. */
status_t lock_clocks(const char *uuid, unsigned asked_mhz, clock_lock_t *lock, error_t *err);
/* Fails if the clock may still be locked. Without a lock it does nothing. */
status_t lock_clocks_release(clock_lock_t *lock, error_t *err);

#endif
