/* Kernel sources as the compiler sees them: a .cu file with every header it includes in quotes,
 * read once, and the code without comments and literals, to tell which -D constants it depends on.
 */
#ifndef BENCH_COMPILE_SOURCE_H
#define BENCH_COMPILE_SOURCE_H

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

#include <stdbool.h>

typedef struct source {
    char *path; /* as asked for */
    char *name; /* below the project's folder: "kernels/mlp_infer/01_study.cu" */
    char *text;
    /* Headers by name, for a compiler that gets them from memory: each file once, under its name
     * below the project's folder, and for every way it is written in an #include a line that
     * includes that. So one file written in two ways is still one file to #pragma once. */
    text_list_t header_names, header_texts;
    char *code;           /* source and headers without comments, string and character literals */
    bool system_includes; /* something is left to the compiler: <…>, or not found in the project */
    char digest[HASH_TEXT]; /* of text, header names and header texts */
} source_t;

/* Sources that were read already. Zero-initialise. */
typedef struct source_set {
    source_t **items;
    size_t n, capacity;
} source_set_t;

/* The source at `path`, read now unless the set has it; it lives as long as the set. An #include
 * "…" is looked for beside the file that has it, then in <root>/kernels. */
status_t source_get(source_set_t *set, const char *root, const char *path, const source_t **source,
                    error_t *err);
void source_set_free(source_set_t *set);

/* True when `name` occurs in the code as a whole identifier. */
bool source_mentions(const source_t *source, const char *name);

/* For source_get() and its test: the code of `text` with comments and literals blanked; the names
 * in #include "…" go to `quoted`, and `*system` becomes true when there is an #include <…>. The
 * caller frees the result. */
char *source_strip(const char *text, text_list_t *quoted, bool *system);

#endif
