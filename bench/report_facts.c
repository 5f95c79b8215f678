/* Sections that are the same for every workload: where the run was made, what became of its cases,
 * one-time costs, checks, resources. */
#include "report_page.h"

#include "ground/memory.h"
#include "ground/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "gpu.power_limit_w" → "gpu: power limit"; the unit moves to the value. */
static char *fact_label(const char *key, size_t suffix_length) {
    char *label = mem_text_n(key, strlen(key) - suffix_length);
    for (char *c = label; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    char *dot = strchr(label, '.');
    char *spaced =
        dot != NULL ? mem_format("%.*s: %s", (int)(dot - label), label, dot + 1) : mem_text(label);
    char *safe = markdown_text(spaced);
    free(label);
    free(spaced);
    return safe;
}

/* Numbers carry their unit at the end of the key. */
static void add_fact(table_t *table, const fact_t *fact) {
    static const struct {
        const char *suffix, *unit;
        const char *(*print)(char *text, double value);
    } UNITS[] = {
        {"_bytes_per_s", NULL, units_rate},
        {"_bytes", NULL, units_bytes},
        {"_ns", NULL, units_time},
        {"_frac", NULL, units_percent},
        {"_mhz", "MHz", NULL},
        {"_w", "W", NULL},
        {"_c", "°C", NULL},
        {"_s", "s", NULL},
    };
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS && fact->kind == FACT_NUMBER; i++)
        if (text_ends(fact->key, UNITS[i].suffix)) {
            char *label = fact_label(fact->key, strlen(UNITS[i].suffix)), text[UNITS_TEXT];
            table_add(table, label);
            if (UNITS[i].print != NULL)
                table_add(table, UNITS[i].print(text, strtod(fact->value, NULL)));
            else
                table_add_format(table, "%s %s", fact->value, UNITS[i].unit);
            free(label);
            return;
        }
    char *label = fact_label(fact->key, 0), *value = markdown_text(fact->value);
    bool flag = fact->kind == FACT_FLAG;
    table_add(table, label);
    table_add(table, !flag ? value : strcmp(fact->value, "true") == 0 ? "yes" : "no");
    free(label);
    free(value);
}

void section_environment(const page_t *page) {
    static const char *const HEADINGS[] = {"What", "Value"};
    const environment_t *env = &page->run->environment;
    page_heading(page, 2, "What was run on what");
    if (env->n == 0) {
        fputs("The run recorded nothing about its machine.\n\n", page->out);
        return;
    }
    table_t table;
    table_init(&table, HEADINGS, 2);
    for (size_t i = 0; i < env->n; i++)
        add_fact(&table, &env->facts[i]);
    page_table(page, &table);
}

/* Contenders of a workload (NULL: of all), in the run's order. */
static text_list_t contenders_of(const run_record_t *run, const char *workload) {
    text_list_t keys = {0};
    for (size_t i = 0; i < run->n_cases; i++) {
        if (workload != NULL && strcmp(run->cases[i].spec.workload, workload) != 0)
            continue;
        char *key = contender_key(&run->cases[i].spec);
        if (!text_list_has(&keys, key))
            text_list_add(&keys, key);
        free(key);
    }
    return keys;
}

static bool is_of(const case_result_t *result, const char *workload, const char *contender) {
    char *key = contender_key(&result->spec);
    bool same = strcmp(key, contender) == 0 &&
                (workload == NULL || strcmp(result->spec.workload, workload) == 0);
    free(key);
    return same;
}

static void add_escaped(table_t *table, const char *text) {
    char *safe = markdown_text(text);
    table_add(table, safe);
    free(safe);
}

static void add_status_counts(table_t *table, const run_record_t *run, const char *workload,
                              const char *contender) {
    size_t counts[CASE_THROTTLED + 1] = {0}, all = 0;
    for (size_t i = 0; i < run->n_cases; i++)
        if (is_of(&run->cases[i], workload, contender)) {
            counts[run->cases[i].status]++;
            all++;
        }
    if (all == 0)
        return;
    add_escaped(table, workload);
    add_escaped(table, contender);
    table_add_format(table, "%zu", all);
    for (size_t s = 0; s <= CASE_THROTTLED; s++)
        table_add_format(table, "%zu", counts[s]);
}

void section_cases(const page_t *page) {
    static const char *const HEADINGS[] = {"Workload", "Contender", "cases",  "ok",
                                           "skipped",  "wrong",     "failed", "throttled"};
    const run_record_t *run = page->run;
    text_list_t workloads = {0}, contenders = contenders_of(run, NULL);
    for (size_t i = 0; i < run->n_cases; i++)
        if (!text_list_has(&workloads, run->cases[i].spec.workload))
            text_list_add(&workloads, run->cases[i].spec.workload);
    table_t table;
    table_init(&table, HEADINGS, 8);
    table_set_align(&table, "llrrrrrr");
    for (size_t w = 0; w < workloads.n; w++)
        for (size_t c = 0; c < contenders.n; c++)
            add_status_counts(&table, run, workloads.items[w], contenders.items[c]);
    if (table_rows(&table) == 0) {
        fputs("No case has ended in this run.\n\n", page->out);
        table_free(&table);
    } else {
        page_table(page, &table);
    }
    text_list_free(&workloads);
    text_list_free(&contenders);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over the contender's cases of a one-time cost; NaN when none has it. */
static double once_median(const run_record_t *run, const char *workload, const char *contender,
                          const char *name) {
    double *values = mem_zeroed(run->n_cases + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < run->n_cases; i++)
        if (result_has_times(&run->cases[i]) && is_of(&run->cases[i], workload, contender))
            for (size_t k = 0; k < run->cases[i].n_once; k++)
                if (strcmp(run->cases[i].once[k].name, name) == 0 && n < run->n_cases)
                    values[n++] = run->cases[i].once[k].ns;
    qsort(values, n, sizeof *values, by_value);
    double median = stats_quantile(values, n, 0.5);
    free(values);
    return median;
}

void section_once(const page_t *page, const char *workload) {
    const run_record_t *run = page->run;
    text_list_t names = {0}, contenders = contenders_of(run, workload);
    text_list_add(&names, "Contender");
    for (size_t i = 0; i < run->n_cases; i++)
        for (size_t k = 0; k < run->cases[i].n_once; k++)
            if (strcmp(run->cases[i].spec.workload, workload) == 0 &&
                !text_list_has(&names, run->cases[i].once[k].name))
                text_list_add(&names, run->cases[i].once[k].name);
    if (names.n > 1) {
        table_t table;
        table_init(&table, (const char *const *)names.items, names.n);
        for (size_t i = 1; i < names.n; i++)
            table.align[i] = ALIGN_RIGHT;
        for (size_t c = 0; c < contenders.n; c++) {
            add_escaped(&table, contenders.items[c]);
            for (size_t k = 1; k < names.n; k++) {
                char text[UNITS_TEXT];
                table_add(&table, units_time(text, once_median(run, workload, contenders.items[c],
                                                               names.items[k])));
            }
        }
        page_heading(page, 3, "One-time costs");
        fputs("Paid once by a worker process or a case, and part of no time above; medians over "
              "each contender's cases.\n\n",
              page->out);
        page_table(page, &table);
    }
    text_list_free(&names);
    text_list_free(&contenders);
}

/* The largest relative error of a contender's checks, before and after timing. */
static void add_checks(table_t *table, const run_record_t *run, const char *workload,
                       const char *contender) {
    double worst[2] = {-INFINITY, -INFINITY}, tolerance = NAN;
    size_t n[2] = {0}, wrong = 0;
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        if (!is_of(result, workload, contender))
            continue;
        wrong += result->status == CASE_WRONG;
        const check_t *checks[2] = {&result->before, &result->after};
        for (size_t k = 0; k < 2; k++) {
            if (!checks[k]->done)
                continue;
            n[k]++;
            /* An error that is NaN is the worst that there is. */
            if (!(checks[k]->rel_l2 <= worst[k]))
                worst[k] = checks[k]->rel_l2;
            if (!(checks[k]->tolerance <= tolerance))
                tolerance = checks[k]->tolerance;
        }
    }
    add_escaped(table, contender);
    for (size_t k = 0; k < 2; k++) {
        table_add_format(table, "%zu", n[k]);
        if (n[k] > 0)
            table_add_format(table, isnan(worst[k]) ? "not a number" : "%.2g", worst[k]);
        else
            table_add(table, "–");
    }
    table_add_format(table, isnan(tolerance) ? "–" : "%.2g", tolerance);
    table_add_format(table, "%zu", wrong);
}

void section_checks(const page_t *page, const char *workload) {
    static const char *const HEADINGS[] = {"Contender", "checked before", "worst", "checked after",
                                           "worst",     "tolerance",      "#wrong"};
    text_list_t contenders = contenders_of(page->run, workload);
    table_t table;
    table_init(&table, HEADINGS, 7);
    table_set_align(&table, "lrrrrrr");
    for (size_t i = 0; i < contenders.n; i++)
        add_checks(&table, page->run, workload, contenders.items[i]);
    page_heading(page, 3, "Checks");
    fputs("Relative L2 error against the float64 oracle, before and after timing; the worst over "
          "each contender's cases. A case that is wrong has no time in this report.\n\n",
          page->out);
    page_table(page, &table);
    text_list_free(&contenders);
}

static void add_range(table_t *table, double low, double high, bool bytes) {
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (!bytes)
        table_add_format(table, low == high ? "%.0f" : "%.0f–%.0f", low, high);
    else if (low == high)
        table_add(table, units_bytes(a, low));
    else
        table_add_format(table, "%s–%s", units_bytes(a, low), units_bytes(b, high));
}

static void add_resources(table_t *table, const run_record_t *run, const char *workload,
                          const char *contender) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-1, -1, -1};
    double least = INFINITY, most = -INFINITY;
    const char *arch = NULL;
    for (size_t i = 0; i < run->n_cases; i++) {
        const resources_t *r = &run->cases[i].resources;
        if (r->arch == NULL || !is_of(&run->cases[i], workload, contender))
            continue;
        const double values[3] = {(double)r->registers, (double)r->shared_bytes,
                                  (double)r->spill_bytes};
        for (size_t k = 0; k < 3; k++) {
            low[k] = fmin(low[k], values[k]);
            high[k] = fmax(high[k], values[k]);
        }
        if (isfinite(r->occupancy_frac)) {
            least = fmin(least, r->occupancy_frac);
            most = fmax(most, r->occupancy_frac);
        }
        arch = r->arch;
    }
    if (arch == NULL)
        return;
    add_escaped(table, contender);
    add_escaped(table, arch);
    for (size_t k = 0; k < 3; k++)
        add_range(table, low[k], high[k], k > 0);
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (least == most || !isfinite(least))
        table_add(table, units_percent(a, isfinite(least) ? least : NAN));
    else
        table_add_format(table, "%s–%s", units_percent(a, least), units_percent(b, most));
}

void section_resources(const page_t *page, const char *workload) {
    static const char *const HEADINGS[] = {"Contender", "arch",   "registers",
                                           "shared",    "spills", "occupancy"};
    text_list_t contenders = contenders_of(page->run, workload);
    table_t table;
    table_init(&table, HEADINGS, 6);
    table_set_align(&table, "llrrrr");
    for (size_t i = 0; i < contenders.n; i++)
        add_resources(&table, page->run, workload, contenders.items[i]);
    if (table_rows(&table) > 0) {
        page_heading(page, 3, "Kernel resources");
        fputs("Per thread and per block, over all batches.\n\n", page->out);
        page_table(page, &table);
    } else {
        table_free(&table);
    }
    text_list_free(&contenders);
}
