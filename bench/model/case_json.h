/* Cases as JSON, for the worker protocol and cases.jsonl. */
#ifndef BENCH_MODEL_CASE_JSON_H
#define BENCH_MODEL_CASE_JSON_H

#include "model/case.h"

#include <jansson.h>

json_t *value_to_json(const value_t *value);
status_t value_from_json(const json_t *json, value_t *value, error_t *err);

/* The identity part of a case: id, workload, engine, device, variant, params, techniques, dtype. */
json_t *case_to_json(const case_t *spec);
status_t case_from_json(const json_t *json, case_t *spec, error_t *err);

#endif
