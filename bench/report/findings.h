/* What the tables of a page say, a sentence each: who is faster, how near to the limit, what techniques bring. */
#ifndef BENCH_REPORT_FINDINGS_H
#define BENCH_REPORT_FINDINGS_H

#include "report/sets.h"

void section_findings(const report_t *report, const comparison_set_list_t *sets,
                      const views_t *views);

#endif
