/* A report as one HTML file that asks for nothing: the pages, which are Markdown of our own, their charts
 * and every case. All text is escaped, and a link leads only to a place in the file. */
#ifndef BENCH_REPORT_HTML_HTML_H
#define BENCH_REPORT_HTML_HTML_H

#include "report/shown.h"

#include <stdio.h>

/* By which such a file is known. */
#define HTML_BEGIN "<!DOCTYPE html>\n<!-- bench report -->\n"

/* The pages of all workloads of all runs, in that order, and the top page with its picture (SVG of our own, or NULL).
 * Links in them are relative to `root`, or to cases (case_link()). The caller frees the text. */
typedef struct html_source {
    const shown_list_t *runs;
    const char *root, *program, *top, *picture;
    const char *const *pages, *const *hrefs; /* as the top page links them */
} html_source_t;

char *html_document(const html_source_t *source);

/* ---- parts ----------------------------------------------------------------------------------- */

typedef struct html {
    FILE *out;
    const char *root, *program, *picture;
    const char *markdown;     /* of the page, whose last lines say where [names] lead to */
    const char *const *hrefs; /* links to the pages of all parts, by their numbers */
    size_t n_hrefs;
    size_t n_headings, n_tables;
    bool plain; /* print text alone, without tags */
} html_t;

/* Escaped; control characters and invalid UTF-8 become "?". */
void html_text(const html_t *html, const char *text);
void html_text_n(const html_t *html, const char *text, size_t length);

/* markdown.c: headings, paragraphs, lists, tables, indented code, images; emphasis, code, links, escapes. Of a page headings
 * are one level lower, and each "## " begins a section that opens, of which the first is open. */
void html_blocks(html_t *html, const char *markdown, bool is_page);
/* One line without tags, escaped; the caller frees it. */
char *html_plain(const html_t *html, const char *line);

#endif
