/* One section of the report as text. */
#ifndef TESTS_PRINTED_SECTION_H
#define TESTS_PRINTED_SECTION_H

#include "checks.h"
#include "report/shown.h"
#include "report_text.h"

#include <stdio.h>

typedef void section_t(const report_t *report);

/* The findings and the tables of a workload's page; they have as many cells in a row as in its heading. */
static inline void findings_and_tables(const report_t *report, const char *workload) {
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(report->run, workload);
    AUTO(views_free) views_t views = views_of(report, &sets);
    section_findings(report, &sets, &views);
    table_by_size(report, &views);
    table_of_phases(report, &views);
    table_of_ladder(report, &views);
    table_of_parts(report, &sets);
    table_of_contenders(report, workload);
    table_of_compilations(report);
}

/* Not inlined: gcc 12 would take what strstr() finds in the text for a pointer to `text` itself. */
__attribute__((noinline, unused)) static char *
printed_either(section_t *section, const record_t *run, const char *workload) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    record_t shown = *run;
    shown.folder = (char[]){"/nowhere/planted"};
    AUTO(arena_free) arena_t texts = {0};
    report_t report = {.out = out,
                       .texts = &texts,
                       .run = &shown,
                       .whole = &shown,
                       .root = "/nowhere",
                       .folder = "."};
    if (section != NULL)
        section(&report);
    else
        findings_and_tables(&report, workload);
    fclose(out);
    assert_tables_are_whole(text);
    return text;
}

/* What the section prints; the caller frees it. */
static inline char *printed(section_t *section, const record_t *run) {
    return printed_either(section, run, NULL);
}

/* The same of a workload's findings and tables. */
static inline char *printed_page(const record_t *run, const char *workload) {
    return printed_either(NULL, run, workload);
}

#endif
