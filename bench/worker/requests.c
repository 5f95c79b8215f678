#include "worker/requests.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "cuda/nvtx.h"
#include "engine/gpu.h"
#include "io/fs.h"
#include "io/json.h"
#include "workloads/common/session_parts.h"
#include "workloads/common/workload.h"

#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ==== engines ================================================================================= */

static status_t start_cpu(int index, void **state, environment_t *facts, error_t *err) {
    (void)index;
    (void)err;
    *state = NULL;
    char name[HOST_TEXT];
    environment_set(facts, "device.kind", "cpu");
    environment_set(facts, "device.name", host_cpu_name(name));
    environment_set_number(facts, "versions.openmp_threads", omp_get_max_threads());
    return STATUS_OK;
}

const engine_t engine_cpu = {.name = "cpu", .start = start_cpu};
const engine_t engine_null = {.name = "null", .start = start_cpu};

static status_t start_cuda(int index, void **state, environment_t *facts, error_t *err) {
    gpu_t *gpu = mem_zeroed(1, sizeof *gpu);
    status_t status = gpu_open(index, gpu, facts, err);
    if (status != STATUS_OK) {
        gpu_close(gpu);
        free(gpu);
        gpu = NULL;
    }
    *state = gpu;
    return status;
}

static void stop_cuda(void *state) {
    if (state != NULL)
        gpu_close(state);
    free(state);
}

/* After a fault in a kernel every call in its context, this one too, returns the same error (CUDA
 * C++ Programming Guide, error checking). */
static status_t check(void *state, error_t *err) {
    const gpu_t *gpu = state;
    return cuda_check(&gpu->api, gpu->api.context_sync(), "context_sync", err);
}

const engine_t engine_cuda = {
    .name = "cuda", .start = start_cuda, .stop = stop_cuda, .check = check};

static const engine_t *const ENGINES[] = {&engine_cpu, &engine_cuda, &engine_null};

const engine_t *engine_find(const char *name) {
    for (size_t i = 0; i < sizeof ENGINES / sizeof *ENGINES; i++)
        if (strcmp(ENGINES[i]->name, name) == 0)
            return ENGINES[i];
    return NULL;
}

/* ==== the protocol ============================================================================ */

typedef struct key {
    const char *name;
    json_type type;
    bool optional;
} request_key_t;

typedef struct op {
    const char *name;
    request_key_t keys[9];
} op_t;

static const op_t OPS[] = {
    [OP_HELLO] = {"hello", {{"protocol", JSON_INTEGER, false}}},
    [OP_OPEN] = {"open",
                 {{"case", JSON_OBJECT, false},
                  {"seed", JSON_INTEGER, false},
                  {"program", JSON_OBJECT, true},
                  {"operator", JSON_OBJECT, true},
                  {"inputs", JSON_STRING, true},
                  {"profile", JSON_TRUE, true}}},
    [OP_REFILL] = {"refill",
                   {{"id", JSON_STRING, false},
                    {"seed", JSON_INTEGER, false},
                    {"continues", JSON_TRUE, true}}},
    [OP_OUTPUT] = {"output",
                   {{"id", JSON_STRING, false},
                    {"path", JSON_STRING, false},
                    {"continues", JSON_TRUE, true}}},
    [OP_SAMPLE] = {"sample",
                   {{"id", JSON_STRING, false},
                    {"round", JSON_INTEGER, true},
                    {"budget_ns", JSON_INTEGER, false},
                    {"max_samples", JSON_INTEGER, false},
                    {"warmup_samples", JSON_INTEGER, false},
                    {"warmup_ns", JSON_INTEGER, false},
                    {"fresh", JSON_INTEGER, true},
                    {"phase", JSON_STRING, true},
                    {"keep", JSON_TRUE, true}}},
    [OP_AUDIT] = {"audit",
                  {{"id", JSON_STRING, false},
                   {"runs", JSON_INTEGER, false},
                   {"phase", JSON_STRING, true}}},
    [OP_LAST] = {"last", {{"id", JSON_STRING, false}, {"path", JSON_STRING, false}}},
    [OP_TRACE_START] = {"trace_start", {{0}}},
    [OP_TRACE] = {"trace",
                  {{"id", JSON_STRING, false},
                   {"path", JSON_STRING, false},
                   {"origin_ns", JSON_INTEGER, false}}},
    [OP_CLOSE] = {"close", {{"id", JSON_STRING, false}}},
    [OP_BYE] = {"bye", {{0}}},
};

enum { N_OPS = sizeof OPS / sizeof *OPS, N_KEYS = sizeof OPS[0].keys / sizeof *OPS[0].keys };

static bool has_type(const json_t *value, const request_key_t *key) {
    if (key->optional && json_is_null(value))
        return true;
    if (key->type == JSON_TRUE)
        return json_is_boolean(value);
    if (key->type == JSON_INTEGER)
        return json_is_integer(value) && json_integer_value(value) >= 0;
    return json_typeof(value) == key->type;
}

static const char *type_name(json_type type) {
    return type == JSON_OBJECT   ? "an object"
           : type == JSON_STRING ? "a string"
           : type == JSON_TRUE   ? "true or false"
                                 : "a non-negative integer";
}

static const request_key_t *find_key(const op_t *op, const char *name) {
    for (size_t i = 0; i < N_KEYS && op->keys[i].name != NULL; i++)
        if (strcmp(op->keys[i].name, name) == 0)
            return &op->keys[i];
    return NULL;
}

static status_t check_keys(const op_t *op, const json_t *request, error_t *err) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)request, name, value) {
        if (strcmp(name, "op") == 0)
            continue;
        const request_key_t *key = find_key(op, name);
        if (key == NULL)
            return error_set(err, STATUS_FAILED, "%s has no key \"%s\"", op->name, name);
        if (!has_type(value, key))
            return error_set(err, STATUS_FAILED, "%s: \"%s\" must be %s", op->name, name,
                             type_name(key->type));
    }
    for (size_t i = 0; i < N_KEYS && op->keys[i].name != NULL; i++)
        if (!op->keys[i].optional && json_object_get(request, op->keys[i].name) == NULL)
            return error_set(err, STATUS_FAILED, "%s needs \"%s\"", op->name, op->keys[i].name);
    return STATUS_OK;
}

static status_t find_op(const json_t *request, protocol_op_t *op, error_t *err) {
    const char *name = json_string_value(json_object_get(request, "op"));
    if (name == NULL)
        return error_set(err, STATUS_FAILED, "a request needs \"op\", a string");
    const char *names[N_OPS];
    for (size_t i = 0; i < N_OPS; i++) {
        names[i] = OPS[i].name;
        if (strcmp(names[i], name) == 0) {
            *op = (protocol_op_t)i;
            return STATUS_OK;
        }
    }
    AUTO_FREE char *hint = text_hint(name, names, N_OPS);
    return error_set(err, STATUS_FAILED, "unknown op \"%s\"%s", name, hint);
}

json_t *protocol_parse_request(const char *line, protocol_op_t *op, error_t *err) {
    json_error_t where;
    json_t *request = json_loads(line, JSON_REJECT_DUPLICATES, &where);
    if (request == NULL)
        error_set(err, STATUS_FAILED, "not JSON: column %d: %s", where.column, where.text);
    else if (!json_is_object(request))
        error_set(err, STATUS_FAILED, "a request is one JSON object on one line");
    else if (find_op(request, op, err) == STATUS_OK &&
             check_keys(&OPS[*op], request, err) == STATUS_OK)
        return request;
    json_decref(request);
    return NULL;
}

json_int_t request_integer(const json_t *request, const char *key) {
    return json_integer_value(json_object_get(request, key));
}

const char *request_text(const json_t *request, const char *key) {
    return json_string_value(json_object_get(request, key));
}

/* ==== requests of a case ====================================================================== */

/* ---- inputs ---------------------------------------------------------------------------------- */

status_t case_restore_inputs(session_t *session, error_t *err) {
    return session->ops->refill != NULL ? session->ops->refill(session, session->seed, err)
                                        : STATUS_OK;
}

static status_t set_inputs(session_t *session, uint64_t seed, error_t *err) {
    session->seed = seed;
    session->continues = false;
    return case_restore_inputs(session, err);
}

json_t *case_refill(session_t *session, const json_t *request, error_t *err) {
    if (set_inputs(session, (uint64_t)request_integer(request, "seed"), err) != STATUS_OK)
        return NULL;
    session->continues = json_is_true(json_object_get(request, "continues"));
    return json_pack("{s:s}", "id", session->spec.id);
}

/* ---- outputs --------------------------------------------------------------------------------- */

typedef status_t write_t(session_t *session, const char *folder, text_list_t *arrays, error_t *err);

static json_t *write_arrays(session_t *session, write_t *write, const json_t *request,
                            error_t *err) {
    AUTO(text_list_free) text_list_t arrays = {0};
    json_t *answer = NULL;
    session->is_unfinished = json_is_true(json_object_get(request, "continues"));
    if (write == NULL || write(session, request_text(request, "path"), &arrays, err) == STATUS_OK)
        answer = json_pack("{s:s, s:o}", "id", session->spec.id, "arrays", json_texts(&arrays));
    if (answer != NULL && session->changed != NULL)
        json_object_set_new(answer, "changed", json_string(session->changed));
    return answer;
}

json_t *case_output(session_t *session, const json_t *request, error_t *err) {
    session->has_last = false;
    session->changed = NULL;
    if (case_restore_inputs(session, err) != STATUS_OK)
        return NULL;
    return write_arrays(session, session->ops->output, request, err);
}

json_t *case_last(session_t *session, const json_t *request, error_t *err) {
    if (!session->has_last) {
        error_set(err, STATUS_FAILED, "last before sample with \"fresh\"");
        return NULL;
    }
    if (case_restore_inputs(session, err) != STATUS_OK)
        return NULL;
    json_t *answer = write_arrays(session, session->ops->last, request, err);
    if (answer != NULL && session->has_middle)
        json_object_set_new(answer, "middle", json_true());
    return answer;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Of each probe. */
typedef struct share {
    int64_t warmup_ns, budget_ns;
    json_int_t warmup_samples, max_samples;
    const json_t *fresh; /* the seed of a fresh sample, or NULL */
} share_t;

/* Of a run beside which a cold driver does not matter, at least. */
static const int64_t SHORT_NS = 5000000;

/* Fewer ordinary samples by a random number, so that a kernel cannot count to the fresh one. */
enum { FEWER_MOST = 3 };

/* The first launch after another process used the device includes the switch. `*run_ns` is how long
 * the last run took, 0 without one. */
static status_t warm_up(session_t *session, probe_t *probe, const share_t *share, int64_t *n_runs,
                        int64_t *run_ns, error_t *err) {
    AUTO(recorder_free) recorder_t ignored = recorder_alike(&session->recorder);
    status_t status = STATUS_OK;
    const int64_t start_ns = clock_ns();
    int64_t now_ns = start_ns;
    *run_ns = 0;
    for (json_int_t n = 0;
         status == STATUS_OK && (n < share->warmup_samples || now_ns - start_ns < share->warmup_ns);
         n++, (*n_runs)++) {
        const int64_t before_ns = now_ns;
        status = probe->run(session, &ignored, err);
        now_ns = clock_ns();
        *run_ns = now_ns - before_ns;
    }
    probe->run_ns = *run_ns;
    return status;
}

static status_t run_probe(session_t *session, probe_t *probe, error_t *err) {
    const recorder_t *recorder = &session->recorder;
    size_t before[RECORDER_MAX_PHASES];
    for (size_t i = 0; i < recorder->n_phases; i++)
        before[i] = recorder->phases[i].n;
    TRY(probe->run(session, &session->recorder, err));
    for (size_t i = 0; i < recorder->n_phases; i++)
        if (recorder->phases[i].n > before[i])
            probe->phases |= (uint64_t)1 << i;
    return STATUS_OK;
}

/* One more sample, of other inputs. */
static status_t sample_fresh(session_t *session, probe_t *probe, uint64_t seed, error_t *err) {
    TRY(set_inputs(session, seed, err));
    if (session->ops->fill != NULL)
        TRY(session->ops->fill(session, err));
    session->fresh = true;
    const status_t status = run_probe(session, probe, err);
    session->fresh = false;
    return status;
}

/* The fresh sample is part of the budget: without time for two, it is the only one. */
static status_t sample_and_fresh(session_t *session, probe_t *probe, const share_t *share,
                                 int64_t run_ns, error_t *err) {
    const json_int_t most = share->max_samples - random_below(FEWER_MOST + 1);
    const int64_t end_ns = clock_ns() + share->budget_ns - 2 * run_ns;
    for (json_int_t n = 0; run_ns > 0 && (n == 0 || n < most) && clock_ns() <= end_ns; n++)
        TRY(run_probe(session, probe, err));
    return sample_fresh(session, probe, (uint64_t)json_integer_value(share->fresh), err);
}

/* A short sample on new inputs takes longer if the host has them: they are in the caches of one core, and threads that have
 * waited for long must be woken. So is one sample more, in some rounds, on inputs that are written again as they are; it
 * counts with none of the others. Code can tell it only by the pause before it (known_inputs_ns()). */
enum { REWRITTEN_WITHIN = 8, REWRITTEN_MOST = 6, REWRITE_MOST_NS = 200000000 };

static bool may_rewrite(const session_t *session, const probe_t *probe, const share_t *share) {
    return session->ops->rewrite != NULL && share->max_samples > 1 && probe->run_ns < SHORT_NS &&
           probe->n_rewritten < REWRITTEN_MOST && session->rewrite_ns < REWRITE_MOST_NS;
}

static status_t sample_rewritten(session_t *session, probe_t *probe, int64_t *took_ns,
                                 error_t *err) {
    const int64_t start_ns = clock_ns();
    TRY(session->ops->rewrite(session, err));
    session->rewrite_ns = clock_ns() - start_ns;
    if (session->rewritten.n_phases == 0)
        session->rewritten = recorder_alike(&session->recorder);
    probe->n_rewritten++;
    TRY(probe->run(session, &session->rewritten, err));
    *took_ns = clock_ns() - start_ns;
    return STATUS_OK;
}

static status_t sample_probe(session_t *session, probe_t *probe, const share_t *share,
                             int64_t *n_runs, error_t *err) {
    int64_t run_ns;
    TRY(warm_up(session, probe, share, n_runs, &run_ns, err));
    if (share->fresh != NULL)
        return sample_and_fresh(session, probe, share, run_ns, err);
    const json_int_t at =
        may_rewrite(session, probe, share) ? random_below(REWRITTEN_WITHIN) : share->max_samples;
    const int64_t end_ns = clock_ns() + share->budget_ns;
    int64_t more_ns = 0;
    json_int_t n = 0;
    do {
        if (n == at)
            TRY(sample_rewritten(session, probe, &more_ns, err));
        TRY(run_probe(session, probe, err));
    } while (++n < share->max_samples && clock_ns() < end_ns + more_ns);
    return STATUS_OK;
}

static json_t *samples_to_json(const recorder_t *recorder) {
    json_t *phases = json_object();
    for (size_t i = 0; i < recorder->n_phases; i++) {
        if (recorder->phases[i].n == 0)
            continue; /* of a probe that was not asked */
        json_t *samples = json_array();
        for (size_t k = 0; k < recorder->phases[i].n; k++)
            json_array_append_new(samples, json_real(recorder->phases[i].ns[k]));
        json_object_set_new(phases, recorder->phases[i].name, samples);
    }
    return phases;
}

static share_t share_of(const session_t *session, const json_t *request) {
    const json_int_t n = (json_int_t)session->n_probes;
    const json_t *fresh = json_object_get(request, "fresh");
    return (share_t){.warmup_ns = request_integer(request, "warmup_ns") / n,
                     .warmup_samples = (request_integer(request, "warmup_samples") + n - 1) / n,
                     .budget_ns = request_integer(request, "budget_ns") / n,
                     .max_samples = request_integer(request, "max_samples"),
                     .fresh = json_is_integer(fresh) ? fresh : NULL};
}

static probe_t *find_probe(session_t *session, const char *phase) {
    for (size_t i = 0; i < session->n_probes; i++)
        for (size_t k = 0; k < session->recorder.n_phases; k++)
            if ((session->probes[i].phases >> k & 1) != 0 &&
                strcmp(session->recorder.phases[k].name, phase) == 0)
                return &session->probes[i];
    return NULL;
}

static status_t sample_all(session_t *session, const share_t *share, int64_t *warmed_up,
                           error_t *err) {
    status_t status = STATUS_OK;
    for (size_t i = 0; i < session->n_probes && status == STATUS_OK; i++) {
        nvtx_push(session->probes[i].name);
        status = sample_probe(session, &session->probes[i], share, warmed_up, err);
        nvtx_pop();
    }
    return status;
}

/* The worker has waited for this request, and a driver and caches went cold: on an H200 a launch and a wait took about
 * 120 us instead of 30. So a probe that is short runs first, on the inputs that it knows. */
static status_t warm_and_sample_fresh(session_t *session, probe_t *probe, uint64_t seed,
                                      int64_t *warmed_up, error_t *err) {
    const share_t few = {.warmup_samples = 3};
    const bool keep = session->keep;
    int64_t run_ns;
    session->keep = false;
    if (probe->run_ns < SHORT_NS)
        TRY(warm_up(session, probe, &few, warmed_up, &run_ns, err));
    session->keep = keep;
    return sample_fresh(session, probe, seed, err);
}

/* The probe that times a phase: known once each probe has run. */
static status_t probe_of(session_t *session, const char *phase, probe_t **probe, error_t *err) {
    const share_t one = {.max_samples = 1};
    int64_t ignored = 0;
    *probe = find_probe(session, phase);
    if (*probe == NULL) {
        TRY(sample_all(session, &one, &ignored, err));
        recorder_clear(&session->recorder);
        *probe = find_probe(session, phase);
    }
    return *probe != NULL ? STATUS_OK
                          : error_set(err, STATUS_FAILED, "the case has no phase \"%s\"", phase);
}

/* With a phase and a seed, only the fresh sample of the phase's probe; with a phase, only its probe. */
static status_t take_samples(session_t *session, const json_t *request, int64_t *warmed_up,
                             error_t *err) {
    const char *phase = request_text(request, "phase");
    share_t share = share_of(session, request);
    if (phase == NULL)
        return sample_all(session, &share, warmed_up, err);
    probe_t *probe;
    TRY(probe_of(session, phase, &probe, err));
    if (share.fresh == NULL)
        return sample_probe(session, probe, &share, warmed_up, err);
    return warm_and_sample_fresh(session, probe, (uint64_t)json_integer_value(share.fresh),
                                 warmed_up, err);
}

json_t *case_sample(session_t *session, const json_t *request, error_t *err) {
    recorder_clear(&session->recorder);
    recorder_clear(&session->rewritten);
    session->has_last = session->has_middle = false;
    session->changed = NULL;
    /* A kernel on a GPU cannot know what was asked for, so only what will be asked for is kept. */
    session->keep = json_is_true(json_object_get(request, "keep"));
    if (case_restore_inputs(session, err) != STATUS_OK)
        return NULL;
    AUTO_FREE char *label =
        mem_format("%s round %lld", session->spec.id, (long long)request_integer(request, "round"));
    nvtx_push(label);
    int64_t warmed_up = 0;
    const int64_t start_ns = clock_ns();
    const status_t status = take_samples(session, request, &warmed_up, err);
    nvtx_pop();
    if (status != STATUS_OK)
        return NULL;
    session->has_last = json_is_integer(json_object_get(request, "fresh"));
    json_t *answer = json_pack("{s:s, s:o, s:{s:I, s:I}}", "id", session->spec.id, "phases",
                               samples_to_json(&session->recorder), "warmup", "samples",
                               (json_int_t)warmed_up, "ns", (json_int_t)(clock_ns() - start_ns));
    if (session->rewritten.n_phases > 0)
        json_object_set_new(answer, "rewritten", samples_to_json(&session->rewritten));
    return answer;
}

/* ---- audits ---------------------------------------------------------------------------------- */

/* That of a whole run: docs/worker-protocol.md#audit. */
static const char *phase_of_run(const session_t *session) {
    static const char *const NAMES[] = {"host_to_host", "train"};
    for (size_t n = 0; n < sizeof NAMES / sizeof *NAMES; n++)
        for (unsigned i = 0; i < session->recorder.n_phases; i++)
            if (strcmp(session->recorder.phases[i].name, NAMES[n]) == 0)
                return NAMES[n];
    return "total";
}

/* Without clocks, so that the supervisor's can confirm what samples claim. */
json_t *case_audit(session_t *session, const json_t *request, error_t *err) {
    const char *asked = request_text(request, "phase");
    const char *phase = asked != NULL ? asked : phase_of_run(session);
    double calls = 1;
    session->has_last = false;
    if (session->ops->repeat == NULL)
        error_set(err, STATUS_FAILED, "nobody audits this case: its times are ours");
    else if (case_restore_inputs(session, err) == STATUS_OK &&
             session->ops->repeat(session, phase, request_integer(request, "runs"), &calls, err) ==
                 STATUS_OK)
        return json_pack("{s:s, s:s, s:f}", "id", session->spec.id, "phase", phase, "calls", calls);
    return NULL;
}

/* ==== tracing ================================================================================= */

enum { WARMUP_RUNS = 3 };

void trace_session_start(trace_t *trace, const engine_t *engine) {
    AUTO_FREE char *source = NULL;
    if (trace->on) { /* CUPTI stays attached */
        trace_cupti_flush();
        source = mem_text(trace->source);
    } else if (engine == &engine_cuda) {
        error_t why = ERROR_INIT;
        trace_start(trace, "");
        trace->device_records = trace_cupti_attach(trace, &source, &why) == STATUS_OK;
        if (!trace->device_records)
            source = mem_format("times between events: no CUPTI (%s)", why.text);
    } else {
        source = mem_text("the host's clock");
    }
    trace_start(trace, source);
}

void trace_session_stop(trace_t *trace) {
    trace_cupti_detach();
    trace_stop(trace);
}

/* Outside all ranges, so that the trace omits it. */
static status_t warm_up_traced(session_t *session, error_t *err) {
    for (size_t i = 0; i < session->n_probes; i++)
        for (int n = 0; n < WARMUP_RUNS; n++)
            TRY(session->probes[i].run(session, &session->recorder, err));
    return STATUS_OK;
}

static status_t run_probes(session_t *session, error_t *err) {
    for (size_t i = 0; i < session->n_probes; i++) {
        nvtx_push(session->probes[i].name);
        TRY(session->probes[i].run(session, &session->recorder, err));
        nvtx_pop();
    }
    return STATUS_OK;
}

/* For kernels that no sample runs, such as the evaluation after training. */
static status_t run_output(session_t *session, error_t *err) {
    AUTO(fs_remove_temporary) char *folder = NULL;
    AUTO(text_list_free) text_list_t arrays = {0};
    TRY(fs_temporary_folder(&folder, err));
    nvtx_push("output");
    status_t status = session->ops->output(session, folder, &arrays, err);
    nvtx_pop();
    return status;
}

static status_t run_once(trace_t *trace, session_t *session, error_t *err) {
    TRY(warm_up_traced(session, err));
    session->recorder.watch = &trace->watch;
    AUTO_FREE char *label = mem_format("%s sample", session->spec.id);
    nvtx_push(label);
    status_t status = run_probes(session, err);
    nvtx_pop();
    session->recorder.watch = NULL;
    recorder_clear(&session->recorder);
    return status == STATUS_OK ? run_output(session, err) : status;
}

status_t trace_session_run(trace_t *trace, session_t *session, const char *path, int64_t origin_ns,
                           error_t *err) {
    TRY(run_once(trace, session, err));
    trace_cupti_flush();
    return json_save(trace_to_json(trace, origin_ns), JSON_COMPACT | JSON_REAL_PRECISION(15), path,
                     err);
}
