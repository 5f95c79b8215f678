/* Results as JSON: the contract of cases.jsonl (docs/results-format.md). */
#ifndef BENCH_RESULT_JSON_H
#define BENCH_RESULT_JSON_H

#include "nouns/case_json.h"
#include "nouns/result.h"

#include <jansson.h>

json_t *result_to_json(const case_result_t *result);
/* On failure nothing is left to free. Summaries are read, not recomputed. */
status_t result_from_json(const json_t *json, case_result_t *result, error_t *err);

#endif
