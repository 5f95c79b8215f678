#include "model/case.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== a case ================================================================================== */

value_t value_copy(const value_t *value) {
    value_t copy = *value;
    copy.text = mem_text(value->text);
    copy.ints = NULL;
    if (value->n_ints > 0) {
        copy.ints = mem_zeroed(value->n_ints, sizeof *copy.ints);
        memcpy(copy.ints, value->ints, value->n_ints * sizeof *copy.ints);
    }
    return copy;
}

void value_free(value_t *value) {
    free(value->text);
    free(value->ints);
    *value = (value_t){0};
}

bool value_equal(const value_t *a, const value_t *b) {
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case VALUE_INT:
        return a->integer == b->integer;
    case VALUE_REAL:
        return a->real == b->real;
    case VALUE_TEXT:
        return strcmp(a->text, b->text) == 0;
    case VALUE_INTS:
        return a->n_ints == b->n_ints &&
               (a->n_ints == 0 || memcmp(a->ints, b->ints, a->n_ints * sizeof *a->ints) == 0);
    }
    return false;
}

char *value_text(const value_t *value) {
    switch (value->kind) {
    case VALUE_INT:
        return mem_format("%" PRId64, value->integer);
    case VALUE_REAL:
        return mem_format("%.10g", value->real);
    case VALUE_TEXT:
        return mem_text(value->text);
    case VALUE_INTS:
        break;
    }
    text_list_t parts = {0};
    for (size_t i = 0; i < value->n_ints; i++)
        text_list_add_format(&parts, "%" PRId64, value->ints[i]);
    char *text = text_list_join(&parts, "-");
    text_list_free(&parts);
    return text;
}

static const value_t *find(const named_value_t *items, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i].value;
    return NULL;
}

const value_t *case_param(const case_t *spec, const char *name) {
    return find(spec->params, spec->n_params, name);
}

int64_t case_param_int(const case_t *spec, const char *name, int64_t otherwise) {
    const value_t *value = case_param(spec, name);
    return value != NULL && value->kind == VALUE_INT ? value->integer : otherwise;
}

const char *case_technique(const case_t *spec, const char *name) {
    const value_t *value = find(spec->techniques, spec->n_techniques, name);
    return value != NULL ? value->text : NULL;
}

const char *case_allocator(const case_t *spec) {
    const char *own = case_technique(spec, TECHNIQUE_ALLOCATOR);
    return own != NULL ? own : case_technique(spec, TECHNIQUE_ALLOC);
}

static void append(named_value_t **items, size_t *n, const char *name, const value_t *value) {
    *items = mem_resize(*items, *n + 1, sizeof **items);
    (*items)[(*n)++] = (named_value_t){.name = mem_text(name), .value = value_copy(value)};
}

void case_add_param(case_t *spec, const char *name, const value_t *value) {
    append(&spec->params, &spec->n_params, name, value);
}

void case_add_technique(case_t *spec, const char *name, const char *choice) {
    append(&spec->techniques, &spec->n_techniques, name,
           &(value_t){.kind = VALUE_TEXT, .text = (char *)choice});
}

bool case_engine_is_built_in(const char *engine) {
    return strcmp(engine, "cuda") == 0 || strcmp(engine, "cpu") == 0 || strcmp(engine, "null") == 0;
}

const char *case_engine_label(const case_t *spec, char text[32]) {
    if (case_engine_is_built_in(spec->engine))
        return spec->engine;
    snprintf(text, 32, "%.24s-%.6s", spec->engine, spec->device != NULL ? spec->device : "cpu");
    return text;
}

/* Modes of reference_pytorch that compile, beside those whose name says so. */
static const char *const COMPILED[] = {"combo_graph", "manual_graph", "mapped"};

bool case_compiles(const case_t *spec) {
    if (strcmp(spec->engine, "pytorch") != 0 && strcmp(spec->engine, "python") != 0)
        return false;
    return strstr(spec->variant, "compile") != NULL ||
           text_is_one_of(spec->variant, COMPILED, sizeof COMPILED / sizeof *COMPILED);
}

static bool is_in(const named_value_t *items, size_t n, const named_value_t *item) {
    const value_t *value = find(items, n, item->name);
    return value != NULL && value_equal(value, &item->value);
}

static void add_setting(text_list_t *parts, const named_value_t *item) {
    AUTO_FREE char *text = value_text(&item->value);
    text_list_add_format(parts, "%s=%s", item->name, text);
}

bool is_calibration(const case_t *spec) {
    return strcmp(spec->engine, "cuda") == 0 &&
           (strcmp(spec->workload, "device") == 0 || strcmp(spec->workload, "null") == 0);
}

char *case_group(const case_t *spec, const case_t *defaults) {
    AUTO(text_list_free) text_list_t parts = {0};
    text_list_add(&parts, spec->workload);
    for (size_t i = 0; i < spec->n_params; i++)
        if (i == 0 || !is_in(defaults->params, defaults->n_params, &spec->params[i]))
            add_setting(&parts, &spec->params[i]);
    text_list_add(&parts, spec->dtype);
    return text_list_join(&parts, "/");
}

void case_set_id(case_t *spec, const case_t *defaults, const char *const *always, size_t n_always) {
    char label[32];
    AUTO(text_list_free) text_list_t parts = {0};
    text_list_add(&parts, spec->workload);
    text_list_add(&parts, case_engine_label(spec, label));
    text_list_add(&parts, spec->variant);
    for (size_t i = 0; i < spec->n_params; i++)
        if (text_is_one_of(spec->params[i].name, always, n_always) ||
            !is_in(defaults->params, defaults->n_params, &spec->params[i]))
            add_setting(&parts, &spec->params[i]);
    for (size_t i = 0; i < spec->n_techniques; i++)
        if (!is_in(defaults->techniques, defaults->n_techniques, &spec->techniques[i]))
            add_setting(&parts, &spec->techniques[i]);
    if (strcmp(spec->dtype, defaults->dtype) != 0)
        text_list_add_format(&parts, "dtype=%s", spec->dtype);
    free(spec->id);
    spec->id = text_list_join(&parts, "/");
}

static status_t check_setting(const case_t *spec, const char *part, error_t *err) {
    AUTO_FREE char *name = mem_text_n(part, strcspn(part, "="));
    const value_t *value = find(spec->params, spec->n_params, name);
    if (value == NULL)
        value = find(spec->techniques, spec->n_techniques, name);
    AUTO_FREE char *own = value != NULL                ? value_text(value)
                          : strcmp(name, "dtype") == 0 ? mem_text(spec->dtype)
                                                       : NULL;
    const size_t length = strlen(name);
    const bool agrees = own != NULL && part[length] == '=' && strcmp(part + length + 1, own) == 0;
    if (!agrees)
        error_set(err, STATUS_USAGE,
                  "\"id\" is \"%.200s\": it says %.100s, but the case has %s%s%s", spec->id, part,
                  own != NULL ? name : "no such param or technique", own != NULL ? "=" : "",
                  own != NULL ? own : "");
    return agrees ? STATUS_OK : STATUS_USAGE;
}

status_t case_check_id(const case_t *spec, error_t *err) {
    char label[32], *begin = mem_format("%s/%s/%s", spec->workload, case_engine_label(spec, label),
                                        spec->variant);
    const size_t length = strlen(begin);
    status_t status = STATUS_OK;
    if (strncmp(spec->id, begin, length) != 0 || strchr("/", spec->id[length]) == NULL)
        status = error_set(err, STATUS_USAGE, "\"id\" is \"%.200s\": expected it to begin with %s",
                           spec->id, begin);
    free(begin);
    TRY(status);
    AUTO(text_list_free) text_list_t parts = text_split(spec->id + length, '/');
    for (size_t i = 0; i < parts.n && status == STATUS_OK; i++)
        if (parts.items[i][0] != '\0')
            status = check_setting(spec, parts.items[i], err);
    return status;
}

static named_value_t *copy_items(const named_value_t *items, size_t n) {
    named_value_t *copy = mem_zeroed(n, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = (named_value_t){mem_text(items[i].name), value_copy(&items[i].value)};
    return copy;
}

static void free_items(named_value_t *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(items[i].name);
        value_free(&items[i].value);
    }
    free(items);
}

case_t case_copy(const case_t *spec) {
    return (case_t){
        .id = mem_text(spec->id),
        .workload = mem_text(spec->workload),
        .engine = mem_text(spec->engine),
        .device = mem_text(spec->device),
        .variant = mem_text(spec->variant),
        .dtype = mem_text(spec->dtype),
        .params = copy_items(spec->params, spec->n_params),
        .n_params = spec->n_params,
        .techniques = copy_items(spec->techniques, spec->n_techniques),
        .n_techniques = spec->n_techniques,
    };
}

void case_drop_techniques(case_t *spec) {
    free_items(spec->techniques, spec->n_techniques);
    spec->techniques = NULL;
    spec->n_techniques = 0;
}

void case_free(case_t *spec) {
    free(spec->id);
    free(spec->workload);
    free(spec->engine);
    free(spec->device);
    free(spec->variant);
    free(spec->dtype);
    free_items(spec->params, spec->n_params);
    free_items(spec->techniques, spec->n_techniques);
    *spec = (case_t){0};
}

/* ==== its JSON ================================================================================ */

static json_t *value_to_json(const value_t *value) {
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
