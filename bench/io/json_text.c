#include "io/json_text.h"

#include <math.h>
#include <stdlib.h>

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
