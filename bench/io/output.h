/* What the user gets: the standard streams, and files under names that the user gave. */
#ifndef BENCH_IO_OUTPUT_H
#define BENCH_IO_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* First in main(): a file that is opened later must not get the number of a closed standard stream, or what is printed
 * would be in that file. Reading finds the end, writing fails. A file that may grow no further (ulimit -f) is an error
 * like a full disk, not a signal. */
void output_begin(void);

/* Last in main(): write what is left for stdout, close it, and return the exit code: STATUS_OK, STATUS_USAGE with a
 * message if anything printed since the start was lost, or that of SIGPIPE, without a message, if it was lost because
 * its reader has left (| head). */
int output_finish(error_t *err);

/* Print without control characters: names of folders may hold some, and must not control the terminal. */
void output_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write to a path that the user named: a file (or the one that a link leads to) as fs_write_atomic() does; a pipe, a
 * device or an open descriptor ("-", /dev/stdout, ">(command)") is written to, never replaced. */
status_t output_write_file(const char *path, const void *data, size_t size, error_t *err);
/* Is it such a pipe, device or descriptor? */
bool output_is_stream(const char *path);

/* Aligned tables of text, for a terminal or as GitHub markdown. Widths are terminal columns, not
 * bytes, so that "µs", "×" and "–" line up. Cells are plain text: escape text from files with
 * markdown_text() before adding it to a markdown table. */

typedef enum table_style { TABLE_TERMINAL, TABLE_MARKDOWN } table_style_t;

typedef struct table {
    char **cells; /* row after row, n_columns to a row; the first row is the heading */
    char *align;  /* a letter for each column, as in table_make() */
    size_t n_columns, n_cells, capacity;
} table_t;

/* A table with one column for each letter of `align`, "lrr": its numbers are aligned to the right. table_free() empties it. */
table_t table_make(const char *align, const char *const *headings);
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
/* `text` escaped for XML and HTML, also inside quotes; invalid UTF-8, U+FFFE, U+FFFF and control characters other than
 * line breaks and tabs become "?". The caller frees it. */
char *xml_text(const char *text);
/* `text` as an inline code span with enough backticks; the caller frees it. */
char *markdown_code(const char *text);

#endif
