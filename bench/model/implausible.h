/* Times that cannot be those of the work that was asked for (docs/cheating.md). */
#ifndef BENCH_MODEL_IMPLAUSIBLE_H
#define BENCH_MODEL_IMPLAUSIBLE_H

#include "model/result.h"

/* Flag whole times, and times by the device's clock, whose fresh samples (phase_t) are slower than
 * caches explain. A case with that flag, or faster than its limit, is implausible. Of a pass, and of all
 * passes of a case: one has few fresh samples if they are long. */
void implausible_find(case_result_t *result);

#endif
