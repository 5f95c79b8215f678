/* Functions for the sessions of all workloads. */
#ifndef BENCH_WORKLOADS_COMMON_SESSION_PARTS_H
#define BENCH_WORKLOADS_COMMON_SESSION_PARTS_H

#include "cuda/cublaslt.h"
#include "engine/session.h"
#include "workloads/common/workload.h"

#include <jansson.h>
#include <stdbool.h>

/* Open a case: allocate a zeroed state, set its first member to the engine's `gpu_t *` (NULL on the
 * CPU), and call `prepare`. If that fails, the case is closed. */
typedef status_t prepare_t(session_t *session, const open_request_t *request, error_t *err);
status_t session_open(session_t *session, const open_request_t *request, size_t state_bytes,
                      prepare_t *prepare, error_t *err);
/* The same for a case that needs a program. */
status_t session_open_program(session_t *session, const open_request_t *request, size_t state_bytes,
                              prepare_t *prepare, error_t *err);

/* Mark the case as skipped if `status` is a failure. */
status_t session_skip(session_t *session, status_t status);

/* Open cuBLASLt; without it the case is skipped. */
status_t session_open_cublaslt(session_t *session, cublaslt_api_t *api, error_t *err);

/* Is a CPU case the oracle "ref", or "omp"? Fails for other variants, and skips "omp" with a dtype
 * other than f32, the only one that it computes in. */
status_t session_is_ref(session_t *session, const case_t *spec, bool *is_ref, error_t *err);

/* Declare phases of one clock, numbered in order; `names` ends with NULL. */
void session_add_phases(session_t *session, clock_domain_t clock, const char *const *names);

/* Is this much host memory free? Otherwise fails with both numbers. */
status_t host_room(double need_bytes, error_t *err);

/* A session's results as text, which the caller frees; releases the JSON. */
char *results_text(json_t *results);

/* Values of one type, the other pointer NULL; `columns` is 0 for one dimension. */
typedef struct output_array {
    const char *name;
    const float *f32;
    const double *f64;
    size_t rows, columns;
} output_array_t;

/* Write NAME.npy into `folder` and add the name to `arrays`. */
status_t output_write(const output_array_t *array, const char *folder, text_list_t *arrays,
                      error_t *err);
/* Of the reference: what errors of NAME are relative to if its own norm is smaller, as a root mean
 * square: NAME.scale.npy. */
status_t output_write_scale(const char *name, double scale, const char *folder, error_t *err);

#endif
