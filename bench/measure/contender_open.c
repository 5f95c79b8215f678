/* Requests to a contender's worker, what becomes of the contender if they fail, and opening its case:
 * once more in a new process if the worker dies. */
#include "measure/contender.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/fs.h"
#include "model/case.h"
#include "workloads/common/workload.h"
#include "workloads/described/described.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ==== the request ============================================================================= */

json_t *open_request_make(const case_t *spec, const program_t *program, uint64_t seed,
                          bool profile) {
    json_t *built = json_null();
    if (program != NULL)
        built = json_pack("{s:s, s:s}", program->is_object ? "object" : "cubin", program->cubin,
                          "arch", program->arch);
    json_t *request =
        json_pack("{s:s, s:o, s:I, s:o, s:b}", "op", "open", "case", case_to_json(spec), "seed",
                  (json_int_t)seed, "program", built, "profile", profile);
    const description_t *description = described_find(spec->workload);
    json_t *described;
    /* The sweep's checks have computed its shapes. */
    if (description != NULL && described_request(description, spec, &described, NULL) == STATUS_OK)
        json_object_set_new(request, "operator", described);
    return request;
}

bool open_request_is_tuned(const json_t *hello, const case_t *spec) {
    size_t i;
    json_t *variant;
    const json_t *compiles = json_object_get(hello, "compiles");
    const json_t *variants = json_object_get(compiles, spec->workload);
    if (variants == NULL && described_find(spec->workload) != NULL) /* by one name */
        variants = json_object_get(compiles, "operator");
    json_array_foreach(variants, i, variant) {
        if (json_is_string(variant) &&
            fnmatch(json_string_value(variant), spec->variant, 0) == 0) /* "*+compile" */
            return true;
    }
    return false;
}

static bool has_text(const json_t *list, const char *text) {
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) {
        if (json_is_string(item) && strcmp(json_string_value(item), text) == 0)
            return true;
    }
    return false;
}

/* Does the worker that gave this answer to hello take this key of open, in every case? */
static bool open_request_may_have(const json_t *hello, const char *name) {
    return has_text(json_object_get(hello, "open_keys"), name);
}

/* Tell a worker on a GPU the program that fills inputs of operators there. */
static void open_request_set_refill(json_t *request, const contender_t *c) {
    const char *cubin = c->settings->refill;
    json_t *program = json_object_get(request, "program");
    if (cubin == NULL || json_object_get(request, "operator") == NULL ||
        strcmp(c->result.spec.device, "cuda") != 0)
        return;
    if (json_is_object(program))
        json_object_set_new(program, "refill", json_string(cubin));
    else if (open_request_may_have(c->worker->hello, "refill"))
        json_object_set_new(request, "refill", json_string(cubin));
}

void open_request_set_cache(json_t *request, const char *folder, unsigned draw) {
    AUTO_FREE char *path = mem_format("%s/%u", folder, draw);
    json_object_set_new(request, "compile_cache", json_string(path));
}

void open_request_without_results(json_t *request, const json_t *hello) {
    if (open_request_may_have(hello, "results"))
        json_object_set_new(request, "results", json_false());
}

/* ==== opening, and its failures =============================================================== */

bool contender_drop(contender_t *c, case_status_t status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    AUTO_FREE char *reason = mem_format_args(format, args), *before = c->result.reason;
    va_end(args);
    c->active = false;
    c->result.status = status;
    c->result.reason =
        status == CASE_FAILED && c->first_death != NULL
            ? mem_format("%s; first try: %s", reason,
                         strcmp(reason, c->first_death) == 0 ? "the same" : c->first_death)
            : mem_text(reason);
    text_make_plain(c->result.reason);
    return false;
}

char *contender_folder(contender_t *c) {
    char *folder;
    error_t err = ERROR_INIT;
    if (fs_temporary_folder_in(c->worker->folder, &folder, &err) != STATUS_OK)
        contender_drop(c, CASE_FAILED, "%s", err.text);
    return folder;
}

/* A script may leave out what nvidia-smi writes before it. */
static const char *bare_uuid(const char *uuid) {
    return text_starts(uuid, "GPU-") ? uuid + strlen("GPU-") : uuid;
}

/* Rivals on different GPUs are not rivals. */
static bool check_gpu(contender_t *c) {
    const json_t *device = json_object_get(c->worker->hello, "device");
    const char *uuid = json_string_value(json_object_get(device, "uuid"));
    const char *expected = c->settings->gpu_uuid;
    if (uuid == NULL || expected == NULL || strcasecmp(bare_uuid(uuid), bare_uuid(expected)) == 0)
        return true;
    return contender_drop(c, CASE_FAILED,
                          "its worker runs on %s, but this run measures %s: a worker must use "
                          "the first device that CUDA shows",
                          uuid, expected);
}

void contender_note_contexts(spent_t *spent, const worker_link_t *link) {
    const json_t *once = json_object_get(link->hello, "once_ns");
    spent_move(spent, SPENT_START, SPENT_CONTEXT,
               json_number_value(json_object_get(once, "context")) +
                   json_number_value(json_object_get(once, "driver_init")));
}

static bool start_worker(contender_t *c) {
    error_t err = ERROR_INIT;
    free(guard_restore(c->settings->guard, NULL)); /* a new process inherits how we are bound */
    const bool is_new = !c->worker->running;
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_START);
    const status_t status = worker_link_start(c->worker, c->settings->timeout_s, &err);
    spent_switch(c->settings->spent, before);
    if (status == STATUS_OK && is_new)
        contender_note_contexts(c->settings->spent, c->worker);
    if (status == STATUS_OK)
        return check_gpu(c);
    return contender_drop(c, c->worker->declined ? CASE_SKIPPED : CASE_FAILED, "%s", err.text);
}

/* After the first death, prepare a new process for the request. */
static bool retry(contender_t *c, const char *op, const char *reason) {
    if (!c->may_retry || !c->worker->died)
        return contender_drop(c, CASE_FAILED, "%s", reason);
    c->may_retry = false;
    c->first_death = mem_text(reason);
    return strcmp(op, "open") == 0 ? start_worker(c) : contender_reopen(c);
}

bool contender_may_ask(const contender_t *c, const char *key) {
    return has_text(json_object_get(c->worker->hello, "request_keys"), key);
}

json_t *contender_request(const contender_t *c, const char *op) {
    return json_pack("{s:s, s:s}", "op", op, "id", c->result.spec.id);
}

void contender_guard(contender_t *c) {
    char *foul = guard_restore(c->settings->guard, c->worker);
    if (c->foul == NULL)
        c->foul = foul;
    else
        free(foul);
}

bool contender_exchange(contender_t *c, json_t *request, json_t **answer) {
    error_t err = ERROR_INIT;
    const char *op = json_string_value(json_object_get(request, "op"));
    contender_guard(c);
    const int64_t start_ns = clock_ns();
    bool answered = worker_link_ask(c->worker, json_incref(request), c->settings->timeout_s, answer,
                                    &err) == STATUS_OK;
    c->result.worker_ns += (double)(clock_ns() - start_ns);
    guard_note(c->settings->guard, c->worker);
    if (!answered) {
        error_within(&err, "%s", op);
        answered = retry(c, op, err.text) && contender_exchange(c, json_incref(request), answer);
    }
    json_decref(request);
    return answered;
}

json_t *contender_ask(contender_t *c, json_t *request) {
    json_t *answer;
    if (!contender_exchange(c, request, &answer) || worker_answer_is_ok(answer))
        return answer;
    const char *status = json_string_value(json_object_get(answer, "status"));
    AUTO_FREE char *failure = worker_failure(c->worker, answer);
    if (strcmp(status, "skipped") == 0)
        contender_drop(c, CASE_SKIPPED, "%s", worker_answer_reason(answer));
    else
        contender_drop(c, CASE_FAILED, "%s", failure);
    json_decref(answer);
    return NULL;
}

static void read_once(contender_t *c, const json_t *once) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)once, name, value) {
        const bool is_loaded = c->compile_ns > 0 && strcmp(name, "compile") == 0;
        if (text_is_name(name))
            result_add_once(&c->result, name, is_loaded ? c->compile_ns : json_number_value(value));
    }
}

/* Phase names appear in tables, charts and file formats: reject invalid ones. */
static void read_phases(contender_t *c, const json_t *phases) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)phases, name, value) {
        if (!text_is_name(name))
            return (void)contender_drop(
                c, CASE_FAILED, "the worker declares an invalid phase name: \"%.100s\"", name);
        clock_domain_t clock = CLOCK_HOST;
        if (json_is_string(value))
            clock_domain_parse(json_string_value(value), &clock);
        result_add_phase(&c->result, name, clock);
        result_add_phase(&c->throttled_rounds, name, clock);
        result_add_phase(&c->slow_rounds, name, clock);
        result_add_phase(&c->void_rounds, name, clock);
    }
}

static bool is_oracle(const contender_t *c, const workload_t *workload) {
    return workload != NULL && workload->pytorch_oracle != NULL &&
           strcmp(c->result.spec.variant, workload->pytorch_oracle) == 0;
}

/* A script without what contenders are compared by would be compared with nothing, which nobody would
 * notice. */
static void require_compared_phase(contender_t *c) {
    const workload_t *workload = workload_find(c->result.spec.workload);
    const char *by = workload != NULL ? workload->compared_by : NULL;
    const bool is_whole = by == NULL || strcmp(by, COMPUTATION) == 0;
    if (!c->active || case_engine_is_built_in(c->result.spec.engine) || is_oracle(c, workload) ||
        (is_whole ? result_whole_phase(&c->result) : result_phase(&c->result, by)))
        return;
    contender_drop(c, CASE_FAILED,
                   "the answer to open has no phase \"%s\", by which %.60s is compared",
                   is_whole ? "host_to_host" : by, c->result.spec.workload);
}

static void read_resources(contender_t *c, const json_t *json) {
    resources_t *r = &c->result.resources;
    const json_t *occupancy = json_object_get(json, "occupancy_frac");
    if (json_is_number(occupancy))
        r->occupancy_frac = json_number_value(occupancy);
    r->peak_device_bytes = json_integer_value(json_object_get(json, "peak_device_bytes"));
    if (c->program == NULL)
        return;
    mem_set_text(&r->arch, c->program->arch);
    mem_set_text(&r->code_hash, c->program->code_hash);
    text_list_free(&r->flags);
    text_list_add_all(&r->flags, &c->program->flags);
    r->registers = c->program->registers;
    r->shared_bytes = c->program->shared_bytes;
    r->spill_bytes = c->program->spill_bytes;
}

/* A case's results are those of its first pass. */
bool contender_needs_results(const contender_t *c) {
    const bool is_draw = c->settings->pass == 0 && c->draw > 0;
    return c->settings->pass <= 1 && !is_draw;
}

/* A compiler that chooses nothing makes the same code in every pass: it need not make it again. */
static void set_cache(contender_t *c, json_t *request) {
    const json_t *hello = c->worker->hello;
    const char *compiled =
        c->worker->compiled != NULL ? c->worker->compiled : c->settings->compiled;
    if (compiled == NULL)
        return;
    if (open_request_is_tuned(hello, &c->result.spec)) {
        c->result.draw = c->draw > 0 ? c->draw : 1;
        open_request_set_cache(request, compiled, c->result.draw);
    } else if (open_request_may_have(hello, "compile_cache")) {
        open_request_set_cache(request, compiled, 0);
    }
}

/* What tools made while the case was opened. */
static void note_compiled(contender_t *c, const json_t *once) {
    spent_move(c->settings->spent, SPENT_OPEN, SPENT_COMPILE,
               json_number_value(json_object_get(once, "compile")) +
                   json_number_value(json_object_get(once, "build")));
}

/* C draws for itself, and a device what is drawn for a refill. */
static made_part_t part_of(const contender_t *c, uint64_t refill, bool continues) {
    if (case_engine_is_built_in(c->result.spec.engine))
        return MADE_BY_FUNCTION;
    const bool is_drawn_there = refill != 0 && c->settings->refill != NULL &&
                                strcmp(c->result.spec.device, "cuda") == 0 &&
                                open_request_may_have(c->worker->hello, "refill");
    return is_drawn_there ? MADE_NOT_DRAWN : continues ? MADE_NOT_IN_PLACE : MADE_ALL;
}

bool contender_have_inputs(contender_t *c, uint64_t refill, bool continues) {
    error_t err = ERROR_INIT;
    if (c->made == NULL || made_inputs_have(c->made, part_of(c, refill, continues), refill,
                                            c->worker, &c->reads, &err) == STATUS_OK)
        return true;
    return contender_drop(c, CASE_FAILED, "%s", err.text);
}

void open_request_set_inputs(json_t *request, const made_inputs_t *made,
                             const made_reader_t *reader) {
    if (made->folder != NULL)
        json_object_set_new(request, "inputs",
                            json_string(reader->copy != NULL ? reader->copy : made->folder));
}

static bool set_inputs(contender_t *c, json_t *request) {
    error_t err = ERROR_INIT;
    if (c->made == NULL || c->made->folder == NULL)
        return true;
    if (!open_request_may_have(c->worker->hello, "inputs"))
        return contender_drop(c, CASE_FAILED,
                              "its worker reads no inputs: in its answer to hello \"open_keys\" "
                              "has no \"inputs\" (docs/worker-protocol.md#inputs)");
    if (made_inputs_fit(c->made, part_of(c, 0, false), &err) != STATUS_OK)
        return contender_drop(c, CASE_SKIPPED, "%s", err.text);
    if (!contender_have_inputs(c, 0, false))
        return false;
    open_request_set_inputs(request, c->made, &c->reads);
    return true;
}

static json_t *ask_open(contender_t *c) {
    json_t *request =
        open_request_make(&c->result.spec, c->program, c->settings->seed, c->settings->profile);
    open_request_set_refill(request, c);
    set_cache(c, request);
    if (!contender_needs_results(c))
        open_request_without_results(request, c->worker->hello);
    if (!set_inputs(c, request)) {
        json_decref(request);
        return NULL;
    }
    const spent_on_t before = spent_switch(c->settings->spent, SPENT_OPEN);
    json_t *answer = contender_ask(c, request);
    spent_switch(c->settings->spent, before);
    note_compiled(c, json_object_get(answer, "once_ns"));
    return answer;
}

/* Another contender's failure may have ended the worker: then open the case again. */
static bool ensure_open(contender_t *c, bool first) {
    if (!first && c->worker->running && c->generation == c->worker->generation)
        return true;
    if (!start_worker(c))
        return false;
    json_auto_t *answer = ask_open(c);
    if (answer == NULL)
        return false;
    c->generation = c->worker->generation;
    if (first) {
        read_once(c, json_object_get(c->worker->hello, "once_ns"));
        read_once(c, json_object_get(answer, "once_ns"));
        if (c->program != NULL && !c->program->cached)
            result_add_once(&c->result, "compile", c->program->compile_ns);
        read_phases(c, json_object_get(answer, "phases"));
        require_compared_phase(c);
        read_resources(c, json_object_get(answer, "resources"));
        const json_t *device = json_object_get(c->worker->hello, "device");
        c->result.device.name = mem_text(json_string_value(json_object_get(device, "name")));
    }
    return true;
}

void contender_drop_unbuilt(contender_t *c) {
    if (c->active && c->program != NULL && c->program->status != PROGRAM_OK)
        contender_drop(c, c->program->status == PROGRAM_SKIPPED ? CASE_SKIPPED : CASE_FAILED, "%s",
                       c->program->reason);
}

void contender_open(contender_t *c) {
    contender_drop_unbuilt(c);
    if (c->active)
        ensure_open(c, true);
}

bool contender_reopen(contender_t *c) {
    return ensure_open(c, false);
}
