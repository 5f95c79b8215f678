/* Shared by record.c, join.c, run_json.c and merge.c. */
#ifndef BENCH_RESULTS_RECORD_INTERNAL_H
#define BENCH_RESULTS_RECORD_INTERNAL_H

#include "results/record.h"

#define HEADER "run.json"
#define JOURNAL "cases.jsonl"
#define JOURNAL_GZIP "cases.jsonl.gz"
#define JOURNAL_MOST                                                                               \
    ((size_t)4 << 30) /* bytes; a sweep of thousands of cases has a tenth of a GiB */

/* Read <folder>/run.json into an empty record. */
status_t record_read_header(const char *folder, record_t *run, error_t *err);
/* What not every reader asks of lines. */
typedef struct belief {
    bool units; /* times in PHASE_UNIT: readers that compare say themselves that they are not */
    bool
        passes; /* of a finished run all passes: resuming it measures them, merging it counts them */
} belief_t;

/* Refuse lines that do not fit together, or to run.json. */
status_t record_believe(const record_t *run, const belief_t *belief, error_t *err);
/* Order of lines by id and pass, or by id and draw without a pass. 0: the later replaces the earlier. */
int record_compare_keys(const case_result_t *a, const case_result_t *b);
/* Append `result`, or replace the one with equal keys; the record takes it over. */
void record_add(record_t *run, case_result_t *result);
/* Join the passes of each case, at the place of its first. */
void record_join_passes(record_t *run);

#endif
