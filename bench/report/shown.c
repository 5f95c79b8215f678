#include "report/shown.h"

#include "base/memory.h"
#include "limits/limits.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

/* ---- workloads ------------------------------------------------------------------------------- */

static bool is_part_of(const case_result_t *result, const char *workload) {
    return is_calibration(&result->spec) || strcmp(result->spec.workload, workload) == 0;
}

static bool has_sizes(const char *workload) {
    const workload_t *known = workload_find(workload);
    return known != NULL && known->size_param != NULL;
}

static void fill_part(const shown_run_t *shown, shown_part_t *part, const char *workload) {
    const record_t *whole = shown->whole;
    part->workload = workload;
    part->whole = whole;
    part->steady = *whole;
    part->steady.cases = mem_zeroed(whole->n_cases + 1, sizeof *part->steady.cases);
    part->steady.n_cases = 0;
    part->steady.by_id = NULL;
    for (size_t i = 0; i < whole->n_cases; i++)
        if (is_part_of(&whole->cases[i], workload) && !is_cold_start(&whole->cases[i])) {
            part->steady.cases[part->steady.n_cases++] = whole->cases[i]; /* borrowed */
            part->n_cases += !is_calibration(&whole->cases[i].spec);
        }
    if (has_sizes(workload))
        part->sets = comparison_sets_of(&part->steady, workload);
    part->boots = boots_with(&shown->boots, workload);
    for (size_t s = 0; s < part->sets.n; s++)
        boots_widen_set(&part->boots, &part->sets.items[s]);
    part->headline = (headline_part_t){&part->steady, &part->sets, NULL, &part->boots};
}

void shown_select(shown_run_t *shown, const char *only) {
    const record_t *whole = shown->whole;
    shown->parts = mem_zeroed(whole->n_cases + 1, sizeof *shown->parts);
    for (size_t i = 0; i < whole->n_cases; i++) {
        const case_t *spec = &whole->cases[i].spec;
        bool known = is_calibration(spec) || (only != NULL && strcmp(only, spec->workload) != 0);
        for (size_t p = 0; p < shown->n_parts && !known; p++)
            known = strcmp(shown->parts[p].workload, spec->workload) == 0;
        if (!known)
            fill_part(shown, &shown->parts[shown->n_parts++], spec->workload);
    }
}

void shown_free_parts(shown_run_t *shown) {
    for (size_t i = 0; i < shown->n_parts; i++) {
        comparison_set_list_free(&shown->parts[i].sets);
        free(shown->parts[i].steady.cases);
        boots_free(&shown->parts[i].boots);
    }
    free(shown->parts);
}

/* ---- runs ------------------------------------------------------------------------------------ */

void shown_list_free(shown_list_t *list) {
    for (size_t i = 0; i < list->n; i++) {
        shown_free_parts(&list->items[i]);
        boots_free(&list->items[i].boots);
    }
    records_free(&list->loaded);
    free(list->items);
    free(list->parts);
}

static size_t count_compared(const record_t *run) {
    size_t n = 0;
    for (size_t i = 0; i < run->n_cases; i++)
        n += !is_calibration(&run->cases[i].spec);
    return n;
}

/* Has the run only cases of other ones, of which one has more? */
static bool is_part(const record_t *runs, size_t n, const record_t *run) {
    AUTO_FREE bool *shared = mem_zeroed(run->n_cases + 1, sizeof *shared);
    bool all = false;
    for (size_t i = 0; i < n; i++) {
        const size_t n_shared = &runs[i] != run ? boots_shared_cases(&runs[i], run, shared) : 0;
        all = all || (n_shared > 0 && n_shared < count_compared(&runs[i]));
    }
    for (size_t c = 0; c < run->n_cases && all; c++)
        all = shared[c] || is_calibration(&run->cases[c].spec);
    return all;
}

/* As another boot of a listed run, or to be shown itself. */
static status_t add_run(shown_list_t *list, record_t *run, error_t *err) {
    for (size_t i = 0; i < list->n; i++)
        if (boots_same_sweeps(list->items[i].whole, run))
            return boots_add(&list->items[i].boots, list->items[i].whole, run, err);
    device_rates_set_limits_again(run);
    list->items[list->n++].whole = run;
    return STATUS_OK;
}

/* A run that is a part of others: another boot of each listed one that it shares cases with. */
static status_t add_part(shown_list_t *list, record_t *run, error_t *err) {
    bool is_boot = false;
    for (size_t i = 0; i < list->n; i++) {
        shown_run_t *shown = &list->items[i];
        if (boots_shared_cases(shown->whole, run, NULL) == 0)
            continue;
        is_boot = true;
        TRY(boots_add(&shown->boots, shown->whole, run, err));
    }
    return is_boot ? STATUS_OK : add_run(list, run, err);
}

status_t shown_load(const char *const *folders, size_t n, shown_list_t *list, error_t *err) {
    if (n == 0)
        return error_set(err, STATUS_USAGE, "nothing to report: no run was given");
    TRY(records_load(folders, n, &list->loaded, err));
    record_t *runs = list->loaded.items;
    AUTO_FREE bool *parts = mem_zeroed(n, sizeof *parts);
    list->items = mem_zeroed(n, sizeof *list->items);
    for (size_t i = 0; i < n; i++)
        parts[i] = is_part(runs, n, &runs[i]);
    for (size_t i = 0; i < n; i++)
        if (!parts[i])
            TRY(add_run(list, &runs[i], err));
    for (size_t i = 0; i < n; i++)
        if (parts[i])
            TRY(add_part(list, &runs[i], err));
    for (size_t i = 0; i < list->n; i++) {
        shown_run_t *shown = &list->items[i];
        shown_select(shown, NULL);
        list->parts =
            mem_resize(list->parts, list->n_parts + shown->n_parts + 1, sizeof *list->parts);
        for (size_t p = 0; p < shown->n_parts; p++) {
            list->parts[list->n_parts++] = &shown->parts[p];
            shown->parts[p].number = list->n_parts;
        }
    }
    return STATUS_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

const char *shown_machine(const report_t *report, const record_t *run) {
    const char *name = environment_get(&run->environment, "gpu.name");
    if (name == NULL)
        name = environment_get(&run->environment, "host.cpu");
    return report_safe(report, name != NULL ? name : "unknown machine");
}

const char *shown_date(const report_t *report, const record_t *run) {
    const size_t length = strlen("2026-03-02");
    if (run->started == NULL || strlen(run->started) < length)
        return "unknown date";
    return report_safe(report, report_keep(report, mem_text_n(run->started, length)));
}

const char *report_dates(const report_t *report, text_list_t *dates) {
    text_list_sort(dates);
    const char *text = report_text(report, dates->n > 1 ? "%s to %s" : "%s", dates->items[0],
                                   dates->items[dates->n - 1]);
    text_list_free(dates);
    return text;
}

const char *revision_text(const report_t *report, const record_t *run) {
    const char *revision = environment_get(&run->environment, "git.revision");
    const char *dirty = environment_get(&run->environment, "git.dirty");
    return report_text(
        report, "git %s%s", revision != NULL ? report_safe(report, revision) : "not recorded",
        dirty != NULL && strcmp(dirty, "true") == 0 ? " with uncommitted changes" : "");
}
