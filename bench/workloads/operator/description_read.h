/* Parts of operator.json. Each function leaves what it has read in the description, which is freed as a whole. */
#ifndef BENCH_WORKLOADS_OPERATOR_DESCRIPTION_READ_H
#define BENCH_WORKLOADS_OPERATOR_DESCRIPTION_READ_H

#include "io/json.h"
#include "workloads/operator/description.h"

/* Everything but the values that follow from the params: those are checked by description_parse(). */
status_t read_description(const node_t *top, operator_description_t *description, error_t *err);

/* Is it a name for a param, an array or a scalar that none read so far has? Kernels have it as an identifier. */
status_t check_identifier(const node_t *node, const char *name,
                          const operator_description_t *description, error_t *err);
/* An integer of at least `least`, or an expression over the params. */
status_t read_expression(const node_t *node, const operator_description_t *description,
                         int64_t least, expression_t **expression, error_t *err);
/* "inputs" and "outputs". */
status_t read_arrays(const node_t *top, operator_description_t *description, error_t *err);
/* "fill" of an input. */
status_t read_fill(const node_t *node, const operator_description_t *description,
                   operator_array_t *array, error_t *err);
/* What values of this fill would have to be for the element type, as "expected" in messages; NULL: they are. */
enum { FILL_LACKS = 120 };
const char *fill_lacks(const fill_t *fill, element_t element, char what[FILL_LACKS]);

/* The element type of an array in cases of the description's dtype number `dtype`. */
element_t array_element(const operator_description_t *description, const operator_array_t *array,
                        size_t dtype);

#endif
