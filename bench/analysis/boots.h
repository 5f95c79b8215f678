/* Boots: runs of the same sweeps, or of a part of their cases, after separate starts of a machine of one kind. The first
 * is reported; the others show how far its ratios move from start to start, which passes of one boot do not. */
#ifndef BENCH_ANALYSIS_BOOTS_H
#define BENCH_ANALYSIS_BOOTS_H

#include "analysis/speedup.h"
#include "results/record.h"

/* Cases of a run that were measured while other programs took CPU time. */

/* "other programs took over 5 % of the CPU time of 7 of 12 cases, 48 % of softmax/cpu/omp/cols=64: …"; NULL if
 * there is none. The caller frees it. */
char *busy_sentence(const record_t *run);

/* How narrow the intervals over passes of a run are, by the phases that its cases are compared by. */

/* "median interval ±0.8 %, widest ±4.1 % (softmax/cpu/omp/cols=64); asked: ±2 %, reached in 31 of 40 cases", of all
 * runs together. What was asked is known where the number of passes was open. NULL: no case has an interval. The caller
 * frees it. */
char *precision_text(const record_t *const *runs, size_t n);

/* All boots but the first. */
typedef struct boots {
    const record_t *first; /* borrowed; NULL: there are none */
    const record_t **runs; /* the array is owned, the runs are borrowed */
    size_t n;
} boots_t;

/* Does `run` have the same GPU (without one: CPU) as `first`, and the same sweeps, text by text? */
bool boots_same_sweeps(const record_t *first, const record_t *run);
/* How many cases of `run` does `first` have, too, with the same description of their workload? 0 if not in the same
 * conditions. In `shared`, an element per case of `run`, or NULL, those of another description are marked, too. */
size_t boots_shared_cases(const record_t *first, const record_t *run, bool *shared);
/* Add `run`, another boot of `first`, in the order of their starts. STATUS_USAGE if it is there already;
 * STATUS_INCOMPARABLE if a setting of the device or a version other than this program's own differs; the error names
 * it. */
status_t boots_add(boots_t *boots, const record_t *first, const record_t *run, error_t *err);
/* Does boot `i` have a workload of the same description as the first, or both without one? */
bool boots_same_code(const boots_t *boots, size_t i, const char *workload);
/* Those that have cases of a workload, of the same description; to be freed with boots_free(). */
boots_t boots_with(const boots_t *boots, const char *workload);
void boots_free(boots_t *boots);

/* The ratio of two cases' medians in the boots that have both with the same machine code, the first included. */
typedef struct boots_range {
    size_t n;
    double least, most;
} boots_range_t;

/* Theirs over ours, by `phase`; both cases are of the first boot. */
boots_range_t boots_range(const boots_t *boots, const case_result_t *ours,
                          const case_result_t *theirs, const char *phase);
/* Have the interval of a ratio cover it in all boots, and find the verdict anew: passes after one start do not show
 * how far a ratio moves from machine to machine. Not its intervals there: a boot on a noisy machine would
 * make a precise ratio vague. Both cases are of the first boot. */
void boots_widen(const boots_t *boots, const case_result_t *ours, const case_result_t *theirs,
                 const char *phase, speedup_t *speedup);
/* Those of a set's ratios over rivals. */
void boots_widen_set(const boots_t *boots, comparison_set_t *set);
/* Is one side the faster in a boot, and the other in another? */
bool boots_disagree(const boots_range_t *range);

#endif
