/* `bench report --check`: is a report, with its pages, what its runs give? */
#ifndef BENCH_REPORT_CHECK_H
#define BENCH_REPORT_CHECK_H

#include "report/report.h"

/* Make the report in `path` again, from the runs that it names, and compare every file byte for byte.
 * STATUS_FAILED if one differs or is missing: the error has the first line that differs. `*n` gets
 * the number of files. */
status_t report_check(const char *path, const char *root, size_t *n, error_t *err);

#endif
