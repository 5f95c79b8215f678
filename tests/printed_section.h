/* One section of the report as text, and what is in it and what is not. */
#ifndef TESTS_PRINTED_SECTION_H
#define TESTS_PRINTED_SECTION_H

#include "report_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef void section_t(const page_t *page);

/* What the section prints; the caller frees it. */
static inline char *printed(section_t *section, const run_record_t *run) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    run_record_t shown = *run;
    shown.folder = (char[]){"/nowhere/planted"};
    page_t page = {.out = out, .run = &shown, .whole = &shown, .root = "/nowhere", .folder = "."};
    section(&page);
    fclose(out);
    return text;
}

static inline void assert_has(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in:\n%s", part, text);
}

static inline void assert_has_not(const char *text, const char *part) {
    if (strstr(text, part) != NULL)
        fail_msg("'%s' is in:\n%s", part, text);
}

#endif
