/* What bounds a training: the chart's own arithmetic, from rates that the run measured. Of one that
 * goes through all of its data in every epoch (linreg_train) four bounds, each of another way to do
 * it; of one whose weights are what each step moves (mnist_train) two. */
#ifndef BENCH_PLOT_LIMIT_LINES_H
#define BENCH_PLOT_LIMIT_LINES_H

#include "limits/device_rates.h"
#include "plot/lines.h"

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

/* Is it a workload that these bounds are about? */
bool has_training_bounds(const plot_data_t *data);
/* The phase that they bound: the training, or a step of it; NULL for another workload. */
const char *training_bounds_phase(const plot_data_t *data);
/* NaN where it does not apply, or a rate was not measured. `any_case` is of the size that is asked
 * about. */
double training_bound_ns(training_bound_t bound, const case_t *any_case,
                         const device_rates_t *rates);

/* "8 B × 4,000,000 × 200 epochs = 6.40 GB, / 4.30 TB/s = 1.49 ms": how the bound comes about; NULL
 * where it is unknown. The caller frees it. */
char *training_bound_arithmetic(training_bound_t bound, const case_t *any_case,
                                const device_rates_t *rates);

/* Any case of this size, whatever its status; every size of the data has one. */
const case_t *series_any_at(const plot_data_t *data, int64_t size);

/* Known at any size of the data? */
bool training_bound_is_known(training_bound_t bound, const plot_data_t *data,
                             const device_rates_t *rates);

/* A dashed line for each bound that is known. Returns how they come about at one size, a line each
 * behind a line break, for a chart's note; the caller frees it. */
char *lines_add_bounds(lines_t *lines, const plot_data_t *data);

#endif
