#include "model/environment.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

fact_t *environment_find(const environment_t *env, const char *key) {
    for (size_t i = 0; i < env->n; i++)
        if (strcmp(env->facts[i].key, key) == 0)
            return &env->facts[i];
    return NULL;
}

static void set(environment_t *env, const char *key, char *value, fact_kind_t kind) {
    fact_t *known = environment_find(env, key);
    if (known != NULL) {
        free(known->value);
        known->value = value;
        known->kind = kind;
        return;
    }
    mem_grow(&env->facts, env->n, &env->capacity, sizeof *env->facts);
    env->facts[env->n++] = (fact_t){mem_text(key), value, kind};
}

void environment_set(environment_t *env, const char *key, const char *value) {
    if (value != NULL)
        set(env, key, mem_text(value), FACT_TEXT);
}

void environment_set_number(environment_t *env, const char *key, double value) {
    set(env, key, mem_format("%.15g", value), FACT_NUMBER);
}

void environment_set_flag(environment_t *env, const char *key, bool value) {
    set(env, key, mem_text(value ? "true" : "false"), FACT_FLAG);
}

void environment_add(environment_t *env, const environment_t *facts) {
    for (size_t i = 0; i < facts->n; i++)
        if (environment_find(env, facts->facts[i].key) == NULL)
            set(env, facts->facts[i].key, mem_text(facts->facts[i].value), facts->facts[i].kind);
}

const char *environment_get(const environment_t *env, const char *key) {
    const fact_t *fact = environment_find(env, key);
    return fact != NULL ? fact->value : NULL;
}

char *environment_other_source(const environment_t *env) {
    const char *built = environment_get(env, "git.revision");
    const char *folder = environment_get(env, "git.folder.revision");
    const fact_t *built_dirty = environment_find(env, "git.dirty");
    const fact_t *folder_dirty = environment_find(env, "git.folder.dirty");
    if (built == NULL || folder == NULL || built_dirty == NULL || folder_dirty == NULL ||
        (text_starts(built, folder) && strcmp(built_dirty->value, folder_dirty->value) == 0))
        return NULL;
    static const char CHANGED[] = " with uncommitted changes";
    return mem_format("bench was built from %s%s; kernels and Python code are those of %s%s", built,
                      strcmp(built_dirty->value, "true") == 0 ? CHANGED : "", folder,
                      strcmp(folder_dirty->value, "true") == 0 ? CHANGED : "");
}

void environment_free(environment_t *env) {
    for (size_t i = 0; i < env->n; i++) {
        free(env->facts[i].key);
        free(env->facts[i].value);
    }
    free(env->facts);
    *env = (environment_t){0};
}
