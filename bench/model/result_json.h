/* Results as JSON: the format of cases.jsonl (docs/results-format.md). */
#ifndef BENCH_MODEL_RESULT_JSON_H
#define BENCH_MODEL_RESULT_JSON_H

#include "model/result.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Arrays of samples in the text of cases.jsonl. */

/* Arrays of numbers cut out of a result's text (result_text.h). */
typedef struct raw_arrays {
    const char **arrays, **ends; /* "[" and "]" */
    bool *taken;                 /* by parse_samples() */
    size_t n;
} raw_arrays_t;

json_t *result_to_json(const case_result_t *result);
/* On failure nothing is left to free. Summaries of one pass are read, not recomputed. */
status_t result_from_json(const json_t *json, case_result_t *result, error_t *err);

/* The same, but "samples" and "round_starts" may be indexes into `raw_arrays` instead of arrays. */
status_t result_from_raw_json(const json_t *json, const raw_arrays_t *raw_arrays,
                              case_result_t *result, error_t *err);

/* A result from a line of cases.jsonl: as result_from_json(), in a fraction of the time. */

/* On failure nothing is left to free. Summaries are read, not recomputed. Phases not in `phases`
 * may be left out (NULL: all are read). Thread-safe. */
status_t result_from_text(const char *line, size_t length, const text_list_t *phases,
                          case_result_t *result, error_t *err);

#endif
