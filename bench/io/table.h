/* Aligned tables of text, for a terminal or as GitHub markdown. Widths are terminal columns, not
 * bytes, so that "µs", "×" and "–" line up. Cells are plain text: escape text from files with
 * markdown_text() before adding it to a markdown table. */
#ifndef BENCH_IO_TABLE_H
#define BENCH_IO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum table_align { ALIGN_LEFT, ALIGN_RIGHT } table_align_t;
typedef enum table_style { TABLE_TERMINAL, TABLE_MARKDOWN } table_style_t;

typedef struct table {
    char **cells; /* row after row, n_columns to a row; the first row is the heading */
    table_align_t *align;
    size_t n_columns, n_cells, capacity;
} table_t;

/* Start a table with one column per heading, all left-aligned. table_free() empties it. */
void table_init(table_t *table, const char *const *headings, size_t n_columns);
/* "lrr": alignment of the first columns, one letter each. */
void table_set_align(table_t *table, const char *letters);
/* Append a copy as the next cell, left to right. NULL is an empty cell. */
void table_add(table_t *table, const char *text);
void table_take(table_t *table, char *text); /* takes ownership; from malloc() */
void table_add_format(table_t *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Fill the current row with empty cells. */
void table_end_row(table_t *table);
size_t table_rows(const table_t *table); /* without the heading; a started row counts */
/* The table as text that ends in a newline; the caller frees it. */
char *table_text(const table_t *table, table_style_t style);
/* Print it for a terminal, followed by `end`, unless it has no rows; then free it. */
void table_print(table_t *table, const char *end, FILE *out);
void table_free(table_t *table);

/* Terminal columns of UTF-8 text: combining marks take none, wide East Asian letters and emoji two.
 * An invalid byte counts as one. */
size_t text_width(const char *text);

/* `text` escaped for markdown, also inside a table cell: pipes, backticks, angle brackets and the
 * like are escaped, line breaks and control characters become spaces. The caller frees it. */
char *markdown_text(const char *text);
/* `text` as an inline code span with enough backticks; the caller frees it. */
char *markdown_code(const char *text);

#endif
