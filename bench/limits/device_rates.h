/* The device's rates, from a run's environment and calibration cases. */
#ifndef BENCH_LIMITS_DEVICE_RATES_H
#define BENCH_LIMITS_DEVICE_RATES_H

#include "results/record.h"

/* Data types whose matrix products have a rate of their own. */
typedef enum matmul_type { MATMUL_F32, MATMUL_TF32, MATMUL_F16, MATMUL_TYPES } matmul_type_t;
/* "f32", as in a case's dtype */
const char *matmul_type_name(matmul_type_t type);
/* Of the matrix products of a case; MATMUL_TYPES if it has none, or of a type without a rate. */
matmul_type_t matmul_type_of(const case_t *spec);

/* NaN: not recorded. */
typedef struct device_rates {
    double dram_bytes_per_s;     /* device/…/copy of a large buffer, bytes read plus written */
    double l2_bytes_per_s;       /* device/…/01_read of a buffer that fits into it */
    double bus_in_bytes_per_s;   /* device/…/bus: pinned memory to the GPU */
    double bus_out_bytes_per_s;  /* and back */
    double bus_both_bytes_per_s; /* each way, both at once */
    double l2_bytes;             /* size of the L2 */
    double on_chip_bytes;        /* L2, registers and shared memory of all multiprocessors */
    double fp32_flops_per_s;     /* multiprocessors · lanes · 2 · highest clock: not measured */
    double f16_peak_flops_per_s; /* of tensor cores, likewise, at a clock that is not locked */
    double library_flops_per_s[MATMUL_TYPES]; /* cuBLASLt: device/…/matmul */
    double own_flops_per_s[MATMUL_TYPES];     /* the fastest case of engine cuda */
    double launch_ns;                         /* an empty kernel in a graph */
    double event_ns;                          /* two events with nothing between */
    double barrier_ns;                        /* one barrier of the whole grid */
    /* No measurements: what can be at most, at a clock that is not locked. */
    double lanes_peak_flops_per_s; /* of FP32 lanes */
    double cluster_bytes;        /* registers and shared memory of the largest cluster of blocks */
    double cpu_peak_flops_per_s; /* float32, all cores of the host */
} device_rates_t;

extern const device_rates_t DEVICE_RATES_UNKNOWN;

/* Set what follows from the environment alone: L2 size, on-chip memory, peak FLOP/s, also of the CPU. The
 * tensor cores' is NaN for an unknown architecture. */
void device_rates_from_facts(const environment_t *env, device_rates_t *rates);

/* Set the rates measured by a calibration case (workloads device and null on cuda), or raise the rate
 * of matrix products by a case that limit_set() has seen. */
void device_rates_calibrate(const case_result_t *result, device_rates_t *rates);

/* The higher of cuBLASLt's rate and ours; NaN if cuBLASLt's was not measured. */
double matmul_flops_per_s(const device_rates_t *rates, matmul_type_t type);

/* All rates of the run: from its cases, else from its environment. */
device_rates_t device_rates_of_record(const record_t *run);

/* A positive number in the run's environment, or NaN. */
double recorded_number(const record_t *run, const char *key);

#endif
