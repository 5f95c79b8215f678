/* What the device of a run can do: from the facts in the run's head and from its calibration cases.
 */
#ifndef BENCH_LIMITS_DEVICE_RATES_H
#define BENCH_LIMITS_DEVICE_RATES_H

#include "limits/limits.h"
#include "results/record.h"

/* What follows from the device's facts alone: its L2, what it can keep on the chip, its peak. */
void device_rates_from_facts(const environment_t *env, device_rates_t *rates);

/* Every rate that the run tells: its cases have the word, its head tells the rest. NaN elsewhere.
 */
device_rates_t device_rates_of_record(const record_t *run);

/* Judge the limits of a run that was loaded once more, as this program would judge them today. A
 * run that does not tell all rates keeps what it stored. */
void device_rates_set_limits_again(record_t *run);

#endif
