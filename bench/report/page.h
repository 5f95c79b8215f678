/* What the sections of a report share: the page that they are printed on, and how numbers and names
 * look there. Sections are functions (page) that print nothing when the run has nothing for them.
 */
#ifndef BENCH_REPORT_PAGE_H
#define BENCH_REPORT_PAGE_H

#include "analysis/speedup.h"
#include "base/arena.h"
#include "io/table.h"

#include <stdio.h>

typedef struct report {
    FILE *out;
    arena_t *texts;        /* that live as long as the report: report_text(), report_keep() */
    const record_t *run;   /* without cold starts */
    const record_t *whole; /* with them */
    const char *root;      /* the project's folder */
    const char *folder;    /* the report's own, which links are relative to */
    bool saved;            /* a run of another time or machine, shown beside this machine's */
} report_t;

/* A report that becomes a text. It must not be moved; page_close() returns the text, which the
 * caller frees, and frees the rest. */
typedef struct page {
    report_t report;
    arena_t texts;
    char *text;
    size_t size;
} page_t;

void page_open(page_t *page);
char *page_close(page_t *page);

/* Print to the report, as printf() does. */
void print(const report_t *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A text that lives as long as the report: formatted; taken over from malloc(); `text` made safe
 * for markdown, or as a code span; UNITS_TEXT bytes for a function of base/units.h to write into.
 */
const char *report_text(const report_t *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *report_keep(const report_t *report, char *text);
const char *report_safe(const report_t *report, const char *text);
const char *report_code(const report_t *report, const char *text);
char *report_buffer(const report_t *report);
/* The list's items with `separator` between them, and `list` empty; NULL where it was empty. */
const char *report_join(const report_t *report, text_list_t *list, const char *separator);

/* "## text", one level deeper and marked as saved on a saved run's page, so that no heading of two
 * runs is the same. */
void report_heading(const report_t *report, unsigned level, const char *text);
/* Print the table, a blank line after it, and free it. */
void report_table(const report_t *report, table_t *table);
/* A link's target for `path`, relative to the report's folder and percent-encoded; the caller frees
 * it. */
char *report_link(const report_t *report, const char *path);

/* "CUDA is **3.4× (3.3–3.6)** as fast", for whoever is the faster; "" for no verdict. */
const char *verdict_text(const report_t *report, const speedup_t *speedup, const char *ours,
                         const char *theirs);
/* "3.4× (3.3–3.6)": how far the faster one leads; without an interval where none decides. */
const char *lead_text(const report_t *report, const speedup_t *speedup);
/* Of base/units.h. */
const char *time_text(const report_t *report, double ns);
const char *percent_text(const report_t *report, double frac);

/* Of base/units.h. */
const char *time_text(const report_t *report, double ns);
const char *percent_text(const report_t *report, double frac);

/* Was the case skipped because its variant is for another dtype or shape by design? Nothing went
 * wrong then. */
bool is_not_applicable(const case_result_t *result);
/* sentences.c: findings that any workload has. */
bool has_headline(const size_row_t *row);
/* Who is faster at how many sizes, and where the lead changes. */
void print_lead(const report_t *report, const comparison_set_t *set, speedup_of_t speedup_of,
                const char *ours, const char *theirs);
/* `subject` says what is timed, up to a colon: "**Host to host** (…), the fastest CUDA case against
 * PyTorch's fastest mode". */
void finding_headline(const report_t *report, const comparison_set_t *set, const char *subject);
void finding_others(const report_t *report, const comparison_set_t *set);
void finding_missing(const report_t *report, const comparison_set_t *set);
/* How many samples stand behind the medians of a set's table, and how far off they can be. */
void print_spread(const report_t *report, const comparison_set_t *set);

#endif
