/* The environment of a run: an ordered list of dotted keys ("gpu.name", "versions.nvrtc"), which
 * are nested objects in run.json. Values are text, numbers or flags, all kept as text. */
#ifndef BENCH_MODEL_ENVIRONMENT_H
#define BENCH_MODEL_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum fact_kind { FACT_TEXT, FACT_NUMBER, FACT_FLAG } fact_kind_t;

typedef struct fact {
    char *key, *value;
    fact_kind_t kind;
} fact_t;

typedef struct environment {
    fact_t *facts;
    size_t n, capacity;
} environment_t;

/* Set or replace a key's value. NULL is ignored. */
void environment_set(environment_t *env, const char *key, const char *value);
void environment_set_number(environment_t *env, const char *key, double value);
void environment_set_flag(environment_t *env, const char *key, bool value);
/* Copy the facts of keys that `env` lacks. */
void environment_add(environment_t *env, const environment_t *facts);
fact_t *environment_find(const environment_t *env, const char *key);    /* NULL when absent */
const char *environment_get(const environment_t *env, const char *key); /* NULL when absent */
/* Whether the program was built from another state of the source ("git.revision", "git.dirty") than
 * the folder had at the run ("git.folder.…"), as a sentence; NULL if not, or not known. The caller
 * frees it. */
char *environment_other_source(const environment_t *env);
void environment_free(environment_t *env);

#endif
