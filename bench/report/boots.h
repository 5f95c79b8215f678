/* Boots: runs of the same sweeps, or of a part of their cases, after separate starts of a machine of one kind. The first
 * is reported; the others show how far its ratios move from start to start, which passes of one boot do not. */
#ifndef BENCH_REPORT_BOOTS_H
#define BENCH_REPORT_BOOTS_H

#include "analysis/speedup.h"

/* All boots but the first. */
typedef struct boots {
    record_t *runs; /* owned */
    size_t n;
} boots_t;

/* Does `run` have the same GPU (without one: CPU) as `first`, and the same sweeps, text by text; or
 * only some of its cases, in the same conditions? */
bool boots_match(const record_t *first, const record_t *run);
/* Take over `run`, another boot of `first`. STATUS_INCOMPARABLE if a setting of the device or a
 * version other than this program's own differs; the error names it and `run` stays the caller's. */
status_t boots_add(boots_t *boots, const record_t *first, const record_t *run, error_t *err);
void boots_free(boots_t *boots);

/* The ratio of two cases' medians in the boots that have both with the same machine code, the first included. */
typedef struct boots_range {
    size_t n;
    double least, most;
} boots_range_t;

/* Theirs over ours, by `phase`; both cases are of the first boot. */
boots_range_t boots_range(const boots_t *boots, const case_result_t *ours,
                          const case_result_t *theirs, const char *phase);
/* Is one side the faster in a boot, and the other in another? */
bool boots_disagree(const boots_range_t *range);

#endif
