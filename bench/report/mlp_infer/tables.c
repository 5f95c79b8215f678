/* mlp_infer's tables: times at each batch size, and where the time goes. */
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
        {"Which", 'l', no_others}, /* engine and variant */
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
    print_passes(report);
}

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
              "The number of %s cases varies with the batch size (%zu to %zu): the fastest at one "
              "size may not have been run at the next, which causes steps in the table.\n\n",
              set->platform->name, fewest, most);
}

static void section_headline(const report_t *report, const comparison_set_t *set) {
    print(report,
          "Medians of `%s`. *vs eager* and *vs best*: PyTorch's median over ours%s. Techniques "
          "after a + differ from the defaults. † marks a throttled case, which is not "
          "compared.%s\n\n",
          set->phase, ratio_meaning(report, set->platform->name),
          fitting_rows(set, is_by_polling, NULL) > 0
              ? " *vs best, sync*: CUDA cases that synchronise, as PyTorch does, instead of "
                "polling."
              : "");
    print_spread(report, set);
    print_unequal_choice(report, set);
    table_of_sizes(report, set);
}

/* ---- where the time goes --------------------------------------------------------------------- */

enum { MOST_PHASES = 8 };
/* [on the GPU][owner]: C, PyTorch; CUDA, PyTorch. */
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

/* A host-to-host graph has no phases; then the fastest case by `total`. */
static const case_result_t *fastest_with_phases(const comparison_set_t *set, const size_row_t *row,
                                                owner_t owner) {
    const case_result_t *best = owner == OWNER_PYTORCH ? row->fastest : row->best;
    if (best != NULL && isfinite(result_median(best, "total")))
        return best;
    return comparison_set_fastest(set, row->size, owner, "total");
}

/* One side's table: at each batch the study's or eager case, then the fastest. */
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

/* Do the cases shown use mapped memory? Does one of the fastest have no phases? */
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
          "Medians; phases are separated by synchronisation. `residual` is the part of `total` "
          "between the phases. Each column is a separate median, so rows add up only roughly.");
    if (mapped)
        print(report, " With mapped memory the kernel moves the data over the bus, but *of the "
                      "limit* assumes device memory.");
    if (without)
        print(report, " A host-to-host graph has no phases: if it is the fastest, the fastest case "
                      "with phases is shown.");
    if (comparison_set_has_limit(set))
        print(report, " *Of the limit*: the hardware's minimum time for the computation over the "
                      "measured time; the next table has both.");
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
