/* Trainings of one step that are timed operation by operation. */
#include "analysis/step_parts.h"
#include "report/training/training.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_of(const training_pair_t *pair, const case_result_t *result) {
    return comparison_set_shares_work(pair->either, &result->spec);
}

bool has_operations(const training_pair_t *pair) {
    const record_t *run = pair->either->run;
    for (size_t i = 0; i < run->n_cases; i++)
        if (is_of(pair, &run->cases[i]) && has_step_parts(&run->cases[i]))
            return true;
    return false;
}

/* Another algorithm has no operations of the same meaning. */
static bool is_told(const comparison_set_t *set, owner_t owner, const case_result_t *result) {
    return result->status == CASE_OK && comparison_set_has(set, result, owner) &&
           size_of_case(set, &result->spec) == set->rows[set->n_rows - 1].size &&
           !result_is_algorithmic(result);
}

static const case_result_t *least(const comparison_set_t *set, owner_t owner,
                                  double (*time_ns)(const case_result_t *result)) {
    const case_result_t *best = NULL;
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (is_told(set, owner, result) && isfinite(time_ns(result)) &&
            (best == NULL || time_ns(result) < time_ns(best)))
            best = result;
    }
    return best;
}

static double fused_ns(const case_result_t *result) {
    return step_part_ns(result, PART_FUSED);
}

static char *in_words(const case_result_t *result) {
    char text[UNITS_TEXT];
    text_list_t parts = {0};
    for (step_part_t part = PART_GATHER; part < PART_FUSED; part++) {
        double ns = step_part_ns(result, part);
        if (isfinite(ns))
            text_list_add_format(&parts, "%s %s", step_part_name(part), units_time(text, ns));
    }
    if (parts.n > 1)
        text_list_add_format(&parts, "in sum %s", units_time(text, step_parts_sum_ns(result)));
    if (isfinite(fused_ns(result)))
        text_list_add_format(&parts, "fused %s", units_time(text, fused_ns(result)));
    char *words = text_list_join(&parts, ", ");
    text_list_free(&parts);
    return words;
}

static void print_operations(FILE *out, const case_result_t *result, const char *who,
                             size_t *n_before) {
    if (result == NULL)
        return;
    char *name = shown_name(result), *words = in_words(result);
    fprintf(out, "%s %s %s: %s", (*n_before)++ > 0 ? ";" : ":", who, name, words);
    free(words);
    free(name);
}

/* Of ours, two rungs; of PyTorch every mode, since each takes an epoch apart in its own way. */
static void print_contenders(const report_t *report, const comparison_set_t *set) {
    const case_result_t *apart = least(set, OWNER_OURS, step_parts_sum_ns);
    const case_result_t *whole = least(set, OWNER_OURS, fused_ns);
    size_t n = 0;
    print_operations(report->out, apart, set->platform->name, &n);
    print_operations(report->out, whole != apart ? whole : NULL, set->platform->name, &n);
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (is_told(set, OWNER_PYTORCH, result) && has_step_parts(result))
            print_operations(report->out, result, "PyTorch", &n);
    }
}

static bool is_any_told(const comparison_set_t *set) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (has_step_parts(result) &&
            (is_told(set, OWNER_OURS, result) || is_told(set, OWNER_PYTORCH, result)))
            return true;
    }
    return false;
}

void finding_operations(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set =
        pair->gpu != NULL && comparison_set_count(pair->gpu).timed > 0 ? pair->gpu : pair->cpu;
    if (set == NULL || set->n_rows == 0 || !is_any_told(set))
        return;
    char size[UNITS_TEXT];
    fprintf(report->out,
            "- **Operations of one %s** %s at %s, each by itself (*fused*: all of them in one go). "
            "Of %s the fastest whose operations can be told apart and the fastest that fuses them, "
            "of PyTorch every mode",
            pair->training->step, set->platform->place,
            named_size(size, set, set->rows[set->n_rows - 1].size), set->platform->name);
    print_contenders(report, set);
    fputs(".\n", report->out);
}

/* Who has no gathering of its own leaves no column for it. */
static bool has_part(const training_pair_t *pair, step_part_t part) {
    const record_t *run = pair->either->run;
    for (size_t i = 0; i < run->n_cases && part == PART_GATHER; i++)
        if (is_of(pair, &run->cases[i]) && isfinite(step_part_ns(&run->cases[i], part)))
            return true;
    return part != PART_GATHER;
}

static void add_ns(table_t *table, const case_result_t *result, double ns) {
    char text[UNITS_TEXT];
    if (!result_has_times(result))
        table_add(table, case_status_name(result->status));
    else if (!isfinite(ns))
        table_add(table, "–");
    else
        table_add_format(table, "%s%s", units_time(text, ns),
                         result->status == CASE_THROTTLED ? " †" : "");
}

static void add_row(table_t *table, const training_pair_t *pair, const case_result_t *result) {
    char text[UNITS_TEXT], label[32];
    char *name = shown_name(result);
    table_add(table, size_text(text, pair->either, size_of_case(pair->either, &result->spec)));
    table_add_format(table, "%s %s%s", case_engine_label(&result->spec, label), name,
                     result_is_algorithmic(result) ? " *(algorithmic)*" : "");
    free(name);
    for (step_part_t part = PART_GATHER; part < PART_FUSED; part++)
        if (has_part(pair, part))
            add_ns(table, result, step_part_ns(result, part));
    double sum_ns = step_parts_sum_ns(result);
    table_add(table, isfinite(sum_ns) ? units_time(text, sum_ns) : "–");
    add_ns(table, result, step_part_ns(result, PART_FUSED));
}

static void init_table(table_t *table, const training_pair_t *pair) {
    char size[UNITS_TEXT];
    const char *headings[4 + N_STEP_PARTS] = {size_heading(size, pair->either), "Contender"};
    size_t n = 2;
    for (step_part_t part = PART_GATHER; part < PART_FUSED; part++)
        if (has_part(pair, part))
            headings[n++] = step_part_name(part);
    headings[n++] = "sum";
    headings[n++] = step_part_name(PART_FUSED);
    table_init(table, headings, n);
    for (size_t i = 0; i < n; i++)
        table->align[i] = i == 1 ? ALIGN_LEFT : ALIGN_RIGHT;
}

void table_of_operations(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->either;
    table_t table;
    init_table(&table, pair);
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (is_of(pair, result) && !is_not_applicable(result) &&
            (!result_has_times(result) || has_step_parts(result)))
            add_row(&table, pair, result);
    }
    fputs(
        "Medians, each operation timed by itself: the device is idle before it, and its launches "
        "are inside. *sum* is of the medians of these operations. *fused*: all of them in one go, "
        "timed in the same way.",
        report->out);
    fprintf(report->out, "%s\n\n", pair->training->operations);
    report_table(report, &table);
}
