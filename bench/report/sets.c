#include "report/sets.h"

#include "analysis/learning.h"
#include "report/headline.h"
#include "workloads/common/workload.h"

#include <string.h>

bool set_is_by_operation(const comparison_set_t *set) {
    const case_result_t *result = NULL;
    while ((result = record_next(set->run, result)) != NULL)
        if (is_by_operation(result) && comparison_set_shares_work(set, &result->spec))
            return true;
    return false;
}

const size_row_t *set_reference(const comparison_set_t *set) {
    const size_row_t *reference = NULL;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        if (row->size == set->reference_size && has_headline(row))
            return row;
        if (reference == NULL || has_headline(row) || !has_headline(reference))
            reference = row;
    }
    return reference;
}

bool has_contender(const size_row_t *row) {
    return row->best != NULL || row->strongest != NULL;
}

/* ---- the same cases, other sides ------------------------------------------------------------- */

static comparison_set_t with_own_rows(const report_t *report, const comparison_set_t *set) {
    comparison_set_t own = *set;
    own.rows = report_array(report, set->n_rows, sizeof *own.rows);
    memcpy(own.rows, set->rows, set->n_rows * sizeof *own.rows);
    return own;
}

static bool is_polling_mode(const case_t *spec) {
    const char *const *mode = workload_find(spec->workload)->pytorch_polling;
    if (mode == NULL || strcmp(spec->engine, "pytorch") != 0)
        return false;
    while (*mode != NULL && strcmp(*mode, spec->variant) != 0)
        mode++;
    return *mode != NULL;
}

static bool waits_by_polling(const case_result_t *result) {
    const char *wait = result != NULL ? case_technique(&result->spec, "wait") : NULL;
    return (wait != NULL && strcmp(wait, "poll") == 0) ||
           (result != NULL && is_polling_mode(&result->spec));
}

bool is_by_polling(const size_row_t *row) {
    return waits_by_polling(row->best) && has_headline(row);
}

static const case_result_t *fastest_synchronising(const comparison_set_t *set, int64_t batch,
                                                  const char *whose) {
    const case_result_t *fastest = NULL, *result = NULL;
    while ((result = comparison_set_next(set, result, whose, batch)) != NULL)
        if (!waits_by_polling(result) && can_be_fastest(result))
            fastest = faster_case(fastest, result, set->phase);
    return fastest;
}

comparison_set_t set_without_polling(const report_t *report, const comparison_set_t *set) {
    comparison_set_t own = with_own_rows(report, set);
    for (size_t i = 0; i < own.n_rows; i++) {
        size_row_t *row = &own.rows[i];
        row->best = fastest_synchronising(set, row->size, OURS);
        row->strongest = fastest_synchronising(set, row->size, RIVALS);
        row->headline = speedup_make(row->best, set->phase, row->strongest, set->phase);
    }
    return own;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void add_view(const report_t *report, views_t *views, const comparison_set_t *set) {
    views->items[views->n++] =
        (view_t){set, report_text(report, "%s, `%s`", set_name(report, set), set->phase)};
}

views_t views_of(const report_t *report, const comparison_set_list_t *sets) {
    views_t views = {report_array(report, 2 * sets->n, sizeof *views.items), 0};
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        if (comparison_set_count(set).timed == 0 || headline_omits(sets, i))
            continue;
        add_view(report, &views, set);
        if (!phase_is_call(set->phase))
            continue;
        comparison_set_t *whole = report_array(report, 1, sizeof *whole);
        *whole = comparison_set_by_whole(set);
        if (report->boots != NULL)
            boots_widen_set(report->boots, whole);
        if (strcmp(whole->phase, set->phase) != 0 && fitting_rows(whole, has_contender, NULL) > 0)
            add_view(report, &views, whole);
        else
            comparison_set_free_rows(whole);
    }
    return views;
}

/* A set of a whole sample stands behind the set that it is of. */
void views_free(views_t *views) {
    for (size_t i = 1; i < views->n; i++)
        if (views->items[i].set->key == views->items[i - 1].set->key) {
            comparison_set_t whole = *views->items[i].set;
            comparison_set_free_rows(&whole);
        }
}
