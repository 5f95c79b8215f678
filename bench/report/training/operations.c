/* Trainings whose steps are timed by operation. */
#include "analysis/learning.h"
#include "report/training/training.h"

#include <math.h>

bool has_operations(const training_pair_t *pair) {
    return find_case(pair->either, OF_ANYONE, ANY_SIZE, has_step_parts) != NULL;
}

/* ---- the finding ----------------------------------------------------------------------------- */

/* Another algorithm has different operations. */
static const unsigned REPORTED = ONLY_OK | NOT_ALGORITHMIC;

static int64_t largest(const comparison_set_t *set) {
    return set->rows[set->n_rows - 1].size;
}

static const case_result_t *least(const comparison_set_t *set,
                                  double (*time_ns)(const case_result_t *result)) {
    const case_result_t *best = NULL, *result = NULL;
    while ((result = next_case(set, OF_OURS | REPORTED, largest(set), result)) != NULL)
        if (isfinite(time_ns(result)) && (best == NULL || time_ns(result) < time_ns(best)))
            best = result;
    return best;
}

static double fused_ns(const case_result_t *result) {
    return step_part_ns(result, PART_FUSED);
}

/* "CUDA 03_tiled: forward 4.51 µs, loss 1.20 µs, sum 5.71 µs" */
static void add_operations(text_list_t *list, const report_t *report, const case_result_t *result,
                           const char *name) {
    text_list_t parts = {0};
    for (step_part_t part = PART_GATHER; part < PART_FUSED; part++) {
        const double ns = step_part_ns(result, part);
        if (isfinite(ns))
            text_list_add_format(&parts, "%s %s", step_part_name(part), time_text(report, ns));
    }
    if (parts.n > 1)
        text_list_add_format(&parts, "sum %s", time_text(report, step_parts_sum_ns(result)));
    if (isfinite(fused_ns(result)))
        text_list_add_format(&parts, "fused %s", time_text(report, fused_ns(result)));
    text_list_add_format(list, "%s %s: %s", name, name_cell(report, result),
                         report_join(report, &parts, ", "));
}

/* Two of our rungs, and every rival's mode, since each has different operations. */
void finding_operations(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = timed_set(pair);
    if (set == NULL || set->n_rows == 0)
        return;
    const case_result_t *separate = least(set, step_parts_sum_ns), *fused = least(set, fused_ns);
    text_list_t list = {0};
    if (separate != NULL)
        add_operations(&list, report, separate, set->platform->name);
    if (fused != NULL && fused != separate)
        add_operations(&list, report, fused, set->platform->name);
    const case_result_t *result = NULL;
    while ((result = next_case(set, OF_RIVALS | REPORTED, largest(set), result)) != NULL)
        if (has_step_parts(result))
            add_operations(&list, report, result, who(report, result));
    if (list.n > 0)
        print(report,
              "- **Operations of one %s** %s at %s, timed separately (*fused*: all together): the "
              "fastest %s rung with separate operations, the fastest fused one, and every mode "
              "of a rival:\n  - %s.\n",
              pair->training->step, set->platform->place, size_name(report, set, largest(set)),
              set->platform->name, report_join(report, &list, ".\n  - "));
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool has_gathering(const case_result_t *result) {
    return isfinite(step_part_ns(result, PART_GATHER));
}

static const char *part_cell(const report_t *report, const case_result_t *result,
                             step_part_t part) {
    if (!result_has_times(result))
        return case_status_name(result->status);
    const double ns = step_part_ns(result, part);
    const bool marked = isfinite(ns) && result->status == CASE_THROTTLED;
    return report_text(report, "%s%s", time_text(report, ns), marked ? " †" : "");
}

void table_of_operations(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->either;
    const bool no_gathering = find_case(set, OF_ANYONE, ANY_SIZE, has_gathering) == NULL;
    const column_t columns[] = {
        {size_title(report, set), 'r', false},
        {"Contender", 'l', false},
        {step_part_name(PART_GATHER), 'r', no_gathering},
        {step_part_name(PART_FORWARD), 'r', false},
        {step_part_name(PART_LOSS), 'r', false},
        {step_part_name(PART_BACKWARD), 'r', false},
        {step_part_name(PART_UPDATE), 'r', false},
        {"sum", 'r', false},
        {step_part_name(PART_FUSED), 'r', false},
    };
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    const case_result_t *result = NULL;
    while ((result = next_case(set, OF_ANYONE, ANY_SIZE, result)) != NULL) {
        if (is_not_applicable(result) || (result_has_times(result) && !has_step_parts(result)))
            continue;
        const char *const cells[] = {
            size_cell(report, set, size_of_case(set, &result->spec)),
            report_text(report, "%s%s", contender_text(report, result), algorithmic_mark(result)),
            part_cell(report, result, PART_GATHER),
            part_cell(report, result, PART_FORWARD),
            part_cell(report, result, PART_LOSS),
            part_cell(report, result, PART_BACKWARD),
            part_cell(report, result, PART_UPDATE),
            time_text(report, step_parts_sum_ns(result)),
            part_cell(report, result, PART_FUSED),
        };
        columns_row(&table, cells);
    }
    columns_end(&table,
                report_text(report,
                            "Medians; each operation is timed separately, including its launches, "
                            "on an idle device. *sum*: of these medians. *fused*: all operations "
                            "together, timed the same way."
                            "%s\n\n",
                            pair->training->operations != NULL ? pair->training->operations : ""));
}
