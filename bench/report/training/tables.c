/* A training's tables: times at each size, and each rung per step. */
#include "report/training/training.h"

#include <math.h>
#include <string.h>

/* ---- by size --------------------------------------------------------------------------------- */

static bool has_eager(const size_row_t *row) {
    return row->eager != NULL;
}

static bool has_host(const size_row_t *row) {
    return row->host != NULL;
}
static bool has_host_rival(const size_row_t *row) {
    return row->host_rival != NULL;
}

/* "PyTorch on the CPU"; "Best rival on the CPU" if it is not the same at every size. */
static const char *host_rival_title(const report_t *report, const comparison_set_t *set) {
    const char *engine = NULL;
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *rival = set->rows[i].host_rival;
        if (rival != NULL && engine != NULL && strcmp(engine, rival->spec.engine) != 0)
            return "Best rival on the CPU";
        engine = rival != NULL ? rival->spec.engine : engine;
    }
    return engine != NULL
               ? report_text(report, "%s on the CPU", report_safe(report, engine_name(engine)))
               : "";
}

/* Rows of a GPU set include the CPU's times and the share of the limit if `whole`. */
static void print_sizes(const report_t *report, const comparison_set_t *set, bool whole) {
    enum { OTHER_COLUMNS = 9 };
    const bool host = whole && strcmp(set->platform->device, "cuda") == 0;
    const bool no_c = !host || fitting_rows(set, has_host, NULL) == 0;
    const bool no_rival = !host || fitting_rows(set, has_host_rival, NULL) == 0;
    const size_t most = OTHER_COLUMNS + RIVAL_COLUMNS * set->n_rivals;
    column_t *columns = report_array(report, most, sizeof *columns);
    const char **cells = report_array(report, most, sizeof *cells);
    size_t n = 0;
    columns[n++] = (column_t){size_title(report, set), 'r', false};
    columns[n++] = (column_t){report_text(report, "Best %s", set->platform->name), 'r', false};
    columns[n++] = (column_t){"Case", 'l', false};
    n += rival_columns(report, set, &columns[n]);
    columns[n++] = (column_t){"vs eager", 'r', !whole || fitting_rows(set, has_eager, NULL) == 0};
    columns[n++] = (column_t){"Best C", 'r', no_c};
    columns[n++] = (column_t){"vs C", 'r', no_c};
    columns[n++] = (column_t){host_rival_title(report, set), 'r', no_rival};
    columns[n++] = (column_t){"of the limit", 'r', !host};
    columns_t table = columns_begin(report, columns, n);
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        n = 0;
        cells[n++] = size_cell(report, set, row->size);
        n += standing_cells(report, &row->ours, set->phase, &cells[n]);
        n += rival_cells(report, set, row, &cells[n]);
        cells[n++] = ratio_cell(report, &row->against_eager);
        cells[n++] = time_cell(report, row->host, set->phase);
        cells[n++] = ratio_cell(report, &row->against_host);
        cells[n++] = time_cell(report, row->host_rival, set->phase);
        cells[n++] = limit_cell(report, row->best);
        columns_row(&table, cells);
    }
    columns_end(&table, "");
    print_passes(report);
}

void table_by_size(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = timed_set(pair);
    const bool gpu = set == pair->gpu;
    report_heading(report, 4, gpu ? "By size" : "By size, on the CPU");
    print(report, "Medians of `%s` %s.%s%s † marks a throttled case, which is not compared.",
          set->phase, pair->training->timed, rival_columns_meaning(report, set),
          gpu && fitting_rows(set, has_host, NULL) > 0 ? " *vs C*: C's on the CPU over ours." : "");
    if (gpu)
        print(report,
              " *Of the limit*: this device's minimum time for the training (%s) over the measured "
              "time.",
              pair->training->least);
    print(report, "\n\n");
    print_spread(report, set);
    print_sizes(report, set, true);
}

/* ---- by size, with the validation ------------------------------------------------------------ */

static const char VALIDATED[] = "total";

void finding_validated(const report_t *report, const training_pair_t *pair) {
    comparison_set_t set = comparison_set_by(pair->gpu, VALIDATED);
    size_t n = 0;
    for (size_t i = 0; i < set.n_rows; i++) {
        const size_row_t *row = &set.rows[i];
        if (!has_headline(row))
            continue;
        print(report, "%s  - At %s ", n++ == 0 ? "- **An epoch with validation** (`total`):\n" : "",
              size_name(report, &set, row->size));
        print(report, "%s, %s (%s) against %s (%s).\n",
              verdict_text(report, &row->headline, set.platform->name, who(report, row->strongest)),
              time_cell(report, row->best, VALIDATED), name_cell(report, row->best),
              time_cell(report, row->strongest, VALIDATED),
              their_case(report, &set, row->strongest));
    }
    comparison_set_free_rows(&set);
}

void table_of_validated(const report_t *report, const training_pair_t *pair) {
    comparison_set_t set = comparison_set_by(pair->gpu, VALIDATED);
    report_heading(report, 4, "With the validation");
    print(report, "Medians of `total`: one training epoch followed by validation on all test "
                  "images.\n\n");
    print_sizes(report, &set, false);
    comparison_set_free_rows(&set);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

/* "03_fused"; "PyTorch graph". */
static const char *rung_name(const report_t *report, const case_result_t *result) {
    return engine_is_ours(result->spec.engine) ? name_cell(report, result)
                                               : who_and_name(report, result);
}

static text_list_t names_of(const report_t *report, const comparison_set_t *set, unsigned choice) {
    text_list_t names = {0};
    const case_result_t *c = NULL;
    while ((c = next_case(set, choice, ANY_SIZE, c)) != NULL)
        if (!is_not_applicable(c))
            text_list_add_new(&names, rung_name(report, c));
    text_list_sort(&names);
    return names;
}

static const case_result_t *case_of(const report_t *report, const comparison_set_t *set,
                                    unsigned choice, int64_t size, const char *name) {
    const case_result_t *c = NULL;
    while ((c = next_case(set, choice, size, c)) != NULL && strcmp(rung_name(report, c), name) != 0)
        ;
    return c;
}

/* "4.51 µs, 73 %" */
static const char *step_cell(const report_t *report, const training_pair_t *pair,
                             const case_result_t *result) {
    if (result == NULL || !result_has_times(result))
        return result != NULL ? case_status_name(result->status) : "–";
    const bool algorithmic = result_is_algorithmic(result), known = isfinite(result->limit.frac);
    const phase_t *phase = result_phase(result, training_phase(result));
    const double ns =
        algorithmic ? result_median(result, training_phase(result)) : step_ns(pair, result);
    return report_text(report, "%s%s%s%s%s%s", time_text(report, ns),
                       algorithmic ? " in total" : "", phase != NULL ? bimodal_mark(phase) : "",
                       known ? ", " : "", known ? limit_cell(report, result) : "",
                       result->status == CASE_THROTTLED ? " †" : "");
}

static void add_rungs(columns_t *table, const training_pair_t *pair, unsigned choice) {
    const report_t *report = table->report;
    const comparison_set_t *set = pair->gpu;
    const char **cells = report_array(report, table->n_columns, sizeof *cells);
    text_list_t names = names_of(report, set, choice);
    for (size_t i = 0; i < names.n; i++) {
        const char *mark = "";
        for (size_t r = 0; r < set->n_rows; r++) {
            const case_result_t *result =
                case_of(report, set, choice, set->rows[r].size, names.items[i]);
            if (result != NULL && result_is_algorithmic(result))
                mark = algorithmic_mark(result);
            cells[r + 1] = step_cell(report, pair, result);
        }
        cells[0] = report_text(report, "%s%s", names.items[i], mark);
        columns_row(table, cells);
    }
    text_list_free(&names);
}

void table_of_ladder(const report_t *report, const training_pair_t *pair) {
    static const column_t FIRST = {"Rung", 'l', false};
    columns_t table = columns_by_size(report, pair->gpu, &FIRST, 1);
    add_rungs(&table, pair, OF_OURS);
    add_rungs(&table, pair, OF_RIVALS);
    columns_end_under(
        &table, 4, "The ladder",
        "The training alone (`train_device`, by the device's clock; where a contender has none, "
        "`train`, by the host's) per %s, and its share of the limit. *(algorithmic)* marks another "
        "algorithm with the same result, which is not "
        "compared and has no %ss: its time is for the whole training.\n\n",
        pair->training->step, pair->training->step);
}
