/* A fast reader of lines of cases.jsonl. Nine tenths of a line are arrays of samples and rounds,
 * and a JSON parser allocates a value for each number: only the rest goes to the parser. */
#include "model/result_json.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *const KEYS[] = {"\"round_starts\":", "\"samples\":"};
enum { N_KEYS = sizeof KEYS / sizeof *KEYS, MOST_ARRAYS = 1000 };

/* The value of the next of the KEYS, or NULL. A quote after a backslash is inside a string; any
 * other `"samples":` is a key, as strings contain no unescaped quotes. */
static const char *value_of_next_key(const char *from, const char *end) {
    for (const char *c = from; c < end; c++) {
        c = memchr(c, ':', (size_t)(end - c));
        if (c == NULL)
            return NULL;
        for (size_t k = 0; k < N_KEYS; k++) {
            size_t length = strlen(KEYS[k]);
            if ((size_t)(c + 1 - from) > length && memcmp(c + 1 - length, KEYS[k], length) == 0 &&
                c[-(ptrdiff_t)length] != '\\')
                return c + 1;
        }
    }
    return NULL;
}

/* May the text contain a key that value_of_next_key() misses, spelled with escapes or followed by
 * space? Its value could be mistaken for the index of an array. */
static bool may_hide_keys(const char *text, size_t length) {
    if (memmem(text, length, "\\u", 2) != NULL)
        return true;
    const char *end = text + length;
    for (const char *c = text; (c = memchr(c, ':', (size_t)(end - c))) != NULL; c++)
        if (c > text && strchr(" \t\r\n", c[-1]) != NULL)
            return true;
    return false;
}

/* Copy `line` with each array replaced by its index; false if it must be parsed as it is. */
static bool find_raw_arrays(const char *line, size_t length, raw_arrays_t *raw_arrays, char *text,
                            size_t *left) {
    const char *end = line + length, *from = line;
    char *to = text;
    for (;;) {
        const char *value = value_of_next_key(from, end);
        const char *stop = value != NULL ? value : end;
        if (may_hide_keys(from, (size_t)(stop - from)))
            return false;
        memcpy(to, from, (size_t)(stop - from));
        to += stop - from;
        *left = (size_t)(to - text);
        if (value == NULL)
            return true;
        const char *close = memchr(value, ']', (size_t)(end - value));
        /* Arrays of under five characters may have no room for the index: they are copied. */
        if (*value != '[' || close == NULL || raw_arrays->n == MOST_ARRAYS)
            return false;
        from = close + 1;
        if (from - value < 5) {
            memcpy(to, value, (size_t)(from - value));
            to += from - value;
            continue;
        }
        to += sprintf(to, "%zu", raw_arrays->n);
        raw_arrays->arrays[raw_arrays->n] = value;
        raw_arrays->taken[raw_arrays->n] = false;
        raw_arrays->ends[raw_arrays->n++] = close;
    }
}

static bool has_name(const text_list_t *list, const char *name, size_t length) {
    for (size_t i = 0; i < list->n; i++)
        if (strlen(list->items[i]) == length && memcmp(list->items[i], name, length) == 0)
            return true;
    return false;
}

/* Copy `line` without phases that are not `wanted`. Assumes that a phase contains no objects and no
 * strings with braces or quotes; false if one does. */
static bool drop_phases(const char *line, size_t length, const text_list_t *wanted, char *text,
                        size_t *left) {
    static const char OPEN[] = "\"phases\":{";
    const char *end = line + length, *key = memmem(line, length, OPEN, sizeof OPEN - 1);
    if (key == NULL || key == line || key[-1] == '\\')
        return false;
    const char *c = key + sizeof OPEN - 1;
    char *to = mempcpy(text, line, (size_t)(c - line));
    bool first = true;
    while (c < end && *c == '"') {
        const char *quote = memchr(c + 1, '"', (size_t)(end - c - 1));
        const char *close = memchr(c, '}', (size_t)(end - c));
        if (quote == NULL || close == NULL || close - quote < 3 || quote[1] != ':' ||
            quote[2] != '{' || memchr(quote + 3, '{', (size_t)(close - quote - 3)) != NULL ||
            memchr(c, '\\', (size_t)(close - c)) != NULL)
            return false;
        if (has_name(wanted, c + 1, (size_t)(quote - c - 1))) {
            if (!first)
                *to++ = ',';
            first = false;
            to = mempcpy(to, c, (size_t)(close + 1 - c));
        }
        c = close + 1;
        if (c < end && *c == ',' && c + 1 < end && c[1] == '"')
            c++;
        else
            break;
    }
    if (c == end || *c != '}')
        return false;
    to = mempcpy(to, c, (size_t)(end - c));
    *left = (size_t)(to - text);
    return true;
}

static status_t from_json_text(const char *text, size_t length, const raw_arrays_t *raw_arrays,
                               case_result_t *result, error_t *err) {
    json_error_t where;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    if (json == NULL)
        return error_set(err, STATUS_USAGE, "not a JSON object: %s (column %d)", where.text,
                         where.column);
    status_t status = result_from_raw_json(json, raw_arrays, result, err);
    json_decref(json);
    return status;
}

status_t result_from_text(const char *line, size_t length, const text_list_t *phases,
                          case_result_t *result, error_t *err) {
    const char *arrays[MOST_ARRAYS], *ends[MOST_ARRAYS];
    bool taken[MOST_ARRAYS];
    raw_arrays_t raw_arrays = {.arrays = arrays, .ends = ends, .taken = taken};
    char *some = phases != NULL ? mem_alloc(length + 1) : NULL, *text = mem_alloc(length + 1);
    size_t n_some, left;
    bool dropped = phases != NULL && drop_phases(line, length, phases, some, &n_some);
    status_t status = STATUS_FAILED;
    error_t ignored = ERROR_INIT;
    if (find_raw_arrays(dropped ? some : line, dropped ? n_some : length, &raw_arrays, text, &left))
        status = from_json_text(text, left, &raw_arrays, result, &ignored);
    for (size_t i = 0; status == STATUS_OK && i < raw_arrays.n; i++)
        if (!taken[i]) { /* at an unexpected place, and not read */
            result_free(result);
            status = STATUS_FAILED;
        }
    free(text);
    free(some);
    /* Rare, or an error: parse the complete line, so that messages have the right column. */
    if (status != STATUS_OK) {
        raw_arrays.n = 0;
        status = from_json_text(line, length, &raw_arrays, result, err);
    }
    return status;
}
