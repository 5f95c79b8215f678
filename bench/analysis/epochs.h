/* mlp_train's results by epoch, and how the time of one epoch is spent. */
#ifndef BENCH_ANALYSIS_EPOCHS_H
#define BENCH_ANALYSIS_EPOCHS_H

#include "model/result.h"

/* NaN: not recorded. */
typedef struct epoch {
    double number;
    double validation_loss, accuracy;
    double driver_calls, driver_ns; /* driver allocations and frees, and time in them */
    double calls, hits;             /* blocks requested; of them, served without the driver */
    double reserved_bytes, peak_bytes;
    double fragmentation;
} epoch_t;

typedef struct epoch_list {
    epoch_t *items;
    size_t n;
} epoch_list_t;

/* Empty if the case has no times or no valid epochs. Free it with epoch_list_free(). */
epoch_list_t epochs_of(const case_result_t *result);
void epoch_list_free(epoch_list_t *epochs);

/* The most driver calls of any epoch after the first; NaN if unknown. */
double later_driver_calls(const epoch_list_t *epochs);

/* Of one epoch: a kernel ran; none ran and the host was in the driver's allocator; neither. */
typedef struct time_split {
    double kernels_ns, driver_ns, gaps_ns, epoch_ns;
} time_split_t;

/* False if the case has none, or one that does not add up. */
bool time_split_of(const case_result_t *result, time_split_t *split);

/* Choice of the technique "allocator"; NULL if the contender lacks it. */
const char *allocator_of(const case_t *spec);
/* Does it differ from the workload's default? */
bool has_other_allocator(const case_t *spec);

#endif
