/* What report sections share: output, formatting of numbers and names, general findings. A section
 * is a function that prints nothing if the run has no data for it. */
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
/* Texts owned by the report: formatted; a malloc()ed text to take over; `text` escaped for
 * markdown; as a code span; a buffer of UNITS_TEXT bytes for base/units.h. */
const char *report_text(const report_t *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *report_keep(const report_t *report, char *text);
const char *report_safe(const report_t *report, const char *text);
const char *report_code(const report_t *report, const char *text);
char *report_buffer(const report_t *report);
/* Join and empty the list; NULL if it was empty. */
const char *report_join(const report_t *report, text_list_t *list, const char *separator);

/* "## text" */
void report_heading(const report_t *report, unsigned level, const char *text);
/* `path` relative to the report's folder, percent-encoded; the caller frees it. */
char *report_link(const report_t *report, const char *path);
/* A page of the project's documentation, "docs/cheating.md", as a link at a heading of it, "#trust" or
 * ""; only `text` if the project is not there. */
const char *doc_link(const report_t *report, const char *page, const char *heading,
                     const char *text);

/* `text` as a link to the case of report->run in the HTML file; elsewhere, or of no case, `text`. */
const char *case_link(const report_t *report, const case_result_t *result, const char *text);
/* "#c" and 16 hex digits: the same in every report. The caller frees it. */
char *case_href(const record_t *run, const case_result_t *result);
bool is_case_href(const char *href);

/* "CUDA is **3.4× (3.3–3.6)** as fast", naming the faster side; "CUDA is about **3.4 times** as fast
 * in one pass" if undecided; "" without a verdict. */
const char *verdict_text(const report_t *report, const speedup_t *speedup, const char *ours,
                         const char *theirs);
/* The number in it: "**3.4× (3.3–3.6)**", "about **3.4 times**". */
const char *verdict_number(const report_t *report, const speedup_t *speedup);
/* "3.4× (3.3–3.6)", "≈ 3.4×": the speed-up of the faster side, or if undecided of the side with the
 * lower times; with " ‡" if a side has two values. */
const char *lead_text(const report_t *report, const speedup_t *speedup);
bool theirs_leads(const speedup_t *speedup);    /* is that the other side? */
const char *bimodal_mark(const phase_t *phase); /* " ‡" for a phase with two values, else "" */
const char *limit_mark(const case_result_t *result);       /* that of the phase of its limit */
const char *passes_word(const report_t *report, size_t n); /* "one pass", "3 passes" */
const char *median_text(const report_t *report, const phase_t *phase); /* "12.6 µs", "12.6 µs ‡" */
const char *time_text(const report_t *report, double ns);
const char *percent_text(const report_t *report, double frac);

/* Was the case skipped because its variant is designed for another dtype or shape? */
bool is_not_applicable(const case_result_t *result);
/* sentences.c: findings for any workload. */
bool has_headline(const size_row_t *row);
speedup_t headline_of(const size_row_t *row);
/* "1, 64–256, 2^20": the chosen of the set's rows; a dash joins adjacent ones. */
const char *sizes_text(const report_t *report, const comparison_set_t *set, const bool *chosen);
/* Which side is faster at how many sizes: "CUDA is faster at 3 of the 4 batch sizes compared, …" */
void print_tally(const report_t *report, const comparison_set_t *set, const tally_t *tally,
                 const char *ours, const char *theirs);
/* That as a sentence, and where the lead changes. */
void print_lead(const report_t *report, const comparison_set_t *set, speedup_of_t speedup_of,
                const char *ours, const char *theirs);
/* `subject`: "**Host to host** (…)". Ours against the strongest rival, then against each; without a
 * time of ours the rivals against each other. */
void finding_headline(const report_t *report, const comparison_set_t *set, const char *subject);
/* How many boots there are; where they differ in which side is the faster. */
void finding_boots(const report_t *report);
void finding_disagreement(const report_t *report, const comparison_set_list_t *sets);
void finding_missing(const report_t *report, const comparison_set_t *set); /* sides without times */
/* Number of samples and width of the intervals in a set's table. */
void print_spread(const report_t *report, const comparison_set_t *set);

#endif
