/* The workloads of this process that folders describe. */
#ifndef BENCH_WORKLOADS_DESCRIBED_DESCRIBED_H
#define BENCH_WORKLOADS_DESCRIBED_DESCRIBED_H

#include "workloads/described/description.h"

/* Says that a folder that was added has a description with its former name; NULL: nobody is told. Set by main. */
extern void (*described_tell)(const char *sentence);

/* Read and add the workload of a folder. STATUS_USAGE if the description is wrong, or its name is that of another
 * described workload or, by `is_taken` (may be NULL), of something else; adding a folder again does nothing. */
status_t described_add(const char *folder, bool (*is_taken)(const char *name),
                       const description_t **added, error_t *err);
/* Add the copy in a saved run, unless a described workload has its name; `file` is for messages. */
status_t described_add_saved(const char *file, const json_t *description, error_t *err);

/* Look for workloads in <root>/kernels, too: that of a folder is read when its name is first asked for, or all are. */
void described_search(const char *root, bool (*is_taken)(const char *name),
                      void (*left_out)(const char *why));

/* NULL for another workload. */
const description_t *described_find(const char *name);
const workload_t *described_find_workload(const char *name);
/* Number `index`; NULL beyond the last. */
const workload_t *described_workload(size_t index);

/* Of how many calls the whole training is, 0: of none but samples; and its seed. STATUS_FAILED as description_arrays(). */
status_t described_whole(const case_t *spec, size_t *calls, uint64_t *seed, error_t *err);
/* Is it a training whose verdicts compare a step? Its phases are then those of train_phases_t. */
bool described_is_by_step(const description_t *description);
/* What a case moves, computes and allocates, without a workspace; as workload_t.cost. */
workload_cost_t described_cost(const case_t *spec);
/* Of these arrays' inputs and outputs: one in place is both. */
double described_host_bytes(const described_shape_t shapes[], size_t n);

/* The value of "operator" in the request `open`: arrays and scalars of this case, and where its files are. STATUS_FAILED
 * for a shape that cannot be computed. */
status_t described_request(const description_t *description, const case_t *spec, json_t **request,
                           error_t *err);

#endif
