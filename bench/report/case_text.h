/* Everything about one case on one screen: for `bench run` of a few cases, and for the HTML report. */
#ifndef BENCH_REPORT_CASE_TEXT_H
#define BENCH_REPORT_CASE_TEXT_H

#include "model/result.h"

#include <stdio.h>

/* Status and reason, device, checks, phases with their intervals and quantiles, trust, limit, one-time
 * costs, program with the hash of its code, passes, flags; and an empty line. */
void case_text_print(FILE *out, const case_result_t *result);

#endif
