/* The GPU's clocks around the rounds of a contender: what was read goes into its result, and rounds
 * that were not taken at full clocks are kept out of the numbers, or the case says so. */
#ifndef BENCH_MEASURE_THROTTLING_H
#define BENCH_MEASURE_THROTTLING_H

#include "cuda/nvml.h"
#include "model/result.h"

#include <stdbool.h>

/* Read the device of `result`, and note the reading there. All NaN, and nothing noted, where
 * `nvml` is NULL or the case does not run on a GPU. */
nvml_reading_t clocks_read(nvml_t *nvml, case_result_t *result);

/* Widen the ranges of `device` to hold this reading (NaN changes nothing); add its reasons. */
void clocks_note(const nvml_reading_t *reading, device_state_t *device);
/* Forget what was noted so far: it belongs to the warm-up. */
void clocks_forget(device_state_t *device);

/* Held down by something other than the board's power limit, or under 75 % of `full_sm_mhz`: of the
 * highest clock, or of the one that it is locked to. A clock that is not known is not low. That a
 * setting holds a locked clock is what was asked for. */
bool clocks_are_low(const nvml_reading_t *reading, double full_sm_mhz, bool locked);

/* `throttled_rounds` holds the phases of rounds at low clocks. They are counted in `result`, and
 * where fewer than `min_samples` others are left they join them, and the case is throttled. A case
 * that met the board's power limit is flagged. */
void clocks_settle(case_result_t *result, const case_result_t *throttled_rounds,
                   size_t min_samples);

#endif
