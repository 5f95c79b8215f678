/* mlp_infer's tables: who is how fast at each batch, and where the time goes. */
#include "report/columns.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/fs.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool any_study(const comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rows; i++)
        if (set->rows[i].study != NULL)
            return true;
    return false;
}

static bool any_other(const comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rows; i++)
        if (set->rows[i].other != NULL)
            return true;
    return false;
}

static void table_of_sizes(const report_t *report, const comparison_set_t *set) {
    const bool no_study = !any_study(set), no_others = !any_other(set);
    const bool polls = comparison_set_polls(set);
    const column_t columns[] = {
        {size_title(report, set), 'r', false},
        {report_text(report, "Best %s", set->platform->name), 'r', false},
        {"Case", 'l', false},
        {"PyTorch eager", 'r', false},
        {"PyTorch best", 'r', false},
        {"Mode", 'l', false},
        {"vs eager", 'r', false},
        {"vs best", 'r', false},
        {"vs best, sync", 'r', !polls},
        {"Study's CUDA", 'r', no_study},
        {"Others' best", 'r', no_others},
        {"Which", 'l', no_others}, /* an engine of somebody's own is named with its variant */
        {"vs others", 'r', no_others},
    };
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const speedup_t synchronising =
            polls ? speedup_synchronising(set, row) : (speedup_t){.verdict = VERDICT_NONE};
        const char *const cells[] = {
            size_cell(report, set, row->size),
            time_cell(report, row->best, set->phase),
            name_cell(report, row->best),
            time_cell(report, row->eager, set->phase),
            time_cell(report, row->fastest, set->phase),
            name_cell(report, row->fastest),
            ratio_cell(report, &row->against_eager),
            ratio_cell(report, &row->headline),
            ratio_cell(report, &synchronising),
            time_cell(report, row->study, set->phase),
            time_cell(report, row->other, set->phase),
            key_cell(report, row->other),
            ratio_cell(report, &row->against_other),
        };
        columns_row(&table, cells);
    }
    columns_end(&table, "");
}

/* How many samples stand behind the medians of a table, and how far off they can be. */
typedef struct spread {
    size_t fewest, most;
    double widest_frac; /* half width of the 95 % interval over the median */
} spread_t;

static void widen(spread_t *spread, const case_result_t *result, const char *name) {
    const phase_t *phase =
        result != NULL && result_has_times(result) ? result_phase(result, name) : NULL;
    if (phase == NULL || phase->summary.n == 0)
        return;
    const summary_t *s = &phase->summary;
    double half_frac = (s->ci95[1] - s->ci95[0]) / 2 / s->median;
    if (s->n < spread->fewest)
        spread->fewest = s->n;
    if (s->n > spread->most)
        spread->most = s->n;
    if (half_frac > spread->widest_frac)
        spread->widest_frac = half_frac;
}

void print_spread(const report_t *report, const comparison_set_t *set) {
    spread_t spread = {.fewest = SIZE_MAX};
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const case_result_t *shown[] = {row->best, row->study, row->eager, row->fastest,
                                        row->other};
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            widen(&spread, shown[k], set->phase);
    }
    if (spread.most == 0)
        return;
    char text[UNITS_TEXT];
    fprintf(report->out,
            "Behind each median are at least %zu samples (at most %zu); the widest 95 %% interval "
            "of one is ± %s.",
            spread.fewest, spread.most, units_percent(text, spread.widest_frac));
    char *path = fs_join(report->run->folder, "timings.csv");
    if (fs_exists(path)) {
        char *link = report_link(report, path);
        fprintf(report->out, " All of them: [timings.csv](%s).", link);
        free(link);
    }
    free(path);
    fputs("\n\n", report->out);
}

/* The fastest of three at one batch and of twelve at the next is not the same question. */
static void print_unequal_choice(const report_t *report, const comparison_set_t *set) {
    size_t fewest = SIZE_MAX, most = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        size_t n = 0;
        for (size_t k = 0; k < set->run->n_cases; k++)
            n += size_of_case(set, &set->run->cases[k].spec) == set->rows[i].size &&
                 comparison_set_has(set, &set->run->cases[k], OWNER_OURS);
        fewest = n < fewest ? n : fewest;
        most = n > most ? n : most;
    }
    if (most > fewest)
        fprintf(report->out,
                "Not every %s case was run at every batch (%zu to %zu of them): the fastest at one "
                "batch may not have been tried at the next, which makes steps in the table.\n\n",
                set->platform->name, fewest, most);
}

static void section_headline(const report_t *report, const comparison_set_t *set) {
    fprintf(report->out,
            "Medians of `%s`. *vs eager* and *vs best* are PyTorch's median over ours, with a "
            "bootstrap 95 %% interval: above 1, %s is the faster; where the interval holds 1, no "
            "difference was found. Behind a + stand techniques other than the defaults. † marks a "
            "throttled case, whose time is shown and wins nothing.%s\n\n",
            set->phase, set->platform->name,
            comparison_set_polls(set) ? " *vs best, sync* is the same with CUDA's cases that "
                                        "synchronise, as PyTorch does, and do not poll."
                                      : "");
    print_spread(report, set);
    print_unequal_choice(report, set);
    table_of_sizes(report, set);
}

static bool has_contender(const size_row_t *row) {
    return row->best != NULL || row->fastest != NULL;
}

typedef struct phase_columns {
    const char *title;
    bool pytorch;
    bool limit; /* does any case have one? */
    const char *compute;
    const char *const *phases; /* NULL-terminated */
} phase_columns_t;

static void add_name(table_t *table, const case_result_t *result) {
    char *name = result != NULL ? shown_name(result) : mem_text("–");
    table_add(table, name);
    free(name);
}

static void add_phase_row(table_t *table, const phase_columns_t *columns, int64_t batch,
                          const case_result_t *result) {
    char text[UNITS_TEXT];
    table_add(table, units_count(text, batch));
    add_name(table, result);
    for (size_t i = 0; columns->phases[i] != NULL; i++)
        add_time(table, result, columns->phases[i]);
    double share = 1 - result_median(result, columns->compute) / result_median(result, "total");
    table_add(table, part_text(text, share >= 0 ? share : NAN));
    if (columns->limit)
        add_limit_share(table, result);
}

/* A graph from host to host has no phases: the fastest by `total` is shown then. */
static const case_result_t *fastest_with_phases(const comparison_set_t *set, const size_row_t *row,
                                                bool pytorch) {
    const case_result_t *best = pytorch ? row->fastest : row->best;
    if (best != NULL && isfinite(result_median(best, "total")))
        return best;
    return comparison_set_fastest(set, row->size, pytorch ? OWNER_PYTORCH : OWNER_OURS, "total");
}

static void section_phases(const report_t *report, const comparison_set_t *set,
                           const phase_columns_t *columns) {
    const char *headings[16] = {"Batch", "Case"};
    char align[17] = "rl";
    size_t n = 2;
    for (size_t i = 0; columns->phases[i] != NULL; i++)
        headings[n++] = columns->phases[i];
    char *outside = mem_format("outside %s", columns->compute);
    headings[n++] = outside;
    if (columns->limit)
        headings[n++] = "of the limit";
    memset(align + 2, 'r', n - 2);
    table_t table;
    table_init(&table, headings, n);
    table_set_align(&table, align);
    const size_row_t *rows[3];
    size_t n_rows = key_rows(set, has_contender, rows);
    for (size_t i = 0; i < n_rows; i++) {
        const case_result_t *fixed = columns->pytorch ? rows[i]->eager : rows[i]->study;
        const case_result_t *best = fastest_with_phases(set, rows[i], columns->pytorch);
        if (fixed != NULL && result_has_times(fixed))
            add_phase_row(&table, columns, rows[i]->size, fixed);
        if (best != NULL && best != fixed)
            add_phase_row(&table, columns, rows[i]->size, best);
    }
    if (table_rows(&table) == 0) {
        table_free(&table);
    } else {
        fprintf(report->out, "%s:\n\n", columns->title);
        report_table(report, &table);
    }
    free(outside);
}

static bool any_mapped(const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_contender, rows);
    for (size_t i = 0; i < n; i++) {
        const case_result_t *shown = fastest_with_phases(set, rows[i], false);
        const char *copy = shown != NULL ? case_technique(&shown->spec, "copy") : NULL;
        if (copy != NULL && strcmp(copy, "mapped") == 0)
            return true;
    }
    return false;
}

/* Is the fastest case of any row shown one that has no phases? */
static bool any_without_phases(const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_contender, rows);
    for (size_t i = 0; i < n; i++)
        if (rows[i]->best != NULL && !isfinite(result_median(rows[i]->best, "total")))
            return true;
    return false;
}

static bool has_study(const comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rows; i++)
        if (set->rows[i].study != NULL)
            return true;
    return false;
}

static void sections_phases(const report_t *report, const comparison_set_t *set) {
    static const char *const CUDA[] = {"malloc", "h2d",      "kernel", "d2h",
                                       "free",   "residual", "total",  NULL};
    static const char *const CPU[] = {"forward", "residual", "total", NULL};
    static const char *const PYTORCH[] = {"init",     "h2d",   "forward", "d2h",
                                          "residual", "total", NULL};
    static const char *const PYTORCH_CPU[] = {"init", "forward", "residual", "total", NULL};
    bool gpu = strcmp(set->platform->device, "cuda") == 0, limit = comparison_set_has_limit(set);
    report_heading(report, 4, "Where the time goes");
    fputs("Medians, phases separated by synchronisation. `residual` is what `total` spends between "
          "the phases; since each column is a median of its own, a row adds up only nearly.",
          report->out);
    if (any_mapped(set))
        fputs(" With mapped memory the kernel itself moves the data, over the bus: *of the limit* "
              "holds that against the device's own memory.",
              report->out);
    if (any_without_phases(set))
        fputs(" A graph from host to host has no phases: where that is the fastest, the fastest "
              "case that has phases stands here.",
              report->out);
    if (limit)
        fputs(" *Of the limit*: the least time in which the hardware can do the computation, over "
              "the one measured for it; the next table names both.",
              report->out);
    fputs("\n\n", report->out);
    phase_columns_t ours = {!gpu             ? "C: the fastest case"
                            : has_study(set) ? "CUDA: the study's set-up and the fastest case"
                                             : "CUDA: the fastest case",
                            false, limit, gpu ? "kernel" : "forward", gpu ? CUDA : CPU};
    section_phases(report, set, &ours);
    phase_columns_t theirs = {"PyTorch: eager and the fastest mode", true, limit, "forward",
                              gpu ? PYTORCH : PYTORCH_CPU};
    section_phases(report, set, &theirs);
}

static void comparison_set_tables(const report_t *report, const comparison_set_t *set) {
    if (comparison_set_count(set).timed == 0)
        return;
    char *key = markdown_text(set->key);
    char *heading = mem_format("mlp_infer %s, %s: tables", key, set->platform->place);
    report_heading(report, 3, heading);
    section_headline(report, set);
    sections_phases(report, set);
    section_compute(report, set);
    section_techniques(report, set);
    free(heading);
    free(key);
}

void mlp_infer_tables(const report_t *report, const comparison_set_list_t *sets) {
    for (size_t i = 0; i < sets->n; i++)
        comparison_set_tables(report, &sets->items[i]);
}
