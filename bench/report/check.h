/* `bench report --check`: is a report, with its pages, what its runs give? */
#ifndef BENCH_REPORT_CHECK_H
#define BENCH_REPORT_CHECK_H

#include "report/report.h"

typedef struct report_check {
    size_t n_files;
    size_t n_runs, n_unsealed; /* of which edits could not be told */
} report_check_t;

/* Make the report in `path` again, from the runs that it names, and compare every file byte for byte.
 * STATUS_FAILED if one differs or is missing: the error has the first line that differs; or if a run's lines, tables
 * or charts are not those that its run.json has digests of. */
status_t report_check(const char *path, const char *root, report_check_t *found, error_t *err);

#endif
