#include "compare/history.h"

#include "base/memory.h"
#include "base/units.h"
#include "compare/comparison.h"
#include "compare/history_chart.h"
#include "compare/history_series.h"
#include "io/json_text.h"
#include "io/output.h"
#include "io/table.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- output ---------------------------------------------------------------------------------- */

/* "+8.1 % from 2026-03-05_b on, not comparable: 2026-03-07: self-reported, …" */
static char *steps_text(const history_series_t *series, const record_t *runs) {
    text_list_t steps = {0};
    for (size_t i = 0; i < series->n_steps; i++)
        text_list_add_format(&steps, "%+.1f %% from %s on", (series->steps[i].ratio - 1) * 100,
                             runs[series->steps[i].run].name);
    if (series->left_out.n == 1)
        text_list_add_format(&steps, "not comparable: %s", series->left_out.items[0]);
    else if (series->left_out.n > 1)
        text_list_add_format(&steps, "%zu runs not comparable (%s; …)", series->left_out.n,
                             series->left_out.items[0]);
    char *text = text_list_join(&steps, ", ");
    text_list_free(&steps);
    text_make_plain(text);
    return text;
}

static void print_table(const history_options_t *options, const history_list_t *list,
                        const record_t *runs) {
    static const char *const HEADINGS[] = {"case",       "phase",  "runs", "first level",
                                           "last level", "change", "steps"};
    table_t table;
    size_t n_steps = 0;
    table_init(&table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&table, "llrrrrl");
    for (size_t i = 0; i < list->n; i++) {
        const history_series_t *series = &list->items[i];
        char text[UNITS_TEXT];
        double first, last;
        n_steps += series->n_steps > 0;
        if (!history_is_shown(series, options->all))
            continue;
        history_ends(series, &first, &last);
        table_add(&table, series->id);
        table_add(&table, series->phase);
        table_add_format(&table, "%zu", series->n_times);
        table_add(&table, units_time(text, first));
        table_add(&table, units_time(text, last));
        if (isnan(first))
            table_add(&table, "–");
        else
            table_add_format(&table, "%+.1f %%", (last / first - 1) * 100);
        table_take(&table, steps_text(series, runs));
        table_end_row(&table);
    }
    table_print(&table, "\n", options->print);
    fprintf(options->print,
            "%zu runs, %zu series (a phase of a case), %zu with a step to a new level.\n",
            options->runs->n, list->n, n_steps);
}

static json_t *series_to_json(const history_series_t *series) {
    json_t *medians = json_array(), *intervals = json_array(), *levels = json_array(),
           *steps = json_array();
    for (size_t r = 0; r < series->n_runs; r++) {
        const history_point_t *point = &series->points[r];
        json_array_append_new(medians, json_finite(point->median));
        json_array_append_new(
            intervals, json_pack("[o, o]", json_finite(point->low), json_finite(point->high)));
        json_array_append_new(levels, json_finite(point->level));
    }
    for (size_t s = 0; s < series->n_steps; s++)
        json_array_append_new(steps,
                              json_pack("{s:I, s:o}", "run", (json_int_t)series->steps[s].run,
                                        "ratio", json_finite(series->steps[s].ratio)));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", json_text(series->id), "phase",
                     json_text(series->phase), "median_ns", medians, "ci95_ns", intervals,
                     "level_ns", levels, "steps", steps, "not_comparable",
                     json_texts(&series->left_out));
}

static void print_json(const history_options_t *options, const history_list_t *list) {
    json_t *all = json_array();
    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(all, series_to_json(&list->items[i]));
    json_t *json =
        json_pack("{s:i, s:o, s:o}", "schema", 1, "runs", json_texts(options->runs), "series", all);
    json_print(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9), options->print);
}

/* ---- the command ----------------------------------------------------------------------------- */

static status_t report(const history_options_t *options, history_list_t *list, const record_t *runs,
                       error_t *err) {
    if (list->n == 0 && options->case_id != NULL) {
        char *hint = record_hint(&runs[0], options->case_id);
        error_set(err, STATUS_USAGE, "--case %s: no run has that case%s", options->case_id, hint);
        free(hint);
        return STATUS_USAGE;
    }
    if (list->n == 0 && options->phases.n > 0)
        return error_set(err, STATUS_USAGE, "--phase %s: no case of these runs has times in it",
                         options->phases.items[0]);
    for (size_t i = 0; i < list->n; i++)
        history_fit(&list->items[i], options->least_frac);
    if (options->json)
        print_json(options, list);
    else
        print_table(options, list, runs);
    if (options->out == NULL)
        return STATUS_OK;
    text_list_t files = {0};
    status_t status = history_draw(options, list, runs, &files, err);
    for (size_t i = 0; i < files.n && !options->json; i++)
        output_print(options->print, "%s\n", files.items[i]);
    text_list_free(&files);
    return status;
}

/* Each run must be comparable with the one before. */
static status_t check_runs(const record_t *runs, size_t n_runs, const text_list_t *allow,
                           error_t *err) {
    text_list_t allowed = {0};
    status_t status = guard_check_allow(allow, err);
    for (size_t r = 1; r < n_runs && status == STATUS_OK; r++)
        status = guard_runs(&runs[r - 1], &runs[r], allow, &allowed, err);
    text_list_free(&allowed);
    return status;
}

status_t history_runs(const history_options_t *options, error_t *err) {
    record_t *runs = mem_zeroed(options->runs->n, sizeof *runs);
    text_list_t needed = {0};
    bool only = comparison_phases(&options->phases, &needed);
    size_t loaded = 0;
    status_t status = STATUS_OK;
    while (loaded < options->runs->n && status == STATUS_OK) {
        status = record_load_phases(options->runs->items[loaded], only ? &needed : NULL,
                                    &runs[loaded], err);
        if (status == STATUS_OK)
            record_tell_incomplete(&runs[loaded++]);
    }
    if (status == STATUS_OK)
        status = check_runs(runs, loaded, &options->allow, err);
    if (status == STATUS_OK) {
        history_list_t list = history_collect(runs, loaded, options);
        status = report(options, &list, runs, err);
        history_list_free(&list);
    }
    text_list_free(&needed);
    for (size_t i = 0; i < loaded; i++)
        record_free(&runs[i]);
    free(runs);
    return status;
}
