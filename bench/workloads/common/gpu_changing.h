/* A kernel that is launched again and again on the same inputs may recognise them, or its output, and
 * return at once. So a fresh sample of kernel_graph also launches it where what it reads and writes
 * has changed since its last launch, and where it has not; both after equal copies (docs/cheating.md,
 * rule 3). What the first takes longer is what the kernel gains. A third time, which is not timed,
 * the inputs of one launch in the middle are those that the case was opened with, so that its outputs can
 * be checked, too. */
#ifndef BENCH_WORKLOADS_COMMON_GPU_CHANGING_H
#define BENCH_WORKLOADS_COMMON_GPU_CHANGING_H

#include "workloads/common/gpu_sample.h"

/* Keep a copy of the arrays as they are, on gpu->stream. `*possible` is false where there is no memory
 * for it; then there is nothing to launch. */
status_t gpu_changing_begin(gpu_sample_t *s, bool *possible, error_t *err);
/* Launch both ways, the first between events 4 and 2, the second up to event 3, and restore the inputs,
 * without waiting. */
status_t gpu_changing_launch(gpu_sample_t *s, error_t *err);
/* How much longer a launch took the first way, once all is done; 0 if it did not. */
status_t gpu_changing_time(gpu_sample_t *s, double *more_ns, error_t *err);
/* Once that is done, and outputs are random again: launch the third time, restore the inputs, and copy the outputs of the middle to each
 * array's `middle`. */
status_t gpu_changing_check(gpu_sample_t *s, error_t *err);
void gpu_changing_free(gpu_sample_t *s);

#endif
