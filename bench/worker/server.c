#include "worker/server.h"

#include "base/memory.h"
#include "cuda/nvtx.h"
#include "io/json.h"
#include "model/result.h"
#include "worker/requests.h"
#include "workloads/common/workload.h"
#include "workloads/described/described.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct worker {
    const engine_t *engine;
    int device;
    void *state; /* of the engine, opened by `hello` */
    bool started;
    environment_t facts;
    session_t **sessions;
    size_t n_sessions;
    FILE *answers;
    trace_t trace; /* on only in a traced run */
    bool done;
} worker_t;

static session_t *find_session(const worker_t *worker, const char *id) {
    for (size_t i = 0; i < worker->n_sessions; i++)
        if (strcmp(worker->sessions[i]->spec.id, id) == 0)
            return worker->sessions[i];
    return NULL;
}

/* {"name": …} of all facts "device.name", …, for prefix "device.". */
static json_t *facts_under(const environment_t *facts, const char *prefix) {
    json_t *object = json_object();
    size_t length = strlen(prefix);
    for (size_t i = 0; i < facts->n; i++) {
        const fact_t *fact = &facts->facts[i];
        if (strncmp(fact->key, prefix, length) != 0)
            continue;
        json_t *value = fact->kind == FACT_NUMBER ? json_real(strtod(fact->value, NULL))
                                                  : json_string(fact->value);
        json_object_set_new(object, fact->key + length, value);
    }
    return object;
}

/* For CUDA "*": `open` supplies the program. */
static json_t *variants_of(const engine_t *engine, const workload_t *workload) {
    static const char *const ANY[] = {"*", NULL};
    const char *const *names = engine == &engine_cpu    ? workload->cpu_variants
                               : engine == &engine_null ? workload->null_variants
                                                        : ANY;
    json_t *variants = json_array();
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        json_array_append_new(variants, json_string(names[i]));
    return variants;
}

static json_t *capabilities_of(const engine_t *engine) {
    json_t *capabilities = json_object();
    const session_ops_t *ops;
    for (size_t i = 0; (ops = workload_session(engine->name, i)) != NULL; i++)
        if (strcmp(ops->workload, SESSION_DESCRIBED) != 0)
            json_object_set_new(capabilities, ops->workload,
                                variants_of(engine, workload_find(ops->workload)));
    return capabilities;
}

static json_t *on_hello(worker_t *worker, const json_t *request, error_t *err) {
    json_int_t version = request_integer(request, "protocol");
    if (version != PROTOCOL_VERSION) {
        error_set(err, STATUS_FAILED, "protocol %lld requested, this worker speaks %d",
                  (long long)version, PROTOCOL_VERSION);
        return NULL;
    }
    if (!worker->started) {
        if (worker->engine->start(worker->device, &worker->state, &worker->facts, err) != STATUS_OK)
            return NULL;
        worker->started = true;
    }
    return json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:[s], s:[sss], s:o}", "protocol", PROTOCOL_VERSION, "engine",
        worker->engine->name, "device", facts_under(&worker->facts, "device."), "versions",
        facts_under(&worker->facts, "versions."), "capabilities", capabilities_of(worker->engine),
        "open_keys", "inputs", "request_keys", "phase", "keep", "continues", "once_ns",
        facts_under(&worker->facts, "once_ns."));
}

static const session_ops_t *find_ops(const engine_t *engine, const char *workload, error_t *err) {
    const char *name = described_find(workload) != NULL ? SESSION_DESCRIBED : workload;
    const session_ops_t *ops;
    for (size_t i = 0; (ops = workload_session(engine->name, i)) != NULL; i++)
        if (strcmp(ops->workload, name) == 0)
            return ops;
    error_set(err, STATUS_FAILED, "engine %s has no workload \"%s\"", engine->name, workload);
    return NULL;
}

/* Read the described workload that a case is of; it must be what the supervisor has read. */
static status_t take_described(const json_t *request, error_t *err) {
    const char *folder = request_text(request, "folder"), *name = request_text(request, "name");
    const char *hash = request_text(request, "hash");
    if (!json_is_object(request))
        return STATUS_OK;
    const description_t *found;
    TRY(described_add(folder != NULL ? folder : "", NULL, &found, err));
    return strcmp(found->name, name != NULL ? name : "") == 0 && hash != NULL &&
                   strcmp(found->hash, hash) == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%s changed during the run", folder);
}

static json_t *open_answer(const session_t *session) {
    json_t *phases = json_object(), *once = json_object();
    for (size_t i = 0; i < session->recorder.n_phases; i++)
        json_object_set_new(phases, session->recorder.phases[i].name,
                            json_string(clock_domain_name(session->recorder.phases[i].clock)));
    for (size_t i = 0; i < session->n_once; i++)
        json_object_set_new(once, session->once[i].name, json_real(session->once[i].ns));
    json_t *resources = json_object();
    if (session->resources.peak_device_bytes > 0)
        json_object_set_new(resources, "peak_device_bytes",
                            json_integer(session->resources.peak_device_bytes));
    if (session->resources.occupancy_frac > 0)
        json_object_set_new(resources, "occupancy_frac",
                            json_real(session->resources.occupancy_frac));
    return json_pack("{s:s, s:o, s:o, s:o}", "id", session->spec.id, "phases", phases, "once_ns",
                     once, "resources", resources);
}

static void free_session(session_t *session) {
    recorder_free(&session->recorder);
    recorder_free(&session->rewritten);
    case_free(&session->spec);
    free(session->results_json);
    free(session);
}

static json_t *on_open(worker_t *worker, const json_t *request, error_t *err) {
    session_t *session = mem_zeroed(1, sizeof *session);
    status_t status = case_from_json(json_object_get(request, "case"), &session->spec, err);
    session->engine = worker->state;
    const json_t *program = json_object_get(request, "program");
    const open_request_t open = {
        .spec = &session->spec,
        .seed = (uint64_t)request_integer(request, "seed"),
        .cubin = request_text(program, "cubin"),
        .object = request_text(program, "object"),
        .arch = request_text(program, "arch"),
        .refill = request_text(program, "refill"),
        .inputs = request_text(request, "inputs"),
    };
    if (status != STATUS_OK)
        error_within(err, "\"case\"");
    else if ((status = take_described(json_object_get(request, "operator"), err)) != STATUS_OK)
        error_within(err, "\"operator\"");
    else if ((session->ops = find_ops(worker->engine, session->spec.workload, err)) == NULL)
        status = err->status;
    else if (find_session(worker, session->spec.id) != NULL)
        status = error_set(err, STATUS_FAILED, "case \"%s\" is already open", session->spec.id);
    else
        status = workload_check(workload_find(session->spec.workload), &session->spec, err);
    if (status == STATUS_OK) {
        AUTO_FREE char *label = mem_format("%s open", session->spec.id);
        nvtx_push(label);
        status = session->ops->open(session, &open, err);
        nvtx_pop();
    }
    if (status != STATUS_OK) {
        json_t *answer = NULL;
        if (session->skipped)
            answer = json_pack("{s:s, s:s, s:s}", "status", "skipped", "reason", err->text, "id",
                               session->spec.id);
        free_session(session);
        return answer;
    }
    worker->sessions =
        mem_resize(worker->sessions, worker->n_sessions + 1, sizeof *worker->sessions);
    worker->sessions[worker->n_sessions++] = session;
    return open_answer(session);
}

static json_t *on_trace_start(worker_t *worker) {
    trace_session_start(&worker->trace, worker->engine);
    return json_pack("{s:s}", "source", worker->trace.source);
}

static json_t *on_trace(worker_t *worker, session_t *session, const json_t *request, error_t *err) {
    if (!worker->trace.on) {
        error_set(err, STATUS_FAILED, "trace before trace_start");
        return NULL;
    }
    session->has_last = false;
    if (case_restore_inputs(session, err) != STATUS_OK ||
        trace_session_run(&worker->trace, session, request_text(request, "path"),
                          request_integer(request, "origin_ns"), err) != STATUS_OK)
        return NULL;
    return json_pack("{s:s, s:s}", "id", session->spec.id, "source", worker->trace.source);
}

static void drop_session(worker_t *worker, session_t *session) {
    size_t i = 0;
    while (worker->sessions[i] != session)
        i++;
    worker->sessions[i] = worker->sessions[--worker->n_sessions];
    session->ops->close(session);
    free_session(session);
}

static json_t *on_close(worker_t *worker, session_t *session, error_t *err) {
    json_t *answer = NULL;
    if (session->ops->finish == NULL || session->ops->finish(session, err) == STATUS_OK) {
        const char *results = session->results_json != NULL ? session->results_json : "{}";
        answer = json_pack("{s:s, s:o}", "id", session->spec.id, "results",
                           json_loads(results, 0, NULL));
    }
    drop_session(worker, session);
    return answer;
}

/* The answer; NULL means failed, with the reason in `err`. */
static json_t *handle(worker_t *worker, protocol_op_t op, const json_t *request, error_t *err) {
    const char *id = request_text(request, "id");
    session_t *session = id != NULL ? find_session(worker, id) : NULL;
    if ((op == OP_OPEN || op == OP_TRACE_START) && !worker->started) {
        error_set(err, STATUS_FAILED, "%s before hello", request_text(request, "op"));
        return NULL;
    }
    if (id != NULL && session == NULL) {
        error_set(err, STATUS_FAILED, "no open case \"%s\"", id);
        return NULL;
    }
    switch (op) {
    case OP_HELLO:
        return on_hello(worker, request, err);
    case OP_OPEN:
        return on_open(worker, request, err);
    case OP_REFILL:
        return case_refill(session, request, err);
    case OP_OUTPUT:
        return case_output(session, request, err);
    case OP_SAMPLE:
        return case_sample(session, request, err);
    case OP_AUDIT:
        return case_audit(session, request, err);
    case OP_LAST:
        return case_last(session, request, err);
    case OP_TRACE_START:
        return on_trace_start(worker);
    case OP_TRACE:
        return on_trace(worker, session, request, err);
    case OP_CLOSE:
        return on_close(worker, session, err);
    case OP_BYE:
        worker->done = true;
        break;
    }
    return json_object();
}

/* If the device is lost, every later case would fail too: the worker ends without an answer, and
 * the supervisor starts another. Checked after every request, failed or not, because faults are
 * asynchronous and must not be attributed to the next case. */
static status_t check_device(const worker_t *worker, error_t *err) {
    error_t lost = ERROR_INIT;
    if (!worker->started || worker->done || worker->engine->check == NULL ||
        worker->engine->check(worker->state, &lost) == STATUS_OK)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "%s", lost.text); /* keeps an earlier error */
}

static status_t answer_line(worker_t *worker, const char *line, error_t *fatal) {
    error_t err = ERROR_INIT;
    protocol_op_t op;
    json_auto_t *request = protocol_parse_request(line, &op, &err);
    json_t *answer = NULL;
    if (request != NULL)
        answer = handle(worker, op, request, &err);
    if (check_device(worker, &err) != STATUS_OK) {
        json_decref(answer);
        return error_set(fatal, STATUS_FAILED, "%s", err.text);
    }
    if (answer == NULL)
        answer = json_pack("{s:s, s:s}", "status", "failed", "reason", err.text);
    else if (json_object_get(answer, "status") == NULL)
        json_object_set_new(answer, "status", json_string("ok"));
    const json_t *id = json_object_get(request, "id");
    if (id != NULL && json_object_get(answer, "id") == NULL)
        json_object_set(answer, "id", (json_t *)id);
    json_print(answer, JSON_COMPACT, worker->answers); /* which frees it */
    /* Also of an earlier answer. */
    return fflush(worker->answers) == 0 && ferror(worker->answers) == 0
               ? STATUS_OK
               : error_set(fatal, STATUS_USAGE, "cannot write an answer to stdout");
}

/* Move stdout to a new descriptor for answers; other output to stdout then goes to stderr. */
static status_t take_stdout(worker_t *worker, error_t *err) {
    fflush(stdout);
    int fd = dup(STDOUT_FILENO);
    if (fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        worker->answers = fdopen(fd, "w");
    if (worker->answers == NULL)
        return error_set(err, STATUS_USAGE, "cannot redirect stdout for the protocol");
    return STATUS_OK;
}

status_t worker_serve(const worker_options_t *options, error_t *err) {
    worker_t worker = {.engine = engine_find(options->engine), .device = options->device};
    if (worker.engine == NULL)
        return error_set(err, STATUS_USAGE, "unknown engine \"%s\" (known: cuda, cpu, c, null)",
                         options->engine);
    TRY(take_stdout(&worker, err));
    AUTO_FREE char *line = NULL;
    size_t capacity = 0;
    status_t status = STATUS_OK;
    while (status == STATUS_OK && !worker.done && getline(&line, &capacity, stdin) > 0)
        status = answer_line(&worker, line, err);
    while (worker.n_sessions > 0)
        drop_session(&worker, worker.sessions[0]);
    free(worker.sessions);
    trace_session_stop(&worker.trace);
    if (worker.started && worker.engine->stop != NULL)
        worker.engine->stop(worker.state);
    environment_free(&worker.facts);
    /* The supervisor takes a closed answer stream for the death of the worker. After a failure keep
     * it open until the process ends, so that the reason reaches stderr first. */
    if (status == STATUS_OK)
        fclose(worker.answers);
    return status;
}
