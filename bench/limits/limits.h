/* A case's share of the hardware limit, and checks that its times are plausible: two different bounds. */
#ifndef BENCH_LIMITS_LIMITS_H
#define BENCH_LIMITS_LIMITS_H

#include "limits/device_rates.h"
#include "workloads/common/workload.h"

/* Fill in result->limit: what the hardware allows a kernel that moves its data once a pass and computes
 * at the rate of matrix products (else at the FP32 lanes' peak), at measured rates. A kernel that keeps
 * data on the chip can be faster. */
void limit_set(case_result_t *result, const workload_t *workload, const device_rates_t *rates);

/* The least time of host_to_host on a GPU: the larger of input and output at the bus's rate, as both
 * can move at once. NaN if nothing moves or a rate was not measured. */
double bus_limit_ns(const workload_cost_t *cost, const device_rates_t *rates);

/* The share of the gap between their time and ours' limit that ours closes: below 0 if ours is the slower.
 * By one of many calls in a graph if both have it, else by a single one; a training that has no time by the
 * device's clock by the host's. NaN without these times, without a limit, or if theirs is within a tenth of
 * the limit and ours the faster. */
double limit_gap_closed_frac(const case_result_t *ours, const case_result_t *theirs);

/* The same of these times in ns. */
double limit_share_closed(double our_ns, double their_ns, double limit_ns);

/* Replace a case's limit, and the flag that depends on it. */
void limit_set_again(case_result_t *result, const workload_t *workload,
                     const device_rates_t *rates);

/* Recompute a loaded run's limits by this version's rules, if the run has all rates. */
void device_rates_set_limits_again(record_t *run);

/* Flag implausible times, after limit_set(): faster than the chip's peak allows, a graph slower than
 * back-to-back launches, a time under the event floor, a total under the sum of its phases. */
void plausibility_check(case_result_t *result, const device_rates_t *rates);

#endif
