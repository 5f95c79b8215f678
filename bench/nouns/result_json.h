/* Cases and results as JSON: the contract of cases.jsonl (docs/results-format.md). */
#ifndef BENCH_RESULT_JSON_H
#define BENCH_RESULT_JSON_H

#include "nouns/result.h"

#include <jansson.h>

json_t *value_to_json(const value_t *value);
status_t value_from_json(const json_t *json, value_t *value, error_t *err);

/* The identity part of a case: id, workload, engine, device, variant, params, techniques, dtype. */
json_t *case_to_json(const case_t *spec);
status_t case_from_json(const json_t *json, case_t *spec, error_t *err);

json_t *result_to_json(const case_result_t *result);
/* On failure nothing is left to free. Summaries are read, not recomputed. */
status_t result_from_json(const json_t *json, case_result_t *result, error_t *err);

#endif
