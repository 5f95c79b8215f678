/* Parts of workload.json. Each function leaves what it has read in the description, which is freed as a whole.
 * STATUS_USAGE: key, found and expected. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_READ_H
#define BENCH_WORKLOADS_DESCRIBED_DESCRIPTION_READ_H

#include "io/json.h"
#include "workloads/described/description.h"

/* Everything but the values that follow from the params: those are checked by description_parse(). */
status_t read_description(const node_t *top, description_t *description, error_t *err);

/* ---- names of params, arrays and scalars: kernels have them as identifiers -------------------------------- */

/* The name that an array's number in its list has in expressions. */
#define DESCRIBED_ITEM "i"
/* The number of a training's step, in kernels and in reference.py. */
#define DESCRIBED_STEP "step"

/* "w_0", "w_12": how files and messages, and in capitals macros, name what is in a list. */
bool is_item_of(const char *list, const char *name);
/* Is it a name for a param, an array or a scalar that none read so far has? */
status_t check_identifier(const node_t *node, const char *name, const description_t *description,
                          error_t *err);
/* May a param have this name? Ids and --set have others beside it. */
status_t check_param_name(const node_t *node, const char *name, const description_t *description,
                          error_t *err);

/* ---- params, their values in sweeps, and techniques ---------------------------------------------------------- */

/* true or false; false without the key. */
status_t read_flag(const node_t *object, const char *key, bool *flag, error_t *err);
status_t read_params(const node_t *top, description_t *description, error_t *err);
/* "size", and "study". */
status_t read_size(const node_t *top, description_t *description, error_t *err);
status_t read_study(const node_t *top, description_t *description, error_t *err);
status_t read_techniques(const node_t *top, description_t *description, error_t *err);
/* Once params and dtypes are read. */
status_t check_sweep(const node_t *top, const description_t *description, error_t *err);

/* ---- "dtypes": what type letters and "math" are in cases of each ---------------------------------------------- */

/* Params have been read. */
status_t dtypes_read(const node_t *top, description_t *description, error_t *err);
/* Before dtypes could be an object, "math" was by dtype in "cost": that of an old file or run. */
status_t dtypes_read_former_math(const node_t *math, description_t *description, error_t *err);
/* The default bounds of an output in cases of a dtype. Where an input is rounded for products, it is as precise as what
 * that is rounded to. */
bounds_t dtypes_bounds(const description_t *description, const described_array_t *array,
                       size_t dtype);

/* ---- fills ------------------------------------------------------------------------------------------------------ */

/* What values of this fill would have to be for the element type, as "expected" in messages; NULL: they are. */
enum { FILL_LACKS = 120 };

const char *fill_lacks(const fill_t *fill, element_t element, char what[FILL_LACKS]);
/* The largest size of its random numbers, with what is added to them. */
double fill_largest(const fill_t *fill);

#endif
