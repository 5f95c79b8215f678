/* `bench run --lock-clocks`: lock the GPU's SM clock at one frequency during a run. A watchdog
 * process locks it, and unlocks it when the run ends for any reason. */
#ifndef BENCH_MEASURE_CLOCKS_H
#define BENCH_MEASURE_CLOCKS_H

#include "base/error.h"
#include "cuda/nvml.h"
#include "io/watchdog.h"
#include "model/result.h"

#include <stdbool.h>
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

/* Rounds that are excluded: at low GPU clocks, which are recorded for each round, and on slow cores.
 */

/* Read the GPU and add the reading to `result`. All NaN, and nothing added, without `nvml` or for a
 * case that does not run on a GPU. */
nvml_reading_t clocks_read(nvml_t *nvml, case_result_t *result);

/* Widen the ranges of `device` to include the reading (ignoring NaN); add its throttle reasons. */
void clocks_note(const nvml_reading_t *reading, device_state_t *device);
/* Discard the readings so far, which belong to the warm-up. */
void clocks_forget(device_state_t *device);

/* Throttled for a reason other than the board's power limit (or, if locked, the clock setting), or
 * under 75 % of `full_sm_mhz`, the highest or locked clock. An unknown clock is not low. */
bool clocks_are_low(const nvml_reading_t *reading, double full_sm_mhz, bool locked);

/* Count the `throttled_rounds` (phases of rounds at low clocks) in `result`. If fewer than
 * `min_samples` others are left, merge them in and mark the case as throttled. Flag a case that hit
 * the board's power limit. */
void clocks_settle(case_result_t *result, const case_result_t *throttled_rounds,
                   size_t min_samples);

/* Count the `slow_rounds` (of rounds on a core that became slow, cores.h) in `result`, or merge them in
 * if a pass has fewer than `min_rounds` others. */
void slow_rounds_settle(case_result_t *result, const case_result_t *slow_rounds,
                        unsigned min_rounds);

#endif
