/* What the trainings ended at, held against the float64 oracle. */
#include "report/training/training.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_oracle(const case_result_t *result) {
    return strcmp(result->spec.engine, "cpu") == 0 && strcmp(result->spec.variant, "ref") == 0;
}

static bool is_of(const training_pair_t *pair, const case_result_t *result) {
    return comparison_set_shares_work(pair->either, &result->spec);
}

static const case_result_t *oracle_at(const training_pair_t *pair, int64_t size) {
    const record_t *run = pair->either->run;
    for (size_t i = 0; i < run->n_cases; i++)
        if (is_oracle(&run->cases[i]) && is_of(pair, &run->cases[i]) &&
            size_of_case(pair->either, &run->cases[i].spec) == size &&
            result_has_times(&run->cases[i]))
            return &run->cases[i];
    return NULL;
}

/* |fitted − the oracle's|; NaN where one of them is not there. */
static double distance(const training_pair_t *pair, const case_result_t *result, const char *key) {
    const case_result_t *oracle = oracle_at(pair, size_of_case(pair->either, &result->spec));
    return oracle != NULL && result_has_times(result)
               ? fabs(result_number(result, key) - result_number(oracle, key))
               : NAN;
}

static char *contender_of(const case_result_t *result) {
    char label[32];
    char *name = shown_name(result);
    char *text = mem_format("%s %s%s", case_engine_label(&result->spec, label), name,
                            result_is_algorithmic(result) ? " *(algorithmic)*" : "");
    free(name);
    return text;
}

/* ---- the sentence -------------------------------------------------------------------------------
 */

static const case_result_t *farthest(const training_pair_t *pair, const char *key, size_t *n) {
    const record_t *run = pair->either->run;
    const case_result_t *worst = NULL;
    *n = 0;
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        if (is_oracle(result) || !is_of(pair, result) || !isfinite(distance(pair, result, key)))
            continue;
        (*n)++;
        if (worst == NULL || distance(pair, result, key) > distance(pair, worst, key))
            worst = result;
    }
    return worst;
}

void finding_fit(const report_t *report, const training_pair_t *pair) {
    size_t n, n_said = 0;
    for (const char *const *key = pair->training->fitted; *key != NULL; key++) {
        const case_result_t *worst = farthest(pair, *key, &n);
        if (worst == NULL)
            continue;
        char size[UNITS_TEXT];
        char *name = contender_of(worst);
        if (n_said == 0)
            fprintf(report->out,
                    "- **The same fit everywhere:** over the %zu case%s that can be held against "
                    "the float64 oracle of the same size,",
                    n, n == 1 ? "" : "s");
        fprintf(report->out, "%s |%s − %s64| is at most %.1e (%s, %s)", n_said++ > 0 ? "," : "",
                *key, *key, distance(pair, worst, *key), name,
                named_size(size, pair->either, size_of_case(pair->either, &worst->spec)));
        free(name);
    }
    if (n_said > 0)
        fputs(".\n", report->out);
}

/* ---- the table ----------------------------------------------------------------------------------
 */

/* Over all sizes at which this contender and the oracle were run. */
static double worst_distance(const training_pair_t *pair, const case_result_t *like,
                             const char *key) {
    const record_t *run = pair->either->run;
    double worst = NAN;
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        char *mine = contender_of(like), *other = contender_of(result);
        if (strcmp(mine, other) == 0 && is_of(pair, result))
            worst = fmax(worst, distance(pair, result, key)); /* of a number and NaN: the number */
        free(mine);
        free(other);
    }
    return worst;
}

static void add_number(table_t *table, const char *format, double number) {
    char text[UNITS_TEXT];
    if (isfinite(number))
        snprintf(text, sizeof text, format, number);
    table_add(table, isfinite(number) ? text : "–");
}

static void add_fit(table_t *table, const training_pair_t *pair, const case_result_t *result) {
    const training_t *training = pair->training;
    char *name = contender_of(result);
    table_add_format(table, "%s%s", name, is_oracle(result) ? " (the oracle)" : "");
    free(name);
    for (const char *const *key = training->fitted; *key != NULL; key++) {
        add_number(table, "%.9f", result_number(result, *key));
        bool itself = is_oracle(result);
        add_number(table, "%.1e", itself ? NAN : distance(pair, result, *key));
        add_number(table, "%.1e", itself ? NAN : worst_distance(pair, result, *key));
    }
    for (const char *const *key = training->quality; *key != NULL; key++)
        add_number(table, "%.9g", result_number(result, *key));
}

/* The reference size, if the oracle was run there; else the largest that has one. */
static int64_t size_with_oracle(const training_pair_t *pair) {
    const comparison_set_t *set = pair->either;
    const size_row_t *reference = reference_row(set);
    if (reference != NULL && oracle_at(pair, reference->size) != NULL)
        return reference->size;
    for (size_t i = set->n_rows; i-- > 0;)
        if (oracle_at(pair, set->rows[i].size) != NULL)
            return set->rows[i].size;
    return reference != NULL ? reference->size : -1;
}

static void init_table(table_t *table, const training_t *training) {
    enum { MOST = 24 };
    const char *headings[MOST] = {"Contender"};
    text_list_t made = {0};
    size_t n = 1;
    for (const char *const *key = training->fitted; *key != NULL && n + 3 < MOST; key++) {
        headings[n++] = *key;
        text_list_add_format(&made, "\\|%s − %s64\\|", *key, *key);
        text_list_add(&made, "at any size");
        n += 2;
    }
    size_t k = 0;
    for (size_t i = 2; i < n; i += 3) {
        headings[i] = made.items[k++];
        headings[i + 1] = made.items[k++];
    }
    for (const char *const *key = training->quality; *key != NULL && n < MOST; key++) {
        char *words = mem_text(*key);
        for (char *c = words; *c != '\0'; c++)
            *c = *c == '_' ? ' ' : *c;
        text_list_add(&made, words);
        free(words);
        headings[n++] = made.items[made.n - 1];
    }
    table_init(table, headings, n);
    for (size_t i = 1; i < n; i++)
        table->align[i] = ALIGN_RIGHT;
    text_list_free(&made);
}

void table_of_fits(const report_t *report, const training_pair_t *pair) {
    const record_t *run = pair->either->run;
    int64_t size = size_with_oracle(pair);
    table_t table;
    init_table(&table, pair->training);
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        if (is_of(pair, result) && size_of_case(pair->either, &result->spec) == size &&
            result_has_times(result) && isfinite(result_number(result, pair->training->fitted[0])))
            add_fit(&table, pair, result);
    }
    if (table_rows(&table) == 0) {
        table_free(&table);
        return;
    }
    char text[UNITS_TEXT];
    report_heading(report, 4, "What was fitted");
    fprintf(report->out,
            "At %s. Distances are to the float64 oracle of the same size; *at any size*: the "
            "largest over all sizes that have one.\n\n",
            named_size(text, pair->either, size));
    report_table(report, &table);
}
