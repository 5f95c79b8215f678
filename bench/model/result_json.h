/* Results as JSON: the format of cases.jsonl (docs/results-format.md). */
#ifndef BENCH_MODEL_RESULT_JSON_H
#define BENCH_MODEL_RESULT_JSON_H

#include "model/result.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

json_t *result_to_json(const case_result_t *result);
/* On failure nothing is left to free. Summaries of one pass are read, not recomputed. */
status_t result_from_json(const json_t *json, case_result_t *result, error_t *err);

/* The same of a line of cases.jsonl. Thread-safe. */
status_t result_from_text(const char *line, size_t length, case_result_t *result, error_t *err);

#endif
