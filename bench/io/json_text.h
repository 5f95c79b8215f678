/* What jansson leaves open when values are written: text of any bytes, numbers that are none. */
#ifndef BENCH_IO_JSON_TEXT_H
#define BENCH_IO_JSON_TEXT_H

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>
#include <stdio.h>

/* Paths, arguments and what workers print can be any bytes: made UTF-8. NULL is null. */
json_t *json_text(const char *text);
json_t *json_texts(const text_list_t *list);

/* JSON has no NaN and no infinity: they are null. */
json_t *json_finite(double value);

/* Both end with a line break, take jansson's flags (JSON_INDENT(2)), and take over `json`. */
void json_print(json_t *json, size_t flags, FILE *out);
status_t json_save(json_t *json, size_t flags, const char *path, error_t *err);

#endif
