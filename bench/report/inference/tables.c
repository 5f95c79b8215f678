/* Tables of inference and own operators: times at each size, and where the time goes. */
#include "report/headline.h"
#include "report/inference/inference.h"

#include "base/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool has_study(const size_row_t *row) {
    return row->study != NULL;
}
static bool has_eager(const size_row_t *row) {
    return row->eager != NULL;
}
static bool has_plain(const size_row_t *row) {
    return row->plain != NULL && has_eager(row);
}

/* "sync vs PyTorch", "sync vs the strongest rival". */
static const char *sync_title(const report_t *report, const comparison_set_t *set) {
    return report_text(report, "sync vs %s", their_name(report, set));
}

static void table_of_sizes(const report_t *report, const comparison_set_t *set) {
    enum { OTHER_COLUMNS = 8 };
    const size_t most = OTHER_COLUMNS + RIVAL_COLUMNS * set->n_rivals;
    const bool no_eager = fitting_rows(set, has_eager, NULL) == 0;
    const bool polls = fitting_rows(set, is_by_polling, NULL) > 0;
    column_t *columns = mem_zeroed(most, sizeof *columns);
    const char **cells = mem_zeroed(most, sizeof *cells);
    size_t n = 0;
    columns[n++] = (column_t){size_title(report, set), 'r', false};
    columns[n++] = (column_t){report_text(report, "Best %s", set->platform->name), 'r', false};
    columns[n++] = (column_t){"Case", 'l', false};
    n += rival_columns(report, set, &columns[n]);
    columns[n++] = (column_t){"PyTorch eager", 'r', no_eager};
    columns[n++] = (column_t){"vs eager", 'r', no_eager};
    columns[n++] =
        (column_t){"one eager call of each", 'l', fitting_rows(set, has_plain, NULL) == 0};
    columns[n++] = (column_t){sync_title(report, set), 'r', !polls};
    columns[n++] = (column_t){"Study's CUDA", 'r', fitting_rows(set, has_study, NULL) == 0};
    columns_t table = columns_begin(report, columns, n);
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const speedup_t synchronising =
            polls ? speedup_synchronising(set, row) : (speedup_t){.verdict = VERDICT_NONE};
        n = 0;
        cells[n++] = size_cell(report, set, row->size);
        n += standing_cells(report, &row->ours, set->phase, &cells[n]);
        n += rival_cells(report, set, row, &cells[n]);
        cells[n++] = report_text(report, "%s%s", time_cell(report, row->eager, set->phase),
                                 trust_mark(row->eager));
        cells[n++] = ratio_cell(report, &row->against_eager);
        cells[n++] = report_safe(report, headline_eager(report, row));
        cells[n++] = ratio_cell(report, &synchronising);
        cells[n++] = time_cell(report, row->study, set->phase);
        columns_row(&table, cells);
    }
    columns_end(&table, "");
    print_passes(report);
    free(columns);
    free(cells);
}

static void print_unequal_choice(const report_t *report, const comparison_set_t *set) {
    size_t fewest = SIZE_MAX, most = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        size_t n = 0;
        const case_result_t *result = NULL;
        while ((result = comparison_set_next(set, result, OURS, set->rows[i].size)) != NULL)
            n++;
        fewest = n < fewest ? n : fewest;
        most = n > most ? n : most;
    }
    if (most > fewest)
        print(report,
              "The number of %s cases varies with the %s (%zu to %zu): the fastest at one "
              "size may not have been run at the next, which causes steps in the table.\n\n",
              set->platform->name, sizes_word(set, 1), fewest, most);
}

static void section_headline(const report_t *report, const comparison_set_t *set) {
    print(report,
          "Medians of `%s`.%s Techniques after a + differ from the defaults. † marks a throttled "
          "case, which is not compared.%s\n\n",
          set->phase, rival_columns_meaning(report, set),
          fitting_rows(set, is_by_polling, NULL) > 0
              ? report_text(report,
                            " *%s*: of the fastest cases of both sides that synchronise instead "
                            "of polling.",
                            sync_title(report, set))
              : "");
    print_spread(report, set);
    print_unequal_choice(report, set);
    table_of_sizes(report, set);
}

/* ---- where the time goes --------------------------------------------------------------------- */

/* In the order of a sample; a table has those that its cases have. */
static const char *const PHASES[] = {"init", "malloc", "h2d",      "kernel", "forward",
                                     "d2h",  "free",   "residual", "total"};
enum { N_PHASES = sizeof PHASES / sizeof *PHASES, MOST_CASES = 6 };

/* One side's cases of a table: at each size the study's, then the fastest. */
typedef struct sampled {
    const case_result_t *cases[MOST_CASES];
    size_t n;
} sampled_t;

static bool any_has(const sampled_t *shown, const char *phase) {
    for (size_t i = 0; i < shown->n; i++)
        if (isfinite(result_median(shown->cases[i], phase)))
            return true;
    return false;
}

static void add_phase_row(columns_t *table, const comparison_set_t *set,
                          const case_result_t *result) {
    const report_t *report = table->report;
    const phase_t *compute = result_compute_phase(result);
    const double compute_ns = compute != NULL ? compute->summary.median : NAN;
    const double share = 1 - compute_ns / result_median(result, "total");
    const char *cells[N_PHASES + 4] = {size_cell(report, set, size_of_case(set, &result->spec)),
                                       name_cell(report, result)};
    for (size_t i = 0; i < N_PHASES; i++)
        cells[2 + i] = time_cell(report, result, PHASES[i]);
    cells[2 + N_PHASES] = share_cell(report, share >= 0 ? share : NAN);
    cells[3 + N_PHASES] = limit_cell(report, result);
    columns_row(table, cells);
}

/* A host-to-host graph has no phases; then the fastest case by `total`. */
static const case_result_t *fastest_with_phases(const comparison_set_t *set, const size_row_t *row,
                                                const char *whose) {
    const case_result_t *best = comparison_set_fastest(set, row->size, whose, set->phase);
    if (best != NULL && isfinite(result_median(best, "total")))
        return best;
    return comparison_set_fastest(set, row->size, whose, "total");
}

static sampled_t sampled_of(const comparison_set_t *set, const char *whose) {
    const size_row_t *rows[3];
    const size_t n_rows = key_rows(set, has_contender, rows);
    sampled_t shown = {.n = 0};
    for (size_t i = 0; i < n_rows; i++) {
        const case_result_t *of_study[] = {rows[i]->study, rows[i]->eager};
        const case_result_t *best = fastest_with_phases(set, rows[i], whose);
        for (size_t k = 0; k < 2; k++)
            if (of_study[k] != NULL && result_has_times(of_study[k]) && of_study[k] != best &&
                comparison_set_has(set, of_study[k], whose))
                shown.cases[shown.n++] = of_study[k];
        if (best != NULL)
            shown.cases[shown.n++] = best;
    }
    return shown;
}

static void table_of_phases(const report_t *report, const comparison_set_t *set, const char *whose,
                            const char *title) {
    const sampled_t shown = sampled_of(set, whose);
    const bool kernel = any_has(&shown, "kernel");
    column_t columns[N_PHASES + 4] = {{size_title(report, set), 'r', false}, {"Case", 'l', false}};
    for (size_t i = 0; i < N_PHASES; i++)
        columns[2 + i] = (column_t){PHASES[i], 'r', !any_has(&shown, PHASES[i])};
    columns[2 + N_PHASES] = (column_t){kernel ? "outside kernel" : "outside forward", 'r', false};
    columns[3 + N_PHASES] = (column_t){"of the limit", 'r', !comparison_set_has_limit(set)};
    columns_t table = columns_begin(report, columns, N_PHASES + 4);
    for (size_t i = 0; i < shown.n; i++)
        add_phase_row(&table, set, shown.cases[i]);
    columns_end(&table, report_text(report, "%s:\n\n", title));
}

/* Do the cases shown use mapped memory? Does one of the fastest have no phases? */
static void phases_shown(const comparison_set_t *set, bool *any_mapped, bool *any_without) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_contender, rows);
    *any_mapped = *any_without = false;
    for (size_t i = 0; i < n; i++) {
        const case_result_t *best = rows[i]->best;
        const case_result_t *shown = fastest_with_phases(set, rows[i], OURS);
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
        print(report, " With mapped memory the kernel moves the data over the bus, so it has no "
                      "limit here.");
    if (without)
        print(report, " A host-to-host graph has no phases: if it is the fastest, the fastest case "
                      "with phases is shown.");
    if (comparison_set_has_limit(set))
        print(report, " *Of the limit*: the hardware's minimum time for the computation over the "
                      "measured time; the next table has both.");
    print(report, "\n\n");
    table_of_phases(report, set, OURS,
                    !gpu    ? "C: the fastest case"
                    : study ? "CUDA: the study's set-up and the fastest case"
                            : "CUDA: the fastest case");
    for (size_t i = 0; i < set->n_rivals; i++)
        table_of_phases(report, set, set->rivals[i],
                        report_text(report, "%s: %sthe fastest mode",
                                    report_safe(report, engine_name(set->rivals[i])),
                                    strcmp(set->rivals[i], "pytorch") == 0 ? "eager and " : ""));
}

void inference_tables(const report_t *report, const comparison_set_list_t *sets) {
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        if (comparison_set_count(set).timed == 0)
            continue;
        report_heading(report, 3,
                       report_text(report, "%s %s, %s: tables", report_safe(report, set->workload),
                                   report_safe(report, set->key), set->platform->place));
        comparison_set_t whole = comparison_set_by_whole(set);
        section_headline(report, set);
        if (strcmp(whole.phase, set->phase) != 0)
            section_headline(report, &whole);
        section_phases(report, &whole);
        section_compute(report, set);
        section_techniques(report, &whole);
        comparison_set_free_rows(&whole);
    }
}
