/* Shared by record.c, run_json.c, merge.c and digest.c. */
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
/* Order of lines by id and pass, or by id and draw without a pass. 0: the later replaces the earlier. */
int record_compare_keys(const case_result_t *a, const case_result_t *b);
/* Join the passes of each case, at the place of its first. */
void record_join_passes(record_t *run);

#endif
