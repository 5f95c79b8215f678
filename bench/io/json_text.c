#include "io/json_text.h"

#include "base/memory.h"
#include "io/fs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text) {
    if (text == NULL)
        return json_null();
    char *valid = text_utf8(text);
    json_t *json = json_string_nocheck(valid);
    free(valid);
    return json;
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

void json_print(json_t *json, size_t flags, FILE *out) {
    json_dumpf(json, out, flags);
    fputc('\n', out);
    json_decref(json);
}

status_t json_save(json_t *json, size_t flags, const char *path, error_t *err) {
    char *text = json_dumps(json, flags);
    json_decref(json);
    if (text == NULL)
        return error_set(err, STATUS_FAILED, "%s: cannot be written as JSON", path);
    char *lines = mem_format("%s\n", text);
    status_t status = fs_write_atomic(path, lines, strlen(lines), err);
    free(lines);
    free(text);
    return status;
}
