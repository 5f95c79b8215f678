/* Results as JSON: the contract of cases.jsonl (docs/results-format.md). */
#ifndef BENCH_MODEL_RESULT_JSON_H
#define BENCH_MODEL_RESULT_JSON_H

#include "model/case_json.h"
#include "model/result.h"

#include <jansson.h>

json_t *result_to_json(const case_result_t *result);
/* On failure nothing is left to free. Summaries are read, not recomputed. */
status_t result_from_json(const json_t *json, case_result_t *result, error_t *err);

/* Arrays of numbers that were cut out of a result's text: where each begins and ends. See
 * result_text.h. */
typedef struct lifted {
    const char **arrays, **ends; /* "[" and "]" */
    bool *taken;                 /* has lifted_array() been asked for it? */
    size_t n;
} lifted_t;

/* The same where "samples" and "round_starts" of some phases are not arrays, but numbers: of one
 * that was lifted. */
status_t result_from_lifted_json(const json_t *json, const lifted_t *lifted, case_result_t *result,
                                 error_t *err);

/* The values of a lifted array, which the caller frees; false where it holds anything but plain
 * numbers, or was taken before. */
bool lifted_array(const lifted_t *lifted, size_t index, double **values, size_t *n);

#endif
