/* What the measured times mean: the hardware's limit for a case, the fraction of it that was
 * reached, and whether the numbers can be true at all. */
#ifndef BENCH_LIMITS_LIMITS_H
#define BENCH_LIMITS_LIMITS_H

#include "model/result.h"
#include "workloads/common/workload.h"

/* What this device did in this run; NaN where it was not measured. */
typedef struct device_rates {
    double dram_bytes_per_s; /* device/…/copy of a large buffer, bytes read plus written */
    double l2_bytes_per_s;   /* device/…/01_read of a buffer that fits */
    double l2_bytes;         /* size of the L2 */
    double on_chip_bytes;    /* L2, registers and shared memory of all multiprocessors */
    double fp32_flops_per_s; /* multiprocessors · 128 lanes · 2 · highest clock: not measured */
    double launch_ns;        /* an empty kernel in a graph */
    double event_ns;         /* two events with nothing between */
    double barrier_ns;       /* all blocks of a grid wait for each other */
} device_rates_t;

extern const device_rates_t DEVICE_RATES_UNKNOWN;

/* Take what a calibration case (workloads device and null on cuda) says into `rates`. */
void device_rates_calibrate(const case_result_t *result, device_rates_t *rates);

/* More than this of the limit cannot be true. So much room is left since the DRAM's rate is that of
 * a copy, half of which are writes: what mostly reads may be a little faster. */
extern const double PLAUSIBILITY_MOST_OF_LIMIT;

/* Fill in result->limit. */
void limit_set(case_result_t *result, const workload_t *workload, const device_rates_t *rates);

/* The same for a case that has a limit already, with the flag that depends on it. */
void limit_set_again(case_result_t *result, const workload_t *workload,
                     const device_rates_t *rates);

/* Add "implausible: …" flags: faster than the limit, a batch in a graph slower than back to back, a
 * time under the event floor, a total under the sum of its phases. */
void plausibility_check(case_result_t *result, const device_rates_t *rates);

#endif
