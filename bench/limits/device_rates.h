/* What can this device do? Its rates, from the facts in a run's head and from the run's calibration
 * cases. */
#ifndef BENCH_LIMITS_DEVICE_RATES_H
#define BENCH_LIMITS_DEVICE_RATES_H

#include "results/record.h"

/* NaN where the run does not tell. */
typedef struct device_rates {
    double dram_bytes_per_s; /* device/…/copy of a large buffer, bytes read plus written */
    double l2_bytes_per_s;   /* device/…/01_read of a buffer that fits */
    double l2_bytes;         /* size of the L2 */
    double on_chip_bytes;    /* L2, registers and shared memory of all multiprocessors */
    double fp32_flops_per_s; /* multiprocessors · lanes · 2 · highest clock: not measured */
    double launch_ns;        /* an empty kernel in a graph */
    double event_ns;         /* two events with nothing between */
    double barrier_ns;       /* all blocks of a grid wait for each other */
} device_rates_t;

extern const device_rates_t DEVICE_RATES_UNKNOWN;

/* What follows from the device's facts alone: its L2, what it can keep on the chip, its peak. */
void device_rates_from_facts(const environment_t *env, device_rates_t *rates);

/* Take what a calibration case (workloads device and null on cuda) says into `rates`. */
void device_rates_calibrate(const case_result_t *result, device_rates_t *rates);

/* Every rate that the run tells: by its cases, else by its head. */
device_rates_t device_rates_of_record(const record_t *run);

/* A positive number of the run's environment, or NaN. */
double recorded_number(const record_t *run, const char *key);

#endif
