/* What the memory of a sample holds before it: inputs of a seed, outputs at random; and whether inputs are what they were. */
#include "workloads/common/gpu_sample.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define CUDA(call) TRY(cuda_check(&s->gpu->api, s->gpu->api.call, #call, err))

/* ---- refill ---------------------------------------------------------------------------------- */

/* On the device: array_varies(), or in place. */
static bool is_refilled(const gpu_array_t *array) {
    return array_is_input(array) || array_varies(array);
}

/* The end of a refill: arrays by value, and the graphs that hold them. */
static status_t refill_values(gpu_sample_t *s, uint64_t seed, error_t *err) {
    const bool same = s->fixed_seed == seed;
    bool any = false;
    s->fixed_seed = seed;
    for (size_t i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].role == ARRAY_BY_VALUE) {
            s->refill(s, i, s->arrays[i].from, seed);
            any = true;
        }
    if (!any || same)
        return STATUS_OK;
    gpu_changing_forget(s);
    return s->recapture != NULL ? s->recapture(s, err) : STATUS_OK;
}

/* With refill_there: of what an input has in the host's memory, which cases may share. Each has its own: a case does not
 * refill there what it takes by value. */
static uint64_t *host_seed(gpu_sample_t *s, size_t i) {
    return s->copy == COPY_PAGEABLE ? &s->data_seeds[i] : &s->arrays[i].from_seed;
}

static bool host_has(gpu_sample_t *s, uint64_t seed) {
    bool has = true;
    for (size_t i = 0; i < s->n_arrays; i++)
        has &= !is_refilled(&s->arrays[i]) || *host_seed(s, i) == seed;
    return has;
}

/* The device fills its memory; the host gets a copy, unless it is to be made `later`. */
static status_t refill_input(gpu_sample_t *s, size_t i, uint64_t seed, bool later, error_t *err) {
    gpu_array_t *array = &s->arrays[i];
    const gpu_fill_t fill = {.array = i, .values = array->fixed, .seed = seed};
    bool possible;
    TRY(s->refill_there(s, &fill, &possible, err));
    if (possible && later)
        return STATUS_OK;
    if (!possible)
        s->refill(s, i, array->from, seed);
    *host_seed(s, i) = seed;
    if (!array_on_device(s, array))
        return STATUS_OK; /* both have the same memory */
    if (possible)
        CUDA(copy_out_async(array->from, array->fixed, array->bytes, s->gpu->stream));
    else
        CUDA(copy_in_async(array->fixed, array->from, array->bytes, s->gpu->stream));
    return STATUS_OK;
}

/* In place: launches get their inputs from the host. */
static bool may_follow(const gpu_sample_t *s, const gpu_array_t *array) {
    return s->copy != COPY_MAPPED && array->role != ARRAY_IN_PLACE;
}

/* Others may share the host's memory: then all of it follows, or nothing. */
static status_t shared_may_follow(gpu_sample_t *s, bool *may, error_t *err) {
    *may = !gpu_sample_has(s, ARRAY_IN_PLACE);
    for (size_t i = 0; i < s->n_arrays && *may; i++)
        if (is_refilled(&s->arrays[i]))
            TRY(s->refill_there(s, &(gpu_fill_t){.array = i}, may, err));
    return STATUS_OK;
}

static status_t refill_on_device(gpu_sample_t *s, uint64_t seed, error_t *err) {
    const bool is_shared = s->copy == COPY_PAGEABLE;
    bool later = true;
    if (is_shared)
        TRY(shared_may_follow(s, &later, err));
    if (s->fixed_seed == seed && (later || host_has(s, seed)))
        return STATUS_OK;
    for (size_t i = 0; i < s->n_arrays; i++)
        if (is_refilled(&s->arrays[i]))
            TRY(refill_input(s, i, seed, later && may_follow(s, &s->arrays[i]), err));
    TRY(gpu_sync(s->gpu, err));
    return refill_values(s, seed, err);
}

/* Made again rather than copied: a kernel may have written to what is there. What no sample copies stays as it is, unless it
 * is shared. */
status_t gpu_sample_host_inputs(gpu_sample_t *s, error_t *err) {
    const bool is_shared = s->copy == COPY_PAGEABLE;
    bool any = false;
    for (size_t i = 0; i < s->n_arrays && s->refill_there != NULL; i++) {
        const gpu_array_t *array = &s->arrays[i];
        if (!is_refilled(array) || *host_seed(s, i) == s->fixed_seed ||
            !(is_shared || array_each_sample(s, array)))
            continue;
        TRY(refill_input(s, i, s->fixed_seed, false, err));
        any = true;
    }
    return any ? gpu_sync(s->gpu, err) : STATUS_OK;
}

status_t gpu_sample_refill(session_t *session, uint64_t seed, error_t *err) {
    gpu_sample_t *s = session->state;
    if (s->refill_there != NULL)
        return refill_on_device(s, seed, err);
    if (s->copy == COPY_PAGEABLE)
        s->refill_data(s, seed);
    for (size_t i = 0; i < s->n_arrays && s->copy != COPY_PAGEABLE; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (is_refilled(array) && array->from_seed != seed) {
            s->refill(s, i, array->from, seed);
            array->from_seed = seed;
        }
    }
    if (s->fixed_seed == seed)
        return STATUS_OK;
    TRY(gpu_sample_copy_inputs(s, true, err));
    TRY(gpu_sample_copy_weights(s, true, err));
    TRY(gpu_sync(s->gpu, err));
    return refill_values(s, seed, err);
}

/* ---- fill ------------------------------------------------------------------------------------ */

status_t gpu_sample_fill_device(gpu_sample_t *s, bool fixed, error_t *err) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        const gpu_array_t *array = &s->arrays[i];
        const bool output = array->role == ARRAY_OUTPUT && s->copy != COPY_MAPPED;
        const cu_pointer_t at = fixed ? array->fixed : array->current;
        if (at != 0 && (output || array_is_scratch(array)))
            TRY(gpu_random_fill(s->gpu, at, array->bytes, array->random, err));
    }
    return STATUS_OK;
}

/* A copy of inputs that a kernel could write to. */
static void watch_mapped(gpu_sample_t *s) {
    for (size_t i = 0; i < s->n_arrays; i++) {
        gpu_array_t *array = &s->arrays[i];
        if (array->role != ARRAY_INPUT || array_on_device(s, array))
            continue;
        if (array->before == NULL)
            array->before = mem_alloc(array->bytes);
        memcpy(array->before, array->from, array->bytes);
    }
}

status_t gpu_sample_fill(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    for (size_t i = 0; i < s->n_arrays; i++)
        if (s->arrays[i].to != NULL)
            random_fill(s->arrays[i].to, s->arrays[i].bytes, s->arrays[i].random);
    watch_mapped(s);
    TRY(gpu_sample_fill_device(s, true, err));
    return gpu_sync(s->gpu, err);
}

/* ---- has a run changed its inputs? ------------------------------------------------------------- */

enum { PIECE_BYTES = 4 << 20 };

/* Is it in the memory of an input, on the host, what it is on the device? A kernel can write to mapped
 * memory: of that a copy was made. */
static status_t compare_on_host(const gpu_sample_t *s, const gpu_array_t *array, bool *changed,
                                error_t *err) {
    if (!array_on_device(s, array)) {
        *changed = array->before != NULL && memcmp(array->before, array->from, array->bytes) != 0;
        return STATUS_OK;
    }
    /* Piece by piece: new memory for all of it would take longer to get than to compare. */
    const size_t most = array->bytes < PIECE_BYTES ? array->bytes : PIECE_BYTES;
    AUTO_FREE void *found = mem_alloc(most);
    *changed = false;
    for (size_t at = 0; at < array->bytes && !*changed; at += most) {
        const size_t n = array->bytes - at < most ? array->bytes - at : most;
        TRY(gpu_copy_out(s->gpu, found, array->fixed + at, n, err));
        *changed = memcmp(found, (const char *)array->from + at, n) != 0;
    }
    return STATUS_OK;
}

/* The device makes the values again and compares. */
static status_t begin_to_compare(gpu_sample_t *s, size_t i, bool *possible, error_t *err) {
    const size_t bytes = s->n_arrays * sizeof(unsigned);
    *possible = false;
    if (s->refill_there == NULL || !array_on_device(s, &s->arrays[i]))
        return STATUS_OK;
    if (s->differs == 0)
        TRY(gpu_alloc(s->gpu, bytes, &s->differs, err));
    const gpu_fill_t fill = {.array = i,
                             .values = s->arrays[i].fixed,
                             .seed = is_refilled(&s->arrays[i]) ? s->fixed_seed : 0,
                             .differs = s->differs + i * sizeof(unsigned)};
    CUDA(fill_async(fill.differs, 0, sizeof(unsigned), s->gpu->stream));
    return s->refill_there(s, &fill, possible, err);
}

/* One that no run may change. */
static bool is_input(const gpu_array_t *array) {
    return array->name != NULL && array_varies(array);
}

static status_t find_changed(gpu_sample_t *s, bool *changed, error_t *err) {
    AUTO_FREE bool *there = mem_zeroed(s->n_arrays + 1, sizeof *there);
    AUTO_FREE unsigned *differs = mem_zeroed(s->n_arrays + 1, sizeof *differs);
    bool any = false;
    for (size_t i = 0; i < s->n_arrays; i++) {
        if (is_input(&s->arrays[i]))
            TRY(begin_to_compare(s, i, &there[i], err));
        any |= there[i];
    }
    if (any) {
        TRY(gpu_sync(s->gpu, err));
        TRY(gpu_copy_out(s->gpu, differs, s->differs, s->n_arrays * sizeof *differs, err));
    }
    for (size_t i = 0; i < s->n_arrays; i++) {
        changed[i] = there[i] && differs[i] != 0;
        if (is_input(&s->arrays[i]) && !there[i])
            TRY(compare_on_host(s, &s->arrays[i], &changed[i], err));
    }
    return STATUS_OK;
}

status_t gpu_sample_find_changed(session_t *session, error_t *err) {
    gpu_sample_t *s = session->state;
    AUTO_FREE bool *changed = mem_zeroed(s->n_arrays + 1, sizeof *changed);
    if (session->changed != NULL)
        return STATUS_OK;
    TRY(find_changed(s, changed, err));
    for (size_t i = 0; i < s->n_arrays && session->changed == NULL; i++)
        if (changed[i])
            session->changed = s->arrays[i].name;
    return STATUS_OK;
}
