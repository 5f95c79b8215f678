/* `bench merge`: the shards of a run become one run, and what is missing is listed. */
#ifndef BENCH_RUN_MERGED_MERGED_H
#define BENCH_RUN_MERGED_MERGED_H

#include "base/error.h"

#include <stddef.h>

/* Merge the shards in `runs` into the new or empty `folder`, which is printed on stdout. STATUS_FAILED
 * if folders, or cases of the sweeps, are missing: then they are listed on stderr, and the rest is merged. */
status_t merge_runs(const char *root, const char *folder, const char *const *runs, size_t n_runs,
                    error_t *err);

#endif
