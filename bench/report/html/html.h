/* A report as one HTML file that asks for nothing: the pages, which are Markdown of our own, their charts
 * and every case. All text is escaped, and a link leads only to a place in the file. */
#ifndef BENCH_REPORT_HTML_HTML_H
#define BENCH_REPORT_HTML_HTML_H

#include "report/shown.h"

#include <stdio.h>

/* By which such a file is known. */
#define HTML_BEGIN "<!DOCTYPE html>\n<!-- bench report -->\n"

/* The pages of all workloads of all runs, in that order, and the top page. Links in them are relative to
 * `root`, or to cases (case_link()). The caller frees the text. */
typedef struct html_source {
    const shown_list_t *runs;
    const char *root, *program, *top;
    const char *const *pages, *const *hrefs; /* as the top page links them */
} html_source_t;

char *html_document(const html_source_t *source);

/* ---- parts ----------------------------------------------------------------------------------- */

/* What a link in a page means in the file. */
typedef struct html_target {
    char *href, *anchor;
} html_target_t;

typedef struct html {
    FILE *out;
    const char *root, *program;
    html_target_t *targets;
    size_t n_targets;
    size_t n_headings, n_charts, n_tables;
    bool plain; /* print text alone, without tags */
} html_t;

/* html.c: `href` in a page leads to the id `anchor`; the first that is added counts. */
void html_add_target(html_t *html, const char *href, const char *anchor);
const char *html_anchor(const html_t *html, const char *href); /* of a case, too; or NULL */
void html_free(html_t *html);
/* Escaped; control characters and invalid UTF-8 become "?". */
void html_text(const html_t *html, const char *text);
void html_text_n(const html_t *html, const char *text, size_t length);

/* inline.c: emphasis, code, links, escapes of one line of Markdown. */
void html_inline(html_t *html, const char *text, size_t length);
/* The same without tags, escaped; the caller frees it. */
char *html_plain(const html_t *html, const char *text, size_t length);

/* blocks.c: headings, paragraphs, lists, tables, indented code, images. Of a page headings are one level
 * lower, and each "## " begins a section that opens, of which the first is open. */
void html_blocks(html_t *html, const char *markdown, bool is_page);

/* charts.c: the chart in the file `href` as a figure; a sentence if it cannot be read or is no SVG. */
void html_chart(html_t *html, const char *name, const char *href);
/* svg.c: what is harmless in `svg`, each id in it with a prefix. NULL: not well-formed. The caller frees it. */
char *svg_inline(const char *svg, const char *prefix, const char *label);

/* samples.c: a small drawing of the samples in the order taken. */
void html_samples(const html_t *html, const phase_t *phase);

/* cases.c: every case of a part of a run as a row, with its details; samples are drawn for those that
 * `top` links to. */
void html_cases(html_t *html, const shown_run_t *shown, size_t part, const char *top);

#endif
