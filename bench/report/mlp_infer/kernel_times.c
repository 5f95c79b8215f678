/* mlp_infer's tables of the computation alone: against the limit, with both sides timed alike, and
 * the up to four times of a kernel, each of which answers another question. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_contender(const size_row_t *row) {
    return row->best != NULL || row->fastest != NULL;
}

/* Of the cases of one variant at one batch, the first in the run: techniques of the host do not
 * change the kernel, so one of them stands for all. */
static bool is_first_of_variant(const comparison_set_t *set, size_t index, owner_t owner) {
    const case_t *spec = &set->run->cases[index].spec;
    for (size_t i = 0; i < index; i++) {
        const case_result_t *other = &set->run->cases[i];
        if (strcmp(other->spec.variant, spec->variant) == 0 &&
            strcmp(other->spec.engine, spec->engine) == 0 &&
            size_of_case(set, &other->spec) == size_of_case(set, spec) &&
            comparison_set_has(set, other, owner))
            return false;
    }
    return true;
}

/* One launch or forward pass between two events, else the compute phase by the host's clock. */
static const phase_t *single_time(const case_result_t *result) {
    const phase_t *device = result_phase(result, "forward_device");
    return device != NULL ? device : result_compute_phase(result);
}

static void add_single(table_t *table, const case_result_t *result) {
    const phase_t *phase = single_time(result);
    add_time(table, result, phase != NULL ? phase->name : "");
    bool host = phase != NULL && phase->clock == CLOCK_HOST;
    table_add_format(table, "%s%s", phase != NULL ? phase->name : "–", host ? " (host)" : "");
}

static void add_limit(table_t *table, const case_result_t *result) {
    const limit_t *limit = &result->limit;
    char text[UNITS_TEXT];
    if (!result_has_times(result) || !isfinite(limit->frac)) {
        for (int i = 0; i < 3; i++)
            table_add(table, "–");
        return;
    }
    char *phase = markdown_text(limit->phase != NULL ? limit->phase : "compute");
    char *bound = markdown_text(limit->bound != NULL ? limit->bound : "not named");
    table_add_format(table, "%s, %s", units_time(text, limit->limit_ns), bound);
    table_add(table, units_percent(text, limit->frac));
    table_add(table, phase);
    free(phase);
    free(bound);
}

static void add_compute_rows(table_t *table, const comparison_set_t *set, int64_t batch,
                             owner_t owner) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (size_of_case(set, &result->spec) != batch || !comparison_set_has(set, result, owner) ||
            !is_first_of_variant(set, i, owner) || is_not_applicable(result))
            continue;
        char text[UNITS_TEXT], label[32];
        char *variant = markdown_text(result->spec.variant);
        table_add(table, units_count(text, batch));
        table_add_format(table, "%s %s", case_engine_label(&result->spec, label), variant);
        add_single(table, result);
        add_limit(table, result);
        free(variant);
    }
}

bool comparison_set_has_limit(const comparison_set_t *set) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (result_has_times(result) && isfinite(result->limit.frac) &&
            (comparison_set_has(set, result, OWNER_OURS) ||
             comparison_set_has(set, result, OWNER_PYTORCH)))
            return true;
    }
    return false;
}

static void table_of_limits(const report_t *report, const comparison_set_t *set) {
    static const char *const HEADINGS[] = {"Batch", "Contender",    "one launch", "phase",
                                           "limit", "of the limit", "taken from"};
    table_t table;
    table_init(&table, HEADINGS, 7);
    table_set_align(&table, "rlrlrrl");
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_contender, rows);
    for (size_t i = 0; i < n; i++)
        for (owner_t owner = OWNER_OURS; owner <= OWNER_OTHERS; owner++)
            add_compute_rows(&table, set, rows[i]->size, owner);
    report_heading(report, 4, "Computation alone, and the limit");
    fputs("*One launch*: one kernel launch or forward pass between two events of the device "
          "(*host*: by the host's clock, launching included). *Limit*: the least time in which "
          "this device can move the bytes, do the arithmetic or launch; *of the limit* is it over "
          "the median of the phase named last.\n\n",
          report->out);
    report_table(report, &table);
}

/* ---- the four times of a kernel -------------------------------------------------------------- */

static const char *const KERNEL_PHASES[] = {"kernel", "kernel_stream", "kernel_graph",
                                            "kernel_cold"};
enum { N_KERNEL_PHASES = sizeof KERNEL_PHASES / sizeof *KERNEL_PHASES };

static bool is_shown_batch(const comparison_set_t *set, int64_t batch) {
    static const int64_t BATCHES[] = {1, 64, 1 << 20, 1 << 22};
    for (size_t i = 0; i < sizeof BATCHES / sizeof *BATCHES; i++)
        if (batch == BATCHES[i])
            return true;
    return batch == set->rows[set->n_rows - 1].size;
}

static bool any_has(const comparison_set_t *set, const char *phase) {
    for (size_t i = 0; i < set->run->n_cases; i++)
        if (comparison_set_has(set, &set->run->cases[i], OWNER_OURS) &&
            isfinite(result_median(&set->run->cases[i], phase)))
            return true;
    return false;
}

static void add_kernel_row(table_t *table, int64_t batch, const case_result_t *result,
                           const char *const *phases, size_t n, bool limit) {
    char text[UNITS_TEXT];
    char *variant = markdown_text(result->spec.variant);
    table_add(table, units_count(text, batch));
    table_add(table, variant);
    for (size_t k = 0; k < n; k++)
        add_time(table, result, phases[k]);
    if (limit)
        add_limit_share(table, result);
    free(variant);
}

static void table_of_kernel_times(const report_t *report, const comparison_set_t *set) {
    const char *headings[3 + N_KERNEL_PHASES] = {"Batch", "Rung"};
    const char **phases = headings + 2;
    size_t n = 0;
    for (size_t k = 0; k < N_KERNEL_PHASES; k++)
        if (any_has(set, KERNEL_PHASES[k]))
            phases[n++] = KERNEL_PHASES[k];
    if (n < 2)
        return;
    table_t table;
    bool limit = comparison_set_has_limit(set);
    phases[n] = "of the limit";
    table_init(&table, headings, 2 + n + limit);
    table_set_align(&table, "rlrrrrr");
    for (size_t r = 0; r < set->n_rows; r++)
        for (size_t i = 0; i < set->run->n_cases; i++) {
            const case_result_t *result = &set->run->cases[i];
            int64_t batch = size_of_case(set, &result->spec);
            if (batch == set->rows[r].size && is_shown_batch(set, batch) &&
                comparison_set_has(set, result, OWNER_OURS) &&
                is_first_of_variant(set, i, OWNER_OURS) && !is_not_applicable(result))
                add_kernel_row(&table, batch, result, phases, n, limit);
        }
    bool cold = any_has(set, "kernel_cold");
    report_heading(report, 4, cold ? "The four times of a kernel" : "The times of a kernel");
    fprintf(
        report->out,
        "By the device's clock: `kernel`, one launch between two events inside a sample, after its "
        "allocations and copies; `kernel_stream`, many back to back, and `kernel_graph`, many in "
        "one graph, divided by their number%s.\n\n",
        cold ? "; `kernel_cold`, one launch with the L2 flushed before it. The others run hot: "
               "what fits into the L2 stays there"
             : ". They run hot: what fits into the L2 stays there");
    report_table(report, &table);
}

void section_compute(const report_t *report, const comparison_set_t *set) {
    if (comparison_set_has_limit(set))
        table_of_limits(report, set);
    table_of_kernel_times(report, set);
}
