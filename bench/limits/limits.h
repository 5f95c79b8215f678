/* A case's share of the hardware limit, and checks that its times are plausible: two different bounds. */
#ifndef BENCH_LIMITS_LIMITS_H
#define BENCH_LIMITS_LIMITS_H

#include "results/record.h"
#include "workloads/common/workload.h"

/* The device's rates, from a run's environment and calibration cases. */

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

/* Set the rates measured by a calibration case (workloads device and null on cuda). */
void device_rates_calibrate(const case_result_t *result, device_rates_t *rates);

/* cuBLASLt's rate; NaN if it was not measured. */
double matmul_flops_per_s(const device_rates_t *rates, matmul_type_t type);

/* Record in a run's environment those that were measured. */
void device_rates_record(device_rates_t *rates, environment_t *env);
/* All rates of the run: from its cases, else from its environment. */
device_rates_t device_rates_of_record(const record_t *run);

/* Lower bounds of a training's time, from the rates measured in the run: four of a training that passes over its
 * data in every epoch, by the whole of it, and two of one whose steps move all weights, by a step (bounded_by_t). */

typedef enum training_bound {
    BOUND_DRAM,    /* reads the data from DRAM in every epoch */
    BOUND_L2,      /* … from the L2, if they fit */
    BOUND_BARRIER, /* keeps them on the chip; one grid barrier per epoch */
    BOUND_ONCE,    /* reads them once from DRAM */
    BOUND_WEIGHTS, /* a step reads all weights forward and backward and writes them, in DRAM … */
    BOUND_KEPT,    /* … except those that the L2 keeps between steps */
    N_TRAINING_BOUNDS
} training_bound_t;

/* So many times the bytes over the rate, or barriers. */
typedef struct lower_bound {
    double ns; /* NaN: it does not apply, or a rate was not measured */
    double times, bytes, bytes_per_s;
} lower_bound_t;

/* For the size of `any_case`. */
lower_bound_t training_bound(training_bound_t bound, const case_t *any_case,
                             const device_rates_t *rates);

/* Fill in result->limit: what the hardware allows a kernel that moves its data once a pass and computes
 * at the rate of matrix products (else at the FP32 lanes' peak), at measured rates. A kernel that keeps
 * data on the chip can be faster. */
void limit_set(case_result_t *result, const workload_t *workload, const device_rates_t *rates);

/* The least time of host_to_host on a GPU: the larger of input and output at the bus's rate, as both
 * can move at once. NaN if nothing moves or a rate was not measured. */
double bus_limit_ns(const case_t *spec, const device_rates_t *rates);

/* Replace a case's limit, and the flag that depends on it. */
void limit_set_again(case_result_t *result, const workload_t *workload,
                     const device_rates_t *rates);

/* Recompute a loaded run's limits by this version's rules, if the run has all rates. */
void device_rates_set_limits_again(record_t *run);

/* Flag implausible times, after limit_set(): faster than the chip's peak allows, a graph slower than
 * back-to-back launches, a time under the event floor, a total under the sum of its phases. */
void plausibility_check(case_result_t *result, const device_rates_t *rates);

#endif
