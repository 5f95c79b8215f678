/* Functions for the sessions of all workloads. */
#ifndef BENCH_WORKLOADS_COMMON_SESSION_PARTS_H
#define BENCH_WORKLOADS_COMMON_SESSION_PARTS_H

#include "engine/gpu.h"
#include "engine/session.h"
#include "workloads/common/workload.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands in a buffer before a run writes its output there: values that look like outputs, or
 * NaNs where the host waits for each element to change. They come from the system's random source
 * and differ from fill to fill, so that a kernel cannot tell a check from a sample. */

/* Uniform in [-1, 1), or any bytes; or negative NaNs with random payloads, which arithmetic on a GPU does not
 * produce: its NaN is positive. */
typedef enum random_kind {
    RANDOM_F16,
    RANDOM_F32,
    RANDOM_F64,
    RANDOM_BF16,
    RANDOM_BYTES,
    RANDOM_NAN_F16,
    RANDOM_NAN_F32,
    RANDOM_KINDS,
} random_kind_t;

enum { RANDOM_TILE = 65536 }; /* elements; larger buffers repeat them */

/* A tile, another at each call; it stays valid. */
const void *random_tile(random_kind_t kind);
size_t random_tile_bytes(random_kind_t kind);

/* Fill `bytes` bytes by repeating a tile; returns the tile. */
const void *random_fill(void *to, size_t bytes, random_kind_t kind);

uint32_t random_below(uint32_t n); /* 0 … n - 1 */

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

/* Declare phases of one clock, numbered in order; `names` ends with NULL. */
void session_add_phases(session_t *session, clock_domain_t clock, const char *const *names);

/* Is this much host memory free? Otherwise fails with both numbers. */
status_t host_room(double need_bytes, error_t *err);

/* Add to a session's results, or replace there; takes the value. */
void session_add_result(session_t *session, const char *key, json_t *value);

/* A session's results as text, which the caller frees; releases the JSON. */
char *results_text(json_t *results);

/* Write `n` values as NAME.npy into `folder`. */
status_t output_write(const char *name, const float *values, size_t n, const char *folder,
                      error_t *err);
/* Of the reference: what errors of NAME are relative to if its own norm is smaller, as a root mean
 * square: NAME.scale.npy. */
status_t output_write_scale(const char *name, double scale, const char *folder, error_t *err);

/* Wait for the device; `*ns` gets its time since gpu_record() of event 0. */
status_t device_time(gpu_t *gpu, double *ns, error_t *err);

/* Device work between two events, from idle, in one or more pieces. Start with zeros. */
typedef struct device_span {
    double ns;              /* the device's */
    int64_t from_ns, to_ns; /* the host's clock around it */
} device_span_t;

status_t device_span_begin(device_span_t *span, gpu_t *gpu, error_t *err);
status_t device_span_end(device_span_t *span, gpu_t *gpu, error_t *err);

#endif
