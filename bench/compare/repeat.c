#include "compare/compare.h"

#include "analysis/speedup.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/folders.h"
#include "io/fs.h"
#include "io/json.h"
#include "io/output.h"
#include "io/subprocess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ==== the same in sweeps ====================================================================== */

/* `bench repeat SWEEP…`: make the runs, each by the program itself. */

/* A file, or the name of one. What does not exist is reported by the command that reads it. */
static bool is_sweep(const char *operand) {
    struct stat found;
    return stat(operand, &found) == 0 ? !S_ISDIR(found.st_mode) : text_ends(operand, ".json");
}

status_t repeat_find_sweeps(const text_list_t *operands, bool *sweeps, error_t *err) {
    *sweeps = operands->n > 0 && is_sweep(operands->items[0]);
    for (size_t i = 1; i < operands->n; i++)
        if (is_sweep(operands->items[i]) != *sweeps)
            return error_set(
                err, STATUS_USAGE,
                "bench repeat: expected either sweeps (files) or runs (folders), found "
                "%s and %s",
                operands->items[0], operands->items[i]);
    return STATUS_OK;
}

static text_list_t command_of(const repeat_options_t *options, const char *program,
                              const char *folder) {
    text_list_t argv = {0};
    text_list_add_words(&argv, program, "run", NULL);
    text_list_add_all(&argv, &options->run_options);
    if (options->quiet)
        text_list_add(&argv, "--quiet");
    text_list_add_words(&argv, "--out", folder, NULL);
    AUTO_FREE char *header = fs_join(folder, "run.json");
    if (options->resume && fs_exists(header))
        text_list_add(&argv, "--resume");
    text_list_add(&argv, "--");
    text_list_add_all(&argv, options->operands);
    return argv;
}

static status_t make_run(const repeat_options_t *options, const char *program, const char *folder,
                         bool *broken, error_t *err) {
    AUTO(text_list_free) text_list_t command = command_of(options, program, folder);
    int exit_code = 0;
    bool interrupted = false;
    TRY(foreground_run(text_list_argv(&command), &exit_code, &interrupted, err));
    if (interrupted)
        return error_set(err, STATUS_FAILED,
                         "interrupted: continue with the same command, --out and --resume");
    if (exit_code > STATUS_FAILED)
        return error_set(err, STATUS_USAGE, "%s: bench run ended with exit code %d", folder,
                         exit_code);
    *broken |= exit_code == STATUS_FAILED;
    return STATUS_OK;
}

status_t repeat_sweeps(const repeat_options_t *options, error_t *err) {
    repeat_options_t saved = *options;
    AUTO(text_list_free) text_list_t runs = {0};
    AUTO_FREE char *top =
        options->out != NULL ? mem_text(options->out) : folders_result(options->root, "repeat");
    AUTO_FREE char *program = NULL;
    bool broken = false;
    status_t status = fs_executable(&program, err);
    for (unsigned k = 1; k <= options->times && status == STATUS_OK; k++) {
        text_list_add_format(&runs, "%s/%u", top, k);
        if (!options->quiet)
            output_print(stderr, "run %u of %u: %s\n", k, options->times, runs.items[k - 1]);
        status = make_run(options, program, runs.items[k - 1], &broken, err);
    }
    saved.operands = &runs;
    if (status == STATUS_OK)
        status = repeat_runs(&saved, err);
    if (status == STATUS_OK && broken)
        status = error_set(err, STATUS_FAILED,
                           "a case was wrong or failed: only cases that are ok in two runs count");
    return status;
}

/* ==== the command ============================================================================= */

enum { N_WORST = 10 };

/* One number in two runs: a phase of a case, or a speed-up. */
typedef struct repeat_pair {
    const char *id, *phase;
    bool is_ratio;
    stats_interval_t values[2];
    const char *runs[2];
    double moved_frac; /* |b - a| / min(a, b) of the centres */
} repeat_pair_t;

/* Statistics of all pairs of an engine and phase. */
typedef struct repeat_row {
    const char *engine, *clock, *phase; /* clock is NULL for speed-ups */
    size_t n_pairs, n_intervals, n_overlapping, n_centred;
    double *moved, *half_widths; /* n_pairs; 2 · n_intervals, as fractions of the centre */
    size_t capacity_moved, capacity_widths;
} repeat_row_t;

typedef struct repeat {
    repeat_pair_t *pairs;
    repeat_row_t *rows;
    size_t n_pairs, n_rows, capacity_pairs, capacity_rows;
    arena_t texts;
} repeat_t;

/* ---- collecting ------------------------------------------------------------------------------ */

static bool is_same(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Borrows the texts of a new row. */
static repeat_row_t *row_of(repeat_t *repeat, const char *engine, const char *clock,
                            const char *phase) {
    for (size_t i = 0; i < repeat->n_rows; i++)
        if (is_same(repeat->rows[i].engine, engine) && is_same(repeat->rows[i].phase, phase) &&
            is_same(repeat->rows[i].clock, clock))
            return &repeat->rows[i];
    mem_grow(&repeat->rows, repeat->n_rows, &repeat->capacity_rows, sizeof *repeat->rows);
    repeat_row_t *row = &repeat->rows[repeat->n_rows++];
    *row = (repeat_row_t){.engine = engine, .clock = clock, .phase = phase};
    return row;
}

static bool holds(const stats_interval_t *interval, double value) {
    return interval->low <= value && value <= interval->high;
}

static void count_intervals(repeat_row_t *row, const stats_interval_t values[2]) {
    const stats_interval_t *a = &values[0], *b = &values[1];
    for (size_t i = 0; i < 2; i++)
        if (isnan(values[i].low) || isnan(values[i].high))
            return;
    for (size_t i = 0; i < 2; i++) {
        const size_t n = 2 * row->n_intervals + i;
        mem_grow(&row->half_widths, n, &row->capacity_widths, sizeof *row->half_widths);
        row->half_widths[n] = (values[i].high - values[i].low) / 2 / values[i].centre;
    }
    row->n_intervals++;
    row->n_overlapping += a->low <= b->high && b->low <= a->high;
    row->n_centred += (size_t)holds(a, b->centre) + (size_t)holds(b, a->centre);
}

/* Pairs without both centres are left out. */
static void add_pair(repeat_t *repeat, repeat_row_t *row, const repeat_pair_t *pair) {
    const double x = pair->values[0].centre, y = pair->values[1].centre;
    if (!(x > 0 && y > 0))
        return;
    mem_grow(&repeat->pairs, repeat->n_pairs, &repeat->capacity_pairs, sizeof *repeat->pairs);
    repeat_pair_t *added = &repeat->pairs[repeat->n_pairs++];
    *added = *pair;
    added->moved_frac = fabs(x - y) / fmin(x, y);
    mem_grow(&row->moved, row->n_pairs, &row->capacity_moved, sizeof *row->moved);
    row->moved[row->n_pairs++] = added->moved_frac;
    count_intervals(row, pair->values);
}

static stats_interval_t value_of(const phase_t *phase) {
    const summary_t *s = &phase->summary;
    return (stats_interval_t){.centre = s->median, .low = s->ci95[0], .high = s->ci95[1]};
}

/* By a compiler that tunes: each run then has code of its own, so its intervals say nothing of another
 * run's. */
static bool is_compiled(const case_result_t *result) {
    return result != NULL && result->draw > 0;
}

static void compare_cases(repeat_t *repeat, const case_result_t *a, const case_result_t *b,
                          const char *const runs[2]) {
    char label[32];
    const char *engine = arena_format(&repeat->texts, "%s%s", case_engine_label(&a->spec, label),
                                      is_compiled(a) || is_compiled(b) ? ", compiled" : "");
    for (size_t p = 0; p < a->n_phases; p++) {
        const phase_t *one = &a->phases[p], *other = result_phase(b, one->name);
        if (other != NULL)
            add_pair(repeat, row_of(repeat, engine, clock_domain_name(one->clock), one->name),
                     &(repeat_pair_t){.id = a->spec.id,
                                      .phase = one->name,
                                      .values = {value_of(one), value_of(other)},
                                      .runs = {runs[0], runs[1]}});
    }
}

static const size_row_t *row_at(const comparison_set_list_t *list, const comparison_set_t *set,
                                int64_t size) {
    for (size_t i = 0; i < list->n; i++)
        for (size_t r = 0; r < list->items[i].n_rows; r++)
            if (list->items[i].platform == set->platform &&
                strcmp(list->items[i].key, set->key) == 0 && list->items[i].rows[r].size == size)
                return &list->items[i].rows[r];
    return NULL;
}

static void compare_speedups(repeat_t *repeat, const comparison_set_list_t *a,
                             const comparison_set_list_t *b, const char *const runs[2]) {
    for (size_t s = 0; s < a->n; s++)
        for (size_t r = 0; r < a->items[s].n_rows; r++) {
            const comparison_set_t *set = &a->items[s];
            const size_row_t *row = &set->rows[r];
            const size_row_t *other = row_at(b, set, row->size);
            if (other == NULL || row->headline.verdict == VERDICT_NONE ||
                other->headline.verdict == VERDICT_NONE)
                continue;
            const char *engine = set->platform->engine;
            if (is_compiled(row->strongest) || is_compiled(other->strongest))
                engine = arena_format(&repeat->texts, "%s, rival compiled", engine);
            add_pair(repeat, row_of(repeat, engine, NULL, "speed-up"),
                     &(repeat_pair_t){.id = arena_format(&repeat->texts, "%s %s, %s=%lld",
                                                         set->workload, set->key, set->size_param,
                                                         (long long)row->size),
                                      .phase = "speed-up",
                                      .is_ratio = true,
                                      .values = {row->headline.ratio, other->headline.ratio},
                                      .runs = {runs[0], runs[1]}});
        }
}

static void compare_headlines(repeat_t *repeat, const record_t *a, const record_t *b) {
    AUTO(text_list_free) text_list_t workloads = {0};
    for (size_t i = 0; i < a->n_cases; i++)
        if (!is_calibration(&a->cases[i].spec))
            text_list_add_new(&workloads, a->cases[i].spec.workload);
    for (size_t i = 0; i < workloads.n; i++) {
        AUTO(comparison_set_list_free)
        comparison_set_list_t one = comparison_sets_of(a, workloads.items[i]),
                              other = comparison_sets_of(b, workloads.items[i]);
        compare_speedups(repeat, &one, &other, (const char *const[]){a->name, b->name});
    }
}

static void compare_pair(repeat_t *repeat, const record_t *a, const record_t *b) {
    for (const case_result_t *one = record_next(a, NULL); one != NULL; one = record_next(a, one)) {
        const case_result_t *other = record_find(b, one->spec.id);
        if (one->status == CASE_OK && other != NULL && other->status == CASE_OK &&
            !is_calibration(&one->spec))
            compare_cases(repeat, one, other, (const char *const[]){a->name, b->name});
    }
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
    arena_free(&repeat->texts);
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
    table_t table = table_make("lllrrrrrrr", HEADINGS);
    for (size_t i = 0; i < repeat->n_rows; i++) {
        const repeat_row_t *row = &repeat->rows[i];
        double numbers[6];
        char text[UNITS_TEXT];
        numbers_of(row, numbers);
        table_add(&table, row->engine);
        table_add(&table, row->clock != NULL ? row->clock : "–");
        table_add(&table, row->phase);
        table_add_format(&table, "%zu", row->n_pairs);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            table_add(&table, units_percent(text, numbers[k]));
    }
    table_print(&table, "\n", out);
}

static void print_worst(const repeat_t *repeat, FILE *out) {
    static const char *const HEADINGS[] = {"moved", "case", "phase", "medians", "runs"};
    table_t table = table_make("rllll", HEADINGS);
    for (size_t i = 0; i < repeat->n_pairs && i < N_WORST; i++) {
        const repeat_pair_t *pair = &repeat->pairs[i];
        char a[UNITS_TEXT], b[UNITS_TEXT];
        table_add(&table, units_percent(a, pair->moved_frac));
        table_add(&table, pair->id);
        table_add(&table, pair->phase);
        if (pair->is_ratio)
            table_add_format(&table, "%.3g×, %.3g×", pair->values[0].centre,
                             pair->values[1].centre);
        else
            table_add_format(&table, "%s, %s", units_time(a, pair->values[0].centre),
                             units_time(b, pair->values[1].centre));
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
        json_t *json =
            json_pack("{s:s, s:s?, s:s, s:I}", "engine", row->engine, "clock", row->clock, "phase",
                      row->phase, "pairs", (json_int_t)row->n_pairs);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            json_object_set_new(json, KEYS[k], json_finite(numbers[k]));
        json_array_append_new(rows, json);
    }
    for (size_t i = 0; i < repeat->n_pairs && i < N_WORST; i++) {
        const repeat_pair_t *pair = &repeat->pairs[i];
        json_array_append_new(
            worst,
            json_pack("{s:o, s:s, s:o, s:[s, s], s:[o, o]}", "id", json_text(pair->id), "phase",
                      pair->phase, "moved_frac", json_finite(pair->moved_frac), "runs",
                      pair->runs[0], pair->runs[1], pair->is_ratio ? "ratios" : "medians_ns",
                      json_finite(pair->values[0].centre), json_finite(pair->values[1].centre)));
    }
    json_print(json_pack("{s:o, s:o}", "rows", rows, "worst", worst), JSON_INDENT(2), out);
}

static status_t report(const repeat_options_t *options, const repeat_t *repeat, error_t *err) {
    if (repeat->n_pairs == 0)
        return error_set(err, STATUS_INCOMPARABLE, "no case is ok in two of these runs");
    if (options->json) {
        print_json(repeat, stdout);
    } else {
        print_rows(repeat, stdout);
        print_worst(repeat, stdout);
    }
    return STATUS_OK;
}

status_t repeat_runs(const repeat_options_t *options, error_t *err) {
    const size_t n = options->operands->n;
    if (n < 2)
        return error_set(err, STATUS_USAGE,
                         "bench repeat: expected a sweep, or at least two run folders");
    AUTO(records_free) record_list_t runs = {0};
    AUTO(repeat_free) repeat_t repeat = {0};
    TRY(records_load((const char *const *)options->operands->items, n, &runs, err));
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            compare_pair(&repeat, &runs.items[a], &runs.items[b]);
    for (size_t a = 0; a < n; a++) /* the last rows of the table */
        for (size_t b = a + 1; b < n; b++)
            compare_headlines(&repeat, &runs.items[a], &runs.items[b]);
    finish(&repeat);
    return report(options, &repeat, err);
}
