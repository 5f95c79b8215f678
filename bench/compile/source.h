/* Kernel sources as the compiler sees them: a .cu file with every header it includes in quotes, and
 * the code without comments and literals, which shows the -D constants that it depends on. */
#ifndef BENCH_COMPILE_SOURCE_H
#define BENCH_COMPILE_SOURCE_H

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

#include <stdbool.h>

typedef struct source {
    char *path; /* as requested */
    char *name; /* below the project's folder: "kernels/softmax/01_study.cu" */
    char *text;
    /* Headers by name, for NVRTC, which reads them from memory: each file once, under its path
     * below the project's folder, and for each spelling in an #include a header that includes that
     * file. So #pragma once sees one file, however it is spelled. */
    text_list_t header_names, header_texts;
    char *code;             /* source and headers without comments, string and character literals */
    bool system_includes;   /* the compiler must find some: <…>, or not in the project */
    char digest[HASH_TEXT]; /* of text, header names and header texts */
} source_t;

/* Sources read so far. Zero-initialise. */
typedef struct source_set {
    source_t **items;
    size_t n, capacity;
} source_set_t;

/* The source at `path`, read unless the set has it; valid as long as the set. An #include "…" is
 * searched beside the including file, then in <root>/kernels. STATUS_USAGE with file and line for an #include of what is
 * neither in the source's folder nor in <root>/kernels nor searched among the compiler's headers: compilers quote the
 * files that they read. */
status_t source_get(source_set_t *set, const char *root, const char *path, const source_t **source,
                    error_t *err);
void source_set_free(source_set_t *set);

/* Does `name` occur in the code as an identifier? */
bool source_mentions(const source_t *source, const char *name);

/* For source_get() and its test: what one file includes. Zero-initialise. */
typedef struct includes {
    text_list_t quoted, lines; /* names in #include "…", each once, and the line of each */
    bool system;               /* there is an #include <…> */
    char *
        refused; /* "3: …", with the line: an #include that may be of any file; NULL: there is none */
} includes_t;

/* `text` with comments and literals blanked, which the caller frees, and what it includes. */
char *source_strip(const char *text, includes_t *includes);
void includes_free(includes_t *includes);
/* Is a header's name absolute, or has it a part ".."? */
bool source_leaves_folder(const char *name);

#endif
