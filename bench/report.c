#include "report.h"

#include "report_page.h"

#include "ground/fs.h"
#include "ground/memory.h"
#include "ground/units.h"
#include "steps/rates.h"

#include <stdlib.h>
#include <string.h>

/* What a workload has of its own; a workload that is not here gets the sections that all have. */
static const struct workload_pages {
    const char *name;
    void (*findings)(const page_t *page, const family_list_t *families);
    void (*tables)(const page_t *page, const family_list_t *families);
} WORKLOADS[] = {
    {"mlp_infer", mlp_infer_findings, mlp_infer_tables},
    {"linreg_train", training_findings, training_tables},
    {"mnist_train", training_findings, training_tables},
    {"mlp_train", training_findings, training_tables},
    {"allocate", block_findings, block_tables},
};

static const struct workload_pages *pages_of(const char *workload) {
    for (size_t i = 0; i < sizeof WORKLOADS / sizeof *WORKLOADS; i++)
        if (strcmp(WORKLOADS[i].name, workload) == 0)
            return &WORKLOADS[i];
    return NULL;
}

/* One workload of a run, with its comparisons worked out (their bootstrap is worth doing once). */
typedef struct part {
    const char *workload;               /* borrowed */
    const struct workload_pages *pages; /* NULL: none of its own */
    family_list_t families;             /* empty without pages */
} part_t;

typedef struct part_list {
    part_t *items;
    size_t n, capacity;
} part_list_t;

static part_list_t parts_of_run(const run_record_t *run) {
    part_list_t list = {0};
    for (size_t i = 0; i < run->n_cases; i++) {
        const char *workload = run->cases[i].spec.workload;
        if (is_calibration(&run->cases[i].spec))
            continue;
        size_t known = 0;
        while (known < list.n && strcmp(list.items[known].workload, workload) != 0)
            known++;
        if (known < list.n)
            continue;
        part_t part = {.workload = workload, .pages = pages_of(workload)};
        if (part.pages != NULL)
            part.families = families_of(run, workload);
        mem_grow(&list.items, list.n, &list.capacity, sizeof *list.items);
        list.items[list.n++] = part;
    }
    return list;
}

static void part_list_free(part_list_t *list) {
    for (size_t i = 0; i < list->n; i++)
        family_list_free(&list->items[i].families);
    free(list->items);
    *list = (part_list_t){0};
}

/* Every time of a workload that has no tables of its own yet. */
static void plain_tables(const page_t *page, const char *workload) {
    static const char *const HEADINGS[] = {"Case", "total", "95 % interval of the median"};
    table_t table;
    table_init(&table, HEADINGS, 3);
    table_set_align(&table, "lrr");
    for (size_t i = 0; i < page->run->n_cases; i++) {
        const case_result_t *result = &page->run->cases[i];
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
    page_table(page, &table);
}

static void section_findings(const page_t *page, const part_list_t *parts) {
    page_heading(page, 2, "Findings");
    if (parts->n == 0)
        fputs(page->whole->n_cases == 0 ? "None: no case has ended in this run.\n\n"
              : page->run->n_cases == 0 ? "None: the run holds cold starts only.\n\n"
                                        : "None: the run measured the device only.\n\n",
              page->out);
    for (size_t p = 0; p < parts->n; p++) {
        const part_t *part = &parts->items[p];
        if (part->pages != NULL)
            part->pages->findings(page, &part->families);
    }
}

static void section_workload(const page_t *page, const part_t *part) {
    char *name = markdown_text(part->workload);
    page_heading(page, 2, name);
    if (part->families.n > 0)
        part->pages->tables(page, &part->families);
    else
        plain_tables(page, part->workload);
    section_once(page, part->workload);
    section_checks(page, part->workload);
    section_sanitize(page, part->workload);
    section_resources(page, part->workload);
    section_charts_of(page, part->workload);
    free(name);
}

/* The run without its cold starts, which answer another question than all else here. Cases are
 * borrowed; only the list is freed. */
static run_record_t steady_part(const run_record_t *run) {
    run_record_t steady = *run;
    steady.cases = mem_zeroed(run->n_cases + 1, sizeof *steady.cases);
    steady.n_cases = 0;
    for (size_t i = 0; i < run->n_cases; i++)
        if (!is_cold_start(&run->cases[i]))
            steady.cases[steady.n_cases++] = run->cases[i];
    return steady;
}

static void write_run(page_t *page, const run_record_t *run) {
    run_record_t steady = steady_part(run);
    page->run = &steady;
    page->whole = run;
    part_list_t parts = parts_of_run(&steady);
    section_findings(page, &parts);
    section_environment(page);
    section_cases(page);
    section_device(page);
    for (size_t i = 0; i < parts.n; i++)
        section_workload(page, &parts.items[i]);
    section_cold(page);
    section_charts(page);
    section_warnings(page);
    section_reproduce(page);
    part_list_free(&parts);
    free(steady.cases);
    page->run = run;
}

static void print_saved_title(FILE *out, const run_record_t *run) {
    char *machine = page_machine(run), *date = page_date(run);
    fprintf(out, "Saved run: %s, %s", machine, date);
    free(machine);
    free(date);
}

/* Title and the box that says which runs are shown. */
static void write_top(FILE *out, const run_record_t *runs, size_t n_runs) {
    char *machine = page_machine(&runs[0]), *date = page_date(&runs[0]);
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

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return mem_text(".");
    return slash == path ? mem_text("/") : mem_text_n(path, (size_t)(slash - path));
}

static void write_report(FILE *out, const report_options_t *options, const run_record_t *runs) {
    char *folder = folder_of(options->out);
    page_t page = {.out = out, .root = options->root, .folder = folder};
    write_top(out, runs, options->n_runs);
    write_run(&page, &runs[0]);
    section_method(&page);
    for (size_t i = 1; i < options->n_runs; i++) {
        page.saved = true;
        fputs("\n---\n\n## ", out);
        print_saved_title(out, &runs[i]);
        fputs("\n\nMade at another time or on another machine, and kept with the project. It is "
              "shown by itself.\n\n",
              out);
        write_run(&page, &runs[i]);
    }
    free(folder);
}

status_t report_write(const report_options_t *options, error_t *err) {
    if (options->n_runs == 0)
        return error_set(err, STATUS_USAGE, "nothing to report: no run was given");
    run_record_t *runs = mem_zeroed(options->n_runs, sizeof *runs);
    size_t loaded = 0;
    status_t status = STATUS_OK;
    while (loaded < options->n_runs && status == STATUS_OK) {
        status = run_load(options->runs[loaded], &runs[loaded], err);
        if (status == STATUS_OK)
            rates_judge_again(&runs[loaded++]);
    }
    if (status == STATUS_OK) {
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        write_report(out, options, runs);
        fclose(out);
        status = fs_write_atomic(options->out, text, size, err);
        free(text);
    }
    for (size_t i = 0; i < loaded; i++)
        run_free(&runs[i]);
    free(runs);
    return status;
}

/* "no case has a time (29 skipped)". */
static void print_without_times(FILE *out, const family_count_t *size) {
    text_list_t counts = {0};
    for (size_t s = 0; s <= CASE_THROTTLED; s++)
        if (size->statuses[s] > 0)
            text_list_add_format(&counts, "%zu %s", size->statuses[s],
                                 case_status_name((case_status_t)s));
    char *list = text_list_join(&counts, ", ");
    fprintf(out, ": no case has a time (%s)\n", list);
    free(list);
    text_list_free(&counts);
}

static void print_headline(FILE *out, const family_t *family) {
    family_count_t size = family_count(family);
    fprintf(out, "%s%s %s, %s", ftell(out) > 0 ? "\n" : "", family->workload, family->key,
            family->side->place);
    if (size.timed == 0) {
        print_without_times(out, &size);
        return;
    }
    table_t table;
    headline_table(family, &table, false);
    char *lines = table_text(&table, TABLE_TERMINAL);
    fprintf(out, ": median %s\n\n%s", family->phase, lines);
    free(lines);
    table_free(&table);
}

status_t report_headline(const run_record_t *run, char **text, error_t *err) {
    size_t size;
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return error_set(err, STATUS_FAILED, "%s: no memory for its headline", run->folder);
    run_record_t steady = steady_part(run);
    part_list_t parts = parts_of_run(&steady);
    for (size_t p = 0; p < parts.n; p++)
        for (size_t i = 0; i < parts.items[p].families.n; i++)
            print_headline(out, &parts.items[p].families.items[i]);
    part_list_free(&parts);
    free(steady.cases);
    fclose(out);
    return STATUS_OK;
}
