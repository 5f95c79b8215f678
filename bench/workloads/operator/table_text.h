/* Sizes in the tables of a rung (LAUNCHES, TENSOR_MAPS, WORKSPACE): texts with an expression over params and sm_count. */
#ifndef BENCH_WORKLOADS_OPERATOR_TABLE_TEXT_H
#define BENCH_WORKLOADS_OPERATOR_TABLE_TEXT_H

#include "workloads/operator/description.h"

#include <stdbool.h>
#include <stdint.h>

/* Does it end within so many bytes? */
bool table_text_ends(const char *text, size_t size);
/* `otherwise` stands for "". STATUS_FAILED with the text. */
status_t table_text_value(const char *text, const operator_values_t *values, int64_t otherwise,
                          int64_t *value, error_t *err);
/* The names that texts may have, without values; `names` has to live as long. */
scope_t table_text_scope(const operator_description_t *description,
                         const char *names[OPERATOR_PARAMS + 1]);
/* Is it an expression over these names, or ""? */
status_t table_text_check(const char *text, const scope_t *scope, error_t *err);
/* Is it the same in every case? "" is not. */
bool table_text_is_constant(const char *text);

#endif
