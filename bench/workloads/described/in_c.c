/* C code beside the rungs: run() of a shared object, called in this process. A contender's arrays are of the types that the
 * description says; those of reference.c, the reference output, are widened to float64. */
#include "base/clock.h"
#include "base/memory.h"
#include "io/npy.h"
#include "model/result.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"
#include "workloads/described/data.h"
#include "workloads/described/described.h"
#include "workloads/described/host_code.h"
#include "workloads/described/signature.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Before and after an array nobody may write, up to fences that no access passes. */
enum { GUARD = 256, ALIGNMENT = 256, FENCE = 1 << 20 };
/* Between the ends of arrays of one size, in turn: a load waits for a store to the same place of another page. */
enum { STAGGERS = 8, STAGGER = 512 };

typedef struct host_array {
    char *memory; /* fence, guard, array, guard of at least GUARD bytes, fence */
    size_t memory_bytes;
    void *at;
    size_t bytes;
    char *guards;      /* as they were filled, one behind the other */
    const void *given; /* of an input: its values */
    double *wide;      /* … if they are widened: these */
    void *last;        /* of an output: what the last fresh sample left */
} host_array_t;

typedef struct described_c {
    void *engine; /* NULL; session_open() sets it */
    const description_t *description;
    described_data_t *data;
    bool is_reference;
    size_t steps; /* of a training that is compared by a step; else 0 */
    host_array_t arrays[DESCRIBED_SHAPES];
    host_code_t code;
    signature_constants_t constants;
    void *listed[DESCRIBED_SHAPES], **lists[DESCRIBED_SHAPES]; /* in the order of arguments */
    size_t n_arguments;                                        /* that are arrays */
    void *arguments[2 * DESCRIBED_ARRAYS + DESCRIBED_PARAMS];
    uint64_t seed; /* of the inputs */
} described_c_t;

/* The first is called "train" where a step is compared, and the last `step`. */
enum {
    PHASE_FORWARD,
    PHASE_TOTAL,
    PHASE_RESIDUAL,
    PHASE_HOST_TO_HOST,
    PHASE_OF_STEP = PHASE_HOST_TO_HOST
};

/* ==== arrays ================================================================================== */

static bool is_input(const described_c_t *s, size_t i) {
    return s->data->shapes[i].array->is_input;
}

static bool is_output(const described_c_t *s, size_t i) {
    return s->data->shapes[i].array->is_output;
}

static bool is_widened(const described_c_t *s, size_t i) {
    return s->is_reference && element_is_float(s->data->shapes[i].element);
}

/* As run() has it. */
static element_t element_of(const described_c_t *s, size_t i) {
    return is_widened(s, i) ? ELEMENT_F64 : s->data->shapes[i].element;
}

static void widen(double *to, const void *from, size_t n, element_t element) {
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        to[i] = element_value(from, i, element);
}

/* To be called when the inputs of the case have changed. */
static void take_inputs(described_c_t *s) {
    for (size_t i = 0; i < s->data->n_arrays; i++) {
        const described_shape_t *shape = &s->data->shapes[i];
        host_array_t *array = &s->arrays[i];
        array->given = s->data->values[i];
        if (!is_input(s, i) || !is_widened(s, i))
            continue;
        if (array->wide == NULL)
            array->wide = mem_alloc(array->bytes);
        widen(array->wide, s->data->values[i], shape->n, shape->element);
        array->given = array->wide;
    }
}

static size_t bytes_before(const host_array_t *array) {
    return (size_t)((char *)array->at - array->memory) - FENCE;
}

static size_t bytes_behind(const host_array_t *array) {
    return array->memory_bytes - 2 * FENCE - bytes_before(array) - array->bytes;
}

/* Zeros, aligned but for the shift, and as near to the fence behind as `past` bytes and the guard allow. */
static status_t take_array(host_array_t *array, size_t bytes, size_t shift, size_t past,
                           error_t *err) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t least = bytes + ALIGNMENT + past + 2 * GUARD;
    const size_t room = (least + page - 1) / page * page;
    char *memory =
        mmap(NULL, room + 2 * FENCE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return error_set(err, STATUS_FAILED, "no memory for an array of %zu bytes", bytes);
    array->memory = memory;
    array->memory_bytes = room + 2 * FENCE;
    array->bytes = bytes;
    array->at = memory + FENCE + (room - least + GUARD) / ALIGNMENT * ALIGNMENT + shift;
    if (mprotect(memory + FENCE, room, PROT_READ | PROT_WRITE) != 0)
        return error_set(err, STATUS_FAILED, "no memory for an array of %zu bytes", bytes);
    array->guards = mem_alloc(room - bytes);
    random_fill(array->guards, room - bytes, RANDOM_BYTES);
    memcpy(memory + FENCE, array->guards, bytes_before(array));
    memcpy((char *)array->at + bytes, array->guards + bytes_before(array), bytes_behind(array));
    return STATUS_OK;
}

static status_t take_arrays(described_c_t *s, error_t *err) {
    const bool shifted = getenv("BENCH_SHIFT_ARRAYS") != NULL; /* docs/testing.md */
    size_t order[DESCRIBED_SHAPES];
    for (size_t i = 0; i < s->data->n_arrays; i++) {
        const described_shape_t *shape = &s->data->shapes[i];
        const size_t each = element_bytes(element_of(s, i)), bytes = shape->n * each;
        TRY(take_array(&s->arrays[i], bytes, shifted ? each : 0, i % STAGGERS * STAGGER, err));
        if (is_output(s, i))
            s->arrays[i].last = mem_zeroed(1, bytes);
    }
    described_order(s->data->shapes, s->data->n_arrays, order);
    for (size_t o = 0; o < s->data->n_arrays; o++) {
        const described_shape_t *shape = &s->data->shapes[order[o]];
        s->listed[o] = s->arrays[order[o]].at;
        s->lists[o] = &s->listed[o];
        if (described_starts(shape))
            s->arguments[s->n_arguments++] =
                shape->array->repeat != NULL ? (void *)&s->lists[o] : (void *)&s->listed[o];
    }
    return STATUS_OK;
}

static void fill_outputs(described_c_t *s) {
    for (size_t i = 0; i < s->data->n_arrays; i++)
        if (is_output(s, i) && !is_input(s, i))
            random_fill(s->arrays[i].at, s->arrays[i].bytes,
                        described_random_kind(element_of(s, i)));
}

/* Those that a run changes, or the others. */
static void copy_inputs(described_c_t *s, bool in_place) {
    for (size_t i = 0; i < s->data->n_arrays; i++)
        if (is_input(s, i) && in_place == is_output(s, i))
            memcpy(s->arrays[i].at, s->arrays[i].given, s->arrays[i].bytes);
}

static const char *changed_input(const described_c_t *s) {
    for (size_t i = 0; i < s->data->n_arrays; i++)
        if (is_input(s, i) && !is_output(s, i) &&
            memcmp(s->arrays[i].at, s->arrays[i].given, s->arrays[i].bytes) != 0)
            return s->data->shapes[i].name;
    return NULL;
}

static status_t check_guards(const described_c_t *s, error_t *err) {
    for (size_t i = 0; i < s->data->n_arrays; i++) {
        const host_array_t *array = &s->arrays[i];
        const char *at = array->at, *name = s->data->shapes[i].name;
        const size_t before = bytes_before(array);
        if (memcmp(at - before, array->guards, before) != 0)
            return error_set(err, STATUS_FAILED, "run writes before the start of \"%s\"", name);
        if (memcmp(at + array->bytes, array->guards + before, bytes_behind(array)) != 0)
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
    for (size_t i = 0; i < s->data->n_arrays; i++)
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
    if (s->steps > 0)
        recorder_add(recorder, PHASE_OF_STEP, (double)(after_ns - before_ns) / (double)s->steps);
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

static status_t repeat(session_t *session, const char *phase, int64_t runs, double *calls,
                       error_t *err) {
    described_c_t *s = session->state;
    const bool whole = strcmp(phase, "host_to_host") == 0;
    const bool trains = strcmp(phase, "train") == 0 && s->steps > 0;
    if (!whole && !trains && strcmp(phase, "forward") != 0)
        return error_set(err, STATUS_FAILED, "%s cannot be run without the rest of a sample",
                         phase);
    /* Of a call alone, later runs find in place what those before left. */
    copy_inputs(s, true);
    for (int64_t i = 0; i < runs; i++) {
        if (whole)
            copy_inputs(s, true);
        call(s);
    }
    *calls = 1;
    return STATUS_OK;
}

/* ==== the case ================================================================================ */

static status_t check_room(const description_t *description, const case_t *spec, error_t *err) {
    const double copies = signature_is_wide(spec) ? 2 + 2 * sizeof(double) / 2 : 2;
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n;
    TRY(description_arrays(description, spec, shapes, &n, err));
    return host_room(copies * described_host_bytes(shapes, n), err);
}

static status_t prepare(session_t *session, const open_request_t *request, error_t *err) {
    described_c_t *s = session->state;
    const case_t *spec = request->spec;
    s->description = described_find(spec->workload);
    s->is_reference = signature_is_wide(spec);
    if (described_is_by_step(s->description))
        s->steps = description_steps_of(s->description, spec);
    int64_t start_ns = clock_ns();
    /* The object keeps its own variables for as long as a case has it open. */
    TRY(host_code_open(request->object, &s->code, err));
    session_add_once(session, "module_load", (double)(clock_ns() - start_ns));
    TRY(session_skip(session, check_room(s->description, spec, err)));
    s->data = described_data_take(s->description, spec, request->seed, request->inputs);
    TRY(described_data_check(s->data, err));
    TRY(take_arrays(s, err));
    take_inputs(s);
    signature_constants(s->description, spec, &s->constants, &s->arguments[s->n_arguments]);
    copy_inputs(s, false);
    copy_inputs(s, true);
    session_add_phases(session, CLOCK_HOST,
                       s->steps > 0 ? NAMES("train", "total", "residual", PHASE_STEP)
                                    : NAMES("forward", "total", "residual", "host_to_host"));
    session_add_probe(session, "phases", probe_phases);
    if (s->steps == 0)
        session_add_probe(session, "host_to_host", probe_host_to_host);
    start_ns = clock_ns();
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
    if (s->seed != seed) {
        take_inputs(s);
        copy_inputs(s, false);
    }
    s->seed = seed;
    return STATUS_OK;
}

static status_t rewrite(session_t *session, error_t *err) {
    described_c_t *s = session->state;
    s->seed = ~session->seed;
    for (size_t i = 0; i < s->data->n_arrays; i++)
        s->data->refilled[i] = ~session->seed;
    return refill(session, session->seed, err);
}

static status_t fill(session_t *session, error_t *err) {
    (void)err;
    fill_outputs(session->state);
    return STATUS_OK;
}

static void close_case(session_t *session) {
    described_c_t *s = session->state;
    for (size_t i = 0; i < DESCRIBED_SHAPES; i++) {
        free(s->arrays[i].guards);
        if (s->arrays[i].memory != NULL)
            munmap(s->arrays[i].memory, s->arrays[i].memory_bytes);
        free(s->arrays[i].wide);
        free(s->arrays[i].last);
    }
    if (s->data != NULL)
        described_data_release(s->data);
    host_code_close(&s->code);
    free(s);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static status_t write_doubles(const described_c_t *s, size_t i, const char *ending,
                              const double *values, const char *folder, error_t *err) {
    const described_shape_t *shape = &s->data->shapes[i];
    AUTO_FREE char *path = mem_format("%s/%s%s.npy", folder, shape->name, ending);
    return npy_write(path, "f8", values, shape->sizes, shape->array->n_dimensions, err);
}

/* What an array in place holds before a run. */
static status_t write_initial(const described_c_t *s, size_t i, const char *folder, error_t *err) {
    const described_shape_t *shape = &s->data->shapes[i];
    AUTO_FREE double *values = mem_alloc(shape->n * sizeof *values);
    widen(values, s->data->values[i], shape->n, shape->element);
    return write_doubles(s, i, ".initial", values, folder, err);
}

static status_t write_arrays(const session_t *session, bool last, const char *folder,
                             text_list_t *names, error_t *err) {
    const described_c_t *s = session->state;
    for (size_t i = 0; i < s->data->n_arrays; i++) {
        if (!described_writes(session, s->data->shapes[i].array))
            continue;
        const void *values = last ? s->arrays[i].last : s->arrays[i].at;
        TRY(is_widened(s, i) ? write_doubles(s, i, "", values, folder, err)
                             : described_data_write(s->data, i, values, folder, err));
        if (s->is_reference && is_input(s, i))
            TRY(write_initial(s, i, folder, err));
        text_list_add(names, s->data->shapes[i].name);
    }
    return STATUS_OK;
}

/* What reference.c says errors are relative to, if it does. */
static status_t write_scales(const described_c_t *s, const char *folder, error_t *err) {
    double scales[DESCRIBED_SHAPES];
    size_t order[DESCRIBED_SHAPES], n = 0;
    if (!s->is_reference || s->code.scale == NULL || !s->code.scale(s->arguments, scales))
        return STATUS_OK;
    described_order(s->data->shapes, s->data->n_arrays, order);
    for (size_t o = 0; o < s->data->n_arrays; o++)
        if (is_output(s, order[o]))
            TRY(output_write_scale(s->data->shapes[order[o]].name, scales[n++], folder, err));
    return STATUS_OK;
}

static status_t output(session_t *session, const char *folder, text_list_t *names, error_t *err) {
    described_c_t *s = session->state;
    if (!session->is_unfinished)
        fill_outputs(s);
    if (!session->continues) {
        copy_inputs(s, false); /* a second call can undo what the first has changed */
        copy_inputs(s, true);
    }
    call(s);
    session->changed = session->is_unfinished ? NULL : changed_input(s);
    if (s->is_reference && session->changed != NULL)
        return error_set(err, STATUS_FAILED, "reference.c changes its input \"%s\"",
                         session->changed);
    TRY(check_guards(s, err));
    TRY(write_scales(s, folder, err));
    return write_arrays(session, false, folder, names, err);
}

static status_t last(session_t *session, const char *folder, text_list_t *names, error_t *err) {
    return write_arrays(session, true, folder, names, err);
}

const session_ops_t described_c = {.workload = SESSION_DESCRIBED,
                                   .open = open_case,
                                   .refill = refill,
                                   .rewrite = rewrite,
                                   .fill = fill,
                                   .output = output,
                                   .last = last,
                                   .close = close_case,
                                   .repeat = repeat};
