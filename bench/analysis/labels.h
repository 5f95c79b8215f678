/* Names of contenders in charts and reports, and classes of cases. */
#ifndef BENCH_ANALYSIS_LABELS_H
#define BENCH_ANALYSIS_LABELS_H

#include "base/text.h"
#include "model/result.h"

/* Techniques that differ from the workload's defaults, in its order: "copy=pinned", … */
text_list_t changed_techniques(const case_t *spec);
/* Does one of them start with `prefix`: "allocator=", or "" for any? */
bool has_changed_technique(const case_t *spec, const char *prefix);

/* "03_vectorized + arena, pinned": variant and changed techniques. The caller frees it. */
char *contender_name(const case_t *spec);

/* Was a new process started for each sample? Such cases are never shown with others. */
bool is_cold_start(const case_result_t *result);

/* The phase that the case is compared by: its workload's, else host_to_host, total, or of a cold start
 * the first answer; NULL without a time of one. */
const phase_t *compared_phase(const case_result_t *result);

/* Do its techniques have a larger tolerance than the defaults (mnist_train's fp16 sums)? Shown, but
 * not compared with rivals. */
bool is_rougher(const case_t *spec);

#endif
