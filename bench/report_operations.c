/* Trainings of one step that are timed operation by operation. */
#include "report_training.h"

#include "ground/memory.h"
#include "ground/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What an epoch consists of. `fused` is all of them in one go, and no part of their sum. */
static const char *const OPERATIONS[] = {"forward", "loss", "backward", "update"};
static const char FUSED[] = "fused";
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

static bool is_timed(const case_result_t *result) {
    return isfinite(sum_ns(result)) || isfinite(result_median(result, FUSED));
}

bool has_operations(const training_pair_t *pair) {
    const run_record_t *run = pair->either->run;
    for (size_t i = 0; i < run->n_cases; i++)
        if (is_of(pair, &run->cases[i]) && is_timed(&run->cases[i]))
            return true;
    return false;
}

/* Another algorithm has no operations of the same meaning. */
static bool is_told(const family_t *family, party_t party, const case_result_t *result) {
    return result->status == CASE_OK && family_has(family, result, party) &&
           size_of_case(family, &result->spec) == family->rows[family->n_rows - 1].size &&
           !result_is_algorithmic(result);
}

static const case_result_t *least(const family_t *family, party_t party,
                                  double (*time_ns)(const case_result_t *result)) {
    const case_result_t *best = NULL;
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (is_told(family, party, result) && isfinite(time_ns(result)) &&
            (best == NULL || time_ns(result) < time_ns(best)))
            best = result;
    }
    return best;
}

static double fused_ns(const case_result_t *result) {
    return result_median(result, FUSED);
}

static char *in_words(const case_result_t *result) {
    char text[UNITS_TEXT];
    text_list_t parts = {0};
    for (size_t k = 0; k < N_OPERATIONS; k++) {
        double ns = result_median(result, OPERATIONS[k]);
        if (isfinite(ns))
            text_list_add_format(&parts, "%s %s", OPERATIONS[k], units_time(text, ns));
    }
    if (parts.n > 1)
        text_list_add_format(&parts, "in sum %s", units_time(text, sum_ns(result)));
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
static void print_contenders(const page_t *page, const family_t *family) {
    const case_result_t *apart = least(family, PARTY_OURS, sum_ns);
    const case_result_t *whole = least(family, PARTY_OURS, fused_ns);
    size_t n = 0;
    print_operations(page->out, apart, family->side->name, &n);
    print_operations(page->out, whole != apart ? whole : NULL, family->side->name, &n);
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (is_told(family, PARTY_PYTORCH, result) && is_timed(result))
            print_operations(page->out, result, "PyTorch", &n);
    }
}

static bool is_any_told(const family_t *family) {
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (is_timed(result) &&
            (is_told(family, PARTY_OURS, result) || is_told(family, PARTY_PYTORCH, result)))
            return true;
    }
    return false;
}

void finding_operations(const page_t *page, const training_pair_t *pair) {
    const family_t *family =
        pair->gpu != NULL && family_count(pair->gpu).timed > 0 ? pair->gpu : pair->cpu;
    if (family == NULL || family->n_rows == 0 || !is_any_told(family))
        return;
    char size[UNITS_TEXT];
    fprintf(page->out,
            "- **Operations of one %s** %s at %s, each by itself (*fused*: all of them in one go). "
            "Of %s the fastest whose operations can be told apart and the fastest that fuses them, "
            "of PyTorch every mode",
            pair->training->step, family->side->place,
            named_size(size, family, family->rows[family->n_rows - 1].size), family->side->name);
    print_contenders(page, family);
    fputs(".\n", page->out);
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
    table_add(table, isfinite(sum_ns(result)) ? units_time(text, sum_ns(result)) : "–");
    add_time(table, result, FUSED);
}

void table_of_operations(const page_t *page, const training_pair_t *pair) {
    char size[UNITS_TEXT];
    const family_t *family = pair->either;
    const char *headings[4 + N_OPERATIONS] = {size_heading(size, family), "Contender"};
    for (size_t k = 0; k < N_OPERATIONS; k++)
        headings[2 + k] = OPERATIONS[k];
    headings[2 + N_OPERATIONS] = "sum";
    headings[3 + N_OPERATIONS] = FUSED;
    table_t table;
    table_init(&table, headings, 4 + N_OPERATIONS);
    table_set_align(&table, "rlrrrrrr");
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (is_of(pair, result) && !is_not_applicable(result) &&
            (!result_has_times(result) || is_timed(result)))
            add_row(&table, pair, result);
    }
    fputs(
        "Medians, each operation timed by itself: the device is idle before it, and its launches "
        "are inside. *sum* is of the medians of these operations. *fused*: all of them in one go, "
        "timed in the same way.\n\n",
        page->out);
    page_table(page, &table);
}
