/* One section of the report as text. */
#ifndef TESTS_PRINTED_SECTION_H
#define TESTS_PRINTED_SECTION_H

#include "report_page.h"
#include "report_text.h"

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

#endif
