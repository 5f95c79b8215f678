/* A result from a line of cases.jsonl as it stands in the file: the same as result_from_json(), in
 * a fraction of the time. */
#ifndef BENCH_MODEL_RESULT_TEXT_H
#define BENCH_MODEL_RESULT_TEXT_H

#include "model/result.h"

/* On failure nothing is left to free. Summaries are read, not recomputed. With `phases`,
 * others may be left out, unread (NULL: all are read). May be called by several threads at a time.
 */
status_t result_from_text(const char *line, size_t length, const text_list_t *phases,
                          case_result_t *result, error_t *err);

#endif
