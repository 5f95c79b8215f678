#include "model/case_json.h"

#include "base/memory.h"
#include "io/json_text.h"

#include <string.h>

json_t *value_to_json(const value_t *value) {
    switch (value->kind) {
    case VALUE_INT:
        return json_integer(value->integer);
    case VALUE_REAL:
        return json_real(value->real);
    case VALUE_TEXT:
        return json_string(value->text);
    case VALUE_INTS:
        break;
    }
    json_t *array = json_array();
    for (size_t i = 0; i < value->n_ints; i++)
        json_array_append_new(array, json_integer(value->ints[i]));
    return array;
}

static json_t *named_values(const named_value_t *items, size_t n) {
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(object, items[i].name, value_to_json(&items[i].value));
    return object;
}

json_t *case_to_json(const case_t *spec) {
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:o}", "id", spec->id, "workload",
                     spec->workload, "engine", spec->engine, "device", json_text(spec->device),
                     "variant", spec->variant, "dtype", spec->dtype, "params",
                     named_values(spec->params, spec->n_params), "techniques",
                     named_values(spec->techniques, spec->n_techniques));
}

static char *get_text(const json_t *object, const char *key) {
    return mem_text(json_string_value(json_object_get(object, key)));
}

status_t value_from_json(const json_t *json, value_t *value, error_t *err) {
    *value = (value_t){0};
    if (json_is_integer(json)) {
        value->kind = VALUE_INT;
        value->integer = json_integer_value(json);
    } else if (json_is_real(json)) {
        value->kind = VALUE_REAL;
        value->real = json_real_value(json);
    } else if (json_is_string(json)) {
        value->kind = VALUE_TEXT;
        value->text = mem_text(json_string_value(json));
    } else if (json_is_array(json)) {
        value->kind = VALUE_INTS;
        value->n_ints = json_array_size(json);
        value->ints = mem_zeroed(value->n_ints, sizeof *value->ints);
        for (size_t i = 0; i < value->n_ints; i++) {
            const json_t *item = json_array_get(json, i);
            if (!json_is_integer(item)) {
                value_free(value);
                return error_set(err, STATUS_USAGE, "element %zu of a list is not an integer", i);
            }
            value->ints[i] = json_integer_value(item);
        }
    } else {
        return error_set(err, STATUS_USAGE, "found %s, expected a number, a string or a list",
                         json == NULL ? "nothing" : "an object, true, false or null");
    }
    return STATUS_OK;
}

static status_t get_named_values(const json_t *object, const char *where, case_t *spec,
                                 bool technique, error_t *err) {
    const json_t *values = json_object_get(object, where);
    if (values != NULL && !json_is_object(values))
        return error_set(err, STATUS_USAGE, "\"%s\" is not an object", where);
    const char *name;
    json_t *item;
    json_object_foreach((json_t *)values, name, item) {
        value_t value;
        if (!text_is_plain(name) ||
            (json_is_string(item) && !text_is_plain(json_string_value(item))))
            return error_set(err, STATUS_USAGE,
                             "\"%s.%.100s\": found control characters, expected none", where, name);
        if (value_from_json(item, &value, err) != STATUS_OK)
            return error_within(err, "\"%s.%s\"", where, name);
        if (technique && value.kind != VALUE_TEXT) {
            value_free(&value);
            return error_set(err, STATUS_USAGE, "\"%s.%s\" is not a string", where, name);
        }
        if (technique)
            case_add_technique(spec, name, value.text);
        else
            case_add_param(spec, name, &value);
        value_free(&value);
    }
    return STATUS_OK;
}

/* Names are printed: they must not contain terminal escapes. */
static status_t check_plain(const json_t *json, error_t *err) {
    static const char *const NAMES[] = {"id", "workload", "engine", "variant",
                                        "on", "device",   "dtype"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *text = json_string_value(json_object_get(json, NAMES[i]));
        if (text != NULL && !text_is_plain(text))
            return error_set(err, STATUS_USAGE,
                             "\"%s\": found control characters in \"%.100s\", expected none",
                             NAMES[i], text);
    }
    return STATUS_OK;
}

status_t case_from_json(const json_t *json, case_t *spec, error_t *err) {
    *spec = (case_t){0};
    static const char *const REQUIRED[] = {"id", "workload", "engine", "variant"};
    for (size_t i = 0; i < sizeof REQUIRED / sizeof *REQUIRED; i++)
        if (!json_is_string(json_object_get(json, REQUIRED[i])))
            return error_set(err, STATUS_USAGE, "\"%s\" is missing or not a string", REQUIRED[i]);
    TRY(check_plain(json, err));
    /* In cases.jsonl "device" is the state of the device; "on" is the device of the case. */
    const char *on = json_string_value(json_object_get(json, "on"));
    if (on == NULL)
        on = json_string_value(json_object_get(json, "device"));
    const char *engine = json_string_value(json_object_get(json, "engine"));
    if (on == NULL)
        on = strcmp(engine, "cuda") == 0 ? "cuda" : "cpu";
    const char *dtype = json_string_value(json_object_get(json, "dtype"));
    *spec = (case_t){
        .id = get_text(json, "id"),
        .workload = get_text(json, "workload"),
        .engine = mem_text(engine),
        .device = mem_text(on),
        .variant = get_text(json, "variant"),
        .dtype = mem_text(dtype != NULL ? dtype : "f32"),
    };
    status_t status = get_named_values(json, "params", spec, false, err);
    if (status == STATUS_OK)
        status = get_named_values(json, "techniques", spec, true, err);
    if (status != STATUS_OK)
        case_free(spec);
    return status;
}
