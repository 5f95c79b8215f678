#include "worker/protocol.h"

#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
                  {"profile", JSON_TRUE, true},
                  {"results", JSON_TRUE, true}}},
    [OP_REFILL] = {"refill", {{"id", JSON_STRING, false}, {"seed", JSON_INTEGER, false}}},
    [OP_OUTPUT] = {"output", {{"id", JSON_STRING, false}, {"path", JSON_STRING, false}}},
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
    [OP_LAST] = {"last", {{"id", JSON_STRING, false}, {"path", JSON_STRING, false}}},
    /* Only the oracle of this program gets these two, so docs/worker-protocol.md has them not. */
    [OP_LEARNED] = {"learned", {{"id", JSON_STRING, false}, {"most_ns", JSON_INTEGER, false}}},
    [OP_LOSS] = {"loss", {{"case", JSON_OBJECT, false}, {"path", JSON_STRING, false}}},
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
    char *hint = text_hint(name, names, N_OPS);
    error_set(err, STATUS_FAILED, "unknown op \"%s\"%s", name, hint);
    free(hint);
    return STATUS_FAILED;
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
