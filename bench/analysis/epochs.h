/* What a training keeps of each of its epochs, and where the time of one went: the results of
 * mlp_train, as charts and reports read them. */
#ifndef BENCH_ANALYSIS_EPOCHS_H
#define BENCH_ANALYSIS_EPOCHS_H

#include "model/result.h"

/* NaN for what the case does not tell. */
typedef struct epoch {
    double number;
    double validation_loss, accuracy;
    double driver_calls, driver_ns; /* the driver's allocations and frees, and the time in them */
    double calls, hits;             /* blocks asked for; of them, served without the driver */
    double reserved_bytes, peak_bytes;
    double fragmentation;
} epoch_t;

typedef struct epoch_list {
    epoch_t *items;
    size_t n;
} epoch_list_t;

/* Empty when the case has no times, or no epochs that can be read. Free it with
 * epoch_list_free(). */
epoch_list_t epochs_of(const case_result_t *result);
void epoch_list_free(epoch_list_t *epochs);

/* The most driver calls of any epoch but the first; NaN where there is none, or one does not tell.
 */
double later_driver_calls(const epoch_list_t *epochs);

/* Of one epoch: some kernel ran; none did, and the host was in the driver's allocator; neither. */
typedef struct time_split {
    double kernels_ns, driver_ns, gaps_ns, epoch_ns;
} time_split_t;

/* False when the case has none, or none that adds up. */
bool time_split_of(const case_result_t *result, time_split_t *split);

/* Choice of the technique "allocator"; NULL for a contender without it. */
const char *allocator_of(const case_t *spec);
/* Is it another one than the workload's first? */
bool has_other_allocator(const case_t *spec);

#endif
