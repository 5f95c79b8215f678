/* Tables of numbers from comma-separated text (RFC 4180): a header line of column names, then rows
 * of finite decimal numbers. A byte order mark, CRLF line ends, blank lines, quoted fields and
 * blanks around fields are accepted; anything else is an error with file, line and column name. */
#ifndef BENCH_IO_CSV_H
#define BENCH_IO_CSV_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct csv_table {
    text_list_t columns; /* names from the header, in file order; all different */
    double *values;      /* n_rows × columns.n, row by row */
    size_t *lines;       /* line number of each row, for messages */
    size_t n_rows, capacity;
} csv_table_t;

/* On failure there is nothing to free. A header without rows is an empty table, not an error. */
status_t csv_read(const char *path, csv_table_t *table, error_t *err);
/* The same from memory; messages call it `name`. */
status_t csv_parse(const char *name, const char *text, size_t size, csv_table_t *table,
                   error_t *err);
void csv_free(csv_table_t *table);

double csv_value(const csv_table_t *table, size_t row, size_t column);
/* Do the columns have exactly these names, in this order? */
bool csv_has_header(const csv_table_t *table, const char *const *names, size_t n);

#endif
