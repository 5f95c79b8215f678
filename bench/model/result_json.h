/* Results as JSON: the format of cases.jsonl (docs/results-format.md). */
#ifndef BENCH_MODEL_RESULT_JSON_H
#define BENCH_MODEL_RESULT_JSON_H

#include "model/case_json.h"
#include "model/result.h"
#include "model/sample_text.h"

#include <jansson.h>

json_t *result_to_json(const case_result_t *result);
/* On failure nothing is left to free. Summaries of one pass are read, not recomputed. */
status_t result_from_json(const json_t *json, case_result_t *result, error_t *err);

/* The same, but "samples" and "round_starts" may be indexes into `raw_arrays` instead of arrays. */
status_t result_from_raw_json(const json_t *json, const raw_arrays_t *raw_arrays,
                              case_result_t *result, error_t *err);

#endif
