/* One section of the report as text. */
#ifndef TESTS_PRINTED_SECTION_H
#define TESTS_PRINTED_SECTION_H

#include "report/sections/sections.h"
#include "report_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef void section_t(const report_t *report);
typedef void comparison_sets_section_t(const report_t *report, const comparison_set_list_t *sets);

/* Not inlined: gcc 12 would take what strstr() finds in the text for a pointer to `text` itself. */
__attribute__((noinline, unused)) static char *printed_either(section_t *section,
                                                              comparison_sets_section_t *of_sets,
                                                              const record_t *run,
                                                              const char *workload) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    record_t shown = *run;
    shown.folder = (char[]){"/nowhere/planted"};
    arena_t texts = {0};
    report_t report = {.out = out,
                       .texts = &texts,
                       .run = &shown,
                       .whole = &shown,
                       .root = "/nowhere",
                       .folder = "."};
    if (section != NULL) {
        section(&report);
    } else {
        comparison_set_list_t sets = comparison_sets_of(&shown, workload);
        of_sets(&report, &sets);
        comparison_set_list_free(&sets);
    }
    fclose(out);
    arena_free(&texts);
    return text;
}

/* What the section prints; the caller frees it. */
static inline char *printed(section_t *section, const record_t *run) {
    return printed_either(section, NULL, run, NULL);
}

/* The same of a section about one workload's sets. */
static inline char *printed_sets(comparison_sets_section_t *section, const record_t *run,
                                 const char *workload) {
    return printed_either(NULL, section, run, workload);
}

#endif
