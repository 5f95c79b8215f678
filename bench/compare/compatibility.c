/* Which runs and cases are comparable: see comparison.h. */
#include "compare/comparison.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Facts that must agree for times to be comparable, and their names in --allow. */
static const struct guard {
    const char *name, *key;
} GUARDS[] = {
    {"gpu", "gpu.name"},
    {"driver", "gpu.driver"},
    {"mig", "gpu.mig"},
    {"ecc", "gpu.ecc"},
    {"cpu", "host.cpu"},
    {"mode", "measure.mode"},
    /* Of two cases with the same id: defaults may have changed between the builds. */
    {"engine", NULL},
    {"dtype", NULL},
    {"params", NULL},
    {"techniques", NULL},
};
enum { N_RUN_GUARDS = 6, N_GUARDS = sizeof GUARDS / sizeof *GUARDS };

status_t guard_check_allow(const text_list_t *allow, error_t *err) {
    text_list_t all = {0};
    for (size_t i = 0; i < N_GUARDS; i++)
        text_list_add(&all, GUARDS[i].name);
    status_t status = STATUS_OK;
    for (size_t i = 0; i < allow->n && status == STATUS_OK; i++) {
        if (text_list_has(&all, allow->items[i]))
            continue;
        const char *nearest = text_nearest(allow->items[i], (const char *const *)all.items, all.n);
        char *list = text_list_join(&all, ", ");
        status = error_set(err, STATUS_USAGE, "--allow %s: expected one of %s%s%s%s",
                           allow->items[i], list, nearest != NULL ? "; did you mean \"" : "",
                           nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
        free(list);
    }
    text_list_free(&all);
    return status;
}

/* Runs without `measure.mode` are older than the cold mode: steady. */
static const char *fact_of(const record_t *run, const char *key) {
    const char *value = environment_get(&run->environment, key);
    return value != NULL ? value : strcmp(key, "measure.mode") == 0 ? "steady" : "none";
}

static bool has_engine(const record_t *run, const char *engine) {
    for (size_t i = 0; i < run->n_cases; i++)
        if (strcmp(run->cases[i].spec.engine, engine) == 0)
            return true;
    return false;
}

/* Runs may have different engines, but need one in common. */
static bool share_engine(const record_t *base, const record_t *candidate) {
    const char *last = "";
    for (size_t i = 0; i < base->n_cases; i++) {
        const char *engine = base->cases[i].spec.engine;
        if (strcmp(engine, last) != 0 && has_engine(candidate, engine))
            return true;
        last = engine;
    }
    return base->n_cases == 0 || candidate->n_cases == 0;
}

status_t guard_runs(const record_t *base, const record_t *candidate, const text_list_t *allow,
                    text_list_t *allowed, error_t *err) {
    text_list_t refused = {0}, names = {0};
    if (base->schema != candidate->schema)
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s and %s cannot be compared: schema %d (one pass) in one, %d in the "
                         "other: measure both with the same version",
                         base->folder, candidate->folder, base->schema, candidate->schema);
    for (size_t i = 0; i < N_RUN_GUARDS; i++) {
        const char *a = fact_of(base, GUARDS[i].key);
        const char *b = fact_of(candidate, GUARDS[i].key);
        if (strcmp(a, b) == 0)
            continue;
        bool may = text_list_has(allow, GUARDS[i].name);
        text_list_add_format(may ? allowed : &refused, "%s: %s in BASE, %s in CANDIDATE",
                             GUARDS[i].name, a, b);
        if (!may)
            text_list_add_format(&names, "--allow %s", GUARDS[i].name);
    }
    status_t status = STATUS_OK;
    if (refused.n > 0) {
        char *list = text_list_join(&refused, "; "), *options = text_list_join(&names, " ");
        status = error_set(err, STATUS_INCOMPARABLE,
                           "%s and %s cannot be compared: %s. To compare them anyway: %s",
                           base->folder, candidate->folder, list, options);
        free(list);
        free(options);
    } else if (!share_engine(base, candidate)) {
        status = error_set(err, STATUS_INCOMPARABLE,
                           "%s and %s cannot be compared: no engine is in both (%s in BASE, %s in "
                           "CANDIDATE)",
                           base->folder, candidate->folder, base->cases[0].spec.engine,
                           candidate->cases[0].spec.engine);
    }
    text_list_free(&refused);
    text_list_free(&names);
    return status;
}

static bool same_values(const named_value_t *a, size_t n_a, const named_value_t *b, size_t n_b) {
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++) {
        size_t k = 0;
        while (k < n_b && strcmp(a[i].name, b[k].name) != 0)
            k++;
        if (k == n_b || !value_equal(&a[i].value, &b[k].value))
            return false;
    }
    return true;
}

char *guard_pair(const case_result_t *base, const case_result_t *candidate,
                 const text_list_t *allow) {
    const case_t *a = &base->spec, *b = &candidate->spec;
    const struct {
        const char *name, *what;
        bool same;
    } parts[] = {
        {"engine", "engine",
         strcmp(a->engine, b->engine) == 0 && strcmp(a->device, b->device) == 0},
        {"dtype", "dtype", strcmp(a->dtype, b->dtype) == 0},
        {"params", "set of params", same_values(a->params, a->n_params, b->params, b->n_params)},
        {"techniques", "set of techniques",
         same_values(a->techniques, a->n_techniques, b->techniques, b->n_techniques)},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].same && !text_list_has(allow, parts[i].name))
            return mem_format("different %s under the same id (--allow %s)", parts[i].what,
                              parts[i].name);
    return NULL;
}
