/* A result from a line of cases.jsonl: as result_from_json(), in a fraction of the time. */
#ifndef BENCH_MODEL_RESULT_TEXT_H
#define BENCH_MODEL_RESULT_TEXT_H

#include "model/result.h"

/* On failure nothing is left to free. Summaries are read, not recomputed. Phases not in `phases`
 * may be left out (NULL: all are read). Thread-safe. */
status_t result_from_text(const char *line, size_t length, const text_list_t *phases,
                          case_result_t *result, error_t *err);

#endif
