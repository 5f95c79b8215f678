/* How near does a case come to what the hardware allows, and can its times be true at all? */
#ifndef BENCH_LIMITS_LIMITS_H
#define BENCH_LIMITS_LIMITS_H

#include "limits/device_rates.h"
#include "workloads/common/workload.h"

/* More than this of the limit cannot be true. So much room is left since the DRAM's rate is that of
 * a copy, half of which are writes: what mostly reads may be a little faster. */
extern const double PLAUSIBILITY_MOST_OF_LIMIT;

/* Fill in result->limit. */
void limit_set(case_result_t *result, const workload_t *workload, const device_rates_t *rates);

/* The same for a case that has a limit already, with the flag that depends on it. */
void limit_set_again(case_result_t *result, const workload_t *workload,
                     const device_rates_t *rates);

/* Judge the limits of a run that was loaded once more, as this program would judge them today. A
 * run that does not tell all rates keeps what it stored. */
void device_rates_set_limits_again(record_t *run);

/* Flag what cannot be true: faster than the limit, a batch in a graph slower than back to back, a
 * time under the event floor, a total under the sum of its phases. */
void plausibility_check(case_result_t *result, const device_rates_t *rates);

#endif
