/* Cases as unit programs make them, their sessions, and the known values that these are held against. */
#ifndef TESTS_MADE_CASE_H
#define TESTS_MADE_CASE_H

#include "base/text.h"
#include "checks.h"
#include "engine/session.h"
#include "model/case.h"
#include "workloads/common/workload.h"

#include <jansson.h>

/* A case of f32 without parameters. */
static inline case_t made_case(const char *workload, const char *engine, const char *device,
                               const char *variant) {
    return (case_t){.workload = mem_text(workload),
                    .engine = mem_text(engine),
                    .device = mem_text(device),
                    .variant = mem_text(variant),
                    .dtype = mem_text("f32")};
}

static inline void add_integer(case_t *spec, const char *name, int64_t integer) {
    case_add_param(spec, name, &(value_t){.kind = VALUE_INT, .integer = integer});
}

static inline void set_text(char **text, const char *to) {
    free(*text);
    *text = mem_text(to);
}

static inline void open_case(session_t *session, const session_ops_t *ops, case_t spec) {
    *session = (session_t){.ops = ops, .spec = spec};
    const open_request_t request = {.spec = &session->spec, .seed = 42};
    error_t err = ERROR_INIT;
    if (ops->open(session, &request, &err) != STATUS_OK)
        fail_msg("%s: %s", session->spec.id, err.text);
}

static inline void close_session(session_t *session) {
    session->ops->close(session);
    recorder_free(&session->recorder);
    case_free(&session->spec);
    free(session->results_json);
}

/* What a program for the case is compiled with. */
static inline void check_constants(const char *workload, const case_t *spec, const char *expected) {
    AUTO(text_list_free) text_list_t defines = {0};
    workload_find(workload)->constants(spec, &defines);
    AUTO_FREE char *text = text_list_join(&defines, " ");
    assert_string_equal(text, expected);
}

static inline json_t *read_json(const char *path) {
    json_error_t wrong;
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
    if (json == NULL)
        fail_msg("%s:%d:%d: %s", path, wrong.line, wrong.column, wrong.text);
    return json;
}

#endif
