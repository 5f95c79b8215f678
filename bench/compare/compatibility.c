/* Which runs and cases are comparable, by results/conditions.h, as messages: see comparison.h. */
#include "compare/comparison.h"

#include "base/memory.h"
#include "results/conditions.h"

#include <stdlib.h>
#include <string.h>

status_t guard_check_allow(const text_list_t *allow, error_t *err) {
    text_list_t all = conditions_names();
    status_t status = STATUS_OK;
    for (size_t i = 0; i < allow->n && status == STATUS_OK; i++) {
        if (text_list_has(&all, allow->items[i]))
            continue;
        char *hint = text_hint(allow->items[i], (const char *const *)all.items, all.n);
        char *list = text_list_join(&all, ", ");
        status = error_set(err, STATUS_USAGE, "--allow %s: expected one of %s%s", allow->items[i],
                           list, hint);
        free(list);
        free(hint);
    }
    text_list_free(&all);
    return status;
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
    run_differences_t list =
        conditions_broken(&base->environment, &candidate->environment, COMPARED);
    for (size_t i = 0; i < list.n; i++) {
        const run_difference_t *one = &list.items[i];
        const bool may = text_list_has(allow, one->allow);
        text_list_add_format(may ? allowed : &refused, "%s: %s in BASE, %s in CANDIDATE",
                             one->allow, one->first != NULL ? one->first : "none",
                             one->other != NULL ? one->other : "none");
        if (!may)
            text_list_add_format(&names, "--allow %s", one->allow);
    }
    conditions_free(&list);
    status_t status = STATUS_OK;
    if (refused.n > 0) {
        char *reasons = text_list_join(&refused, "; "), *options = text_list_join(&names, " ");
        status = error_set(err, STATUS_INCOMPARABLE,
                           "%s and %s cannot be compared: %s. To compare them anyway: %s",
                           base->folder, candidate->folder, reasons, options);
        free(reasons);
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

char *guard_pair(const case_result_t *base, const case_result_t *candidate,
                 const text_list_t *phases, const text_list_t *allow) {
    static const char *const NAMES[] = {"BASE", "CANDIDATE"};
    return conditions_of_pair(base, candidate, phases, allow, NAMES);
}
