#include "compare/repeat.h"

#include "analysis/labels.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/json_text.h"
#include "io/table.h"
#include "results/record.h"
#include "stats/summary.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_WORST = 10 };

/* One phase of one case in two runs. */
typedef struct repeat_pair {
    const case_result_t *result; /* in the first of them */
    const phase_t *phases[2];
    const char *runs[2];
    double moved_frac; /* |b - a| / min(a, b) of the medians */
} repeat_pair_t;

/* Statistics of all pairs of an engine and phase. */
typedef struct repeat_row {
    char engine[32];
    const phase_t *phase; /* any of them */
    size_t n_pairs, n_intervals, n_overlapping, n_centred;
    double *moved, *half_widths; /* n_pairs; 2 · n_intervals, as fractions of the median */
    size_t capacity_moved, capacity_widths;
} repeat_row_t;

typedef struct repeat {
    repeat_pair_t *pairs;
    repeat_row_t *rows;
    size_t n_pairs, n_rows, capacity_pairs, capacity_rows;
} repeat_t;

/* ---- collecting ------------------------------------------------------------------------------ */

static repeat_row_t *row_of(repeat_t *repeat, const case_t *spec, const phase_t *phase) {
    char text[32];
    const char *engine = case_engine_label(spec, text);
    for (size_t i = 0; i < repeat->n_rows; i++)
        if (strcmp(repeat->rows[i].engine, engine) == 0 &&
            strcmp(repeat->rows[i].phase->name, phase->name) == 0 &&
            repeat->rows[i].phase->clock == phase->clock)
            return &repeat->rows[i];
    mem_grow(&repeat->rows, repeat->n_rows, &repeat->capacity_rows, sizeof *repeat->rows);
    repeat_row_t *row = &repeat->rows[repeat->n_rows++];
    *row = (repeat_row_t){.phase = phase};
    snprintf(row->engine, sizeof row->engine, "%s", engine);
    return row;
}

static bool holds(const summary_t *summary, double value) {
    return summary->ci95[0] <= value && value <= summary->ci95[1];
}

static void count_intervals(repeat_row_t *row, const summary_t *a, const summary_t *b) {
    const summary_t *const both[] = {a, b};
    for (size_t i = 0; i < 2; i++)
        if (isnan(both[i]->ci95[0]) || isnan(both[i]->ci95[1]))
            return;
    for (size_t i = 0; i < 2; i++) {
        const size_t n = 2 * row->n_intervals + i;
        mem_grow(&row->half_widths, n, &row->capacity_widths, sizeof *row->half_widths);
        row->half_widths[n] = (both[i]->ci95[1] - both[i]->ci95[0]) / 2 / both[i]->median;
    }
    row->n_intervals++;
    row->n_overlapping += a->ci95[0] <= b->ci95[1] && b->ci95[0] <= a->ci95[1];
    row->n_centred += (size_t)holds(a, b->median) + (size_t)holds(b, a->median);
}

static void add_pair(repeat_t *repeat, const repeat_pair_t *pair) {
    repeat_row_t *row = row_of(repeat, &pair->result->spec, pair->phases[0]);
    mem_grow(&repeat->pairs, repeat->n_pairs, &repeat->capacity_pairs, sizeof *repeat->pairs);
    repeat->pairs[repeat->n_pairs++] = *pair;
    mem_grow(&row->moved, row->n_pairs, &row->capacity_moved, sizeof *row->moved);
    row->moved[row->n_pairs++] = pair->moved_frac;
    count_intervals(row, &pair->phases[0]->summary, &pair->phases[1]->summary);
}

static void compare_cases(repeat_t *repeat, const case_result_t *a, const case_result_t *b,
                          const char *const runs[2]) {
    for (size_t p = 0; p < a->n_phases; p++) {
        const phase_t *one = &a->phases[p], *other = result_phase(b, one->name);
        const double x = one->summary.median, y = other != NULL ? other->summary.median : NAN;
        if (x > 0 && y > 0)
            add_pair(repeat, &(repeat_pair_t){.result = a,
                                              .phases = {one, other},
                                              .runs = {runs[0], runs[1]},
                                              .moved_frac = fabs(x - y) / fmin(x, y)});
    }
}

static void compare_runs(repeat_t *repeat, const record_t *a, const record_t *b) {
    record_index_t index = record_index_make(b);
    for (const case_result_t *one = record_next(a, NULL); one != NULL; one = record_next(a, one)) {
        const case_result_t *other = record_index_find(&index, one->spec.id);
        if (one->status == CASE_OK && other != NULL && other->status == CASE_OK &&
            !is_calibration(&one->spec))
            compare_cases(repeat, one, other, (const char *const[]){a->name, b->name});
    }
    record_index_free(&index);
}

static int largest_first(const void *a, const void *b) {
    const double x = ((const repeat_pair_t *)a)->moved_frac;
    const double y = ((const repeat_pair_t *)b)->moved_frac;
    return (y > x) - (y < x);
}

static void finish(repeat_t *repeat) {
    if (repeat->n_pairs > 0)
        qsort(repeat->pairs, repeat->n_pairs, sizeof *repeat->pairs, largest_first);
    for (size_t i = 0; i < repeat->n_rows; i++) {
        stats_sort(repeat->rows[i].moved, repeat->rows[i].n_pairs);
        stats_sort(repeat->rows[i].half_widths, 2 * repeat->rows[i].n_intervals);
    }
}

static void repeat_free(repeat_t *repeat) {
    for (size_t i = 0; i < repeat->n_rows; i++) {
        free(repeat->rows[i].moved);
        free(repeat->rows[i].half_widths);
    }
    free(repeat->rows);
    free(repeat->pairs);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The share of a row's medians that moved by at most `most_frac`. */
static double within(const repeat_row_t *row, double most_frac) {
    size_t n = 0;
    while (n < row->n_pairs && row->moved[n] <= most_frac)
        n++;
    return (double)n / (double)row->n_pairs;
}

/* The numbers of a row, in the order of its columns; NaN without intervals. */
static void numbers_of(const repeat_row_t *row, double numbers[6]) {
    const double n = row->n_intervals > 0 ? (double)row->n_intervals : NAN;
    numbers[0] = (double)row->n_overlapping / n;
    numbers[1] = (double)row->n_centred / 2 / n;
    numbers[2] = stats_quantile(row->half_widths, 2 * row->n_intervals, 0.5);
    numbers[3] = within(row, 0.02);
    numbers[4] = within(row, 0.05);
    numbers[5] = stats_quantile(row->moved, row->n_pairs, 0.5);
}

static void print_rows(const repeat_t *repeat, FILE *out) {
    static const char *const HEADINGS[] = {"engine",     "clock",      "phase",      "pairs",
                                           "overlap",    "centre in",  "± interval", "within 2 %",
                                           "within 5 %", "median move"};
    table_t table;
    table_init(&table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&table, "lllrrrrrrr");
    for (size_t i = 0; i < repeat->n_rows; i++) {
        const repeat_row_t *row = &repeat->rows[i];
        double numbers[6];
        char text[UNITS_TEXT];
        numbers_of(row, numbers);
        table_add(&table, row->engine);
        table_add(&table, clock_domain_name(row->phase->clock));
        table_add(&table, row->phase->name);
        table_add_format(&table, "%zu", row->n_pairs);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            table_add(&table, units_percent(text, numbers[k]));
    }
    table_print(&table, "\n", out);
}

static void print_worst(const repeat_t *repeat, FILE *out) {
    static const char *const HEADINGS[] = {"moved", "case", "phase", "medians", "runs"};
    table_t table;
    table_init(&table, HEADINGS, sizeof HEADINGS / sizeof *HEADINGS);
    table_set_align(&table, "r");
    for (size_t i = 0; i < repeat->n_pairs && i < N_WORST; i++) {
        const repeat_pair_t *pair = &repeat->pairs[i];
        char a[UNITS_TEXT], b[UNITS_TEXT];
        table_add(&table, units_percent(a, pair->moved_frac));
        table_add(&table, pair->result->spec.id);
        table_add(&table, pair->phases[0]->name);
        table_add_format(&table, "%s, %s", units_time(a, pair->phases[0]->summary.median),
                         units_time(b, pair->phases[1]->summary.median));
        table_add_format(&table, "%s, %s", pair->runs[0], pair->runs[1]);
    }
    table_print(&table, "", out);
}

static void print_json(const repeat_t *repeat, FILE *out) {
    static const char *const KEYS[] = {"overlap_frac",     "centre_in_frac",   "half_width_frac",
                                       "within_2_percent", "within_5_percent", "median_move_frac"};
    json_t *rows = json_array(), *worst = json_array();
    for (size_t i = 0; i < repeat->n_rows; i++) {
        const repeat_row_t *row = &repeat->rows[i];
        double numbers[6];
        numbers_of(row, numbers);
        json_t *json = json_pack("{s:s, s:s, s:s, s:I}", "engine", row->engine, "clock",
                                 clock_domain_name(row->phase->clock), "phase", row->phase->name,
                                 "pairs", (json_int_t)row->n_pairs);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            json_object_set_new(json, KEYS[k], json_finite(numbers[k]));
        json_array_append_new(rows, json);
    }
    for (size_t i = 0; i < repeat->n_pairs && i < N_WORST; i++) {
        const repeat_pair_t *pair = &repeat->pairs[i];
        json_array_append_new(
            worst, json_pack("{s:s, s:s, s:o, s:[s, s], s:[o, o]}", "id", pair->result->spec.id,
                             "phase", pair->phases[0]->name, "moved_frac",
                             json_finite(pair->moved_frac), "runs", pair->runs[0], pair->runs[1],
                             "medians_ns", json_finite(pair->phases[0]->summary.median),
                             json_finite(pair->phases[1]->summary.median)));
    }
    json_print(json_pack("{s:o, s:o}", "rows", rows, "worst", worst), JSON_INDENT(2), out);
}

static status_t report(const repeat_options_t *options, const repeat_t *repeat, error_t *err) {
    if (repeat->n_pairs == 0)
        return error_set(err, STATUS_INCOMPARABLE, "no case is ok in two of these runs");
    if (options->json) {
        print_json(repeat, options->print);
    } else {
        print_rows(repeat, options->print);
        print_worst(repeat, options->print);
    }
    return STATUS_OK;
}

status_t repeat_runs(const repeat_options_t *options, error_t *err) {
    const size_t n = options->runs->n;
    if (n < 2)
        return error_set(err, STATUS_USAGE, "bench repeat: expected at least two run folders");
    record_t *runs = mem_zeroed(n, sizeof *runs);
    repeat_t repeat = {0};
    size_t loaded = 0;
    status_t status = STATUS_OK;
    while (loaded < n && status == STATUS_OK) {
        status = record_load(options->runs->items[loaded], &runs[loaded], err);
        loaded += status == STATUS_OK;
    }
    for (size_t a = 0; a < n && status == STATUS_OK; a++)
        for (size_t b = a + 1; b < n; b++)
            compare_runs(&repeat, &runs[a], &runs[b]);
    finish(&repeat);
    if (status == STATUS_OK)
        status = report(options, &repeat, err);
    repeat_free(&repeat);
    for (size_t i = 0; i < loaded; i++)
        record_free(&runs[i]);
    free(runs);
    return status;
}
