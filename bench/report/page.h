/* What report sections share: output, texts that live as long as the report, links, tables and their cells. */
#ifndef BENCH_REPORT_PAGE_H
#define BENCH_REPORT_PAGE_H

#include "analysis/boots.h"
#include "analysis/speedup.h"
#include "base/memory.h"
#include "io/output.h"

#include <stdio.h>

/* By which a report and its pages are known: such a file may be overwritten. */
#define REPORT_TITLE "# Hand-written code"

typedef struct report {
    FILE *out;
    arena_t *texts;        /* owned by the report: report_text(), report_keep() */
    const record_t *run;   /* without cold starts */
    const record_t *whole; /* with them */
    const boots_t *boots;  /* of the run; NULL or empty: none */
    const char *root;      /* the data folder */
    const char *program;   /* in commands: folders_program() */
    const char *folder;    /* of the page; links are relative to it */
    bool links_cases;      /* case_link() links */
} report_t;

/* A report printed to memory. Do not move it. page_close() returns the text, which the caller
 * frees, and frees the rest. */
typedef struct page {
    report_t report;
    arena_t texts;
    char *text;
    size_t size;
} page_t;

report_t report_on(const report_t *report, const record_t *run); /* the same about another run */

void page_open(page_t *page);
char *page_close(page_t *page);

/* Print to the report, as printf() does. */
void print(const report_t *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "## text" */
void report_heading(const report_t *report, unsigned level, const char *text);

/* ---- texts owned by the report --------------------------------------------------------------- */

/* Formatted; a malloc()ed text to take over; `text` escaped for markdown; as a code span; a buffer of
 * UNITS_TEXT bytes for base/units.h; `count` zeroed elements. */
const char *report_text(const report_t *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *report_keep(const report_t *report, char *text);
const char *report_safe(const report_t *report, const char *text);
const char *report_code(const report_t *report, const char *text);
char *report_buffer(const report_t *report);
void *report_array(const report_t *report, size_t count, size_t bytes);
/* Join and empty the list; NULL if it was empty. */
const char *report_join(const report_t *report, text_list_t *list, const char *separator);
/* "a, b, c and 2 more"; empties the list; NULL if it was empty. */
const char *report_first_few(const report_t *report, text_list_t *list);

/* ---- links ----------------------------------------------------------------------------------- */

/* `path` relative to the report's folder, percent-encoded; the caller frees it. */
char *report_link(const report_t *report, const char *path);
/* A page of the project's documentation, "docs/cheating.md", as a link at a heading of it, "#trust" or
 * ""; only `text` if the project is not there. */
const char *doc_link(const report_t *report, const char *page, const char *heading,
                     const char *text);
/* `text` as a link to the case of report->run in the HTML file; elsewhere, or of no case, `text`. */
const char *case_link(const report_t *report, const case_result_t *result, const char *text);
/* "#c" and 10 hex digits: the same in every report. The caller frees it. */
char *case_href(const record_t *run, const case_result_t *result);
bool is_case_href(const char *href);

/* ---- tables --------------------------------------------------------------------------------- */

typedef struct column {
    const char *heading;
    char align; /* 'l' or 'r' */
} column_t;

/* Rows that are all known before the columns are: start with the number of columns. */
typedef struct rows {
    size_t n_columns, n;
    const char **cells;
} rows_t;
const char **rows_add(rows_t *rows); /* the cells to fill in; NULL: empty */
/* Print a heading (or NULL), a text, the table without columns of which every cell is NULL, "" or "–", and an empty
 * line; nothing if there are no rows. Frees the rows. */
void rows_end(const report_t *report, rows_t *rows, const column_t *columns, const char *heading,
              const char *text);

/* ---- cells: safe for markdown; a NULL result gives "–" ---------------------------------------- */

/* "12.6 µs †" if throttled, "12.6 µs §" of a busy machine, "12.6 µs ‡" with two values, the status if the case has no times, "–" if
 * it lacks the phase. */
const char *time_cell(const report_t *report, const case_result_t *result, const char *phase);
/* "3.4× (3.3–3.6)"; "≈ 3.4×" without an interval; "–" without a ratio. */
const char *ratio_cell(const report_t *report, const speedup_t *speedup);
/* The same of two cases by a phase, either of which may be NULL. */
const char *versus_cell(const report_t *report, const case_result_t *ours,
                        const case_result_t *theirs, const char *phase);
const char *trust_mark(const case_result_t *result);       /* " *(self-reported)*", or "" */
const char *algorithmic_mark(const case_result_t *result); /* " *(algorithmic)*", or "" */
/* "03_vectorized + arena"; with trust_mark(). */
const char *name_cell(const report_t *report, const case_result_t *result);
/* "6.2 µs 04_four + arena": of who stands for a side, which says why if it is not compared. */
const char *standing_cell(const report_t *report, const standing_t *standing, const char *phase,
                          bool bold);
/* "93 %" of the limit recorded with the case. */
const char *limit_cell(const report_t *report, const case_result_t *result);
/* "1.2–1.3 µs": the 95 % interval of a phase's median; "–" with too few passes. */
const char *interval_cell(const report_t *report, const phase_t *phase);
const char *median_text(const report_t *report, const phase_t *phase); /* "12.6 µs", "12.6 µs ‡" */
const char *time_text(const report_t *report, double ns);
const char *percent_text(const report_t *report, double frac);
const char *bytes_text(const report_t *report, double bytes);

/* Was the case skipped because its variant is designed for another dtype or shape? */
bool is_not_applicable(const case_result_t *result);

#endif
