/* Shared by the sections on trainings: selection of cases, names. */
#include "report/training/training.h"

#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- cases ----------------------------------------------------------------------------------- */

static bool is_chosen(const comparison_set_t *set, unsigned choice, const case_result_t *result) {
    const bool owned =
        ((choice & OF_OURS) != 0 && comparison_set_has(set, result, OURS)) ||
        ((choice & OF_RIVALS) != 0 && comparison_set_has(set, result, RIVALS)) ||
        ((choice & OF_ANYONE) != 0 && comparison_set_shares_work(set, &result->spec));
    return owned && ((choice & ONLY_OK) == 0 || result->status == CASE_OK) &&
           ((choice & NOT_ALGORITHMIC) == 0 || !result_is_algorithmic(result));
}

const case_result_t *next_case(const comparison_set_t *set, unsigned choice, int64_t size,
                               const case_result_t *previous) {
    const case_result_t *result = previous;
    do
        result = size == ANY_SIZE ? record_next(set->run, result)
                                  : comparison_set_next_at(set, result, size);
    while (result != NULL && !is_chosen(set, choice, result));
    return result;
}

const case_result_t *find_case(const comparison_set_t *set, unsigned choice, int64_t size,
                               bool (*fits)(const case_result_t *result)) {
    const case_result_t *result = NULL;
    while ((result = next_case(set, choice, size, result)) != NULL)
        if (fits(result))
            return result;
    return NULL;
}

static int by_variant(const void *a, const void *b) {
    const case_result_t *x = *(const case_result_t *const *)a,
                        *y = *(const case_result_t *const *)b;
    int order = strcmp(x->spec.variant, y->spec.variant);
    return order != 0 ? order : strcmp(x->spec.id, y->spec.id);
}

const case_result_t **ladder_at(const report_t *report, const comparison_set_t *set, int64_t size,
                                size_t *n) {
    const unsigned choice = OF_OURS | ONLY_OK | NOT_ALGORITHMIC;
    const case_result_t **rungs = report_array(report, set->run->n_cases, sizeof *rungs);
    *n = 0;
    const case_result_t *c = NULL;
    while ((c = next_case(set, choice, size, c)) != NULL)
        if (!is_rougher(&c->spec) && !has_other_allocator(&c->spec) &&
            isfinite(result_median(c, training_phase(c))))
            rungs[(*n)++] = c;
    qsort(rungs, *n, sizeof *rungs, by_variant);
    return rungs;
}

const size_row_t *reference_row(const comparison_set_t *set) {
    const size_row_t *reference = NULL;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        if (row->size == set->reference_size && row->best != NULL)
            return row;
        if (reference == NULL || has_headline(row) || !has_headline(reference))
            reference = row;
    }
    return reference;
}

bool is_timed(const comparison_set_t *set) {
    return set != NULL && comparison_set_count(set).timed > 0;
}

const comparison_set_t *timed_set(const training_pair_t *pair) {
    return is_timed(pair->gpu) ? pair->gpu : pair->cpu;
}

const char *training_phase(const case_result_t *result) {
    return result_phase(result, "train_device") != NULL ? "train_device" : "train";
}

double step_ns(const training_pair_t *pair, const case_result_t *result) {
    const training_t *training = pair->training;
    const int64_t steps = case_param_int(&result->spec, training->steps_param, 1);
    return result_median(result, training_phase(result)) /
           fmin((double)steps, training->most_steps);
}

/* ---- texts ----------------------------------------------------------------------------------- */

void *report_array(const report_t *report, size_t count, size_t bytes) {
    return arena_buffer(report->texts, (count + 1) * bytes);
}

const char *bytes_text(const report_t *report, double bytes) {
    return units_bytes(report_buffer(report), bytes);
}

const char *size_name_of(const report_t *report, const comparison_set_t *set,
                         const case_result_t *result) {
    return size_name(report, set, size_of_case(set, &result->spec));
}

const char *contender_text(const report_t *report, const case_result_t *result) {
    char label[32];
    return report_text(report, "%s %s",
                       report_safe(report, case_engine_label(&result->spec, label)),
                       name_cell(report, result));
}

const char *algorithmic_mark(const case_result_t *result) {
    return result_is_algorithmic(result) ? " *(algorithmic)*" : "";
}

columns_t columns_by_size(const report_t *report, const comparison_set_t *set,
                          const column_t *first, size_t n_first) {
    column_t *columns = report_array(report, n_first + set->n_rows, sizeof *columns);
    memcpy(columns, first, n_first * sizeof *first);
    for (size_t i = 0; i < set->n_rows; i++)
        columns[n_first + i] = (column_t){size_name(report, set, set->rows[i].size), 'r', false};
    return columns_begin(report, columns, n_first + set->n_rows);
}
