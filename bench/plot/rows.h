/* What plots/rows.gp draws: panels of rows with shared labels at the left, in each row pieces one
 * behind the other from left to right, and a text behind them. An axis is linear from 0, or
 * logarithmic from a decade below the least value; there a row of 0 has its text on the axis. */
#ifndef BENCH_PLOT_ROWS_H
#define BENCH_PLOT_ROWS_H

#include "plot/axes.h"

enum { MAX_ROW_PANELS = 8, MAX_ROW_LEGEND = 8 };

typedef struct row_panel {
    char *title, *axis; /* axis: its title, with the unit */
    bool logarithmic;
    double end;           /* of a linear axis: its last tick; 0: as the rows need it */
    range_t seen;         /* sums of rows */
    double at;            /* where the row's next piece begins */
    char *pieces, *texts; /* its parts of the table */
    size_t pieces_size, texts_size;
    FILE *piece_table, *text_table;
} row_panel_t;

typedef struct rows {
    chart_t *chart; /* borrowed; its table takes labels */
    row_panel_t panels[MAX_ROW_PANELS];
    size_t n_panels, n_rows;
    const char *legend[MAX_ROW_LEGEND]; /* borrowed */
    int styles[MAX_ROW_LEGEND];
    size_t n_legend;
} rows_t;

/* Of a chart that has been initialised; labels come first, then panels and legend. */
void rows_start(rows_t *rows, chart_t *chart);
/* `x` in pixels from the left edge. */
void rows_label(rows_t *rows, size_t row, int x, const char *text);
/* NULL when there is room for no more. */
row_panel_t *rows_panel(rows_t *rows, const char *title, const char *axis, bool logarithmic);
/* The next piece of the row that is being written. Pieces that are not above 0 are passed over. */
void rows_piece(row_panel_t *panel, size_t row, double length, int style, bool hollow);
/* Ends the row. */
void rows_text(row_panel_t *panel, size_t row, const char *text);
/* `text` is kept until rows_write(). */
void rows_legend(rows_t *rows, int style, const char *text);
/* Table, numbers and size; frees the panels. `left` are the pixels that the labels take. */
void rows_write(rows_t *rows, size_t n_columns, int left);

#endif
