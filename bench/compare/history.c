#include "compare/compare.h"

#include "base/memory.h"
#include "base/units.h"
#include "compare/comparison.h"
#include "io/json.h"
#include "io/output.h"
#include "results/conditions.h"
#include "results/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct history_point {
    double median, low, high; /* ns; 95 % interval of the median */
} history_point_t;

/* One phase of one case over many runs. */
typedef struct history {
    char *id, *phase;
    size_t n_runs, n_times;
    history_point_t
        *points; /* for each run; NaN if it has no times of the case that may be compared */
    text_list_t
        left_out; /* "RUN: self-reported": times that may not be compared with those before */
} history_t;

typedef struct history_list {
    history_t *items;
    size_t n, capacity;
} history_list_t;

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
    AUTO(text_list_free) text_list_t phases = {0};
    text_list_add(&phases, phase);
    char *why = conditions_of_case(result, &phases, allow);
    if (why == NULL && before != NULL)
        why = conditions_of_pair(before, result, &phases, allow, NAMES);
    return why;
}

static history_t series_of(const char *id, const char *phase, const record_t *runs, size_t n_runs,
                           const text_list_t *allow) {
    history_t series = {.id = mem_text(id), .phase = mem_text(phase), .n_runs = n_runs};
    const case_result_t *before = NULL;
    series.points = mem_alloc((n_runs + 1) * sizeof *series.points);
    for (size_t r = 0; r < n_runs; r++) {
        const case_result_t *result = record_find(&runs[r], id);
        const phase_t *found = timed_in(result, phase);
        AUTO_FREE char *why = found != NULL ? obstacle_of(before, result, phase, allow) : NULL;
        if (why != NULL)
            text_list_add_format(&series.left_out, "%s: %s", runs[r].name, why);
        const bool timed = found != NULL && why == NULL;
        series.n_times += timed;
        series.points[r] = (history_point_t){NAN, NAN, NAN};
        if (!timed)
            continue;
        before = result;
        series.points[r] = (history_point_t){found->summary.median, found->summary.ci95[0],
                                             found->summary.ci95[1]};
    }
    return series;
}

/* Cases of earlier runs are already collected. */
static bool is_first(const record_t *runs, size_t run, const char *id) {
    for (size_t r = 0; r < run; r++)
        if (record_find(&runs[r], id) != NULL)
            return false;
    return true;
}

/* Every case of any run, in order of appearance, with the asked phases (none: host_to_host or
 * total, and the kernel's). */
static history_list_t collect(const record_t *runs, size_t n_runs,
                              const history_options_t *options) {
    history_list_t list = {0};
    const char *case_id = options->case_id;
    for (size_t r = 0; r < n_runs; r++)
        for (size_t i = 0; i < runs[r].n_cases; i++) {
            const case_result_t *result = &runs[r].cases[i];
            if (is_calibration(&result->spec) || !is_first(runs, r, result->spec.id) ||
                (case_id != NULL && strcmp(case_id, result->spec.id) != 0))
                continue;
            AUTO(text_list_free)
            text_list_t names = comparison_common_phases(result, NULL, &options->phases);
            for (size_t p = 0; p < names.n; p++) {
                mem_grow(&list.items, list.n, &list.capacity, sizeof *list.items);
                list.items[list.n++] =
                    series_of(result->spec.id, names.items[p], runs, n_runs, &options->allow);
            }
        }
    return list;
}

static void free_list(history_list_t *list) {
    for (size_t i = 0; i < list->n; i++) {
        history_t *series = &list->items[i];
        free(series->id);
        free(series->phase);
        free(series->points);
        text_list_free(&series->left_out);
    }
    free(list->items);
    *list = (history_list_t){0};
}

/* The first and the last median; NaN without times. */
static void find_ends(const history_t *series, double *first, double *last) {
    *first = *last = NAN;
    for (size_t r = 0; r < series->n_runs; r++)
        if (!isnan(series->points[r].median)) {
            *first = isnan(*first) ? series->points[r].median : *first;
            *last = series->points[r].median;
        }
}

static bool is_changed(const history_t *series, double least_frac) {
    double first, last;
    find_ends(series, &first, &last);
    return fabs(log(last / first)) >= log1p(least_frac);
}

static bool is_shown(const history_t *series, const history_options_t *options) {
    return options->all || series->left_out.n > 0 || is_changed(series, options->least_frac);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* "not comparable: 2026-03-07: self-reported, …"; "" if all runs are. */
static char *left_out_text(const history_t *series) {
    char *text;
    if (series->left_out.n == 0)
        return mem_text("");
    if (series->left_out.n == 1)
        text = mem_format("not comparable: %s", series->left_out.items[0]);
    else
        text = mem_format("%zu runs not comparable (%s; …)", series->left_out.n,
                          series->left_out.items[0]);
    text_make_plain(text);
    return text;
}

static void print_table(const history_options_t *options, const history_list_t *list) {
    static const char *const HEADINGS[] = {"case", "phase", "runs", "first", "last", "change", ""};
    size_t n_changed = 0;
    table_t table = table_make("llrrrrl", HEADINGS);
    for (size_t i = 0; i < list->n; i++) {
        const history_t *series = &list->items[i];
        char text[UNITS_TEXT];
        double first, last;
        n_changed += is_changed(series, options->least_frac);
        if (!is_shown(series, options))
            continue;
        find_ends(series, &first, &last);
        table_add(&table, series->id);
        table_add(&table, series->phase);
        table_add_format(&table, "%zu", series->n_times);
        table_add(&table, units_time(text, first));
        table_add(&table, units_time(text, last));
        if (isnan(first))
            table_add(&table, "–");
        else
            table_add_format(&table, "%+.1f %%", (last / first - 1) * 100);
        table_take(&table, left_out_text(series));
        table_end_row(&table);
    }
    table_print(&table, "\n", stdout);
    fprintf(stdout, "%zu runs, %zu series (a phase of a case), %zu changed by at least %.3g %%.\n",
            options->runs->n, list->n, n_changed, 100 * options->least_frac);
}

static json_t *series_to_json(const history_t *series) {
    json_t *medians = json_array(), *intervals = json_array();
    for (size_t r = 0; r < series->n_runs; r++) {
        const history_point_t *point = &series->points[r];
        json_array_append_new(medians, json_finite(point->median));
        json_array_append_new(
            intervals, json_pack("[o, o]", json_finite(point->low), json_finite(point->high)));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "id", json_text(series->id), "phase",
                     json_text(series->phase), "median_ns", medians, "ci95_ns", intervals,
                     "not_comparable", json_texts(&series->left_out));
}

static void print_json(const history_options_t *options, const history_list_t *list) {
    json_t *all = json_array();
    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(all, series_to_json(&list->items[i]));
    json_t *json =
        json_pack("{s:i, s:o, s:o}", "schema", 1, "runs", json_texts(options->runs), "series", all);
    json_print(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9), stdout);
}

/* ---- the command ----------------------------------------------------------------------------- */

static status_t report(const history_options_t *options, const history_list_t *list,
                       const record_t *runs, error_t *err) {
    if (list->n == 0 && options->case_id != NULL) {
        AUTO_FREE char *hint = record_hint(&runs[0], options->case_id);
        return error_set(err, STATUS_USAGE, "--case %s: no run has that case%s", options->case_id,
                         hint);
    }
    if (list->n == 0 && options->phases.n > 0)
        return error_set(err, STATUS_USAGE, "--phase %s: no case of these runs has times in it",
                         options->phases.items[0]);
    if (options->json)
        print_json(options, list);
    else
        print_table(options, list);
    return STATUS_OK;
}

/* Each run must be comparable with the one before. */
static status_t check_runs(const record_t *runs, size_t n_runs, const text_list_t *allow,
                           error_t *err) {
    AUTO(text_list_free) text_list_t allowed = {0};
    TRY(guard_check_allow(allow, err));
    for (size_t r = 1; r < n_runs; r++)
        TRY(guard_runs(&runs[r - 1], &runs[r], allow, &allowed, err));
    return STATUS_OK;
}

status_t history_runs(const history_options_t *options, error_t *err) {
    AUTO(records_free) record_list_t runs = {0};
    TRY(records_load((const char *const *)options->runs->items, options->runs->n, &runs, err));
    TRY(check_runs(runs.items, runs.n, &options->allow, err));
    AUTO(free_list) history_list_t list = collect(runs.items, runs.n, options);
    return report(options, &list, runs.items, err);
}
