/* Trainings of one step that are timed operation by operation. */
#include "report_training.h"

#include "ground/memory.h"
#include "ground/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const OPERATIONS[] = {"forward", "loss", "backward", "update", "fused"};
enum { N_OPERATIONS = sizeof OPERATIONS / sizeof *OPERATIONS };

static bool is_of(const training_pair_t *pair, const case_result_t *result) {
    return family_shares_work(pair->either, &result->spec);
}

/* Of the medians; NaN where nothing was timed. */
static double sum_ns(const case_result_t *result) {
    double sum = NAN;
    for (size_t k = 0; k < N_OPERATIONS; k++) {
        double ns = result_median(result, OPERATIONS[k]);
        if (isfinite(ns))
            sum = isfinite(sum) ? sum + ns : ns;
    }
    return sum;
}

bool has_operations(const training_pair_t *pair) {
    const run_record_t *run = pair->either->run;
    for (size_t i = 0; i < run->n_cases; i++)
        if (is_of(pair, &run->cases[i]) && isfinite(sum_ns(&run->cases[i])))
            return true;
    return false;
}

/* Ours and PyTorch's on a device. Another algorithm has no operations of the same meaning. */
static const case_result_t *least(const family_t *family, party_t party, bool fused) {
    const case_result_t *best = NULL;
    const size_row_t *last = &family->rows[family->n_rows - 1];
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (result->status == CASE_OK && family_has(family, result, party) &&
            size_of_case(family, &result->spec) == last->size && !result_is_algorithmic(result) &&
            isfinite(result_median(result, "fused")) == fused && isfinite(sum_ns(result)) &&
            (best == NULL || sum_ns(result) < sum_ns(best)))
            best = result;
    }
    return best;
}

static void print_operations(FILE *out, const case_result_t *result, const char *who,
                             size_t n_before) {
    char text[UNITS_TEXT];
    char *name = shown_name(result);
    text_list_t parts = {0};
    for (size_t k = 0; k < N_OPERATIONS; k++) {
        double ns = result_median(result, OPERATIONS[k]);
        if (isfinite(ns))
            text_list_add_format(&parts, "%s %s", OPERATIONS[k], units_time(text, ns));
    }
    char *list = text_list_join(&parts, ", ");
    fprintf(out, "%s %s %s: %s", n_before > 0 ? ";" : "", who, name, list);
    if (parts.n > 1)
        fprintf(out, ", in sum %s", units_time(text, sum_ns(result)));
    text_list_free(&parts);
    free(list);
    free(name);
}

void finding_operations(const page_t *page, const training_pair_t *pair) {
    const family_t *family =
        pair->gpu != NULL && family_count(pair->gpu).timed > 0 ? pair->gpu : pair->cpu;
    if (family == NULL || family->n_rows == 0)
        return;
    char size[UNITS_TEXT];
    size_t n = 0;
    for (int party = PARTY_OURS; party <= PARTY_PYTORCH; party++)
        for (int fused = 0; fused < 2; fused++) {
            const case_result_t *result = least(family, (party_t)party, fused == 1);
            if (result == NULL)
                continue;
            if (n == 0)
                fprintf(page->out,
                        "- **Operations of one %s** %s at %s, each by itself; the fastest whose "
                        "operations can be told apart, and the fastest that does them in one "
                        "go:",
                        pair->training->step, family->side->place,
                        named_size(size, family, family->rows[family->n_rows - 1].size));
            print_operations(page->out, result,
                             party == PARTY_OURS ? family->side->name : "PyTorch", n++);
        }
    fputs(n > 0 ? ".\n" : "", page->out);
}

static void add_row(table_t *table, const training_pair_t *pair, const case_result_t *result) {
    char text[UNITS_TEXT], label[32];
    char *name = shown_name(result);
    table_add(table, size_text(text, pair->either, size_of_case(pair->either, &result->spec)));
    table_add_format(table, "%s %s%s", case_engine_label(&result->spec, label), name,
                     result_is_algorithmic(result) ? " *(algorithmic)*" : "");
    free(name);
    for (size_t k = 0; k < N_OPERATIONS; k++)
        add_time(table, result, OPERATIONS[k]);
    table_add(table, units_time(text, sum_ns(result)));
}

void table_of_operations(const page_t *page, const training_pair_t *pair) {
    char size[UNITS_TEXT];
    const family_t *family = pair->either;
    const char *headings[3 + N_OPERATIONS] = {size_heading(size, family), "Contender"};
    for (size_t k = 0; k < N_OPERATIONS; k++)
        headings[2 + k] = OPERATIONS[k];
    headings[2 + N_OPERATIONS] = "sum";
    table_t table;
    table_init(&table, headings, 3 + N_OPERATIONS);
    table_set_align(&table, "rlrrrrrr");
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (is_of(pair, result) && !is_not_applicable(result) &&
            (!result_has_times(result) || isfinite(sum_ns(result))))
            add_row(&table, pair, result);
    }
    fputs("Medians, each operation timed by itself: the device is idle before it, and its launches "
          "are inside. *fused*: the contender does all of them in one go, so they have no times of "
          "their own. *sum* is of the medians.\n\n",
          page->out);
    page_table(page, &table);
}
