#include "report/report.h"

#include "report/headline.h"
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/fs.h"
#include "limits/device_rates.h"

#include <stdlib.h>
#include <string.h>

/* What a workload has of its own; a workload that is not here gets the sections that all have. */
static const struct workload_sections {
    const char *name;
    void (*findings)(const report_t *report, const comparison_set_list_t *sets);
    void (*tables)(const report_t *report, const comparison_set_list_t *sets);
} WORKLOADS[] = {
    {"mlp_infer", mlp_infer_findings, mlp_infer_tables},
    {"linreg_train", training_findings, training_tables},
    {"mnist_train", training_findings, training_tables},
    {"mlp_train", training_findings, training_tables},
    {"allocate", block_findings, block_tables},
};

static const struct workload_sections *sections_of(const char *workload) {
    for (size_t i = 0; i < sizeof WORKLOADS / sizeof *WORKLOADS; i++)
        if (strcmp(WORKLOADS[i].name, workload) == 0)
            return &WORKLOADS[i];
    return NULL;
}

/* One workload of a run, with its comparisons worked out (their bootstrap is worth doing once). */
typedef struct workload_section {
    const char *workload;                     /* borrowed */
    const struct workload_sections *sections; /* NULL: none of its own */
    comparison_set_list_t sets;               /* empty without pages */
} workload_section_t;

typedef struct workload_section_list {
    workload_section_t *items;
    size_t n, capacity;
} workload_section_list_t;

/* Of one workload, or of all where that is NULL. */
static workload_section_list_t parts_of_run(const record_t *run, const char *only) {
    workload_section_list_t list = {0};
    for (size_t i = 0; i < run->n_cases; i++) {
        const char *workload = run->cases[i].spec.workload;
        if (is_calibration(&run->cases[i].spec) || (only != NULL && strcmp(only, workload) != 0))
            continue;
        size_t known = 0;
        while (known < list.n && strcmp(list.items[known].workload, workload) != 0)
            known++;
        if (known < list.n)
            continue;
        workload_section_t part = {.workload = workload, .sections = sections_of(workload)};
        if (part.sections != NULL)
            part.sets = comparison_sets_of(run, workload);
        mem_grow(&list.items, list.n, &list.capacity, sizeof *list.items);
        list.items[list.n++] = part;
    }
    return list;
}

static void part_list_free(workload_section_list_t *list) {
    for (size_t i = 0; i < list->n; i++)
        comparison_set_list_free(&list->items[i].sets);
    free(list->items);
    *list = (workload_section_list_t){0};
}

/* Every time of a workload that has no tables of its own yet. */
static void plain_tables(const report_t *report, const char *workload) {
    static const char *const HEADINGS[] = {"Case", "total", "95 % interval of the median"};
    table_t table;
    table_init(&table, HEADINGS, 3);
    table_set_align(&table, "lrr");
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_result_t *result = &report->run->cases[i];
        if (strcmp(result->spec.workload, workload) != 0)
            continue;
        char *id = markdown_code(result->spec.id);
        const phase_t *total = result_has_times(result) ? result_phase(result, "total") : NULL;
        char low[UNITS_TEXT], high[UNITS_TEXT];
        table_add(&table, id);
        add_time(&table, result, "total");
        if (total != NULL)
            table_add_format(&table, "%s – %s", units_time(low, total->summary.ci95[0]),
                             units_time(high, total->summary.ci95[1]));
        table_end_row(&table);
        free(id);
    }
    report_table(report, &table);
}

static void section_findings(const report_t *report, const workload_section_list_t *parts) {
    report_heading(report, 2, "Findings");
    if (parts->n == 0)
        fputs(report->whole->n_cases == 0 ? "None: no case has ended in this run.\n\n"
              : report->run->n_cases == 0 ? "None: the run holds cold starts only.\n\n"
                                          : "None: the run measured the device only.\n\n",
              report->out);
    for (size_t p = 0; p < parts->n; p++) {
        const workload_section_t *part = &parts->items[p];
        if (part->sections != NULL)
            part->sections->findings(report, &part->sets);
    }
}

static void section_workload(const report_t *report, const workload_section_t *part) {
    char *name = markdown_text(part->workload);
    report_heading(report, 2, name);
    if (part->sets.n > 0)
        part->sections->tables(report, &part->sets);
    else
        plain_tables(report, part->workload);
    section_once(report, part->workload);
    section_checks(report, part->workload);
    section_sanitize(report, part->workload);
    section_resources(report, part->workload);
    section_charts_of(report, part->workload);
    free(name);
}

/* The run without its cold starts, which answer another question than all else here. Cases are
 * borrowed; only the list is freed. */
static record_t steady_part(const record_t *run) {
    record_t steady = *run;
    steady.cases = mem_zeroed(run->n_cases + 1, sizeof *steady.cases);
    steady.n_cases = 0;
    for (size_t i = 0; i < run->n_cases; i++)
        if (!is_cold_start(&run->cases[i]))
            steady.cases[steady.n_cases++] = run->cases[i];
    return steady;
}

/* The workloads of several runs; each run is without its cold starts. */
typedef struct overview {
    record_t *steady;               /* one a run */
    workload_section_list_t *parts; /* likewise */
    char **when;                    /* NULL for a run that stands alone */
    headline_part_t *headline_parts;
    size_t n_runs, n;
} overview_t;

static overview_t overview_of(const record_t *runs, size_t n_runs, size_t first_saved) {
    overview_t all = {.steady = mem_zeroed(n_runs + 1, sizeof *all.steady),
                      .parts = mem_zeroed(n_runs + 1, sizeof *all.parts),
                      .when = mem_zeroed(n_runs + 1, sizeof *all.when),
                      .n_runs = n_runs};
    size_t capacity = 0;
    for (size_t r = 0; r < n_runs; r++) {
        all.steady[r] = steady_part(&runs[r]);
        all.parts[r] = parts_of_run(&all.steady[r], NULL);
        char *date = report_date(&runs[r]);
        if (r >= first_saved || n_runs > 1)
            all.when[r] = mem_format("%s%s", r >= first_saved ? "saved " : "", date);
        free(date);
        for (size_t p = 0; p < all.parts[r].n; p++) {
            mem_grow(&all.headline_parts, all.n, &capacity, sizeof *all.headline_parts);
            all.headline_parts[all.n++] =
                (headline_part_t){&all.steady[r], &all.parts[r].items[p].sets, all.when[r]};
        }
    }
    return all;
}

static void overview_free(overview_t *all) {
    for (size_t r = 0; r < all->n_runs; r++) {
        part_list_free(&all->parts[r]);
        free(all->steady[r].cases);
        free(all->when[r]);
    }
    free(all->parts);
    free(all->steady);
    free(all->when);
    free(all->headline_parts);
}

static void write_run(report_t *report, const record_t *run, const overview_t *all, size_t r) {
    const workload_section_list_t *parts = &all->parts[r];
    report->run = &all->steady[r];
    report->whole = run;
    section_findings(report, parts);
    section_environment(report);
    section_cases(report);
    section_device(report);
    for (size_t i = 0; i < parts->n; i++)
        section_workload(report, &parts->items[i]);
    section_cold(report);
    section_charts(report);
    section_warnings(report);
    section_reproduce(report);
    report->run = run;
}

static void print_saved_title(FILE *out, const record_t *run) {
    char *machine = report_machine(run), *date = report_date(run);
    fprintf(out, "Saved run: %s, %s", machine, date);
    free(machine);
    free(date);
}

/* Title and the box that says which runs are shown. */
static void write_top(FILE *out, const record_t *runs, size_t n_runs) {
    char *machine = report_machine(&runs[0]), *date = report_date(&runs[0]);
    char *folder = markdown_code(runs[0].folder);
    const char *host = environment_get(&runs[0].environment, "host.name");
    char *on = markdown_text(host != NULL ? host : "a host that was not recorded");
    fprintf(out, "# Hand-written code against PyTorch: %s, %s\n\n", machine, date);
    fprintf(out, "> **Shown here:** run %s, made on %s (%s) on %s", folder, machine, on, date);
    fprintf(out, "%s.\n", runs[0].finished == NULL ? "; **it did not finish**" : "");
    if (environment_get(&runs[0].environment, "gpu.name") == NULL)
        fputs("> No GPU was there: nothing in it is a GPU's time.\n", out);
    for (size_t i = 1; i < n_runs; i++) {
        char *saved = markdown_code(runs[i].folder);
        fputs(">\n> **", out);
        print_saved_title(out, &runs[i]);
        fprintf(out,
                "**, from %s, stands in a section of its own at the end. None of its numbers "
                "is mixed with those of the run above.\n",
                saved);
        free(saved);
    }
    fputc('\n', out);
    free(on);
    free(machine);
    free(date);
    free(folder);
}

static void write_headline(FILE *out, const overview_t *all) {
    headline_t headline = headline_select(all->headline_parts, all->n, HEADLINE_ROWS);
    char *table = headline_text(&headline, TABLE_MARKDOWN);
    if (headline.n > 0)
        fprintf(out,
                "%s\nMedians; the interval is that of the ratio of two medians. A rival is "
                "whatever is not ours, "
                "PyTorch in its fastest mode or another worker.\n\n",
                table);
    free(table);
    headline_free(&headline);
}

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return mem_text(".");
    return slash == path ? mem_text("/") : mem_text_n(path, (size_t)(slash - path));
}

static void write_report(FILE *out, const report_options_t *options, const record_t *runs) {
    char *folder = folder_of(options->out);
    arena_t texts = {0};
    report_t report = {.out = out, .texts = &texts, .root = options->root, .folder = folder};
    overview_t all = overview_of(runs, options->n_runs, 1);
    write_top(out, runs, options->n_runs);
    write_headline(out, &all);
    write_run(&report, &runs[0], &all, 0);
    section_method(&report);
    for (size_t i = 1; i < options->n_runs; i++) {
        report.saved = true;
        fputs("\n---\n\n## ", out);
        print_saved_title(out, &runs[i]);
        fputs("\n\nMade at another time or on another machine, and kept with the project. It is "
              "shown by itself.\n\n",
              out);
        write_run(&report, &runs[i], &all, i);
    }
    arena_free(&texts);
    overview_free(&all);
    free(folder);
}

static void free_runs(record_t *runs, size_t n) {
    for (size_t i = 0; i < n; i++)
        record_free(&runs[i]);
    free(runs);
}

static status_t load_runs(const char *const *folders, size_t n, record_t **runs, error_t *err) {
    if (n == 0)
        return error_set(err, STATUS_USAGE, "nothing to report: no run was given");
    *runs = mem_zeroed(n, sizeof **runs);
    for (size_t i = 0; i < n; i++) {
        if (record_load(folders[i], &(*runs)[i], err) != STATUS_OK) {
            free_runs(*runs, i);
            return err->status;
        }
        device_rates_set_limits_again(&(*runs)[i]);
    }
    return STATUS_OK;
}

status_t report_write(const report_options_t *options, error_t *err) {
    record_t *runs = NULL;
    TRY(load_runs(options->runs, options->n_runs, &runs, err));
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    write_report(out, options, runs);
    fclose(out);
    status_t status = fs_write_atomic(options->out, text, size, err);
    free(text);
    free_runs(runs, options->n_runs);
    return status;
}

/* ---- for a terminal -----------------------------------------------------------------------------
 */

/* "mlp_train: nothing to compare (29 skipped)". */
static void print_counts(FILE *out, const workload_section_t *part, const record_t *run) {
    size_t statuses[CASE_THROTTLED + 1] = {0};
    for (size_t i = 0; i < run->n_cases; i++)
        if (strcmp(run->cases[i].spec.workload, part->workload) == 0)
            statuses[run->cases[i].status]++;
    text_list_t counts = {0};
    for (size_t s = 0; s <= CASE_THROTTLED; s++)
        if (statuses[s] > 0)
            text_list_add_format(&counts, "%zu %s", statuses[s],
                                 case_status_name((case_status_t)s));
    char *list = text_list_join(&counts, ", ");
    fprintf(out, "%s: nothing to compare (%s)\n", part->workload, list);
    free(list);
    text_list_free(&counts);
}

char *report_workload_tables(const record_t *run, const char *workload) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    record_t steady = steady_part(run);
    workload_section_list_t parts = parts_of_run(&steady, workload);
    for (size_t p = 0; p < parts.n; p++) {
        const headline_part_t part = {&steady, &parts.items[p].sets, NULL};
        headline_t headline = headline_select(&part, 1, HEADLINE_WORKLOAD_ROWS);
        fputs(p > 0 ? "\n" : "", out);
        if (headline.n == 0)
            print_counts(out, &parts.items[p], &steady);
        char *table = headline_text(&headline, TABLE_TERMINAL);
        fputs(table, out);
        free(table);
        headline_free(&headline);
    }
    part_list_free(&parts);
    free(steady.cases);
    fclose(out);
    return text;
}

status_t report_print(const char *const *folders, size_t n, report_view_t view, FILE *out,
                      error_t *err) {
    record_t *runs = NULL;
    TRY(load_runs(folders, n, &runs, err));
    for (size_t i = 0; i < n && view == REPORT_WORKLOADS; i++) {
        char *tables = report_workload_tables(&runs[i], NULL);
        fputs(tables, out);
        free(tables);
    }
    if (view == REPORT_HEADLINE) {
        overview_t all = overview_of(runs, n, 0);
        headline_t headline = headline_select(all.headline_parts, all.n, HEADLINE_ROWS);
        char *table = headline_text(&headline, TABLE_TERMINAL);
        fputs(table, out);
        free(table);
        headline_free(&headline);
        overview_free(&all);
    }
    free_runs(runs, n);
    return STATUS_OK;
}
