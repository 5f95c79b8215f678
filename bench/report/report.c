#include "report/report.h"

#include "report/headline.h"
#include "report/inference/inference.h"
#include "report/rivals.h"
#include "report/sections/sections.h"
#include "report/training/training.h"

#include "base/memory.h"
#include "io/fs.h"
#include "limits/limits.h"
#include "workloads/operator/operators.h"

#include <ctype.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* Sections for specific workloads. Other workloads get only the common ones. */
static const struct workload_sections {
    const char *name;
    void (*findings)(const report_t *report, const comparison_set_list_t *sets);
    void (*tables)(const report_t *report, const comparison_set_list_t *sets);
} WORKLOADS[] = {
    {"mlp_infer", inference_findings, inference_tables},
    {"linreg_train", training_findings, training_tables},
    {"mnist_train", training_findings, training_tables},
    {"mlp_train", training_findings, training_tables},
    {"allocate", block_findings, block_tables},
};

static const struct workload_sections OPERATORS = {NULL, inference_findings, inference_tables};

static const struct workload_sections *sections_of(const char *workload) {
    for (size_t i = 0; i < sizeof WORKLOADS / sizeof *WORKLOADS; i++)
        if (strcmp(WORKLOADS[i].name, workload) == 0)
            return &WORKLOADS[i];
    return operators_find(workload) != NULL ? &OPERATORS : NULL;
}

/* One workload of a run. Comparisons are computed once because it takes long. */
typedef struct workload_part {
    const char *workload;                     /* borrowed */
    const struct workload_sections *sections; /* NULL: only the common ones */
    comparison_set_list_t sets;               /* empty without sections */
} workload_part_t;

/* A run and its workloads. */
typedef struct shown_run {
    record_t whole;
    record_t steady;        /* without cold starts; borrows the whole's cases */
    boots_t boots;          /* other runs of its sweeps */
    workload_part_t *parts; /* of `steady` */
    size_t n_parts, capacity;
} shown_run_t;

static void add_part(shown_run_t *shown, const char *workload) {
    for (size_t i = 0; i < shown->n_parts; i++)
        if (strcmp(shown->parts[i].workload, workload) == 0)
            return;
    workload_part_t part = {.workload = workload, .sections = sections_of(workload)};
    if (part.sections != NULL)
        part.sets = comparison_sets_of(&shown->steady, workload);
    mem_grow(&shown->parts, shown->n_parts, &shown->capacity, sizeof *shown->parts);
    shown->parts[shown->n_parts++] = part;
}

/* Fill in `steady` and `parts` from `whole`, for one workload or all (NULL). */
static void select_parts(shown_run_t *shown, const char *only) {
    const record_t *whole = &shown->whole;
    record_t *steady = &shown->steady;
    *steady = *whole;
    steady->cases = mem_zeroed(whole->n_cases + 1, sizeof *steady->cases);
    steady->n_cases = 0;
    for (size_t i = 0; i < whole->n_cases; i++)
        if (!is_cold_start(&whole->cases[i]))
            steady->cases[steady->n_cases++] = whole->cases[i];
    for (size_t i = 0; i < steady->n_cases; i++) {
        const case_t *spec = &steady->cases[i].spec;
        if (!is_calibration(spec) && (only == NULL || strcmp(only, spec->workload) == 0))
            add_part(shown, spec->workload);
    }
}

static void shown_run_free(shown_run_t *shown) {
    for (size_t i = 0; i < shown->n_parts; i++)
        comparison_set_list_free(&shown->parts[i].sets);
    free(shown->parts);
    free(shown->steady.cases);
}

/* The runs to show. */
typedef struct shown_list {
    shown_run_t *items;
    size_t n;
} shown_list_t;

static void shown_list_free(shown_list_t *list) {
    for (size_t i = 0; i < list->n; i++) {
        shown_run_free(&list->items[i]);
        boots_free(&list->items[i].boots);
        record_free(&list->items[i].whole);
    }
    free(list->items);
}

/* Take over a run: as another boot of a listed one, or to be shown itself. */
static status_t add_run(shown_list_t *list, const record_t *run, error_t *err) {
    for (size_t i = 0; i < list->n; i++)
        if (boots_match(&list->items[i].whole, run))
            return boots_add(&list->items[i].boots, &list->items[i].whole, run, err);
    shown_run_t *shown = &list->items[list->n++];
    shown->whole = *run;
    device_rates_set_limits_again(&shown->whole);
    select_parts(shown, NULL);
    return STATUS_OK;
}

static status_t load_runs(const char *const *folders, size_t n, shown_list_t *list, error_t *err) {
    if (n == 0)
        return error_set(err, STATUS_USAGE, "nothing to report: no run was given");
    *list = (shown_list_t){.items = mem_zeroed(n, sizeof *list->items)};
    for (size_t i = 0; i < n; i++) {
        record_t run;
        status_t status = record_load(folders[i], &run, err);
        if (status == STATUS_OK)
            record_tell_incomplete(&run);
        if (status == STATUS_OK && (status = add_run(list, &run, err)) != STATUS_OK)
            record_free(&run);
        if (status != STATUS_OK) {
            shown_list_free(list);
            return status;
        }
    }
    return STATUS_OK;
}

/* ---- the headline ---------------------------------------------------------------------------- */

/* "2026-03-02". */
static const char *date_text(const report_t *report, const record_t *run) {
    const size_t length = strlen("2026-03-02");
    if (run->started == NULL || strlen(run->started) < length)
        return "unknown date";
    return report_safe(report, report_keep(report, mem_text_n(run->started, length)));
}

/* False if there is nothing to compare. */
static bool print_headline(const report_t *report, const headline_part_t *parts, size_t n,
                           size_t most, table_style_t style) {
    headline_t headline = headline_select(parts, n, most);
    const char *text = report_keep(report, headline_text(&headline, style));
    headline_free(&headline);
    print(report, "%s", text);
    return *text != '\0';
}

/* One table for the workloads of all runs; runs from `first_saved` on are labelled as saved. */
static bool print_common_headline(const report_t *report, const shown_list_t *runs,
                                  size_t first_saved, table_style_t style) {
    headline_part_t *parts = NULL;
    size_t n = 0, capacity = 0;
    for (size_t r = 0; r < runs->n; r++) {
        const shown_run_t *shown = &runs->items[r];
        const char *date = date_text(report, &shown->whole);
        const char *when = r >= first_saved ? report_text(report, "saved %s", date)
                           : runs->n > 1    ? date
                                            : NULL;
        for (size_t p = 0; p < shown->n_parts; p++) {
            mem_grow(&parts, n, &capacity, sizeof *parts);
            parts[n++] =
                (headline_part_t){&shown->steady, &shown->parts[p].sets, when, &shown->boots};
        }
    }
    const bool any = print_headline(report, parts, n, HEADLINE_ROWS, style);
    free(parts);
    return any;
}

/* ---- sections -------------------------------------------------------------------------------- */

/* All times of a workload without specific tables. */
static void plain_tables(const report_t *report, const char *workload) {
    const column_t columns[] = {
        {"Case", 'l', false},
        {"total", 'r', false},
        {"95 % interval over passes", 'r', !passes_have_intervals(passes_of(report->run))}};
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_result_t *result = &report->run->cases[i];
        const phase_t *total = result_has_times(result) ? result_phase(result, "total") : NULL;
        if (strcmp(result->spec.workload, workload) != 0)
            continue;
        columns_row(&table, (const char *const[]){
                                report_code(report, result->spec.id),
                                report_text(report, "%s%s", time_cell(report, result, "total"),
                                            trust_mark(result)),
                                total != NULL ? interval_cell(report, total) : NULL,
                            });
    }
    columns_end(&table, "");
    print_passes(report);
}

static void section_findings(const report_t *report, const shown_run_t *shown) {
    report_heading(report, 2, "Findings");
    if (shown->n_parts == 0)
        print(report, "%s\n\n",
              report->whole->n_cases == 0 ? "None: no case finished in this run."
              : report->run->n_cases == 0 ? "None: the run has only cold starts."
                                          : "None: the run has only device measurements.");
    finding_boots(report);
    for (size_t p = 0; p < shown->n_parts; p++)
        finding_disagreement(report, &shown->parts[p].sets);
    for (size_t p = 0; p < shown->n_parts; p++)
        if (shown->parts[p].sections != NULL)
            shown->parts[p].sections->findings(report, &shown->parts[p].sets);
}

static void section_workload(const report_t *report, const workload_part_t *part) {
    report_heading(report, 2, report_safe(report, part->workload));
    if (part->sets.n > 0)
        part->sections->tables(report, &part->sets);
    else
        plain_tables(report, part->workload);
    section_once(report, part->workload);
    section_checks(report, part->workload);
    section_sanitize(report, part->workload);
    section_resources(report, part->workload);
    section_charts(report, part->workload);
}

static void write_run(report_t *report, const shown_run_t *shown) {
    report->run = &shown->steady;
    report->whole = &shown->whole;
    report->boots = &shown->boots;
    section_findings(report, shown);
    section_environment(report);
    section_cases(report);
    section_device(report);
    for (size_t i = 0; i < shown->n_parts; i++)
        section_workload(report, &shown->parts[i]);
    section_draws(report);
    section_cold(report);
    section_charts(report, NULL);
    section_warnings(report);
    section_reproduce(report);
}

/* ---- the whole report ------------------------------------------------------------------------ */

/* "NVIDIA H200", else the CPU's name. */
static const char *machine_text(const report_t *report, const record_t *run) {
    const char *name = environment_get(&run->environment, "gpu.name");
    if (name == NULL)
        name = environment_get(&run->environment, "host.cpu");
    return report_safe(report, name != NULL ? name : "unknown machine");
}

static const char *saved_title(const report_t *report, const record_t *run) {
    return report_text(report, "Saved run: %s, %s", machine_text(report, run),
                       date_text(report, run));
}

static void print_top_passes(const report_t *report, const shown_run_t *shown) {
    const char *text = passes_text(report, passes_of(&shown->steady));
    if (*text != '\0')
        print(report, "> %c%s.\n", toupper((unsigned char)*text), text + 1);
}

/* " against PyTorch and JAX": the rivals in a run; "" without any. */
static const char *title_rivals(const report_t *report, const shown_run_t *shown) {
    comparison_set_list_t all = {0};
    for (size_t p = 0; p < shown->n_parts; p++)
        for (size_t i = 0; i < shown->parts[p].sets.n; i++) {
            mem_grow(&all.items, all.n, &all.capacity, sizeof *all.items);
            all.items[all.n++] = shown->parts[p].sets.items[i]; /* borrowed */
        }
    const char *names = rivals_of_sets(report, &all);
    free(all.items);
    return names != NULL ? report_text(report, " against %s", names) : "";
}

/* By which a report is known as one: it may be overwritten. */
#define TITLE "# Hand-written code"

/* Title, list of runs, headline. */
static void write_top(const report_t *report, const shown_list_t *runs) {
    const record_t *run = &runs->items[0].whole;
    const char *machine = machine_text(report, run), *date = date_text(report, run);
    const char *host = environment_get(&run->environment, "host.name");
    print(report, TITLE "%s: %s, %s\n\n", title_rivals(report, &runs->items[0]), machine, date);
    print(report, "> **Run:** %s, measured on %s (%s) on %s%s.\n", report_code(report, run->folder),
          machine, report_safe(report, host != NULL ? host : "unknown host"), date,
          run->finished == NULL ? "; **it did not finish**" : "");
    if (environment_get(&run->environment, "gpu.name") == NULL)
        print(report, "> This run had no GPU: it contains no GPU times.\n");
    print_top_passes(report, &runs->items[0]);
    for (size_t i = 1; i < runs->n; i++) {
        const shown_run_t *saved = &runs->items[i];
        print(report,
              ">\n> **%s**, from %s, has a separate section at the end. Its numbers are not mixed "
              "with those of the run above.\n",
              saved_title(report, &saved->whole), report_code(report, saved->whole.folder));
        print_top_passes(report, saved);
    }
    print(report, "\n");
    if (print_common_headline(report, runs, 1, TABLE_MARKDOWN))
        print(report, "\nMedians. A rival is any engine that is not this program's own.\n\n");
}

static void write_report(report_t *report, const shown_list_t *runs) {
    write_top(report, runs);
    write_run(report, &runs->items[0]);
    report->run = report->whole;
    section_method(report);
    for (size_t i = 1; i < runs->n; i++) {
        report->saved = true;
        print(report,
              "\n---\n\n## %s\n\nMeasured at another time or on another machine, stored with the "
              "project and shown separately.\n\n",
              saved_title(report, &runs->items[i].whole));
        write_run(report, &runs->items[i]);
    }
}

status_t report_write(const report_options_t *options, error_t *err) {
    shown_list_t runs;
    TRY(record_refuse_own_file(options->out, err));
    TRY(record_refuse_other_file(options->out, TITLE, err));
    TRY(load_runs(options->runs, options->n_runs, &runs, err));
    page_t page;
    char *path = mem_text(options->out);
    page_open(&page);
    page.report.root = options->root;
    page.report.folder = dirname(path);
    write_report(&page.report, &runs);
    char *text = page_close(&page);
    status_t status = fs_write_atomic(options->out, text, page.size, err);
    free(text);
    free(path);
    shown_list_free(&runs);
    return status;
}

/* ---- for a terminal -------------------------------------------------------------------------- */

/* "mlp_train: nothing to compare (29 skipped)". */
static void print_counts(const report_t *report, const workload_part_t *part, const record_t *run) {
    size_t statuses[CASE_IMPLAUSIBLE + 1] = {0};
    for (size_t i = 0; i < run->n_cases; i++)
        if (strcmp(run->cases[i].spec.workload, part->workload) == 0)
            statuses[run->cases[i].status]++;
    text_list_t counts = {0};
    for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
        if (statuses[s] > 0)
            text_list_add_format(&counts, "%zu %s", statuses[s],
                                 case_status_name((case_status_t)s));
    print(report, "%s: nothing to compare (%s)\n", part->workload,
          report_join(report, &counts, ", "));
}

static void print_workloads(const report_t *report, const shown_run_t *shown) {
    for (size_t p = 0; p < shown->n_parts; p++) {
        const headline_part_t part = {&shown->steady, &shown->parts[p].sets, NULL, &shown->boots};
        if (p > 0)
            print(report, "\n");
        if (!print_headline(report, &part, 1, HEADLINE_WORKLOAD_ROWS, TABLE_TERMINAL))
            print_counts(report, &shown->parts[p], &shown->steady);
    }
}

char *report_workload_tables(const record_t *run, const char *workload) {
    shown_run_t shown = {.whole = *run};
    page_t page;
    page_open(&page);
    select_parts(&shown, workload);
    print_workloads(&page.report, &shown);
    shown_run_free(&shown);
    return page_close(&page);
}

status_t report_print(const char *const *folders, size_t n, report_view_t view, FILE *out,
                      error_t *err) {
    shown_list_t runs;
    TRY(load_runs(folders, n, &runs, err));
    arena_t texts = {0};
    const report_t report = {.out = out, .texts = &texts};
    for (size_t i = 0; i < runs.n && view == REPORT_WORKLOADS; i++)
        print_workloads(&report, &runs.items[i]);
    if (view == REPORT_HEADLINE)
        print_common_headline(&report, &runs, 0, TABLE_TERMINAL);
    arena_free(&texts);
    shown_list_free(&runs);
    return STATUS_OK;
}
