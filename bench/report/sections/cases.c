/* Tables of cases for any workload: statuses, cold starts, one-time costs, checks, resources. */
#include "report/columns.h"
#include "report/sections/sections.h"

#include "base/memory.h"
#include "base/units.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- contenders ------------------------------------------------------------------------------ */

typedef struct contender {
    const record_t *run;
    const char *workload;        /* NULL: any */
    const case_result_t *member; /* one of its cases */
} contender_t;

static bool has_case(const contender_t *contender, const case_result_t *result) {
    const case_t *a = &contender->member->spec, *b = &result->spec;
    char label[32], other_label[32];
    return (contender->workload == NULL || strcmp(b->workload, contender->workload) == 0) &&
           strcmp(a->variant, b->variant) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
           strcmp(case_engine_label(a, label), case_engine_label(b, other_label)) == 0;
}

/* The contender's next case after `previous` (NULL: its first); NULL at the end. */
static const case_result_t *next_case(const contender_t *contender, const case_result_t *previous) {
    const case_result_t *result = record_next(contender->run, previous);
    while (result != NULL && !has_case(contender, result))
        result = record_next(contender->run, result);
    return result;
}

/* True for one case of each contender: its first applicable one. */
static bool is_first_case(const contender_t *contender) {
    const case_result_t *first = next_case(contender, NULL);
    while (first != NULL && is_not_applicable(first))
        first = next_case(contender, first);
    return first == contender->member;
}

static const char *contender_cell(const report_t *report, const contender_t *contender) {
    bool algorithmic = false;
    for (const case_result_t *r = NULL; !algorithmic && (r = next_case(contender, r)) != NULL;)
        algorithmic = result_is_algorithmic(r);
    return report_text(report, "%s%s", key_cell(report, contender->member),
                       algorithmic ? " *(algorithmic)*" : "");
}

/* A table with one row per contender. */
typedef struct contender_section {
    const char *heading, *intro;
    const column_t *columns; /* the first is the contender's name */
    size_t n_columns;
    /* Fill in the other columns; false: no row. */
    bool (*fill)(const columns_t *table, const contender_t *contender, const char **cells);
} contender_section_t;

static void section_of_contenders(const report_t *report, const char *workload,
                                  const contender_section_t *section) {
    const record_t *run = report->run;
    columns_t table = columns_begin(report, section->columns, section->n_columns);
    const char **cells = mem_zeroed(section->n_columns, sizeof *cells);
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;) {
        const contender_t contender = {run, workload, result};
        if (!is_first_case(&contender) || !section->fill(&table, &contender, cells))
            continue;
        cells[0] = contender_cell(report, &contender);
        columns_row(&table, cells);
    }
    columns_end_under(&table, 3, section->heading, "%s", section->intro);
    free(cells);
}

/* ---- statuses -------------------------------------------------------------------------------- */

static void count_status(status_counts_t *counts, const case_result_t *result) {
    if (is_calibration(&result->spec) || is_not_applicable(result))
        return;
    counts->of[result->status]++;
    counts->all++;
}

status_counts_t count_statuses(const record_t *run) {
    status_counts_t counts = {0};
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        count_status(&counts, result);
    return counts;
}

static void add_statuses(columns_t *table, const contender_t *contender) {
    const report_t *report = table->report;
    status_counts_t counts = {0};
    for (const case_result_t *result = NULL; (result = next_case(contender, result)) != NULL;)
        count_status(&counts, result);
    if (counts.all == 0)
        return;
    const char *cells[3 + CASE_IMPLAUSIBLE + 1] = {report_safe(report, contender->workload),
                                                   contender_cell(report, contender),
                                                   count_cell(report, (double)counts.all)};
    for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
        cells[3 + s] = count_cell(report, (double)counts.of[s]);
    columns_row(table, cells);
}

/* One row per contender; unused statuses have no column. */
static void table_of_statuses(const report_t *report, const status_counts_t *total) {
    const record_t *run = report->run;
    column_t columns[3 + CASE_IMPLAUSIBLE + 1] = {
        {"Workload", 'l', false}, {"Contender", 'l', false}, {"cases", 'r', false}};
    for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
        columns[3 + s] =
            (column_t){case_status_name((case_status_t)s), 'r', s != CASE_OK && total->of[s] == 0};
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    text_list_t workloads = {0};
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        text_list_add_new(&workloads, result->spec.workload);
    for (size_t w = 0; w < workloads.n; w++)
        for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
            if (is_first_case(&(contender_t){run, NULL, result}))
                add_statuses(&table, &(contender_t){run, workloads.items[w], result});
    columns_end(&table, "");
    text_list_free(&workloads);
}

void section_cases(const report_t *report) {
    const status_counts_t total = count_statuses(report->run);
    if (total.all == 0)
        print(report, "No workload case finished in this run.\n\n");
    else if (total.of[CASE_OK] == total.all)
        print(report, "All %zu cases are ok.\n\n", total.all);
    else
        table_of_statuses(report, &total);
}

/* ---- cold starts: the cases of `bench run --cold` -------------------------------------------- */

static void add_cold_start(columns_t *table, const case_result_t *result) {
    const report_t *report = table->report;
    const phase_t *first = result_phase(result, "cold_first_answer");
    const bool timed = result_has_times(result);
    const char *reason = result->reason != NULL ? result->reason : "not recorded";
    const char *const cells[] = {
        report_code(report, result->spec.id),
        time_cell(report, result, "cold_first_answer"),
        timed ? interval_cell(report, first) : "–",
        timed ? time_cell(report, result, "cold_start") : "–",
        timed ? time_cell(report, result, "cold_open") : "–",
        timed ? time_cell(report, result, "cold_total") : "–",
        timed ? count_cell(report, (double)first->summary.n) : "–",
        timed ? "" : report_safe(report, reason),
    };
    columns_row(table, cells);
}

static bool is_cold_start_of(const case_result_t *result, const char *workload) {
    return is_cold_start(result) && strcmp(result->spec.workload, workload) == 0;
}

void section_cold(const report_t *report, const char *workload) {
    const record_t *run = report->whole;
    bool all_timed = true;
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        all_timed = all_timed && (!is_cold_start_of(result, workload) || result_has_times(result));
    const column_t columns[] = {
        {"Case", 'l', false},
        {"first answer", 'r', false},
        {"95 % interval over passes", 'r', !passes_have_intervals(passes_of(run))},
        {"start", 'r', false},
        {"open", 'r', false},
        {"whole process", 'r', false},
        {"samples", 'r', false},
        {"reason", 'l', all_timed},
    };
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        if (is_cold_start_of(result, workload))
            add_cold_start(&table, result);
    columns_end_under(&table, 2, "First answer from a cold start",
                      "Every sample is a new process, timed by the host's clock from its start to "
                      "its first output; *start* and *open* are parts of that. These cases are in "
                      "no other table or chart.\n\n");
}

/* ---- one-time costs -------------------------------------------------------------------------- */

/* Median of a one-time cost over the contender's cases; NaN if no case has it. */
static double once_median(const contender_t *contender, const char *name) {
    double *values = mem_zeroed(contender->run->n_cases, sizeof *values);
    size_t n = 0;
    for (const case_result_t *result = NULL; (result = next_case(contender, result)) != NULL;)
        for (size_t k = 0; k < result->n_once && result_has_times(result); k++)
            if (strcmp(result->once[k].name, name) == 0 && isfinite(result->once[k].ns))
                values[n++] = result->once[k].ns;
    stats_sort(values, n);
    double median = stats_quantile(values, n, 0.5);
    free(values);
    return median;
}

static bool fill_once(const columns_t *table, const contender_t *contender, const char **cells) {
    bool any = false;
    for (size_t c = 1; c < table->n_columns; c++) {
        double median_ns = once_median(contender, table->columns[c].heading);
        any = any || isfinite(median_ns);
        cells[c] = time_text(table->report, median_ns);
    }
    return any;
}

void section_once(const report_t *report, const char *workload) {
    text_list_t names = {0};
    text_list_add(&names, "Contender");
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;)
        for (size_t k = 0; k < result->n_once; k++)
            if (strcmp(result->spec.workload, workload) == 0)
                text_list_add_new(&names, result->once[k].name);
    column_t *columns = mem_zeroed(names.n, sizeof *columns);
    for (size_t i = 0; i < names.n; i++)
        columns[i] = (column_t){names.items[i], i == 0 ? 'l' : 'r', false};
    const contender_section_t section = {
        "One-time costs",
        "Paid once per worker process or case, not included in any time above; medians over each "
        "contender's cases.\n\n",
        columns, names.n, fill_once};
    section_of_contenders(report, workload, &section);
    free(columns);
    text_list_free(&names);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool fill_checks(const columns_t *table, const contender_t *contender, const char **cells) {
    const report_t *report = table->report;
    double worst[2] = {-INFINITY, -INFINITY}, tolerance = NAN;
    size_t n[2] = {0}, n_wrong = 0;
    determinism_t determinism = DETERMINISM_UNKNOWN;
    for (const case_result_t *result = NULL; (result = next_case(contender, result)) != NULL;) {
        const check_t *checks[2] = {&result->before, &result->after};
        n_wrong += result->status == CASE_WRONG;
        if (result->determinism > determinism)
            determinism = result->determinism;
        for (size_t k = 0; k < 2; k++) {
            if (!checks[k]->done)
                continue;
            n[k]++;
            /* NaN counts as the largest error. */
            if (!(checks[k]->rel_l2 <= worst[k]))
                worst[k] = checks[k]->rel_l2;
            if (!(checks[k]->tolerance <= tolerance))
                tolerance = checks[k]->tolerance;
        }
    }
    for (size_t k = 0; k < 2; k++) {
        cells[1 + 2 * k] = count_cell(report, (double)n[k]);
        cells[2 + 2 * k] = n[k] == 0         ? "–"
                           : isnan(worst[k]) ? "no number"
                                             : report_text(report, "%.2g", worst[k]);
    }
    cells[5] = isnan(tolerance) ? "–" : report_text(report, "%.2g", tolerance);
    cells[6] = determinism == DETERMINISM_UNKNOWN ? "–"
               : determinism == DETERMINISTIC     ? "equal"
                                                  : "differ";
    cells[7] = count_cell(report, (double)n_wrong);
    return true;
}

void section_checks(const report_t *report, const char *workload) {
    const bool twice = workload_find(workload) != NULL &&
                       workload_find(workload)->repeats != REPEATS_ARE_NOT_COMPARED;
    const column_t columns[] = {{"Contender", 'l', false}, {"checked before", 'r', false},
                                {"worst", 'r', false},     {"checked after", 'r', false},
                                {"worst", 'r', false},     {"tolerance", 'r', false},
                                {"two runs", 'l', !twice}, {"#wrong", 'r', false}};
    char *intro = mem_format(
        "Largest relative L2 error against the float64 reference output, before and after timing, "
        "over each contender's cases. %sWrong cases have no time in this report.\n\n",
        twice ? "Two runs on the same inputs give equal bits, or differ in some case. " : "");
    const contender_section_t section = {"Checks", intro, columns, sizeof columns / sizeof *columns,
                                         fill_checks};
    section_of_contenders(report, workload, &section);
    free(intro);
}

/* ---- resources ------------------------------------------------------------------------------- */

static const char *whole_number(char *text, double value) {
    snprintf(text, UNITS_TEXT, "%.0f", value);
    return text;
}

/* Values of resources_t shown as a range over the contender's cases, from column 2 on. */
enum { N_RANGES = 4 };
static const char *(*const PRINT_RANGE[N_RANGES])(char *text, double value) = {
    whole_number, units_bytes, units_bytes, units_percent};

static bool fill_resources(const columns_t *table, const contender_t *contender,
                           const char **cells) {
    const report_t *report = table->report;
    double low[N_RANGES] = {NAN, NAN, NAN, NAN}, high[N_RANGES] = {NAN, NAN, NAN, NAN};
    const char *arch = NULL;
    for (const case_result_t *result = NULL; (result = next_case(contender, result)) != NULL;) {
        const resources_t *r = &result->resources;
        const double values[N_RANGES] = {(double)r->registers, (double)r->shared_bytes,
                                         (double)r->spill_bytes, r->occupancy_frac};
        if (r->arch == NULL)
            continue;
        for (size_t k = 0; k < N_RANGES; k++) {
            low[k] = fmin(low[k], values[k]); /* of a number and NaN: the number */
            high[k] = fmax(high[k], values[k]);
        }
        arch = r->arch;
    }
    if (arch == NULL)
        return false;
    cells[1] = report_safe(report, arch);
    for (size_t k = 0; k < N_RANGES; k++) {
        const char *from = PRINT_RANGE[k](report_buffer(report), low[k]);
        const char *to = PRINT_RANGE[k](report_buffer(report), high[k]);
        cells[2 + k] = low[k] < high[k] ? report_text(report, "%s–%s", from, to) : from;
    }
    return true;
}

void section_resources(const report_t *report, const char *workload) {
    static const column_t COLUMNS[] = {{"Contender", 'l', false}, {"arch", 'l', false},
                                       {"registers", 'r', false}, {"shared", 'r', false},
                                       {"spills", 'r', false},    {"occupancy", 'r', false}};
    static const contender_section_t SECTION = {
        "Kernel resources", "Per thread and per block, over all sizes.\n\n", COLUMNS,
        sizeof COLUMNS / sizeof *COLUMNS, fill_resources};
    section_of_contenders(report, workload, &SECTION);
}
