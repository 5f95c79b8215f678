/* `bench run --trace`: run each case once under a tracer; writes no results. The events that each
 * worker recorded are merged into one file for Perfetto or chrome://tracing: one process per case,
 * one clock. */
#include "run/state.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "io/fs.h"
#include "io/json.h"
#include "io/output.h"

#include <math.h>
#include <string.h>

enum { TRACE_MOST = 1 << 30 }; /* bytes */

typedef struct trace_file {
    json_t *events;
    json_t *sources;   /* by case id: the source of device events, or why there is no trace */
    table_t table;     /* for the terminal */
    int64_t origin_ns; /* clock_ns() at time 0 of the file */
    int n_processes;
} trace_file_t;

static void trace_file_init(trace_file_t *file, int64_t origin_ns) {
    static const char *const HEADINGS[] = {
        "case",        "kernels", "copies and sets", "driver calls",
        "PyTorch ops", "sample",  "device work from"};
    *file = (trace_file_t){.events = json_array(),
                           .sources = json_object(),
                           .table = table_make("lrrrrrl", HEADINGS),
                           .origin_ns = origin_ns};
}

static void trace_file_free(trace_file_t *file) {
    json_decref(file->events);
    json_decref(file->sources);
    table_free(&file->table);
}

/* ---- one worker's events --------------------------------------------------------------------- */

typedef struct tally {
    size_t kernels, copies, calls, ops;
    double sample_us; /* NaN when the sample has no range */
} tally_t;

static bool has_category(const json_t *event, const char *category) {
    const char *found = json_string_value(json_object_get(event, "cat"));
    return found != NULL && strcmp(found, category) == 0;
}

/* The range around the sample: "ID sample". */
static bool is_sample(const json_t *event, const char *id) {
    const char *name = json_string_value(json_object_get(event, "name"));
    return has_category(event, "range") && text_starts(name, id) &&
           strcmp(name + strlen(id), " sample") == 0;
}

static void count(tally_t *tally, const json_t *event, const char *id) {
    tally->kernels += has_category(event, "kernel");
    tally->copies += has_category(event, "copy") || has_category(event, "set");
    tally->calls += has_category(event, "call");
    tally->ops += has_category(event, "op");
    if (is_sample(event, id))
        tally->sample_us = json_number_value(json_object_get(event, "dur"));
}

static bool is_event(const json_t *event) {
    const char *kind = json_string_value(json_object_get(event, "ph"));
    if (kind == NULL || !json_is_string(json_object_get(event, "name")) ||
        !json_is_integer(json_object_get(event, "tid")) ||
        !json_is_number(json_object_get(event, "ts")))
        return false;
    return strcmp(kind, "M") == 0 ||
           (strcmp(kind, "X") == 0 && json_is_number(json_object_get(event, "dur")));
}

static status_t take_events(trace_file_t *file, const json_t *trace, const char *id, tally_t *tally,
                            error_t *err) {
    const json_t *events = json_object_get(trace, "traceEvents");
    size_t i;
    json_t *event;
    if (!json_is_array(events))
        return error_set(err, STATUS_FAILED, "its trace has no list \"traceEvents\"");
    json_array_foreach((json_t *)events, i, event) {
        if (!is_event(event))
            return error_set(err, STATUS_FAILED,
                             "traceEvents[%zu]: expected ph \"X\" or \"M\", name, tid, ts and dur",
                             i);
    }
    json_array_foreach((json_t *)events, i, event) {
        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0)
            count(tally, event, id);
        json_object_set_new(event, "pid", json_integer(file->n_processes));
        json_array_append(file->events, event);
    }
    return STATUS_OK;
}

static status_t read_events(trace_file_t *file, const char *path, const char *id, tally_t *tally,
                            error_t *err) {
    AUTO_FREE char *text = NULL;
    size_t size;
    TRY(fs_read_up_to(path, TRACE_MOST, &text, &size, err));
    json_error_t where;
    json_auto_t *trace = json_loadb(text, size, 0, &where);
    file->n_processes++;
    if (trace == NULL)
        return error_set(err, STATUS_FAILED, "its trace is not JSON: line %d: %s", where.line,
                         where.text);
    return take_events(file, trace, id, tally, err);
}

static void name_process(trace_file_t *file, const char *id) {
    const int pid = file->n_processes;
    json_t *name = json_pack("{s:s, s:s, s:i, s:i, s:i, s:{s:s}}", "ph", "M", "name",
                             "process_name", "pid", pid, "tid", 0, "ts", 0, "args", "name", id);
    json_t *order =
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:{s:i}}", "ph", "M", "name", "process_sort_index",
                  "pid", pid, "tid", 0, "ts", 0, "args", "sort_index", pid);
    json_array_append_new(file->events, name);
    json_array_append_new(file->events, order);
}

static void add_row(trace_file_t *file, const char *id, const tally_t *tally, const char *source) {
    const size_t counts[] = {tally->kernels, tally->copies, tally->calls, tally->ops};
    char span[UNITS_TEXT];
    table_add(&file->table, id);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        table_add_format(&file->table, "%zu", counts[i]);
    table_add(&file->table, units_time(span, tally->sample_us * 1e3));
    table_add(&file->table, source);
    json_object_set_new(file->sources, id, json_string(source));
}

static void add_reason_row(trace_file_t *file, const char *id, const char *reason) {
    AUTO_FREE char *text = mem_format("no trace: %s", reason != NULL ? reason : "no reason given");
    table_add(&file->table, id);
    for (int i = 0; i < 5; i++)
        table_add(&file->table, "–");
    table_add(&file->table, text);
    json_object_set_new(file->sources, id, json_string(text));
}

/* ---- one contender --------------------------------------------------------------------------- */

/* False with the reason if the worker cannot trace, or with the contender dropped. */
static bool start(contender_t *c, char **reason) {
    error_t err = ERROR_INIT;
    json_auto_t *answer = NULL;
    if (worker_link_start(c->worker, c->settings->timeout_s, &err) != STATUS_OK)
        return contender_drop(c, c->worker->declined ? CASE_SKIPPED : CASE_FAILED, "%s", err.text);
    if (worker_link_ask(c->worker, json_pack("{s:s}", "op", "trace_start"), c->settings->timeout_s,
                        &answer, &err) != STATUS_OK)
        return contender_drop(c, CASE_FAILED, "%s", err.text);
    const bool ok = worker_answer_is_ok(answer);
    if (!ok)
        *reason = mem_text(worker_answer_reason(answer));
    return ok;
}

static status_t trace_open_case(trace_file_t *file, contender_t *c, const char *path,
                                error_t *err) {
    const char *id = c->result.spec.id;
    json_auto_t *answer = NULL;
    TRY(worker_link_ask(c->worker,
                        json_pack("{s:s, s:s, s:s, s:I}", "op", "trace", "id", id, "path", path,
                                  "origin_ns", (json_int_t)file->origin_ns),
                        c->settings->timeout_s, &answer, err));
    tally_t tally = {.sample_us = NAN};
    TRY(worker_answer_is_ok(answer)
            ? read_events(file, path, id, &tally, err)
            : error_set(err, STATUS_FAILED, "%s", worker_answer_reason(answer)));
    const char *source = json_string_value(json_object_get(answer, "source"));
    name_process(file, id);
    add_row(file, id, &tally, source != NULL ? source : "");
    return STATUS_OK;
}

/* True if the trace was added to the file. */
static bool trace_contender(trace_file_t *file, contender_t *c, const char *folder, char **reason) {
    if (!c->active || !start(c, reason))
        return false;
    c->may_retry = false; /* a new process would have no tracer */
    contender_open(c);
    if (!c->active)
        return false;
    AUTO_FREE char *path = fs_join(folder, "trace.json");
    error_t err = ERROR_INIT;
    const bool traced = trace_open_case(file, c, path, &err) == STATUS_OK;
    if (!traced)
        contender_drop(c, CASE_FAILED, "%s", err.text);
    contender_finish(c);
    return traced;
}

/* Open the case, have its worker trace one run, close it. If that fails, the table shows the reason
 * and the contender is dropped; a worker without tracing support only appears in the table. */
static void trace_file_add(trace_file_t *file, contender_t *c) {
    AUTO(fs_remove_temporary) char *folder = NULL;
    AUTO_FREE char *reason = NULL;
    bool traced = false;
    error_t err = ERROR_INIT;
    if (fs_temporary_folder(&folder, &err) == STATUS_OK)
        traced = trace_contender(file, c, folder, &reason);
    else
        contender_drop(c, CASE_FAILED, "%s", err.text);
    if (!traced)
        add_reason_row(file, c->result.spec.id, reason != NULL ? reason : c->result.reason);
}

static status_t save(const trace_file_t *file, const char *path, error_t *err) {
    json_t *json = json_pack("{s:O, s:s, s:{s:s, s:O}}", "traceEvents", file->events,
                             "displayTimeUnit", "ns", "otherData", "about",
                             "one run of each case under a tracer: what happens when, not how "
                             "long it takes without one",
                             "sources", file->sources);
    return json_save(json, JSON_COMPACT | JSON_REAL_PRECISION(15), path, err);
}

/* ---- all cases ------------------------------------------------------------------------------- */

static status_t trace_case(run_t *run, const case_t *spec, case_state_t *state, trace_file_t *file,
                           error_t *err) {
    contender_t contender;
    progress_step(&run->progress, "%s", spec->id);
    AUTO(made_inputs_free) made_inputs_t made = {0};
    TRY(trial_contender(run, spec, "", &contender, err));
    status_t status = run_make_inputs(run, spec, &made, err);
    contender.made = &made;
    if (status == STATUS_OK)
        trace_file_add(file, &contender);
    state->finished = 1;
    state->broken = contender.result.status == CASE_FAILED;
    run->progress.done++;
    contender_free(&contender);
    return status;
}

static status_t trace_all(run_t *run, trace_file_t *file, error_t *err) {
    for (run_case_t at = {0}; !*run->interrupted && run_next_case(run, &at);) {
        run->settings.measure = at.sweep->measure;
        TRY(trace_case(run, at.spec, at.state, file, err));
    }
    return STATUS_OK;
}

static status_t write_file(run_t *run, const trace_file_t *file, error_t *err) {
    FILE *out = run->options->print;
    TRY(fs_make_folders(run->folder, err));
    AUTO_FREE char *path = fs_join(run->folder, "trace.json");
    TRY(save(file, path, err));
    AUTO_FREE char *table = table_text(&file->table, TABLE_TERMINAL);
    fprintf(out, "%s\n%s\nOpen it in https://ui.perfetto.dev or chrome://tracing.\n", table, path);
    return STATUS_OK;
}

status_t run_trace(run_t *run, error_t *err) {
    AUTO(trace_file_free) trace_file_t file = {0};
    TRY(run_load_sweeps(run, err));
    run_choose_folder(run);
    run_make_states(run);
    trace_file_init(&file, clock_ns());
    const bool prepared = run_survey(run, err) == STATUS_OK && run_compile(run, err) == STATUS_OK;
    const bool traced = prepared && trace_all(run, &file, err) == STATUS_OK;
    progress_end(&run->progress);
    return traced ? write_file(run, &file, err) : err->status;
}
