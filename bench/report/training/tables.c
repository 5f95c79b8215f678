/* A training's tables: times at each size, and each rung per step. */
#include "report/training/training.h"

#include <math.h>
#include <string.h>

/* ---- by size --------------------------------------------------------------------------------- */

/* `rows`: one per size, compared by `phase`. Rows of a GPU set include the CPU's times. */
static void print_sizes(const report_t *report, const comparison_set_t *set, const size_row_t *rows,
                        const char *phase, bool all_rivals) {
    const bool host = all_rivals && strcmp(set->platform->device, "cuda") == 0;
    const column_t columns[] = {
        {size_title(report, set), 'r', false},
        {report_text(report, "Best %s", set->platform->name), 'r', false},
        {"Case", 'l', false},
        {"PyTorch best", 'r', false},
        {"Mode", 'l', false},
        {"vs best", 'r', false},
        {"vs eager", 'r', !all_rivals},
        {"Best C", 'r', !host},
        {"vs C", 'r', !host},
        {"PyTorch on the CPU", 'r', !host},
        {"of the limit", 'r', !host},
    };
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &rows[i];
        const char *const cells[] = {
            size_cell(report, set, row->size),
            time_cell(report, row->best, phase),
            name_cell(report, row->best),
            time_cell(report, row->fastest, phase),
            name_cell(report, row->fastest),
            ratio_cell(report, &row->headline),
            ratio_cell(report, &row->against_eager),
            time_cell(report, row->host, phase),
            ratio_cell(report, &row->against_host),
            time_cell(report, row->host_pytorch, phase),
            limit_cell(report, row->best),
        };
        columns_row(&table, cells);
    }
    columns_end(&table, "");
    print_passes(report);
}

void table_by_size(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = timed_set(pair);
    const bool gpu = set == pair->gpu;
    report_heading(report, 4, gpu ? "By size" : "By size, on the CPU");
    print(report,
          "Medians of `%s` %s. *vs best* and *vs eager*: PyTorch's median over ours%s%s. † marks a "
          "throttled case, which is not compared.",
          set->phase, pair->training->timed, gpu ? " (*vs C*: C's on the CPU over ours)" : "",
          ratio_meaning(report, set->platform->name));
    if (gpu)
        print(report,
              " *Of the limit*: this device's minimum time for the training (%s) over the measured "
              "time.",
              pair->training->least);
    print(report, "\n\n");
    print_spread(report, set);
    print_sizes(report, set, set->rows, set->phase, true);
}

/* ---- by size, with the validation ------------------------------------------------------------ */

static const char VALIDATED[] = "total";

static const size_row_t *validated_rows(const report_t *report, const comparison_set_t *set) {
    size_row_t *rows = report_array(report, set->n_rows, sizeof *rows);
    for (size_t i = 0; i < set->n_rows; i++) {
        const int64_t size = set->rows[i].size;
        rows[i].size = size;
        rows[i].best = comparison_set_fastest(set, size, OWNER_OURS, VALIDATED);
        rows[i].fastest = comparison_set_fastest(set, size, OWNER_PYTORCH, VALIDATED);
        rows[i].headline = speedup_make(rows[i].best, VALIDATED, rows[i].fastest, VALIDATED);
    }
    return rows;
}

void finding_validated(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const size_row_t *rows = validated_rows(report, set);
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &rows[i];
        if (!has_headline(row))
            continue;
        print(report,
              "%s%s: ", n++ == 0 ? "- **An epoch with validation** (`total`): at " : "; at ",
              size_name(report, set, row->size));
        print(report, "%s, %s (%s) against %s (%s)",
              verdict_text(report, &row->headline, set->platform->name, "PyTorch"),
              time_cell(report, row->best, VALIDATED), name_cell(report, row->best),
              time_cell(report, row->fastest, VALIDATED), name_cell(report, row->fastest));
    }
    print(report, "%s", n > 0 ? ".\n" : "");
}

void table_of_validated(const report_t *report, const training_pair_t *pair) {
    report_heading(report, 4, "With the validation");
    print(report, "Medians of `total`: one training epoch followed by validation on all test "
                  "images.\n\n");
    print_sizes(report, pair->gpu, validated_rows(report, pair->gpu), VALIDATED, false);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

static text_list_t names_of(const report_t *report, const comparison_set_t *set, unsigned owner) {
    text_list_t names = {0};
    const case_result_t *c = NULL;
    while ((c = next_case(set, owner, ANY_SIZE, c)) != NULL)
        if (!is_not_applicable(c) && !text_list_has(&names, name_cell(report, c)))
            text_list_add(&names, name_cell(report, c));
    text_list_sort(&names);
    return names;
}

static const case_result_t *case_of(const report_t *report, const comparison_set_t *set,
                                    unsigned owner, int64_t size, const char *name) {
    const case_result_t *c = NULL;
    while ((c = next_case(set, owner, size, c)) != NULL && strcmp(name_cell(report, c), name) != 0)
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

static void add_rungs(columns_t *table, const training_pair_t *pair, unsigned owner,
                      const char *prefix) {
    const report_t *report = table->report;
    const comparison_set_t *set = pair->gpu;
    const char **cells = report_array(report, table->n_columns, sizeof *cells);
    text_list_t names = names_of(report, set, owner);
    for (size_t i = 0; i < names.n; i++) {
        const char *mark = "";
        for (size_t r = 0; r < set->n_rows; r++) {
            const case_result_t *result =
                case_of(report, set, owner, set->rows[r].size, names.items[i]);
            if (result != NULL && result_is_algorithmic(result))
                mark = algorithmic_mark(result);
            cells[r + 1] = step_cell(report, pair, result);
        }
        cells[0] = report_text(report, "%s%s%s", prefix, names.items[i], mark);
        columns_row(table, cells);
    }
    text_list_free(&names);
}

void table_of_ladder(const report_t *report, const training_pair_t *pair) {
    static const column_t FIRST = {"Rung", 'l', false};
    columns_t table = columns_by_size(report, pair->gpu, &FIRST, 1);
    add_rungs(&table, pair, OF_OURS, "");
    add_rungs(&table, pair, OF_PYTORCH, "PyTorch ");
    columns_end_under(
        &table, 4, "The ladder",
        "The training alone (`train_device`, by the device's clock) per %s, and its share of the "
        "limit. *(algorithmic)* marks another algorithm with the same result, which is not "
        "compared and has no %ss: its time is for the whole training.\n\n",
        pair->training->step, pair->training->step);
}
