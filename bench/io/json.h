/* JSON: text that is safe to print, and reading with messages that name file and key. */
#ifndef BENCH_IO_JSON_H
#define BENCH_IO_JSON_H

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Paths, arguments and worker output can be any bytes: invalid UTF-8 is replaced. NULL is null. */
json_t *json_text(const char *text);
json_t *json_texts(const text_list_t *list);

/* JSON has no NaN or infinity: they become null; and what is no number, or NULL, becomes NaN. */
json_t *json_finite(double value);
double json_or_nan(const json_t *value);

/* Both take jansson's flags (JSON_INDENT(2)), end with a line break and free `json`. */
void json_print(json_t *json, size_t flags, FILE *out);
status_t json_save(json_t *json, size_t flags, const char *path, error_t *err);

/* Reading JSON with precise error messages: a node knows its file and JSON path, and every reader
 * checks type and range:
 * `sweeps/x.json: $.axes.batch[0]: found integer 0, expected an integer 1…268435456`. */

typedef struct node {
    const char *file;   /* for messages */
    const json_t *json; /* borrowed; NULL if the key is absent */
    char path[160];     /* "$.contenders[1].variants[0]" */
} node_t;

/* A file's text, checked for what would end or hide it: NUL bytes, a byte order mark. The caller frees it. */
status_t node_read(const char *path, char **text, error_t *err);
/* The JSON in a file's text, without repeated keys; `path:line:column: …`. The caller frees it. */
status_t node_parse(const char *path, const char *text, json_t **json, error_t *err);

node_t node_root(const char *file, const json_t *json);
node_t node_member(const node_t *object, const char *key);
node_t node_item(const node_t *array, size_t index);
bool node_exists(const node_t *node);
size_t node_length(const node_t *array);

/* "file: path: message". Returns STATUS_USAGE. */
status_t node_error(const node_t *node, error_t *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same; frees `message`. */
status_t node_refuse(const node_t *node, char *message, error_t *err);
/* `found string "64", expected <what>` */
status_t node_expected(const node_t *node, error_t *err, const char *what);

/* An object with no keys but `known` ones; the first `n_required` are mandatory. */
status_t node_object(const node_t *node, const char *const *known, size_t n, size_t n_required,
                     error_t *err);
/* A non-empty array without equal elements. */
status_t node_set(const node_t *node, error_t *err);
/* The JSON owns `*value`. */
status_t node_text(const node_t *node, const char **value, error_t *err);
/* A text that is safe as a file name and in an id. */
status_t node_name(const node_t *node, const char **value, error_t *err);
status_t node_integer(const node_t *node, double min, double max, int64_t *value, error_t *err);
status_t node_number(const node_t *node, double min, double max, double *value, error_t *err);

/* Allowed names, and their description in messages: "variant", " of softmax". */
typedef struct vocabulary {
    const char *what, *where;
    const char *const *names;
    size_t n;
} vocabulary_t;

/* One of `names`; `*index` is its index. */
status_t node_choice(const node_t *node, const vocabulary_t *names, size_t *index, error_t *err);
/* At least one of `names`, none twice. */
status_t node_choices(const node_t *list, const vocabulary_t *names, text_list_t *chosen,
                      error_t *err);
/* `unknown <what> "word"<where>; did you mean "near"? (known: a, b)`; the caller frees it. */
char *vocabulary_complaint(const vocabulary_t *names, const char *word);

#endif
