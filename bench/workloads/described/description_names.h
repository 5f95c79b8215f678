/* Names of params, arrays and scalars: kernels have them as identifiers. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_NAMES_H
#define BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_NAMES_H

#include "io/json.h"
#include "workloads/described/description.h"

/* The number of a training's step, in kernels and in reference.py. */
#define DESCRIBED_STEP "step"

/* "w_0", "w_12": how files and messages, and in capitals macros, name what is in a list. */
bool is_item_of(const char *list, const char *name);
/* Is it a name for a param, an array or a scalar that none read so far has? STATUS_USAGE: found and expected. */
status_t check_identifier(const node_t *node, const char *name, const description_t *description,
                          error_t *err);

#endif
