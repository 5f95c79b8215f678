/* Report tables: columns are data, a row is one text per column, empty columns can be hidden. */
#ifndef BENCH_REPORT_COLUMNS_H
#define BENCH_REPORT_COLUMNS_H

#include "report/passes.h"

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
/* Add a row: one cell per column, including hidden ones. A NULL cell is empty. */
void columns_row(columns_t *columns, const char *const *cells);
/* Print `intro`, the table and a blank line, or nothing if there are no rows; frees the table. */
void columns_end(columns_t *columns, const char *intro);
/* The same below a heading, with a formatted intro. */
void columns_end_under(columns_t *columns, unsigned level, const char *heading, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

/* Cells: owned by the report and safe for markdown. A NULL result gives "–". */
/* "12.6 µs †" if throttled, "12.6 µs §" of a busy machine, "12.6 µs ‡" with two values, the status if the case has no times, "–" if
 * it lacks the phase. */
const char *time_cell(const report_t *report, const case_result_t *result, const char *phase);
/* "3.4× (3.3–3.6)"; "≈ 3.4×" without an interval; "–" without a ratio. */
const char *ratio_cell(const report_t *report, const speedup_t *speedup);
/* " *(self-reported)*", or "" */
const char *trust_mark(const case_result_t *result);
/* "03_vectorized + arena"; "cuda 03_vectorized", without techniques and parameters. With trust_mark(). */
const char *name_cell(const report_t *report, const case_result_t *result);
const char *key_cell(const report_t *report, const case_result_t *result);
/* time_cell() and name_cell() of who stands for a side, which says why if it is not compared. Returns 2. */
size_t standing_cells(const report_t *report, const standing_t *standing, const char *phase,
                      const char **cells);
/* "88 %"; with a decimal if rounding would give 100 %: "99.7 %". */
const char *share_cell(const report_t *report, double frac);
/* "93 %" of the limit recorded with the case. */
const char *limit_cell(const report_t *report, const case_result_t *result);
const char *count_cell(const report_t *report, double count); /* "12"; NaN: "–" */
/* The beginning: what a worker printed before it died can be a page. */
const char *reason_cell(const report_t *report, const char *reason);
/* "1.2–1.3 µs": the 95 % interval of a phase's median; "–" with too few passes. */
const char *interval_cell(const report_t *report, const phase_t *phase);
/* "64", "5 M"; "batch 64", "5 M points"; "batch sizes", "data-set sizes"; "Batch", "Points". */
const char *size_cell(const report_t *report, const comparison_set_t *set, int64_t size);
const char *size_name(const report_t *report, const comparison_set_t *set, int64_t size);
const char *sizes_word(const comparison_set_t *set, size_t n);
const char *size_title(const report_t *report, const comparison_set_t *set);

#endif
