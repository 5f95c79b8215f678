/* JSON output that jansson does not cover: strings of any bytes, and numbers that are not
 * finite. */
#ifndef BENCH_IO_JSON_TEXT_H
#define BENCH_IO_JSON_TEXT_H

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>
#include <stdio.h>

/* Paths, arguments and worker output can be any bytes: invalid UTF-8 is replaced. NULL is null. */
json_t *json_text(const char *text);
json_t *json_texts(const text_list_t *list);

/* JSON has no NaN or infinity: they become null. */
json_t *json_finite(double value);

/* Both take jansson's flags (JSON_INDENT(2)), end with a line break and free `json`. */
void json_print(json_t *json, size_t flags, FILE *out);
status_t json_save(json_t *json, size_t flags, const char *path, error_t *err);

#endif
