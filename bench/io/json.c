#include "io/json.h"

#include "base/memory.h"
#include "io/fs.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text) {
    if (text == NULL)
        return json_null();
    AUTO_FREE char *valid = text_utf8(text);
    return json_string_nocheck(valid);
}

json_t *json_texts(const text_list_t *list) {
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(array, json_text(list->items[i]));
    return array;
}

json_t *json_finite(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

double json_or_nan(const json_t *value) {
    return json_is_number(value) ? json_number_value(value) : NAN;
}

void json_print(json_t *json, size_t flags, FILE *out) {
    json_dumpf(json, out, flags);
    fputc('\n', out);
    json_decref(json);
}

status_t json_save(json_t *json, size_t flags, const char *path, error_t *err) {
    AUTO_FREE char *text = json_dumps(json, flags);
    json_decref(json);
    if (text == NULL)
        return error_set(err, STATUS_FAILED, "%s: cannot be written as JSON", path);
    AUTO_FREE char *lines = mem_format("%s\n", text);
    return fs_write_atomic(path, lines, strlen(lines), err);
}

/* ==== reading with precise messages =========================================================== */

/* SET_LIMIT keeps the quadratic search for repeated elements instant. */
enum { SET_LIMIT = 10000, QUOTE_BYTES = 60 };

/* The value as JSON, shortened for messages. JSON escapes control characters. */
static char *quoted(const json_t *json) {
    AUTO_FREE char *text =
        json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    size_t length = text != NULL ? strlen(text) : 0;
    size_t kept = length <= QUOTE_BYTES ? length : QUOTE_BYTES;
    while (kept < length && kept > 0 &&
           (text[kept] & 0xC0) == 0x80) /* not inside a UTF-8 character */
        kept--;
    return mem_format("%.*s%s", (int)kept, text != NULL ? text : "", kept < length ? "…" : "");
}

static char *quoted_text(const char *text) {
    json_auto_t *json = json_string(text);
    return quoted(json);
}

static const char BYTE_ORDER_MARK[] = "\xEF\xBB\xBF";

status_t node_read(const char *path, char **text, error_t *err) {
    size_t size = 0;
    TRY(fs_read(path, text, &size, err));
    status_t status = STATUS_OK;
    if (strlen(*text) != size) /* parsing would stop at the NUL */
        status = error_set(err, STATUS_USAGE, "%s: found a NUL byte at offset %zu, expected text",
                           path, strlen(*text));
    else if (text_starts(*text, BYTE_ORDER_MARK))
        status = error_set(err, STATUS_USAGE,
                           "%s: begins with a byte order mark (U+FEFF), which JSON does not have: "
                           "save it as UTF-8 without one",
                           path);
    if (status != STATUS_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

status_t node_parse(const char *path, const char *text, json_t **json, error_t *err) {
    json_error_t wrong;
    *json = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
    if (*json == NULL)
        return error_set(err, STATUS_USAGE, "%s:%d:%d: %s", path, wrong.line, wrong.column,
                         wrong.text);
    return STATUS_OK;
}

node_t node_root(const char *file, const json_t *json) {
    return (node_t){.file = file, .json = json, .path = "$"};
}

__attribute__((format(printf, 2, 3))) static void append_path(node_t *node, const char *format,
                                                              ...) {
    size_t used = strlen(node->path);
    va_list args;
    va_start(args, format);
    vsnprintf(node->path + used, sizeof node->path - used, format, args);
    va_end(args);
}

node_t node_member(const node_t *object, const char *key) {
    node_t member = *object;
    member.json = json_object_get(object->json, key);
    if (text_is_name(key) || strcmp(key, "$schema") == 0) {
        append_path(&member, ".%s", key);
    } else {
        AUTO_FREE char *name = quoted_text(key);
        append_path(&member, "[%s]", name);
    }
    return member;
}

node_t node_item(const node_t *array, size_t index) {
    node_t item = *array;
    item.json = json_array_get(array->json, index);
    append_path(&item, "[%zu]", index);
    return item;
}

bool node_exists(const node_t *node) {
    return node->json != NULL;
}

size_t node_length(const node_t *array) {
    return json_array_size(array->json);
}

status_t node_error(const node_t *node, error_t *err, const char *format, ...) {
    char message[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    error_set(err, STATUS_USAGE, "%s", message);
    error_within(err, "%s: %s", node->file, node->path);
    return STATUS_USAGE;
}

status_t node_refuse(const node_t *node, char *message, error_t *err) {
    node_error(node, err, "%s", message);
    free(message);
    return STATUS_USAGE;
}

/* `string "64"`, `integer 0`, `an empty array`; the caller frees it. */
static char *found_text(const node_t *node) {
    static const char *const KINDS[] = {[JSON_STRING] = "string ", [JSON_INTEGER] = "integer ",
                                        [JSON_REAL] = "real ",     [JSON_ARRAY] = "array ",
                                        [JSON_OBJECT] = "object ", [JSON_TRUE] = "",
                                        [JSON_FALSE] = "",         [JSON_NULL] = ""};
    if (node->json == NULL)
        return mem_text("nothing");
    if (json_is_array(node->json) && node_length(node) == 0)
        return mem_text("an empty array");
    AUTO_FREE char *text = quoted(node->json);
    return mem_format("%s%s", KINDS[json_typeof(node->json)], text);
}

status_t node_expected(const node_t *node, error_t *err, const char *what) {
    AUTO_FREE char *found = found_text(node);
    return node_refuse(node, mem_format("found %s, expected %s", found, what), err);
}

char *vocabulary_complaint(const vocabulary_t *names, const char *word) {
    AUTO(text_list_free) text_list_t known = {0};
    for (size_t i = 0; i < names->n; i++)
        text_list_add(&known, names->names[i]);
    AUTO_FREE char *all = text_list_join(&known, ", ");
    AUTO_FREE char *hint = text_hint(word, names->names, names->n);
    AUTO_FREE char *bad = quoted_text(word);
    return mem_format("unknown %s %s%s%s (known: %s)", names->what, bad, names->where, hint,
                      names->n > 0 ? all : "none");
}

static bool is_known(const char *word, const char *const *names, size_t n, size_t *index) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0) {
            *index = i;
            return true;
        }
    return false;
}

status_t node_object(const node_t *node, const char *const *known, size_t n, size_t n_required,
                     error_t *err) {
    if (!json_is_object(node->json))
        return node_expected(node, err, "an object");
    const vocabulary_t keys = {.what = "key", .where = "", .names = known, .n = n};
    const char *key;
    json_t *value;
    size_t index;
    json_object_foreach((json_t *)node->json, key, value) {
        if (is_known(key, known, n, &index))
            continue;
        node_t member = node_member(node, key);
        return node_refuse(&member, vocabulary_complaint(&keys, key), err);
    }
    for (size_t i = 0; i < n_required; i++) {
        node_t member = node_member(node, known[i]);
        if (!node_exists(&member))
            return node_error(&member, err, "missing");
    }
    return STATUS_OK;
}

static status_t repeated(const node_t *array, size_t index, size_t first, error_t *err) {
    node_t item = node_item(array, index);
    AUTO_FREE char *text = quoted(item.json);
    node_error(&item, err, "%s repeats element [%zu]", text, first);
    return STATUS_USAGE;
}

status_t node_set(const node_t *node, error_t *err) {
    if (!json_is_array(node->json) || node_length(node) == 0)
        return node_expected(node, err, "an array of at least one element");
    if (node_length(node) > SET_LIMIT)
        return node_error(node, err, "found %zu elements, expected at most %d", node_length(node),
                          SET_LIMIT);
    for (size_t i = 1; i < node_length(node); i++)
        for (size_t k = 0; k < i; k++)
            if (json_equal(json_array_get(node->json, i), json_array_get(node->json, k)))
                return repeated(node, i, k, err);
    return STATUS_OK;
}

status_t node_text(const node_t *node, const char **value, error_t *err) {
    if (!json_is_string(node->json))
        return node_expected(node, err, "a string");
    *value = json_string_value(node->json);
    return STATUS_OK;
}

status_t node_name(const node_t *node, const char **value, error_t *err) {
    if (!json_is_string(node->json) || !text_is_name(json_string_value(node->json)))
        return node_expected(node, err,
                             "a name of letters, digits, \"_\", \".\", \"+\" and \"-\" "
                             "that starts with a letter, a digit or \"_\"");
    *value = json_string_value(node->json);
    return STATUS_OK;
}

status_t node_integer(const node_t *node, double min, double max, int64_t *value, error_t *err) {
    *value = json_integer_value(node->json);
    if (json_is_integer(node->json) && (double)*value >= min && (double)*value <= max)
        return STATUS_OK;
    char what[80];
    if (min < max)
        snprintf(what, sizeof what, "an integer %.0f…%.0f", min, max);
    else
        snprintf(what, sizeof what, "the integer %.0f", min);
    return node_expected(node, err, what);
}

status_t node_number(const node_t *node, double min, double max, double *value, error_t *err) {
    *value = json_number_value(node->json);
    if (json_is_number(node->json) && *value >= min && *value <= max)
        return STATUS_OK;
    char what[80];
    snprintf(what, sizeof what, "a number %g…%g", min, max);
    return node_expected(node, err, what);
}

status_t node_choice(const node_t *node, const vocabulary_t *names, size_t *index, error_t *err) {
    const char *word = NULL;
    TRY(node_text(node, &word, err));
    if (is_known(word, names->names, names->n, index))
        return STATUS_OK;
    return node_refuse(node, vocabulary_complaint(names, word), err);
}

status_t node_choices(const node_t *list, const vocabulary_t *names, text_list_t *chosen,
                      error_t *err) {
    TRY(node_set(list, err));
    for (size_t i = 0; i < node_length(list); i++) {
        node_t item = node_item(list, i);
        size_t index;
        TRY(node_choice(&item, names, &index, err));
        text_list_add(chosen, names->names[index]);
    }
    return STATUS_OK;
}
