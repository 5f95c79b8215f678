/* A contender in C beside the rungs: run() of a shared object, called in this process. */
#include "base/clock.h"
#include "base/memory.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/described/described.h"
#include "workloads/described/host_code.h"
#include "workloads/described/signature.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Bytes before and after an array that nobody may write. */
enum { GUARD = 256, ALIGNMENT = 256 };

typedef struct host_array {
    char *memory; /* guard, array, guard */
    void *at;
    size_t bytes;
    char guard[2][GUARD]; /* as they were filled */
    void *last;           /* of an output: what the last fresh sample left */
} host_array_t;

typedef struct described_c {
    void *engine; /* NULL; session_open() sets it */
    const description_t *description;
    const described_data_t *data;
    host_array_t arrays[DESCRIBED_ARRAYS];
    host_code_t code;
    signature_constants_t constants;
    void *arguments[2 * DESCRIBED_ARRAYS + DESCRIBED_PARAMS];
    uint64_t seed; /* of the inputs */
} described_c_t;

enum { PHASE_FORWARD, PHASE_TOTAL, PHASE_RESIDUAL, PHASE_HOST_TO_HOST };

/* ==== arrays ================================================================================== */

static bool is_input(const described_c_t *s, size_t i) {
    return s->description->arrays[i].is_input;
}

static bool is_output(const described_c_t *s, size_t i) {
    return s->description->arrays[i].is_output;
}

static void take_array(host_array_t *array, size_t bytes, size_t shift) {
    array->bytes = bytes;
    array->memory = mem_zeroed(1, bytes + shift + 2 * GUARD + ALIGNMENT);
    const size_t past = (size_t)array->memory % ALIGNMENT;
    array->at = array->memory + (ALIGNMENT - past) % ALIGNMENT + GUARD + shift;
    for (int side = 0; side < 2; side++)
        random_fill(array->guard[side], GUARD, RANDOM_BYTES);
    memcpy((char *)array->at - GUARD, array->guard[0], GUARD);
    memcpy((char *)array->at + bytes, array->guard[1], GUARD);
}

static void take_arrays(described_c_t *s) {
    const bool shifted = getenv("BENCH_SHIFT_ARRAYS") != NULL; /* docs/testing.md */
    size_t order[DESCRIBED_ARRAYS];
    for (size_t i = 0; i < s->description->n_arrays; i++) {
        const described_shape_t *shape = &s->data->shapes[i];
        take_array(&s->arrays[i], shape->bytes, shifted ? element_bytes(shape->element) : 0);
        if (is_output(s, i))
            s->arrays[i].last = mem_zeroed(1, shape->bytes);
    }
    description_order(s->description, order);
    for (size_t o = 0; o < s->description->n_arrays; o++)
        s->arguments[o] = &s->arrays[order[o]].at;
}

static void fill_outputs(described_c_t *s) {
    for (size_t i = 0; i < s->description->n_arrays; i++)
        if (is_output(s, i) && !is_input(s, i))
            random_fill(s->arrays[i].at, s->arrays[i].bytes,
                        described_random_kind(s->data->shapes[i].element));
}

/* What a run computes from anew: arrays in place, or all inputs. */
static void copy_inputs(described_c_t *s, bool in_place) {
    for (size_t i = 0; i < s->description->n_arrays; i++)
        if (is_input(s, i) && (!in_place || is_output(s, i)))
            memcpy(s->arrays[i].at, s->data->values[i], s->arrays[i].bytes);
}

static const char *changed_input(const described_c_t *s) {
    for (size_t i = 0; i < s->description->n_arrays; i++)
        if (is_input(s, i) && !is_output(s, i) &&
            memcmp(s->arrays[i].at, s->data->values[i], s->arrays[i].bytes) != 0)
            return s->description->arrays[i].name;
    return NULL;
}

static status_t check_guards(const described_c_t *s, error_t *err) {
    for (size_t i = 0; i < s->description->n_arrays; i++) {
        const host_array_t *array = &s->arrays[i];
        const char *at = array->at, *name = s->description->arrays[i].name;
        if (memcmp(at - GUARD, array->guard[0], GUARD) != 0)
            return error_set(err, STATUS_FAILED, "run writes before the start of \"%s\"", name);
        if (memcmp(at + array->bytes, array->guard[1], GUARD) != 0)
            return error_set(err, STATUS_FAILED, "run writes beyond the end of \"%s\"", name);
    }
    return STATUS_OK;
}

/* ==== runs ==================================================================================== */

static void call(const described_c_t *s) {
    s->code.run(s->arguments, NULL);
}

/* Once the clock has stopped. */
static status_t keep(session_t *session, error_t *err) {
    described_c_t *s = session->state;
    if (!session->fresh)
        return STATUS_OK;
    for (size_t i = 0; i < s->description->n_arrays; i++)
        if (is_output(s, i))
            memcpy(s->arrays[i].last, s->arrays[i].at, s->arrays[i].bytes);
    session->changed = changed_input(s);
    return check_guards(s, err);
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    described_c_t *s = session->state;
    copy_inputs(s, true);
    const int64_t start_ns = clock_ns();
    const int64_t before_ns = clock_ns();
    call(s);
    const int64_t after_ns = clock_ns();
    const int64_t end_ns = clock_ns();
    TRY(keep(session, err));
    recorder_add_between(recorder, PHASE_FORWARD, (double)(after_ns - before_ns), before_ns,
                         after_ns);
    recorder_add_between(recorder, PHASE_TOTAL, (double)(end_ns - start_ns), start_ns, end_ns);
    recorder_add(recorder, PHASE_RESIDUAL, (double)((end_ns - start_ns) - (after_ns - before_ns)));
    return STATUS_OK;
}

static status_t probe_host_to_host(session_t *session, recorder_t *recorder, error_t *err) {
    described_c_t *s = session->state;
    const int64_t start_ns = clock_ns();
    copy_inputs(s, true);
    call(s);
    const int64_t end_ns = clock_ns();
    TRY(keep(session, err));
    recorder_add_between(recorder, PHASE_HOST_TO_HOST, (double)(end_ns - start_ns), start_ns,
                         end_ns);
    return STATUS_OK;
}

static bool has_arrays_in_place(const described_c_t *s) {
    for (size_t i = 0; i < s->description->n_arrays; i++)
        if (is_input(s, i) && is_output(s, i))
            return true;
    return false;
}

static status_t repeat(session_t *session, const char *phase, int64_t runs, double *calls,
                       error_t *err) {
    described_c_t *s = session->state;
    const bool whole = strcmp(phase, "host_to_host") == 0;
    if (!whole && (strcmp(phase, "forward") != 0 || has_arrays_in_place(s)))
        return error_set(err, STATUS_FAILED, "%s cannot be run without the rest of a sample",
                         phase);
    for (int64_t i = 0; i < runs; i++) {
        if (whole)
            copy_inputs(s, true);
        call(s);
    }
    *calls = 1;
    return STATUS_OK;
}

/* ==== the case ================================================================================ */

/* The object keeps its own variables for as long as a case has it open. */
static status_t load(session_t *session, const char *path, error_t *err) {
    described_c_t *s = session->state;
    const int64_t start_ns = clock_ns();
    TRY(host_code_open(path, &s->code, err));
    session_add_once(session, "module_load", (double)(clock_ns() - start_ns));
    return STATUS_OK;
}

static status_t check_room(const case_t *spec, error_t *err) {
    const workload_cost_t cost = described_cost(spec);
    return host_room(2 * (cost.bus_in_bytes + cost.bus_out_bytes), err);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    described_c_t *s = session->state;
    const case_t *spec = request->spec;
    s->description = described_find(spec->workload);
    TRY(load(session, request->object, err));
    TRY(session_skip(session, check_room(spec, err)));
    s->data = described_data_take(s->description, spec, request->seed, request->inputs);
    TRY(described_data_check(s->data, err));
    take_arrays(s);
    signature_constants(s->description, spec, &s->constants,
                        &s->arguments[s->description->n_arrays]);
    copy_inputs(s, false);
    session_add_phases(session, CLOCK_HOST, NAMES("forward", "total", "residual", "host_to_host"));
    session_add_probe(session, "phases", probe_phases);
    session_add_probe(session, "host_to_host", probe_host_to_host);
    const int64_t start_ns = clock_ns();
    call(s);
    session_add_once(session, "first_run", (double)(clock_ns() - start_ns));
    return check_guards(s, err);
}

static status_t open_case(session_t *session, const open_request_t *request, error_t *err) {
    if (request->object == NULL)
        return error_set(err, STATUS_FAILED, "a case in C needs \"program\"");
    return session_open(session, request, sizeof(described_c_t), prepare, err);
}

/* By one thread: others would go on spinning, each beside one of the contender's, if it has an OpenMP of its own. */
static status_t refill(session_t *session, uint64_t seed, error_t *err) {
    described_c_t *s = session->state;
    const int n_threads = omp_get_max_threads();
    omp_set_num_threads(1);
    described_data_refill(s->data, seed);
    omp_set_num_threads(n_threads);
    TRY(described_data_check(s->data, err));
    if (s->seed != seed)
        copy_inputs(s, false);
    s->seed = seed;
    return STATUS_OK;
}

static status_t fill(session_t *session, error_t *err) {
    (void)err;
    fill_outputs(session->state);
    return STATUS_OK;
}

static void close_case(session_t *session) {
    described_c_t *s = session->state;
    for (size_t i = 0; i < DESCRIBED_ARRAYS; i++) {
        free(s->arrays[i].memory);
        free(s->arrays[i].last);
    }
    if (s->data != NULL)
        described_data_release(s->data);
    host_code_close(&s->code);
    free(s);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static status_t write_arrays(const described_c_t *s, bool last, const char *folder,
                             text_list_t *names, error_t *err) {
    for (size_t i = 0; i < s->description->n_arrays; i++) {
        if (!is_output(s, i))
            continue;
        TRY(described_data_write(s->data, i, last ? s->arrays[i].last : s->arrays[i].at, folder,
                                 err));
        text_list_add(names, s->description->arrays[i].name);
    }
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *names, error_t *err) {
    described_c_t *s = session->state;
    fill_outputs(s);
    copy_inputs(s, true);
    call(s);
    session->changed = changed_input(s);
    TRY(check_guards(s, err));
    return write_arrays(s, false, folder, names, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *names, error_t *err) {
    return write_arrays(session->state, true, folder, names, err);
}

const session_ops_t described_c = {.workload = SESSION_DESCRIBED,
                                   .open = open_case,
                                   .refill = refill,
                                   .fill = fill,
                                   .output = output,
                                   .last = last,
                                   .close = close_case,
                                   .repeat = repeat};
