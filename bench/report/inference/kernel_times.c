/* Tables of the computation alone: against the limit, and by phases of a kernel. */
#include "report/inference/inference.h"

#include <math.h>
#include <string.h>

bool has_contender(const size_row_t *row) {
    return row->best != NULL || row->strongest != NULL;
}

static bool is_first_of_variant(const comparison_set_t *set, const case_result_t *result,
                                const char *whose, int64_t batch) {
    const case_result_t *other = NULL;
    while ((other = comparison_set_next(set, other, whose, batch)) != result)
        if (strcmp(other->spec.variant, result->spec.variant) == 0 &&
            strcmp(other->spec.engine, result->spec.engine) == 0)
            return false;
    return true;
}

/* Host techniques do not change the kernel: only a variant's first case per batch is shown. */
static const case_result_t *next_variant(const comparison_set_t *set, const case_result_t *after,
                                         const char *whose, int64_t batch) {
    const case_result_t *result = after;
    while ((result = comparison_set_next(set, result, whose, batch)) != NULL)
        if (is_first_of_variant(set, result, whose, batch) && !is_not_applicable(result))
            return result;
    return NULL;
}

/* ---- against the limit ----------------------------------------------------------------------- */

static void add_limit_row(columns_t *table, const comparison_set_t *set,
                          const case_result_t *result) {
    const report_t *report = table->report;
    const case_t *spec = &result->spec;
    const limit_t *limit = &result->limit;
    const bool limited = result_has_times(result) && isfinite(limit->frac);
    /* One launch or forward pass between two events, else the compute phase by the host's clock */
    const phase_t *device = result_phase(result, "forward_device");
    const phase_t *single = device != NULL ? device : result_compute_phase(result);
    const char *bound = limit->bound != NULL ? limit->bound : "not named";
    const char *from = limit->phase != NULL ? limit->phase : "compute";
    char label[32];
    columns_row(
        table, (const char *const[]){
                   size_cell(report, set, size_of_case(set, spec)),
                   report_text(report, "%s %s", report_safe(report, case_engine_label(spec, label)),
                               report_safe(report, spec->variant)),
                   time_cell(report, result, single != NULL ? single->name : ""),
                   report_text(report, "%s%s", single != NULL ? single->name : "–",
                               single != NULL && single->clock == CLOCK_HOST ? " (host)" : ""),
                   limited ? report_text(report, "%s, %s", time_text(report, limit->limit_ns),
                                         report_safe(report, bound))
                           : "–",
                   limited ? percent_text(report, limit->frac) : "–",
                   limited ? report_safe(report, from) : "–",
               });
}

bool comparison_set_has_limit(const comparison_set_t *set) {
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, ANYONE, EVERY_SIZE)) != NULL)
        if (result_has_times(result) && isfinite(result->limit.frac))
            return true;
    return false;
}

static void table_of_limits(const report_t *report, const comparison_set_t *set) {
    const column_t COLUMNS[] = {
        {size_title(report, set), 'r', false},
        {"Contender", 'l', false},
        {"one launch", 'r', false},
        {"phase", 'l', false},
        {"limit", 'r', false},
        {"of the limit", 'r', false},
        {"taken from", 'l', false},
    };
    columns_t table = columns_begin(report, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_contender, rows);
    for (size_t i = 0; i < n; i++) {
        const case_result_t *result = NULL;
        while ((result = next_variant(set, result, OURS, rows[i]->size)) != NULL)
            add_limit_row(&table, set, result);
        while ((result = next_variant(set, result, RIVALS, rows[i]->size)) != NULL)
            add_limit_row(&table, set, result);
    }
    columns_end_under(
        &table, 4, "Computation alone, and the limit",
        "*One launch*: one kernel launch or forward pass between two device events (*host*: by "
        "the host's clock, including the launch). *Limit*: this device's minimum time to move "
        "the bytes, do the arithmetic or launch. *Of the limit*: the limit over the median of "
        "the phase in the last column.\n\n");
}

/* ---- the times of a kernel ------------------------------------------------------------------- */

static bool is_shown_batch(const comparison_set_t *set, int64_t batch) {
    return set->reference_size < 0 || batch == 1 || batch == 64 || batch == 1 << 20 ||
           batch == 1 << 22 || batch == set->rows[set->n_rows - 1].size;
}

static bool any_has(const comparison_set_t *set, const char *phase) {
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, OURS, EVERY_SIZE)) != NULL)
        if (isfinite(result_median(result, phase)))
            return true;
    return false;
}

static void table_of_kernel_times(const report_t *report, const comparison_set_t *set) {
    static const char *const PHASES[] = {"kernel", "kernel_stream", "kernel_graph", "kernel_cold"};
    enum { N_PHASES = sizeof PHASES / sizeof *PHASES };
    column_t columns[N_PHASES + 3] = {{size_title(report, set), 'r', false}, {"Rung", 'l', false}};
    size_t n = 0;
    for (size_t k = 0; k < N_PHASES; k++) {
        const bool any = any_has(set, PHASES[k]);
        columns[2 + k] = (column_t){PHASES[k], 'r', !any};
        n += any;
    }
    columns[2 + N_PHASES] = (column_t){"of the limit", 'r', !comparison_set_has_limit(set)};
    if (n < 2)
        return;
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (size_t r = 0; r < set->n_rows; r++) {
        const int64_t batch = set->rows[r].size;
        const case_result_t *result = NULL;
        while (is_shown_batch(set, batch) &&
               (result = next_variant(set, result, OURS, batch)) != NULL) {
            const char *cells[N_PHASES + 3] = {size_cell(report, set, batch),
                                               report_safe(report, result->spec.variant)};
            for (size_t k = 0; k < N_PHASES; k++)
                cells[2 + k] = time_cell(report, result, PHASES[k]);
            cells[2 + N_PHASES] = limit_cell(report, result);
            columns_row(&table, cells);
        }
    }
    const bool cold = any_has(set, "kernel_cold");
    columns_end_under(
        &table, 4, cold ? "The four times of a kernel" : "The times of a kernel",
        "By the device's clock: `kernel`, one launch between two events inside a sample, after "
        "its allocations and copies; `kernel_stream`, many back to back, and `kernel_graph`, "
        "many in one graph, divided by their number%s.\n\n",
        cold ? "; `kernel_cold`, one launch after an L2 flush. The others run warm: data that fits "
               "into the L2 stays there"
             : ". They run warm: data that fits into the L2 stays there");
}

void section_compute(const report_t *report, const comparison_set_t *set) {
    if (comparison_set_has_limit(set))
        table_of_limits(report, set);
    table_of_kernel_times(report, set);
}
