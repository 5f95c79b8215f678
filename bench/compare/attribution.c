/* Likely causes of a change: code or environment. See comparison.h. */
#include "compare/comparison.h"

#include "analysis/contenders.h"
#include "base/memory.h"
#include "results/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Add `what` and the items, if any; frees `items`. */
static void add_joined(text_list_t *parts, const char *what, text_list_t *items) {
    char *list = text_list_join(items, ", ");
    if (items->n > 0)
        text_list_add_format(parts, "%s%s", what, list);
    free(list);
    text_list_free(items);
}

static void add_count(text_list_t *list, const char *what, const char *unit, int64_t a, int64_t b) {
    if (a != b)
        text_list_add_format(list, "%s %lld → %lld%s", what, (long long)a, (long long)b, unit);
}

static void add_reading(text_list_t *list, const char *what, const char *unit, const double a[2],
                        const double b[2]) {
    double before = (a[0] + a[1]) / 2, after = (b[0] + b[1]) / 2;
    if (condition_is_notable(before, after)) /* NaN: not read */
        text_list_add_format(list, "%s %.0f → %.0f %s", what, before, after, unit);
}

static void add_code(text_list_t *list, const resources_t *a, const resources_t *b) {
    add_count(list, "registers", "", a->registers, b->registers);
    add_count(list, "spills", " B", a->spill_bytes, b->spill_bytes);
    add_count(list, "shared memory", " B", a->shared_bytes, b->shared_bytes);
    if (fabs(a->occupancy_frac - b->occupancy_frac) > 0.005)
        text_list_add_format(list, "occupancy %.0f → %.0f %%", a->occupancy_frac * 100,
                             b->occupancy_frac * 100);
    if (list->n == 0)
        text_list_add(list, "different instructions, same registers, spills and shared memory");
}

static bool has_change(const comparison_t *comparison, const char *key) {
    for (size_t i = 0; i < comparison->differing.n; i++)
        if (strcmp(comparison->differing.items[i].key, key) == 0)
            return true;
    return false;
}

/* Flags that `others` lack. */
static void add_flags(text_list_t *list, const text_list_t *flags, const text_list_t *others,
                      const char *what) {
    for (size_t i = 0; i < flags->n; i++)
        if (!text_list_has(others, flags->items[i]))
            text_list_add_format(list, "%s %s", flags->items[i], what);
}

/* Older runs did not record compiler flags. */
static void add_compiler(text_list_t *parts, const comparison_t *comparison,
                         const text_list_t *base, const text_list_t *candidate) {
    text_list_t differ = {0};
    if (base->n > 0 && candidate->n > 0) {
        add_flags(&differ, candidate, base, "added");
        add_flags(&differ, base, candidate, "removed");
    }
    add_joined(parts, "flags differ: ", &differ);
    if (has_change(comparison, "versions.cuda_compiler"))
        text_list_add(parts, "different CUDA compiler");
}

/* Is the fact one of a worker, and not of the case's? "workers.cpu.openmp_threads" says nothing about PyTorch. */
static bool is_of_other_worker(const char *key, const case_t *spec) {
    static const char WORKERS[] = "workers.";
    char text[32];
    if (!text_starts(key, WORKERS))
        return false;
    const char *worker = key + strlen(WORKERS), *label = case_engine_label(spec, text);
    const size_t n = strlen(label), n_variant = strlen(spec->variant);
    if (!text_starts(worker, label))
        return true;
    return worker[n] != '.' && !(worker[n] == '-' && text_starts(worker + n + 1, spec->variant) &&
                                 worker[n + 1 + n_variant] == '.');
}

/* Code that a sentence of its own tells of; versions besides that are where the case's worker runs. */
static bool is_told_as_code(const comparison_t *comparison, const run_difference_t *one,
                            const case_t *spec) {
    if (!condition_is_of_code(one->key) || !text_starts(one->key, "workers."))
        return condition_is_of_code(one->key);
    const char *version =
        engine_is_rival(spec->engine) ? rival_version(&comparison->base->environment, spec) : NULL;
    return version != NULL && one->first != NULL && strcmp(version, one->first) == 0;
}

/* What differs between the runs, besides the code, and concerns the case. */
static void add_names(text_list_t *names, const comparison_t *comparison, const case_t *spec) {
    for (size_t i = 0; i < comparison->allowed.n; i++) { /* "driver: a in BASE, b in CANDIDATE" */
        const char *text = comparison->allowed.items[i];
        text_list_take(names, mem_text_n(text, strcspn(text, ":")));
    }
    for (size_t i = 0; i < comparison->differing.n; i++) {
        const run_difference_t *one = &comparison->differing.items[i];
        if (!is_told_as_code(comparison, one, spec) && !is_of_other_worker(one->key, spec))
            text_list_add(names, one->key);
    }
}

/* Readings during the case, and facts that differ between the runs. */
static void add_environment(text_list_t *parts, const comparison_t *comparison,
                            const case_result_t *base, const case_result_t *candidate) {
    const device_state_t *a = &base->device, *b = &candidate->device;
    add_reading(parts, "SM clock", "MHz", a->sm_mhz, b->sm_mhz);
    add_reading(parts, "power", "W", a->power_w, b->power_w);
    for (size_t i = 0; i < b->throttle.n; i++)
        if (!text_list_has(&a->throttle, b->throttle.items[i]))
            text_list_add_format(parts, "throttled now: %s", b->throttle.items[i]);
    if (fabs(candidate->cpu_taken_frac - base->cpu_taken_frac) > BUSY_FRAC) /* NaN: unknown */
        text_list_add_format(parts, "other programs took %.0f → %.0f %% of its CPU time",
                             base->cpu_taken_frac * 100, candidate->cpu_taken_frac * 100);
    text_list_t names = {0};
    add_names(&names, comparison, &base->spec);
    add_joined(parts, "the runs differ in ", &names);
}

/* Of a source tree that both runs were measured from. */
static const char *same_revision(const environment_t *before, const environment_t *after) {
    static const char *const TREES[][2] = {{"git.dirty", "git.changes"},
                                           {"git.folder.dirty", "git.folder.changes"}};
    const char *said = "same revision";
    for (size_t i = 0; i < sizeof TREES / sizeof *TREES; i++) {
        const char *dirty = environment_get(after, TREES[i][0]);
        if (dirty == NULL || strcmp(dirty, "true") != 0)
            continue;
        if (environment_get(before, TREES[i][1]) == NULL ||
            environment_get(after, TREES[i][1]) == NULL) /* older runs do not tell which */
            return "code may have changed: uncommitted changes";
        said = "same revision, and the same uncommitted changes";
    }
    return said;
}

/* A case without a CUDA program of this project: its code is the worker's. */
static void add_worker_code(text_list_t *parts, const comparison_t *comparison,
                            const case_t *spec) {
    const environment_t *before = &comparison->base->environment;
    const environment_t *after = &comparison->candidate->environment;
    const bool rival = engine_is_rival(spec->engine);
    const char *old = rival ? rival_version(before, spec) : NULL;
    const char *new = rival ? rival_version(after, spec) : NULL;
    char *files = mem_format("operators.%s", spec->workload);
    if (old != NULL && new != NULL && strcmp(old, new) != 0)
        text_list_add_format(parts, "code: different %s", engine_name(spec->engine));
    else if (!rival && has_change(comparison, "versions.compiler"))
        text_list_add(parts, "code: different C compiler");
    else if (has_change(comparison, "git.revision") ||
             has_change(comparison, "git.folder.revision"))
        text_list_add(parts, "code may have changed: different revision");
    else if (has_change(comparison, files))
        text_list_add(parts, "code may have changed: different files of the operator");
    else if (has_change(comparison, "git.dirty") || has_change(comparison, "git.changes") ||
             has_change(comparison, "git.folder.dirty") ||
             has_change(comparison, "git.folder.changes"))
        text_list_add(parts, "code may have changed: different uncommitted changes");
    else
        text_list_add(parts, same_revision(before, after));
    free(files);
}

char *cause_of_pair(const comparison_t *comparison, const case_result_t *base,
                    const case_result_t *candidate) {
    const resources_t *a = &base->resources, *b = &candidate->resources;
    text_list_t code = {0}, parts = {0}, around = {0};
    add_environment(&around, comparison, base, candidate);
    if (a->code_hash == NULL || b->code_hash == NULL) {
        add_worker_code(&parts, comparison, &base->spec);
    } else if (strcmp(a->code_hash, b->code_hash) == 0) {
        text_list_add(&parts, "same machine code");
        if (around.n == 0)
            text_list_add(&around, "environment: no recorded fact differs");
    } else {
        add_code(&code, a, b);
        add_joined(&parts, "code: ", &code);
        add_compiler(&parts, comparison, &a->flags, &b->flags);
    }
    for (size_t i = 0; i < around.n; i++)
        text_list_add(&parts, around.items[i]);
    char *text = text_list_join(&parts, "; ");
    text_list_free(&parts);
    text_list_free(&around);
    return text;
}
