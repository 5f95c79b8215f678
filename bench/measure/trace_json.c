#include "measure/trace_json.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "io/fs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void trace_file_init(trace_file_t *file, int64_t origin_ns) {
    static const char *const HEADINGS[] = {
        "case",        "kernels", "copies and sets", "driver calls",
        "PyTorch ops", "sample",  "device work from"};
    *file =
        (trace_file_t){.events = json_array(), .sources = json_object(), .origin_ns = origin_ns};
    table_init(&file->table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&file->table, "lrrrrrl");
}

void trace_file_free(trace_file_t *file) {
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
    char *text;
    size_t size;
    TRY(fs_read(path, &text, &size, err));
    json_error_t where;
    json_t *trace = json_loadb(text, size, 0, &where);
    free(text);
    if (trace == NULL)
        return error_set(err, STATUS_FAILED, "its trace is not JSON: line %d: %s", where.line,
                         where.text);
    status_t status = take_events(file, trace, id, tally, err);
    json_decref(trace);
    return status;
}

static void name_process(trace_file_t *file, const char *id) {
    json_array_append_new(file->events, json_pack("{s:s, s:s, s:i, s:i, s:i, s:{s:s}}", "ph", "M",
                                                  "name", "process_name", "pid", file->n_processes,
                                                  "tid", 0, "ts", 0, "args", "name", id));
    json_array_append_new(file->events,
                          json_pack("{s:s, s:s, s:i, s:i, s:i, s:{s:i}}", "ph", "M", "name",
                                    "process_sort_index", "pid", file->n_processes, "tid", 0, "ts",
                                    0, "args", "sort_index", file->n_processes));
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

static void add_without(trace_file_t *file, const char *id, const char *reason) {
    char *text = mem_format("no trace: %s", reason != NULL ? reason : "no reason given");
    table_add(&file->table, id);
    for (int i = 0; i < 5; i++)
        table_add(&file->table, "–");
    table_add(&file->table, text);
    json_object_set_new(file->sources, id, json_string(text));
    free(text);
}

/* ---- one contender --------------------------------------------------------------------------- */

/* The answer, or NULL and why: dead workers and wrong answers are failures, "failed" is one only
 * for requests that every worker knows. */
static json_t *ask(contender_t *c, json_t *request, char **reason) {
    json_t *answer;
    error_t err = ERROR_INIT;
    if (worker_link_ask(c->worker, request, c->settings->timeout_s, &answer, &err) != STATUS_OK) {
        contender_drop(c, CASE_FAILED, err.text);
        *reason = mem_text(err.text);
        return NULL;
    }
    if (strcmp(json_string_value(json_object_get(answer, "status")), "ok") == 0)
        return answer;
    const char *why = json_string_value(json_object_get(answer, "reason"));
    *reason = mem_text(why != NULL ? why : "the worker gave no reason");
    json_decref(answer);
    return NULL;
}

static bool start(contender_t *c, char **reason) {
    error_t err = ERROR_INIT;
    if (worker_link_start(c->worker, c->settings->timeout_s, &err) != STATUS_OK) {
        contender_drop(c, c->worker->declined ? CASE_SKIPPED : CASE_FAILED, err.text);
        *reason = mem_text(err.text);
        return false;
    }
    json_t *answer = ask(c, json_pack("{s:s}", "op", "trace_start"), reason);
    json_decref(answer);
    return answer != NULL;
}

static void trace_open_case(trace_file_t *file, contender_t *c, const char *path, char **reason) {
    const char *id = c->result.spec.id;
    json_t *answer = ask(c,
                         json_pack("{s:s, s:s, s:s, s:I}", "op", "trace", "id", id, "path", path,
                                   "origin_ns", (json_int_t)file->origin_ns),
                         reason);
    if (answer == NULL) {
        if (c->active)
            contender_drop(c, CASE_FAILED, *reason);
        return;
    }
    tally_t tally = {.sample_us = NAN};
    error_t err = ERROR_INIT;
    file->n_processes++;
    if (read_events(file, path, id, &tally, &err) == STATUS_OK) {
        const char *source = json_string_value(json_object_get(answer, "source"));
        name_process(file, id);
        add_row(file, id, &tally, source != NULL ? source : "");
    } else {
        contender_drop(c, CASE_FAILED, err.text);
        *reason = mem_text(err.text);
    }
    json_decref(answer);
}

static void trace_contender(trace_file_t *file, contender_t *c, const char *folder, char **reason) {
    if (!c->active) {
        *reason = mem_text(c->result.reason);
        return;
    }
    if (!start(c, reason))
        return;
    contender_open(c);
    if (!c->active) {
        *reason = mem_text(c->result.reason);
        return;
    }
    char *path = fs_join(folder, "trace.json");
    trace_open_case(file, c, path, reason);
    free(path);
    contender_finish(c);
}

void trace_file_add(trace_file_t *file, contender_t *c) {
    char *folder, *reason = NULL;
    error_t err = ERROR_INIT;
    if (fs_temporary_folder(&folder, &err) != STATUS_OK) {
        contender_drop(c, CASE_FAILED, err.text);
        add_without(file, c->result.spec.id, err.text);
        return;
    }
    trace_contender(file, c, folder, &reason);
    if (reason != NULL)
        add_without(file, c->result.spec.id, reason);
    free(reason);
    fs_remove_tree(folder, NULL);
    free(folder);
}

status_t trace_file_write(const trace_file_t *file, const char *path, error_t *err) {
    json_t *json = json_pack("{s:O, s:s, s:{s:s, s:O}}", "traceEvents", file->events,
                             "displayTimeUnit", "ns", "otherData", "about",
                             "one run of each case under a tracer: what happens when, not how "
                             "long it takes without one",
                             "sources", file->sources);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(json);
    status_t status = fs_write_atomic(path, text, strlen(text), err);
    free(text);
    return status;
}
