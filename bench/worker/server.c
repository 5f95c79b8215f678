#include "worker/server.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cuda/nvtx.h"
#include "model/result_json.h"
#include "worker/engines.h"
#include "worker/hello.h"
#include "worker/protocol.h"
#include "worker/trace_session.h"
#include "workloads/common/workload.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct worker {
    const engine_t *engine;
    int device;
    void *state; /* the engine's, once `hello` has opened it */
    bool started;
    environment_t facts;
    session_t **sessions;
    size_t n_sessions;
    FILE *answers;
    trace_t trace; /* off, but for a traced run */
    bool done;
} worker_t;

/* Every handler returns an answer; NULL means failed, with the reason in `err`. */
typedef json_t *(*handler_t)(worker_t *worker, const json_t *request, error_t *err);

static session_t *find_session(worker_t *worker, const char *id, size_t *index) {
    for (size_t i = 0; i < worker->n_sessions; i++)
        if (strcmp(worker->sessions[i]->spec.id, id) == 0) {
            *index = i;
            return worker->sessions[i];
        }
    return NULL;
}

static session_t *requested_session(worker_t *worker, const json_t *request, error_t *err) {
    size_t index;
    const char *id = json_string_value(json_object_get(request, "id"));
    session_t *session = find_session(worker, id, &index);
    if (session == NULL)
        error_set(err, STATUS_FAILED, "no open case \"%s\"", id);
    return session;
}

static json_t *on_hello(worker_t *worker, const json_t *request, error_t *err) {
    json_int_t version = json_integer_value(json_object_get(request, "protocol"));
    if (version != PROTOCOL_VERSION) {
        error_set(err, STATUS_FAILED, "protocol %lld asked for, this worker speaks %d",
                  (long long)version, PROTOCOL_VERSION);
        return NULL;
    }
    if (!worker->started) {
        if (worker->engine->start(worker->device, &worker->state, &worker->facts, err) != STATUS_OK)
            return NULL;
        worker->started = true;
    }
    return worker_hello(worker->engine, &worker->facts);
}

static const session_ops_t *find_ops(const engine_t *engine, const char *workload) {
    for (size_t i = 0; engine->workloads[i] != NULL; i++)
        if (strcmp(engine->workloads[i]->workload, workload) == 0)
            return engine->workloads[i];
    return NULL;
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
    case_free(&session->spec);
    free(session->results_json);
    free(session);
}

static status_t open_session(session_t *session, const open_request_t *request, error_t *err) {
    char *label = mem_format("%s open", session->spec.id);
    nvtx_push(label);
    free(label);
    status_t status = session->ops->open(session, request, err);
    nvtx_pop();
    return status;
}

static json_t *on_open(worker_t *worker, const json_t *request, error_t *err) {
    if (!worker->started) {
        error_set(err, STATUS_FAILED, "open before hello");
        return NULL;
    }
    session_t *session = mem_zeroed(1, sizeof *session);
    if (case_from_json(json_object_get(request, "case"), &session->spec, err) != STATUS_OK) {
        error_within(err, "\"case\"");
        free(session);
        return NULL;
    }
    size_t index;
    session->engine = worker->state;
    session->ops = find_ops(worker->engine, session->spec.workload);
    const json_t *program = json_object_get(request, "program");
    const open_request_t open = {
        .spec = &session->spec,
        .seed = (uint64_t)json_integer_value(json_object_get(request, "seed")),
        .cubin = json_string_value(json_object_get(program, "cubin")),
        .arch = json_string_value(json_object_get(program, "arch")),
    };
    status_t status;
    if (session->ops == NULL)
        status = error_set(err, STATUS_FAILED, "engine %s has no workload \"%s\"",
                           worker->engine->name, session->spec.workload);
    else if (find_session(worker, session->spec.id, &index) != NULL)
        status = error_set(err, STATUS_FAILED, "case \"%s\" is open already", session->spec.id);
    else
        status = workload_check(workload_find(session->spec.workload), &session->spec, err);
    if (status == STATUS_OK)
        status = open_session(session, &open, err);
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

static json_t *on_output(worker_t *worker, const json_t *request, error_t *err) {
    session_t *session = requested_session(worker, request, err);
    if (session == NULL)
        return NULL;
    text_list_t arrays = {0};
    const char *path = json_string_value(json_object_get(request, "path"));
    json_t *names = json_array();
    status_t status = session->ops->output(session, path, &arrays, err);
    for (size_t i = 0; i < arrays.n; i++)
        json_array_append_new(names, json_string(arrays.items[i]));
    text_list_free(&arrays);
    if (status != STATUS_OK) {
        json_decref(names);
        return NULL;
    }
    return json_pack("{s:s, s:o}", "id", session->spec.id, "arrays", names);
}

typedef struct share {
    int64_t warmup_ns, budget_ns;
    json_int_t warmup_samples, max_samples;
} share_t;

/* Untimed runs first: after another process has used the device, the first launch pays for the
 * switch. */
static status_t sample_probe(session_t *session, const probe_t *probe, const share_t *share,
                             int64_t *warmed_up, error_t *err) {
    recorder_t ignored = session->recorder;
    for (size_t i = 0; i < ignored.n_phases; i++) {
        ignored.phases[i].ns = NULL;
        ignored.phases[i].n = ignored.phases[i].capacity = 0;
    }
    status_t status = STATUS_OK;
    int64_t start_ns = clock_ns();
    for (json_int_t n = 0; status == STATUS_OK &&
                           (n < share->warmup_samples || clock_ns() - start_ns < share->warmup_ns);
         n++, (*warmed_up)++)
        status = probe->run(session, &ignored, err);
    recorder_free(&ignored);
    start_ns = clock_ns();
    for (json_int_t n = 0;
         status == STATUS_OK &&
         (n == 0 || (n < share->max_samples && clock_ns() - start_ns < share->budget_ns));
         n++)
        status = probe->run(session, &session->recorder, err);
    return status;
}

static json_t *samples_to_json(const recorder_t *recorder) {
    json_t *phases = json_object();
    for (size_t i = 0; i < recorder->n_phases; i++) {
        json_t *samples = json_array();
        for (size_t k = 0; k < recorder->phases[i].n; k++)
            json_array_append_new(samples, json_real(recorder->phases[i].ns[k]));
        json_object_set_new(phases, recorder->phases[i].name, samples);
    }
    return phases;
}

static json_t *on_sample(worker_t *worker, const json_t *request, error_t *err) {
    session_t *session = requested_session(worker, request, err);
    if (session == NULL)
        return NULL;
    recorder_clear(&session->recorder);
    const json_int_t n = (json_int_t)session->n_probes;
    const share_t share = {
        .warmup_ns = json_integer_value(json_object_get(request, "warmup_ns")) / n,
        .warmup_samples =
            (json_integer_value(json_object_get(request, "warmup_samples")) + n - 1) / n,
        .budget_ns = json_integer_value(json_object_get(request, "budget_ns")) / n,
        .max_samples = json_integer_value(json_object_get(request, "max_samples")),
    };
    char *label = mem_format("%s round %lld", session->spec.id,
                             (long long)json_integer_value(json_object_get(request, "round")));
    nvtx_push(label);
    free(label);
    int64_t warmed_up = 0, start_ns = clock_ns();
    status_t status = STATUS_OK;
    for (size_t i = 0; i < session->n_probes && status == STATUS_OK; i++) {
        nvtx_push(session->probes[i].name);
        status = sample_probe(session, &session->probes[i], &share, &warmed_up, err);
        nvtx_pop();
    }
    nvtx_pop();
    if (status != STATUS_OK)
        return NULL;
    return json_pack("{s:s, s:o, s:{s:I, s:I}}", "id", session->spec.id, "phases",
                     samples_to_json(&session->recorder), "warmup", "samples",
                     (json_int_t)warmed_up, "ns", (json_int_t)(clock_ns() - start_ns));
}

static json_t *on_trace_start(worker_t *worker, const json_t *request, error_t *err) {
    (void)request;
    if (!worker->started) {
        error_set(err, STATUS_FAILED, "trace_start before hello");
        return NULL;
    }
    trace_session_start(&worker->trace, worker->engine);
    return json_pack("{s:s}", "source", worker->trace.source);
}

static json_t *on_trace(worker_t *worker, const json_t *request, error_t *err) {
    session_t *session = requested_session(worker, request, err);
    if (session == NULL)
        return NULL;
    if (!worker->trace.on) {
        error_set(err, STATUS_FAILED, "trace before trace_start");
        return NULL;
    }
    const char *path = json_string_value(json_object_get(request, "path"));
    const int64_t origin_ns = json_integer_value(json_object_get(request, "origin_ns"));
    if (trace_session_run(&worker->trace, session, path, origin_ns, err) != STATUS_OK)
        return NULL;
    return json_pack("{s:s, s:s}", "id", session->spec.id, "source", worker->trace.source);
}

static void drop_session(worker_t *worker, size_t index) {
    session_t *session = worker->sessions[index];
    worker->sessions[index] = worker->sessions[--worker->n_sessions];
    session->ops->close(session);
    free_session(session);
}

static json_t *on_close(worker_t *worker, const json_t *request, error_t *err) {
    size_t index;
    const char *id = json_string_value(json_object_get(request, "id"));
    session_t *session = find_session(worker, id, &index);
    if (session == NULL) {
        error_set(err, STATUS_FAILED, "no open case \"%s\"", id);
        return NULL;
    }
    if (session->ops->finish != NULL && session->ops->finish(session, err) != STATUS_OK) {
        drop_session(worker, index);
        return NULL;
    }
    const char *own = session->results_json != NULL ? session->results_json : "{}";
    json_t *results = json_loads(own, 0, NULL);
    drop_session(worker, index);
    return json_pack("{s:s, s:o}", "id", id, "results", results);
}

static json_t *on_bye(worker_t *worker, const json_t *request, error_t *err) {
    (void)request;
    (void)err;
    worker->done = true;
    return json_object();
}

static handler_t find_handler(protocol_op_t op) {
    static const handler_t HANDLERS[] = {
        [OP_HELLO] = on_hello,
        [OP_OPEN] = on_open,
        [OP_OUTPUT] = on_output,
        [OP_SAMPLE] = on_sample,
        [OP_TRACE_START] = on_trace_start,
        [OP_TRACE] = on_trace,
        [OP_CLOSE] = on_close,
        [OP_BYE] = on_bye,
    };
    return HANDLERS[op];
}

/* After an error that the device does not recover from, every later case would fail for it too: the
 * worker ends without an answer, and the supervisor starts another. Looked for behind every
 * request, not only behind those that failed: a fault shows late, and must not be the next case's.
 */
static status_t check_device(const worker_t *worker, error_t *err) {
    error_t lost = ERROR_INIT;
    if (!worker->started || worker->done || worker->engine->check == NULL ||
        worker->engine->check(worker->state, &lost) == STATUS_OK)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED, "%s", lost.text); /* what was found first stays */
}

static status_t answer_line(worker_t *worker, const char *line, error_t *fatal) {
    error_t err = ERROR_INIT;
    protocol_op_t op;
    json_t *answer = NULL;
    json_t *request = protocol_parse_request(line, &op, &err);
    if (request != NULL)
        answer = find_handler(op)(worker, request, &err);
    if (check_device(worker, &err) != STATUS_OK) {
        json_decref(answer);
        json_decref(request);
        return error_set(fatal, STATUS_FAILED, "%s", err.text);
    }
    if (answer == NULL)
        answer = json_pack("{s:s, s:s}", "status", "failed", "reason", err.text);
    else if (json_object_get(answer, "status") == NULL)
        json_object_set_new(answer, "status", json_string("ok"));
    const json_t *id = json_object_get(request, "id");
    if (id != NULL && json_object_get(answer, "id") == NULL)
        json_object_set(answer, "id", (json_t *)id);
    json_dumpf(answer, worker->answers, JSON_COMPACT);
    fputc('\n', worker->answers);
    fflush(worker->answers);
    json_decref(answer);
    json_decref(request);
    return STATUS_OK;
}

/* Answers get a descriptor of their own; what anything else prints to stdout goes to stderr. */
static status_t take_stdout(worker_t *worker, error_t *err) {
    fflush(stdout);
    int fd = dup(STDOUT_FILENO);
    if (fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        worker->answers = fdopen(fd, "w");
    if (worker->answers == NULL)
        return error_set(err, STATUS_USAGE, "cannot take stdout for the protocol");
    return STATUS_OK;
}

status_t worker_serve(const worker_options_t *options, error_t *err) {
    worker_t worker = {.engine = engine_find(options->engine), .device = options->device};
    if (worker.engine == NULL)
        return error_set(err, STATUS_USAGE, "unknown engine \"%s\" (known: cuda, cpu, null)",
                         options->engine);
    TRY(take_stdout(&worker, err));
    char *line = NULL;
    size_t capacity = 0;
    status_t status = STATUS_OK;
    while (status == STATUS_OK && !worker.done && getline(&line, &capacity, stdin) > 0)
        status = answer_line(&worker, line, err);
    free(line);
    while (worker.n_sessions > 0)
        drop_session(&worker, worker.n_sessions - 1);
    free(worker.sessions);
    trace_session_stop(&worker.trace);
    if (worker.started)
        worker.engine->stop(worker.state);
    environment_free(&worker.facts);
    /* The supervisor takes the end of the answers for the end of the worker: after a failure they
     * stay open until the process ends, so that its reason comes first. */
    if (status == STATUS_OK)
        fclose(worker.answers);
    return status;
}
