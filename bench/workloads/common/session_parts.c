#include "workloads/common/session_parts.h"

#include "base/clock.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/units.h"
#include "io/npy.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

/* ==== random outputs ========================================================================== */

/* A tile is part of a pool that is drawn once: drawing takes longer than copying. */
enum { POOL = 2 * RANDOM_TILE };

static const size_t ELEMENT_BYTES[RANDOM_KINDS] = {
    [RANDOM_F16] = sizeof(uint16_t),
    [RANDOM_F32] = sizeof(float),
    [RANDOM_F64] = sizeof(double),
    [RANDOM_BF16] = sizeof(uint16_t),
    [RANDOM_BYTES] = 1,
    [RANDOM_NAN_F16] = sizeof(uint16_t),
    [RANDOM_NAN_F32] = sizeof(uint32_t),
};

static void draw(void *pool, random_kind_t kind) {
    const rng_position_t from = {.seed = rng_secret()};
    uint16_t *halves = pool;
    uint32_t *words = pool;
    uint8_t *bytes = pool;
    double *doubles = pool;
    float value;
    if (kind == RANDOM_F32) {
        rng_fill_uniform(pool, POOL, from, -1, 1);
        return;
    }
    for (size_t i = 0; i < POOL; i++) {
        const uint32_t word = rng_word(from.seed, from.stream, i);
        rng_fill_uniform(&value, 1, (rng_position_t){.seed = from.seed, .first = i}, -1, 1);
        if (kind == RANDOM_NAN_F32)
            words[i] = 0xFF800001 + word % 0x7FFFFF;
        else if (kind == RANDOM_NAN_F16)
            halves[i] = (uint16_t)(0xFC01 + word % 0x3FF);
        else if (kind == RANDOM_F16)
            halves[i] = half_from_float(value);
        else if (kind == RANDOM_BF16)
            halves[i] = bfloat16_from_float(value);
        else if (kind == RANDOM_BYTES)
            bytes[i] = (uint8_t)word;
        else
            doubles[i] = value;
    }
}

uint32_t random_below(uint32_t n) {
    static uint64_t seed, position;
    if (position == 0)
        seed = rng_secret();
    return rng_word(seed, 0, position++) % n;
}

size_t random_tile_bytes(random_kind_t kind) {
    return RANDOM_TILE * ELEMENT_BYTES[kind];
}

const void *random_tile(random_kind_t kind) {
    static char *pools[RANDOM_KINDS];
    if (pools[kind] == NULL) {
        pools[kind] = mem_alloc(POOL * ELEMENT_BYTES[kind]);
        draw(pools[kind], kind);
    }
    return pools[kind] + random_below(RANDOM_TILE) * ELEMENT_BYTES[kind];
}

const void *random_fill(void *to, size_t bytes, random_kind_t kind) {
    const void *tile = random_tile(kind);
    const size_t tile_bytes = random_tile_bytes(kind);
    for (size_t done = 0; done < bytes; done += tile_bytes)
        memcpy((char *)to + done, tile, bytes - done < tile_bytes ? bytes - done : tile_bytes);
    return tile;
}

/* ==== parts of sessions ======================================================================= */

status_t session_open(session_t *session, const open_request_t *request, size_t state_bytes,
                      prepare_t *prepare, error_t *err) {
    session->state = mem_zeroed(1, state_bytes);
    *(gpu_t **)session->state = session->engine;
    const status_t status = prepare(session, request, err);
    if (status != STATUS_OK)
        session->ops->close(session);
    return status;
}

status_t session_open_program(session_t *session, const open_request_t *request, size_t state_bytes,
                              prepare_t *prepare, error_t *err) {
    if (request->cubin == NULL)
        return error_set(err, STATUS_FAILED, "a cuda case needs \"program\"");
    return session_open(session, request, state_bytes, prepare, err);
}

status_t session_skip(session_t *session, status_t status) {
    session->skipped = status != STATUS_OK;
    return status;
}

void session_add_phases(session_t *session, clock_domain_t clock, const char *const *names) {
    for (; *names != NULL; names++)
        recorder_phase(&session->recorder, *names, clock);
}

status_t host_room(double need_bytes, error_t *err) {
    const double room_bytes = host_available_bytes();
    if (!(need_bytes > room_bytes)) /* also if it is unknown (NaN) */
        return STATUS_OK;
    char need[UNITS_TEXT], room[UNITS_TEXT];
    return error_set(err, STATUS_FAILED, "needs %s of host memory, %s are free",
                     units_bytes(need, need_bytes), units_bytes(room, room_bytes));
}

void session_add_result(session_t *session, const char *key, json_t *value) {
    json_t *results =
        session->results_json != NULL ? json_loads(session->results_json, 0, NULL) : json_object();
    json_object_set_new(results, key, value);
    free(session->results_json);
    session->results_json = results_text(results);
}

char *results_text(json_t *results) {
    char *text = json_dumps(results, JSON_COMPACT);
    json_decref(results);
    return text;
}

status_t output_write(const char *name, const float *values, size_t n, const char *folder,
                      error_t *err) {
    AUTO_FREE char *path = mem_format("%s/%s.npy", folder, name);
    return npy_write(path, "f4", values, &n, 1, err);
}

status_t output_write_scale(const char *name, double scale, const char *folder, error_t *err) {
    const size_t one = 1;
    AUTO_FREE char *path = mem_format("%s/%s.scale.npy", folder, name);
    return npy_write(path, "f8", &scale, &one, 1, err);
}

/* ==== device time ============================================================================= */

status_t device_time(gpu_t *gpu, double *ns, error_t *err) {
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    return gpu_elapsed(gpu, 0, 1, ns, err);
}

status_t device_span_begin(device_span_t *span, gpu_t *gpu, error_t *err) {
    TRY(gpu_sync(gpu, err));
    if (span->ns == 0)
        span->from_ns = clock_ns();
    return gpu_record(gpu, 0, err);
}

status_t device_span_end(device_span_t *span, gpu_t *gpu, error_t *err) {
    double ns;
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    span->to_ns = clock_ns();
    TRY(gpu_elapsed(gpu, 0, 1, &ns, err));
    span->ns += ns;
    return STATUS_OK;
}
