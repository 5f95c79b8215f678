/* A training's tables: who is how fast at each size, and each rung by step. */
#include "report/training/training.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_name(table_t *table, const case_result_t *result) {
    char *name = result != NULL ? shown_name(result) : mem_text("–");
    table_add(table, name);
    free(name);
}

static void add_ratio(table_t *table, const speedup_t *speedup) {
    char text[2 * UNITS_TEXT];
    table_add(table, ratio_text(text, sizeof text, speedup));
}

/* ---- by size ------------------------------------------------------------------------------------
 */

/* With a GPU's set its rows know the CPU's times; a run without one has the CPU's alone. */
static void add_sizes(table_t *table, const comparison_set_t *set, bool gpu) {
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        char text[UNITS_TEXT];
        table_add(table, size_text(text, set, row->size));
        add_time(table, row->best, set->phase);
        add_name(table, row->best);
        add_time(table, row->fastest, set->phase);
        add_name(table, row->fastest);
        add_ratio(table, &row->headline);
        add_ratio(table, &row->against_eager);
        if (!gpu)
            continue;
        add_time(table, row->host, set->phase);
        add_ratio(table, &row->against_host);
        add_time(table, row->host_pytorch, set->phase);
        add_limit_share(table, row->best);
    }
}

static void describe_sizes(const report_t *report, const training_pair_t *pair, bool gpu) {
    const comparison_set_t *set = gpu ? pair->gpu : pair->cpu;
    fprintf(
        report->out,
        "Medians of `%s` %s. *vs best* and *vs eager* are PyTorch's median "
        "over ours%s, with a bootstrap 95 %% interval: above 1, %s is the faster; where the "
        "interval holds 1, no difference was found. † marks a throttled case, whose time is shown "
        "and wins nothing.%s",
        set->phase, pair->training->timed, gpu ? ", *vs C* is that of C on the CPU over ours" : "",
        set->platform->name,
        gpu ? " *Of the limit*: the least time in which this device can do the training (" : "");
    if (gpu)
        fprintf(report->out, "%s), over the training's own time.", pair->training->least);
    fputs("\n\n", report->out);
}

void table_by_size(const report_t *report, const training_pair_t *pair) {
    bool gpu = pair->gpu != NULL && comparison_set_count(pair->gpu).timed > 0;
    const comparison_set_t *set = gpu ? pair->gpu : pair->cpu;
    char size[UNITS_TEXT];
    size_heading(size, set);
    const char *const both[] = {
        size,       "Best CUDA", "Case", "PyTorch best",       "Mode",        "vs best",
        "vs eager", "Best C",    "vs C", "PyTorch on the CPU", "of the limit"};
    const char *const cpu[] = {size,   "Best C",  "Case",    "PyTorch best",
                               "Mode", "vs best", "vs eager"};
    table_t table;
    table_init(&table, gpu ? both : cpu,
               gpu ? sizeof both / sizeof *both : sizeof cpu / sizeof *cpu);
    table_set_align(&table, gpu ? "rrlrlrrrrrr" : "rrlrlrr");
    add_sizes(&table, set, gpu);
    report_heading(report, 4, gpu ? "By size" : "By size, on the CPU");
    describe_sizes(report, pair, gpu);
    print_spread(report, set);
    report_table(report, &table);
}

/* ---- the ladder ---------------------------------------------------------------------------------
 */

static text_list_t contenders_of(const comparison_set_t *set, owner_t owner) {
    text_list_t names = {0};
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        char *name = contender_name(&result->spec);
        if (comparison_set_has(set, result, owner) && !is_not_applicable(result) &&
            !text_list_has(&names, name))
            text_list_add(&names, name);
        free(name);
    }
    text_list_sort(&names);
    return names;
}

static const case_result_t *case_of(const comparison_set_t *set, owner_t owner,
                                    const char *contender, int64_t size) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        char *name = contender_name(&result->spec);
        bool same = strcmp(name, contender) == 0 && comparison_set_has(set, result, owner) &&
                    size_of_case(set, &result->spec) == size;
        free(name);
        if (same)
            return result;
    }
    return NULL;
}

/* "4.51 µs, 73 %" */
static void add_step(table_t *table, const training_pair_t *pair, const case_result_t *result) {
    char time[UNITS_TEXT], share[UNITS_TEXT];
    if (result == NULL || !result_has_times(result)) {
        table_add(table, result != NULL ? case_status_name(result->status) : "–");
        return;
    }
    bool algorithmic = result_is_algorithmic(result), known = isfinite(result->limit.frac);
    double ns = result_median(result, training_phase(result));
    units_time(time, algorithmic ? ns : ns / steps_of(pair, result));
    table_add_format(table, "%s%s%s%s%s", time, algorithmic ? " in all" : "", known ? ", " : "",
                     known ? units_percent(share, result->limit.frac) : "",
                     result->status == CASE_THROTTLED ? " †" : "");
}

static bool is_marked(const comparison_set_t *set, owner_t owner, const char *contender) {
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *result = case_of(set, owner, contender, set->rows[i].size);
        if (result != NULL && result_is_algorithmic(result))
            return true;
    }
    return false;
}

static void add_rungs(table_t *table, const training_pair_t *pair, owner_t owner,
                      const char *prefix) {
    const comparison_set_t *set = pair->gpu;
    text_list_t names = contenders_of(set, owner);
    for (size_t i = 0; i < names.n; i++) {
        char *name = markdown_text(names.items[i]);
        table_add_format(table, "%s%s%s", prefix, name,
                         is_marked(set, owner, names.items[i]) ? " *(algorithmic)*" : "");
        free(name);
        for (size_t r = 0; r < set->n_rows; r++)
            add_step(table, pair, case_of(set, owner, names.items[i], set->rows[r].size));
    }
    text_list_free(&names);
}

void table_of_ladder(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const char **headings = mem_zeroed(set->n_rows + 1, sizeof *headings);
    text_list_t sizes = {0};
    headings[0] = "Rung";
    for (size_t i = 0; i < set->n_rows; i++) {
        char text[UNITS_TEXT];
        text_list_add(&sizes, named_size(text, set, set->rows[i].size));
        headings[i + 1] = sizes.items[i];
    }
    table_t table;
    table_init(&table, headings, set->n_rows + 1);
    for (size_t i = 1; i <= set->n_rows; i++)
        table.align[i] = ALIGN_RIGHT;
    add_rungs(&table, pair, OWNER_OURS, "");
    add_rungs(&table, pair, OWNER_PYTORCH, "PyTorch ");
    text_list_free(&sizes);
    free(headings);
    report_heading(report, 4, "The ladder");
    fprintf(
        report->out,
        "The training alone (`train_device`, by the device's clock) by %s, and the share of "
        "the limit that it reaches. *(algorithmic)* marks another algorithm with the same "
        "result, which takes no part in comparisons and has no %ss: its time is that of all.\n\n",
        pair->training->step, pair->training->step);
    report_table(report, &table);
}
