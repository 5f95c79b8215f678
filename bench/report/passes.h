/* What is said about the passes behind a number, and about phases with two values. */
#ifndef BENCH_REPORT_PASSES_H
#define BENCH_REPORT_PASSES_H

#include "report/page.h"

/* Passes of the cases with times, without calibration: 0, 0 if there are none. */
typedef struct passes {
    size_t fewest, most;
    bool bimodal;        /* does a phase have two values? */
    bool busy;           /* did other programs take CPU time from a case? */
    bool quick;          /* measured with --quick */
    const char *devices; /* measured on these GPUs, "0,1 at once"; NULL: on one at a time */
    bool devices_differ; /* … in one of the runs, and on others or one at a time in another */
} passes_t;

passes_t passes_of(const record_t *run);
bool has_two_values(const case_result_t *result); /* in some phase */
passes_t passes_join(passes_t a, passes_t b);
/* Are there enough for an interval in any case? */
bool passes_have_intervals(passes_t passes);

/* "6 passes; 95 % intervals are over passes", "one pass: the spread between processes is unknown";
 * "" without times. */
const char *passes_text(const report_t *report, passes_t passes);
/* "6 passes, on GPUs 0,1 at once": its beginning. */
const char *passes_counted(const report_t *report, passes_t passes);
/* That and the meaning of ‡ and § as sentences, for below a table with ratios; "" without times. */
const char *passes_note(const report_t *report, passes_t passes);
/* A sentence on which passes ran where, if not all on one GPU; else NULL. */
const char *machines_text(const report_t *report);
void print_passes(const report_t *report); /* of report->run, as a paragraph */
/* What a column of ratios says, to follow its name: "; above 1, CUDA had the lower time". */
const char *ratio_meaning(const report_t *report, const char *ours);

/* "9.6 µs in 61 % of the rounds, 17.0 µs in 39 %"; the caller frees it. */
char *bimodal_text(const bimodal_t *bimodal);

#endif
