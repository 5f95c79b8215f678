/* Shards as they become one run, for `bench merge`: from several processes or identical nodes. */
#ifndef BENCH_RESULTS_MERGE_H
#define BENCH_RESULTS_MERGE_H

#include "results/record.h"

/* Zero-initialise it; merge_free() empties it. */
typedef struct merge {
    record_t run;        /* passes not joined */
    text_list_t folders; /* of the shards */
    size_t *starts;      /* of each: its first case in the run */
    text_list_t shards;  /* "3/8" of each; "" if it does not say */
} merge_t;

/* Add a shard. STATUS_INCOMPARABLE if its sweeps, software or kind of machine differ. */
status_t merge_add(merge_t *merge, const char *folder, error_t *err);
/* After the last shard. STATUS_INCOMPARABLE if two have different results of a case. */
status_t merge_drop_repeated(merge_t *merge, error_t *err);
/* Sort the cases like these ids, each case's passes in the order of the shards. Calibrations come first. */
void merge_sort(merge_t *merge, const text_list_t *ids);
/* Write the run into `folder`; its passes are joined then. `study`: see results_write_derived(). */
status_t merge_write(merge_t *merge, const char *folder, const struct study *study, error_t *err);
void merge_free(merge_t *merge);

#endif
