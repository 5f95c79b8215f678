/* mlp_infer's tables: who is how fast at each batch, and where the time goes. */
#include "report/mlp_infer/mlp_infer.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static bool has_study(const size_row_t *row) {
    return row->study != NULL;
}
static bool has_others(const size_row_t *row) {
    return row->other != NULL;
}

static void table_of_sizes(const report_t *report, const comparison_set_t *set) {
    const bool no_study = fitting_rows(set, has_study, NULL) == 0;
    const bool no_others = fitting_rows(set, has_others, NULL) == 0;
    const bool polls = fitting_rows(set, is_by_polling, NULL) > 0;
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

/* The fastest of three at one batch and of twelve at the next is not the same question. */
static void print_unequal_choice(const report_t *report, const comparison_set_t *set) {
    size_t fewest = SIZE_MAX, most = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        size_t n = 0;
        const case_result_t *result = NULL;
        while ((result = comparison_set_next(set, result, OWNER_OURS, set->rows[i].size)) != NULL)
            n++;
        fewest = n < fewest ? n : fewest;
        most = n > most ? n : most;
    }
    if (most > fewest)
        print(report,
              "Not every %s case was run at every batch (%zu to %zu of them): the fastest at one "
              "batch may not have been tried at the next, which makes steps in the table.\n\n",
              set->platform->name, fewest, most);
}

static void section_headline(const report_t *report, const comparison_set_t *set) {
    print(report,
          "Medians of `%s`. *vs eager* and *vs best* are PyTorch's median over ours, with a "
          "bootstrap 95 %% interval: above 1, %s is the faster; where the interval holds 1, no "
          "difference was found. Behind a + stand techniques other than the defaults. † marks a "
          "throttled case, whose time is shown and wins nothing.%s\n\n",
          set->phase, set->platform->name,
          fitting_rows(set, is_by_polling, NULL) > 0
              ? " *vs best, sync* is the same with CUDA's cases that "
                "synchronise, as PyTorch does, and do not poll."
              : "");
    print_spread(report, set);
    print_unequal_choice(report, set);
    table_of_sizes(report, set);
}

/* ---- where the time goes --------------------------------------------------------------------- */

enum { MOST_PHASES = 8 };
/* Of C, of PyTorch on the CPU; of CUDA, of PyTorch on the GPU. */
static const char *const PHASES[][2][MOST_PHASES] = {
    {{"forward", "residual", "total"}, {"init", "forward", "residual", "total"}},
    {{"malloc", "h2d", "kernel", "d2h", "free", "residual", "total"},
     {"init", "h2d", "forward", "d2h", "residual", "total"}},
};

static void add_phase_row(columns_t *table, const char *const *phases, const char *compute,
                          const char *batch, const case_result_t *result) {
    const report_t *report = table->report;
    const char *cells[MOST_PHASES + 4] = {batch, name_cell(report, result)};
    size_t n = 2;
    for (size_t i = 0; phases[i] != NULL; i++)
        cells[n++] = time_cell(report, result, phases[i]);
    double share = 1 - result_median(result, compute) / result_median(result, "total");
    cells[n++] = share_cell(report, share >= 0 ? share : NAN);
    cells[n] = limit_cell(report, result);
    columns_row(table, cells);
}

/* A graph from host to host has no phases: the fastest by `total` is shown then. */
static const case_result_t *fastest_with_phases(const comparison_set_t *set, const size_row_t *row,
                                                owner_t owner) {
    const case_result_t *best = owner == OWNER_PYTORCH ? row->fastest : row->best;
    if (best != NULL && isfinite(result_median(best, "total")))
        return best;
    return comparison_set_fastest(set, row->size, owner, "total");
}

/* One side's table: at each batch its fastest case, below the one that is always shown. */
static void table_of_phases(const report_t *report, const comparison_set_t *set, owner_t owner,
                            const char *title) {
    const bool gpu = strcmp(set->platform->device, "cuda") == 0, ours = owner == OWNER_OURS;
    const char *const *phases = PHASES[gpu][owner], *compute = gpu && ours ? "kernel" : "forward";
    column_t columns[MOST_PHASES + 4] = {{"Batch", 'r', false}, {"Case", 'l', false}};
    size_t n = 2;
    for (size_t i = 0; phases[i] != NULL; i++)
        columns[n++] = (column_t){phases[i], 'r', false};
    columns[n++] = (column_t){report_text(report, "outside %s", compute), 'r', false};
    columns[n++] = (column_t){"of the limit", 'r', !comparison_set_has_limit(set)};
    columns_t table = columns_begin(report, columns, n);
    const size_row_t *rows[3];
    size_t n_rows = key_rows(set, has_contender, rows);
    for (size_t i = 0; i < n_rows; i++) {
        const char *batch = size_cell(report, set, rows[i]->size);
        const case_result_t *fixed = ours ? rows[i]->study : rows[i]->eager;
        const case_result_t *best = fastest_with_phases(set, rows[i], owner);
        if (fixed != NULL && result_has_times(fixed))
            add_phase_row(&table, phases, compute, batch, fixed);
        if (best != NULL && best != fixed)
            add_phase_row(&table, phases, compute, batch, best);
    }
    columns_end(&table, report_text(report, "%s:\n\n", title));
}

/* What is unusual in the cases shown: the fastest has mapped memory; it has no phases. */
static void phases_shown(const comparison_set_t *set, bool *any_mapped, bool *any_without) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_contender, rows);
    *any_mapped = *any_without = false;
    for (size_t i = 0; i < n; i++) {
        const case_result_t *best = rows[i]->best;
        const case_result_t *shown = fastest_with_phases(set, rows[i], OWNER_OURS);
        const char *copy = shown != NULL ? case_technique(&shown->spec, "copy") : NULL;
        *any_mapped = *any_mapped || (copy != NULL && strcmp(copy, "mapped") == 0);
        *any_without = *any_without || (best != NULL && !isfinite(result_median(best, "total")));
    }
}

static void section_phases(const report_t *report, const comparison_set_t *set) {
    const bool gpu = strcmp(set->platform->device, "cuda") == 0;
    const bool study = fitting_rows(set, has_study, NULL) > 0;
    bool mapped, without;
    phases_shown(set, &mapped, &without);
    report_heading(report, 4, "Where the time goes");
    print(report,
          "Medians, phases separated by synchronisation. `residual` is what `total` spends between "
          "the phases; since each column is a median of its own, a row adds up only nearly.");
    if (mapped)
        print(report, " With mapped memory the kernel itself moves the data, over the bus: *of the "
                      "limit* holds that against the device's own memory.");
    if (without)
        print(report, " A graph from host to host has no phases: where that is the fastest, the "
                      "fastest case that has phases stands here.");
    if (comparison_set_has_limit(set))
        print(report, " *Of the limit*: the least time in which the hardware can do the "
                      "computation, over the one measured for it; the next table names both.");
    print(report, "\n\n");
    table_of_phases(report, set, OWNER_OURS,
                    !gpu    ? "C: the fastest case"
                    : study ? "CUDA: the study's set-up and the fastest case"
                            : "CUDA: the fastest case");
    table_of_phases(report, set, OWNER_PYTORCH, "PyTorch: eager and the fastest mode");
}

void mlp_infer_tables(const report_t *report, const comparison_set_list_t *sets) {
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        if (comparison_set_count(set).timed == 0)
            continue;
        report_heading(report, 3,
                       report_text(report, "mlp_infer %s, %s: tables",
                                   report_safe(report, set->key), set->platform->place));
        section_headline(report, set);
        section_phases(report, set);
        section_compute(report, set);
        section_techniques(report, set);
    }
}
