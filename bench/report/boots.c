#include "report/boots.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_fact(const record_t *a, const record_t *b, const char *key) {
    const char *x = environment_get(&a->environment, key),
               *y = environment_get(&b->environment, key);
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static bool same_sweeps(const record_t *a, const record_t *b) {
    bool same = a->n_sweeps == b->n_sweeps && a->n_sweeps > 0;
    for (size_t i = 0; same && i < a->n_sweeps; i++)
        same = strcmp(a->sweeps[i].text, b->sweeps[i].text) == 0;
    return same;
}

/* Are all cases of `part` in the run, and more? */
static bool is_part(const record_t *part, const record_t *run) {
    record_index_t index = record_index_make(run);
    bool all = part->n_cases < run->n_cases;
    for (size_t i = 0; i < part->n_cases && all; i++)
        all = is_calibration(&part->cases[i].spec) ||
              record_index_find(&index, part->cases[i].spec.id) != NULL;
    record_index_free(&index);
    return all;
}

/* Facts that must agree: the devices and all versions, but not our own, git.revision: each change to a
 * document has another. The report names it, as a change of this program may be part of the range. */
static bool is_condition(const char *key) {
    static const char *const KEYS[] = {"gpu.driver", "gpu.mig", "gpu.ecc", "measure.mode",
                                       "host.cpu"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (strcmp(key, KEYS[i]) == 0)
            return true;
    return text_starts(key, "versions.");
}

/* Conditions of `a` that `b` lacks or has otherwise; with `missing` only those that it lacks. */
static void add_differences(text_list_t *list, const environment_t *a, const environment_t *b,
                            bool missing) {
    for (size_t i = 0; i < a->n; i++) {
        const char *key = a->facts[i].key, *value = a->facts[i].value;
        const char *other = environment_get(b, key);
        if (!is_condition(key) || (missing && other != NULL))
            continue;
        if (other == NULL || strcmp(value, other) != 0)
            text_list_add_format(list, "%s: %s and %s", key, missing ? "none" : value,
                                 missing         ? value
                                 : other != NULL ? other
                                                 : "none");
    }
}

static text_list_t differences_of(const record_t *a, const record_t *b) {
    text_list_t list = {0};
    add_differences(&list, &a->environment, &b->environment, false);
    add_differences(&list, &b->environment, &a->environment, true);
    if (a->schema != b->schema)
        text_list_add_format(&list, "schema: %d and %d", a->schema, b->schema);
    return list;
}

bool boots_match(const record_t *first, const record_t *run) {
    const bool gpu = environment_get(&first->environment, "gpu.name") != NULL;
    if (!same_fact(first, run, "gpu.name") || (!gpu && !same_fact(first, run, "host.cpu")))
        return false;
    if (same_sweeps(first, run))
        return true;
    text_list_t differences = differences_of(first, run);
    const bool same = differences.n == 0 && same_fact(first, run, "measure.quick");
    text_list_free(&differences);
    return same && is_part(run, first);
}

status_t boots_add(boots_t *boots, const record_t *first, const record_t *run, error_t *err) {
    text_list_t differences = differences_of(first, run);
    status_t status = STATUS_OK;
    if (differences.n > 0) {
        char *list = text_list_join(&differences, "; ");
        status =
            error_set(err, STATUS_INCOMPARABLE,
                      "%s and %s have the same sweeps on the same device, but are no boots of one "
                      "machine: %s",
                      first->folder, run->folder, list);
        free(list);
    } else {
        boots->runs = mem_resize(boots->runs, boots->n + 1, sizeof *boots->runs);
        boots->runs[boots->n++] = *run;
    }
    text_list_free(&differences);
    return status;
}

void boots_free(boots_t *boots) {
    for (size_t i = 0; i < boots->n; i++)
        record_free(&boots->runs[i]);
    free(boots->runs);
    *boots = (boots_t){0};
}

/* The same case of another boot; NULL if it has none, or runs other machine code. */
static const case_result_t *same_case(const record_t *run, const case_result_t *first) {
    const case_result_t *found = record_find(run, first->spec.id);
    const char *hash = first->resources.code_hash;
    if (found == NULL || hash == NULL || found->resources.code_hash == NULL)
        return found;
    return strcmp(hash, found->resources.code_hash) == 0 ? found : NULL;
}

static void take(boots_range_t *range, const case_result_t *ours, const case_result_t *theirs,
                 const char *phase) {
    if (ours == NULL || theirs == NULL)
        return;
    const speedup_t speedup = speedup_make(ours, phase, theirs, phase);
    if (speedup.verdict == VERDICT_NONE)
        return;
    const double ratio = speedup.ratio.centre;
    range->least = range->n == 0 ? ratio : fmin(range->least, ratio);
    range->most = fmax(range->most, ratio);
    range->n++;
}

boots_range_t boots_range(const boots_t *boots, const case_result_t *ours,
                          const case_result_t *theirs, const char *phase) {
    boots_range_t range = {0};
    if (ours == NULL || theirs == NULL)
        return range;
    take(&range, ours, theirs, phase);
    for (size_t i = 0; i < boots->n; i++)
        take(&range, same_case(&boots->runs[i], ours), same_case(&boots->runs[i], theirs), phase);
    return range;
}

bool boots_disagree(const boots_range_t *range) {
    return range->n > 1 && range->least < 1 && range->most > 1;
}
