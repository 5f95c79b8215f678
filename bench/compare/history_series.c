#include "compare/history_series.h"

#include "analysis/labels.h"
#include "base/memory.h"
#include "compare/comparison.h"
#include "results/conditions.h"
#include "stats/changepoints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- collecting ------------------------------------------------------------------------------ */

static const phase_t *timed_in(const case_result_t *result, const char *phase) {
    const phase_t *found =
        result != NULL && result->status == CASE_OK ? result_phase(result, phase) : NULL;
    return found != NULL && found->summary.median > 0 ? found : NULL;
}

/* Why the times may not stand beside those of the last run that had some; NULL if they may. */
static char *obstacle_of(const case_result_t *before, const case_result_t *result,
                         const char *phase, const text_list_t *allow) {
    static const char *const NAMES[] = {"the runs before", "this one"};
    text_list_t phases = {0};
    text_list_add(&phases, phase);
    char *why = conditions_of_case(result, &phases, allow);
    if (why == NULL && before != NULL)
        why = conditions_of_pair(before, result, &phases, allow, NAMES);
    text_list_free(&phases);
    return why;
}

static history_series_t series_of(const char *id, const char *phase, const record_t *runs,
                                  const record_index_t *indexes, size_t n_runs,
                                  const text_list_t *allow) {
    history_series_t series = {.id = mem_text(id), .phase = mem_text(phase), .n_runs = n_runs};
    const case_result_t *before = NULL;
    series.points = mem_alloc((n_runs + 1) * sizeof *series.points);
    for (size_t r = 0; r < n_runs; r++) {
        const case_result_t *result = record_index_find(&indexes[r], id);
        const phase_t *found = timed_in(result, phase);
        char *why = found != NULL ? obstacle_of(before, result, phase, allow) : NULL;
        if (why != NULL)
            text_list_add_format(&series.left_out, "%s: %s", runs[r].name, why);
        const bool timed = found != NULL && why == NULL;
        free(why);
        series.n_times += timed;
        series.points[r] = (history_point_t){NAN, NAN, NAN, NAN};
        if (!timed)
            continue;
        before = result;
        series.points[r] = (history_point_t){found->summary.median, found->summary.ci95[0],
                                             found->summary.ci95[1], NAN};
    }
    return series;
}

/* Cases of earlier runs are already collected. */
static bool is_first(const record_index_t *indexes, size_t run, const char *id) {
    for (size_t r = 0; r < run; r++)
        if (record_index_find(&indexes[r], id) != NULL)
            return false;
    return true;
}

history_list_t history_collect(const record_t *runs, size_t n_runs,
                               const history_options_t *options) {
    history_list_t list = {0};
    const char *case_id = options->case_id;
    record_index_t *indexes = mem_zeroed(n_runs, sizeof *indexes);
    for (size_t r = 0; r < n_runs; r++)
        indexes[r] = record_index_make(&runs[r]);
    for (size_t r = 0; r < n_runs; r++)
        for (size_t i = 0; i < runs[r].n_cases; i++) {
            const case_result_t *result = &runs[r].cases[i];
            if (is_calibration(&result->spec) || !is_first(indexes, r, result->spec.id) ||
                (case_id != NULL && strcmp(case_id, result->spec.id) != 0))
                continue;
            text_list_t names = comparison_common_phases(result, NULL, &options->phases);
            for (size_t p = 0; p < names.n; p++) {
                mem_grow(&list.items, list.n, &list.capacity, sizeof *list.items);
                list.items[list.n++] = series_of(result->spec.id, names.items[p], runs, indexes,
                                                 n_runs, &options->allow);
            }
            text_list_free(&names);
        }
    for (size_t r = 0; r < n_runs; r++)
        record_index_free(&indexes[r]);
    free(indexes);
    return list;
}

void history_list_free(history_list_t *list) {
    for (size_t i = 0; i < list->n; i++) {
        history_series_t *series = &list->items[i];
        free(series->id);
        free(series->phase);
        free(series->points);
        free(series->steps);
        text_list_free(&series->left_out);
    }
    free(list->items);
    *list = (history_list_t){0};
}

/* ---- fitting --------------------------------------------------------------------------------- */

static double mean_of(const double *values, size_t from, size_t to) {
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += values[i];
    return sum / (double)(to - from);
}

/* Merge the two neighbouring segments that differ least, while they differ by less than `least`. */
static size_t join_small(const double *logs, size_t n, size_t *starts, size_t n_starts,
                         double least) {
    while (n_starts > 1) {
        size_t smallest = 0;
        double difference = INFINITY, before = mean_of(logs, starts[0], starts[1]);
        for (size_t s = 1; s < n_starts; s++) {
            double mean = mean_of(logs, starts[s], s + 1 < n_starts ? starts[s + 1] : n);
            if (fabs(mean - before) < difference) {
                difference = fabs(mean - before);
                smallest = s;
            }
            before = mean;
        }
        if (difference >= least)
            break;
        memmove(&starts[smallest], &starts[smallest + 1],
                (n_starts - smallest - 1) * sizeof *starts);
        n_starts--;
    }
    return n_starts;
}

void history_fit(history_series_t *series, double least_frac) {
    /* Medians of runs never agree better than this; equal ones must not give a noise of 0. */
    static const double LEAST_NOISE = 1e-4;
    size_t n = 0, *at = mem_alloc((series->n_runs + 1) * sizeof *at),
           *starts = mem_alloc((series->n_runs + 1) * sizeof *starts);
    double *logs = mem_alloc((series->n_runs + 1) * sizeof *logs);
    for (size_t r = 0; r < series->n_runs; r++)
        if (!isnan(series->points[r].median)) {
            at[n] = r;
            logs[n++] = log(series->points[r].median);
        }
    size_t n_starts = changepoints_find(logs, n, changepoints_noise(logs, n, LEAST_NOISE), starts);
    n_starts = join_small(logs, n, starts, n_starts, log1p(least_frac));
    series->steps = mem_zeroed(n_starts + 1, sizeof *series->steps);
    series->n_steps = 0;
    for (size_t s = 0; s < n_starts; s++) {
        size_t end = s + 1 < n_starts ? starts[s + 1] : n;
        double level = exp(mean_of(logs, starts[s], end));
        if (s > 0)
            series->steps[series->n_steps++] =
                (history_step_t){at[starts[s]], level / series->points[at[starts[s] - 1]].level};
        for (size_t i = starts[s]; i < end; i++)
            series->points[at[i]].level = level;
    }
    free(logs);
    free(starts);
    free(at);
}

bool history_is_shown(const history_series_t *series, bool all) {
    return all || series->n_steps > 0 || series->left_out.n > 0;
}

void history_ends(const history_series_t *series, double *first, double *last) {
    *first = *last = NAN;
    for (size_t r = 0; r < series->n_runs; r++)
        if (!isnan(series->points[r].level)) {
            *first = isnan(*first) ? series->points[r].level : *first;
            *last = series->points[r].level;
        }
}
