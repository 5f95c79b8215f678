/* Tables of a report: the columns are data, a row is one text a column, and a column can be hidden
 * where nothing would stand in it. */
#ifndef BENCH_REPORT_COLUMNS_H
#define BENCH_REPORT_COLUMNS_H

#include "report/page.h"

typedef struct column {
    const char *heading;
    char align; /* 'l' or 'r' */
    bool hidden;
} column_t;

typedef struct columns {
    const report_t *report;
    const column_t *columns; /* borrowed */
    size_t n_columns;
    table_t table;
} columns_t;

columns_t columns_begin(const report_t *report, const column_t *columns, size_t n_columns);
/* The next row: a cell for each column, hidden ones too. NULL is an empty cell. */
void columns_row(columns_t *columns, const char *const *cells);
/* `intro`, the table and a blank line; nothing where there are no rows. */
void columns_end(columns_t *columns, const char *intro);

/* Cells, which the report owns. A result or set may be NULL: "–". */
const char *time_cell(const report_t *report, const case_result_t *result, const char *phase);
const char *ratio_cell(const report_t *report, const speedup_t *speedup);
const char *name_cell(const report_t *report, const case_result_t *result); /* with techniques */
const char *key_cell(const report_t *report, const case_result_t *result);  /* without */
const char *share_cell(const report_t *report, double frac);
const char *limit_cell(const report_t *report, const case_result_t *result);
const char *count_cell(const report_t *report, double count); /* "12"; NaN: "–" */
/* words.c's names of a size: "64"; "batch 64"; "Batch". */
const char *size_cell(const report_t *report, const comparison_set_t *set, int64_t size);
const char *size_name(const report_t *report, const comparison_set_t *set, int64_t size);
const char *size_title(const report_t *report, const comparison_set_t *set);

#endif
