/* Sections that are the same for every workload: what became of its cases, one-time costs, checks,
 * resources. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Contenders of a workload (NULL: of all), in the run's order. */
static text_list_t contenders_of(const record_t *run, const char *workload) {
    text_list_t keys = {0};
    for (size_t i = 0; i < run->n_cases; i++) {
        if ((workload != NULL && strcmp(run->cases[i].spec.workload, workload) != 0) ||
            is_not_applicable(&run->cases[i]))
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

/* Another algorithm than the other contenders' is marked wherever it is named. */
static void add_contender(table_t *table, const record_t *run, const char *workload,
                          const char *contender) {
    bool algorithmic = false;
    for (size_t i = 0; i < run->n_cases && !algorithmic; i++)
        algorithmic =
            result_is_algorithmic(&run->cases[i]) && is_of(&run->cases[i], workload, contender);
    char *safe = markdown_text(contender);
    table_add_format(table, "%s%s", safe, algorithmic ? " *(algorithmic)*" : "");
    free(safe);
}

typedef struct status_counts {
    size_t all, of[CASE_THROTTLED + 1];
} status_counts_t;

/* NULL: of all workloads, of all contenders. */
static status_counts_t count_statuses(const record_t *run, const char *workload,
                                      const char *contender) {
    status_counts_t counts = {0};
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        if (is_calibration(&result->spec) || is_not_applicable(result) ||
            (contender != NULL && !is_of(result, workload, contender)))
            continue;
        counts.of[result->status]++;
        counts.all++;
    }
    return counts;
}

/* What became of the cases; statuses that no case has take no column, and all ok no table. */
void section_cases(const report_t *report) {
    const record_t *run = report->run;
    status_counts_t total = count_statuses(run, NULL, NULL);
    if (total.all == 0) {
        fputs("No case of a workload has ended in this run.\n\n", report->out);
        return;
    }
    if (total.of[CASE_OK] == total.all) {
        fprintf(report->out, "All %zu cases are ok.\n\n", total.all);
        return;
    }
    const char *headings[4 + CASE_THROTTLED] = {"Workload", "Contender", "cases"};
    size_t n = 3;
    for (size_t s = 0; s <= CASE_THROTTLED; s++)
        if (s == CASE_OK || total.of[s] > 0)
            headings[n++] = case_status_name((case_status_t)s);
    table_t table;
    table_init(&table, headings, n);
    table_set_align(&table, "llrrrrrr");
    text_list_t workloads = {0}, contenders = contenders_of(run, NULL);
    for (size_t i = 0; i < run->n_cases; i++)
        if (!text_list_has(&workloads, run->cases[i].spec.workload))
            text_list_add(&workloads, run->cases[i].spec.workload);
    for (size_t w = 0; w < workloads.n; w++)
        for (size_t c = 0; c < contenders.n; c++) {
            status_counts_t counts = count_statuses(run, workloads.items[w], contenders.items[c]);
            if (counts.all == 0)
                continue;
            add_escaped(&table, workloads.items[w]);
            add_contender(&table, run, workloads.items[w], contenders.items[c]);
            table_add_format(&table, "%zu", counts.all);
            for (size_t s = 0; s <= CASE_THROTTLED; s++)
                if (s == CASE_OK || total.of[s] > 0)
                    table_add_format(&table, "%zu", counts.of[s]);
        }
    report_table(report, &table);
    text_list_free(&workloads);
    text_list_free(&contenders);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over the contender's cases of a one-time cost; NaN when none has it. */
static double once_median(const record_t *run, const char *workload, const char *contender,
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

void section_once(const report_t *report, const char *workload) {
    const record_t *run = report->run;
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
            bool any = false;
            for (size_t k = 1; k < names.n && !any; k++)
                any = isfinite(once_median(run, workload, contenders.items[c], names.items[k]));
            if (!any)
                continue;
            add_contender(&table, run, workload, contenders.items[c]);
            for (size_t k = 1; k < names.n; k++) {
                char text[UNITS_TEXT];
                table_add(&table, units_time(text, once_median(run, workload, contenders.items[c],
                                                               names.items[k])));
            }
        }
        report_heading(report, 3, "One-time costs");
        fputs("Paid once by a worker process or a case, and part of no time above; medians over "
              "each contender's cases.\n\n",
              report->out);
        report_table(report, &table);
    }
    text_list_free(&names);
    text_list_free(&contenders);
}

/* The largest relative error of a contender's checks, before and after timing. */
static void add_checks(table_t *table, const record_t *run, const char *workload,
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
    add_contender(table, run, workload, contender);
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

void section_checks(const report_t *report, const char *workload) {
    static const char *const HEADINGS[] = {"Contender", "checked before", "worst", "checked after",
                                           "worst",     "tolerance",      "#wrong"};
    text_list_t contenders = contenders_of(report->run, workload);
    table_t table;
    table_init(&table, HEADINGS, 7);
    table_set_align(&table, "lrrrrrr");
    for (size_t i = 0; i < contenders.n; i++)
        add_checks(&table, report->run, workload, contenders.items[i]);
    report_heading(report, 3, "Checks");
    fputs("Relative L2 error against the float64 oracle, before and after timing; the worst over "
          "each contender's cases. A case that is wrong has no time in this report.\n\n",
          report->out);
    report_table(report, &table);
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

static void add_resources(table_t *table, const record_t *run, const char *workload,
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
    add_contender(table, run, workload, contender);
    add_escaped(table, arch);
    for (size_t k = 0; k < 3; k++)
        add_range(table, low[k], high[k], k > 0);
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (least == most || !isfinite(least))
        table_add(table, units_percent(a, isfinite(least) ? least : NAN));
    else
        table_add_format(table, "%s–%s", units_percent(a, least), units_percent(b, most));
}

void section_resources(const report_t *report, const char *workload) {
    static const char *const HEADINGS[] = {"Contender", "arch",   "registers",
                                           "shared",    "spills", "occupancy"};
    text_list_t contenders = contenders_of(report->run, workload);
    table_t table;
    table_init(&table, HEADINGS, 6);
    table_set_align(&table, "llrrrr");
    for (size_t i = 0; i < contenders.n; i++)
        add_resources(&table, report->run, workload, contenders.items[i]);
    if (table_rows(&table) > 0) {
        report_heading(report, 3, "Kernel resources");
        fputs("Per thread and per block, over all sizes.\n\n", report->out);
        report_table(report, &table);
    } else {
        table_free(&table);
    }
    text_list_free(&contenders);
}
