/* Lower bounds of a training's time, from the rates measured in the run: four for linreg_train,
 * which uses all data in every epoch, and two for mnist_train, whose steps move all weights. */
#ifndef BENCH_LIMITS_TRAINING_BOUNDS_H
#define BENCH_LIMITS_TRAINING_BOUNDS_H

#include "limits/device_rates.h"
#include "workloads/common/workload.h"

typedef enum training_bound {
    BOUND_DRAM,    /* reads the data from DRAM in every epoch */
    BOUND_L2,      /* … from the L2, if they fit */
    BOUND_BARRIER, /* keeps them on the chip; one grid barrier per epoch */
    BOUND_ONCE,    /* reads them once from DRAM */
    BOUND_WEIGHTS, /* a step reads all weights forward and backward and writes them, in DRAM … */
    BOUND_KEPT,    /* … except those that the L2 keeps between steps */
    N_TRAINING_BOUNDS
} training_bound_t;

/* The row's name in charts: "every epoch from DRAM". */
const char *training_bound_name(training_bound_t bound, const case_t *any_case);
/* How often a step of mnist_train moves all weights at least: 3, or 2.5 with dtype mixed. */
double training_passes(const case_t *any_case);

/* For the size of `any_case`. NaN if it does not apply or a rate was not measured. */
double training_bound_ns(training_bound_t bound, const case_t *any_case,
                         const device_rates_t *rates);

/* The calculation: "8 B × 4,000,000 × 200 epochs = 6.40 GB, / 4.30 TB/s = 1.49 ms"; NULL if
 * unknown. The caller frees it. */
char *training_bound_arithmetic(training_bound_t bound, const case_t *any_case,
                                const device_rates_t *rates);

/* Lower bound of a step that reads all data. */
typedef struct streaming_floor {
    double bytes;          /* a step */
    double dram_ns, l2_ns; /* a step; NaN: rate not measured */
    double dram_rate, l2_rate, l2_bytes;
    bool fits; /* into the L2 */
} streaming_floor_t;

streaming_floor_t streaming_floor(const record_t *run, const case_t *spec);

#endif
