/* What is the least time of a training, by the rates that the run measured? Of one that goes
 * through all of its data in every epoch (linreg_train) four bounds, each of another way to do it;
 * of one whose weights are what each step moves (mnist_train) two. */
#ifndef BENCH_LIMITS_TRAINING_BOUNDS_H
#define BENCH_LIMITS_TRAINING_BOUNDS_H

#include "limits/device_rates.h"
#include "workloads/common/workload.h"

typedef enum training_bound {
    BOUND_DRAM,    /* reads the data from DRAM in every epoch */
    BOUND_L2,      /* … from the L2, where they fit */
    BOUND_BARRIER, /* keeps them on the chip of several blocks, which meet once an epoch */
    BOUND_ONCE,    /* reads them once from DRAM */
    BOUND_WEIGHTS, /* a step reads all weights forward and backward and writes them, in DRAM … */
    BOUND_KEPT,    /* … but for those that the L2 keeps from step to step */
    N_TRAINING_BOUNDS
} training_bound_t;

/* As rows of a chart name it: "every epoch from DRAM". */
const char *training_bound_name(training_bound_t bound);

/* NaN where it does not apply, or a rate was not measured. `any_case` is of the size that is asked
 * about. */
double training_bound_ns(training_bound_t bound, const case_t *any_case,
                         const device_rates_t *rates);

/* "8 B × 4,000,000 × 200 epochs = 6.40 GB, / 4.30 TB/s = 1.49 ms": how the bound comes about; NULL
 * where it is unknown. The caller frees it. */
char *training_bound_arithmetic(training_bound_t bound, const case_t *any_case,
                                const device_rates_t *rates);

/* A step that reads all of its data again. */
typedef struct streaming_floor {
    double bytes;          /* a step */
    double dram_ns, l2_ns; /* a step; NaN: the run did not measure the rate */
    double dram_rate, l2_rate, l2_bytes;
    bool fits; /* into the L2 */
} streaming_floor_t;

streaming_floor_t streaming_floor(const record_t *run, const case_t *spec);

#endif
