/* Rounds that are excluded: at low GPU clocks, which are recorded for each round, and on slow cores.
 */
#ifndef BENCH_MEASURE_THROTTLING_H
#define BENCH_MEASURE_THROTTLING_H

#include "cuda/nvml.h"
#include "model/result.h"

#include <stdbool.h>

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
