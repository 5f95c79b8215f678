/* Times that cannot be those of the work that was asked for (docs/cheating.md). */
#ifndef BENCH_MODEL_IMPLAUSIBLE_H
#define BENCH_MODEL_IMPLAUSIBLE_H

#include "model/result.h"

/* Is a whole time, or a time by the device's clock, slower on inputs that it has not seen before than
 * caches explain? Then the case keeps results, or the machine interrupted it. More than seven
 * eighths of its fresh samples (phase_t) must be slow: that one was interrupted says nothing. */
bool implausible_is_doubted(const case_result_t *result);

/* Flag what at least four fresh samples make doubted. A case with that flag, or faster than its limit,
 * is implausible; if the worker's threads waited for cores in too many of them to tell, and it was
 * audited, it is self-reported. Of a pass, and of all passes of a case: one has few fresh samples if
 * they are long. */
void implausible_find(case_result_t *result);

#endif
