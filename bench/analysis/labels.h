/* What a contender is called in charts and reports: its rung or mode, and what sets it apart from
 * others of the same one. */
#ifndef BENCH_ANALYSIS_LABELS_H
#define BENCH_ANALYSIS_LABELS_H

#include "base/text.h"
#include "model/result.h"

/* The techniques that are not the workload's defaults, in its order: "copy=pinned", … */
text_list_t changed_techniques(const case_t *spec);
/* Does one of them start with this: "allocator=", or ""? */
bool has_changed_technique(const case_t *spec, const char *prefix);

/* "03_vectorized", or "03_vectorized + arena, pinned, resident": the variant and what was chosen
 * for the techniques that differ from the defaults. The caller frees it. */
char *contender_name(const case_t *spec);

/* Is this a case of the device's calibration and not of a workload of interest? */
bool is_calibration(const case_t *spec);

/* Was a new process started for each sample? Such a case answers another question than all others
 * and stands in no table or chart with them. */
bool is_cold_start(const case_result_t *result);

/* Do its techniques allow it a larger error than the default ones would (mnist_train's sums in
 * fp16)? Shown like any other, but it is not what a comparison with PyTorch is decided by. */
bool is_rougher(const case_t *spec);

#endif
