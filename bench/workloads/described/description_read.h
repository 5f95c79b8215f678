/* Parts of workload.json. Each function leaves what it has read in the description, which is freed as a whole. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_READ_H
#define BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_READ_H

#include "io/json.h"
#include "workloads/described/description.h"

/* Everything but the values that follow from the params: those are checked by description_parse(). */
status_t read_description(const node_t *top, description_t *description, error_t *err);

/* The name that an array's number in its list has in expressions. */
#define DESCRIBED_ITEM "i"

/* What values of this fill would have to be for the element type, as "expected" in messages; NULL: they are. */
enum { FILL_LACKS = 120 };

const char *fill_lacks(const fill_t *fill, element_t element, char what[FILL_LACKS]);
/* The largest size of its random numbers, with what is added to them. */
double fill_largest(const fill_t *fill);

#endif
