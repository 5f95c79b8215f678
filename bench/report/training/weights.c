/* What a step has to move that reads all weights forward, reads them backward and writes them, and
 * how near to it the fastest rung comes; with and without what the L2 keeps from step to step. */
#include "report/training/training.h"

#include "base/memory.h"
#include "base/units.h"
#include "limits/training_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char PHASE[] = "step_device";

/* One size. */
typedef struct weights_row {
    const size_row_t *row;
    const case_result_t *best;
    double best_ns, weights_bytes;
    double dram_ns, kept_ns; /* bounds; NaN where a rate was not measured */
} weights_row_t;

static weights_row_t weights_row(const training_pair_t *pair, const size_row_t *row) {
    const device_rates_t rates = device_rates_of_record(pair->gpu->run);
    weights_row_t found = {.row = row,
                           .best = comparison_set_fastest(pair->gpu, row->size, OWNER_OURS, PHASE)};
    if (found.best == NULL)
        return found;
    const case_t *spec = &found.best->spec;
    found.best_ns = result_median(found.best, PHASE);
    found.weights_bytes = workload_find(spec->workload)->cost(spec).working_set_bytes;
    found.dram_ns = training_bound_ns(BOUND_WEIGHTS, spec, &rates);
    found.kept_ns = training_bound_ns(BOUND_KEPT, spec, &rates);
    return found;
}

static void print_bound(FILE *out, const weights_row_t *row, training_bound_t bound,
                        const device_rates_t *rates, double ns) {
    char share[UNITS_TEXT];
    char *arithmetic = training_bound_arithmetic(bound, &row->best->spec, rates);
    fprintf(out, "%s (%s reached)", arithmetic, part_text(share, ns / row->best_ns));
    free(arithmetic);
}

static void print_row(const report_t *report, const training_pair_t *pair, const weights_row_t *row,
                      bool first) {
    const device_rates_t rates = device_rates_of_record(pair->gpu->run);
    char size[UNITS_TEXT], time[UNITS_TEXT], l2[UNITS_TEXT];
    const bool fits = row->weights_bytes < rates.l2_bytes;
    char *name = shown_name(row->best);
    fprintf(report->out, "%s %s %s takes %s: ", first ? "At" : " At",
            named_size(size, pair->gpu, row->row->size), name, units_time(time, row->best_ns));
    free(name);
    if (fits) {
        fprintf(report->out, "the L2 (%s) holds all weights, and allows ",
                units_bytes(l2, rates.l2_bytes));
        print_bound(report->out, row, BOUND_KEPT, &rates, row->kept_ns);
    } else {
        print_bound(report->out, row, BOUND_WEIGHTS, &rates, row->dram_ns);
        fprintf(report->out, "; if the L2 (%s) kept as many weights as fit, ",
                units_bytes(l2, rates.l2_bytes));
        print_bound(report->out, row, BOUND_KEPT, &rates, row->kept_ns);
    }
    fputc('.', report->out);
}

void finding_weights(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    size_t n = 0;
    for (size_t i = set->n_rows; i-- > 0 && n < 3;) {
        const weights_row_t row = weights_row(pair, &set->rows[i]);
        if (row.best == NULL || !isfinite(row.dram_ns) || !isfinite(row.kept_ns))
            continue;
        if (n == 0)
            fputs("- **The floor of 3·W**, with W the bytes of all weights: a step reads them "
                  "forward, reads them backward and writes them. ",
                  report->out);
        print_row(report, pair, &row, n++ == 0);
    }
    if (n > 0)
        fputc('\n', report->out);
}

static void add_share(table_t *table, double ns, double best_ns) {
    char share[UNITS_TEXT];
    table_add(table, isfinite(ns) ? part_text(share, ns / best_ns) : "–");
}

void table_of_weights(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    char heading[UNITS_TEXT], text[UNITS_TEXT];
    const char *const headings[] = {size_heading(heading, set), "W",          "3·W in DRAM",
                                    "less what the L2 keeps",   "Best rung",  "Case",
                                    "of 3·W in DRAM",           "of the rest"};
    table_t table;
    table_init(&table, headings, sizeof headings / sizeof *headings);
    table_set_align(&table, "rrrrrlrr");
    for (size_t i = 0; i < set->n_rows; i++) {
        const weights_row_t row = weights_row(pair, &set->rows[i]);
        if (row.best == NULL || !isfinite(row.best_ns))
            continue;
        char *name = shown_name(row.best);
        table_add(&table, size_text(text, set, row.row->size));
        table_add(&table, units_bytes(text, row.weights_bytes));
        table_add(&table, units_time(text, row.dram_ns));
        table_add(&table, units_time(text, row.kept_ns));
        table_add(&table, units_time(text, row.best_ns));
        table_add(&table, name);
        add_share(&table, row.dram_ns, row.best_ns);
        add_share(&table, row.kept_ns, row.best_ns);
        free(name);
    }
    report_heading(report, 4, "The floor");
    fprintf(report->out,
            "W: bytes of all weights. *3·W in DRAM*: three times that over the rate at which this "
            "run copied within DRAM; where the L2 holds them, a rung may be faster. *less what the "
            "L2 keeps*: without the part of W that fits into the L2, and not below 3·W at the L2's "
            "rate. The best rung's time of one step is `%s`.\n\n",
            PHASE);
    report_table(report, &table);
}
