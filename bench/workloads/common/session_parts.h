/* What sessions have in common, whatever their workload. */
#ifndef BENCH_WORKLOADS_COMMON_SESSION_PARTS_H
#define BENCH_WORKLOADS_COMMON_SESSION_PARTS_H

#include "engine/session.h"
#include "workloads/common/workload.h"

#include <jansson.h>
#include <stdbool.h>

/* Open a case: the session gets a state of so many zeros, whose first member is the engine's gpu_t
 * * (NULL: the CPU's), and `prepare` does the rest. If that fails, the case is closed again. */
typedef status_t prepare_t(session_t *session, const open_request_t *request, error_t *err);
status_t session_open(session_t *session, const open_request_t *request, size_t state_bytes,
                      prepare_t *prepare, error_t *err);
/* The same for a case that cannot do without a program. */
status_t session_open_program(session_t *session, const open_request_t *request, size_t state_bytes,
                              prepare_t *prepare, error_t *err);

/* Where this failed, the case is skipped. */
status_t session_skip(session_t *session, status_t status);

/* Is a case on the CPU the oracle's, "ref", or else "omp"? Fails for other variants, and skips a
 * case of "omp" in another dtype than f32: a contender computes in the one that it is named for. */
status_t session_is_ref(session_t *session, const case_t *spec, bool *is_ref, error_t *err);

/* Declare phases 0, 1, … of one clock; `names` ends with NULL. */
void session_add_phases(session_t *session, clock_domain_t clock, const char *const *names);

/* Is so much of the host's memory free? Otherwise fails with both numbers. */
status_t host_room(double need_bytes, error_t *err);

/* A session's results as text, which the caller frees; the JSON is released. */
char *results_text(json_t *results);

/* Values in one of two types, the other NULL, with `columns` 0 where they have one dimension. */
typedef struct output_array {
    const char *name;
    const float *f32;
    const double *f64;
    size_t rows, columns;
} output_array_t;

/* Write NAME.npy into `folder` and add the name to `arrays`. */
status_t output_write(const output_array_t *array, const char *folder, text_list_t *arrays,
                      error_t *err);

#endif
