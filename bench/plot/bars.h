/* What plots/bars.gp draws: panels of horizontal bars side by side, with one list of labels at the
 * left of each line of panels, dashed reference lines in each, and a text behind each bar. */
#ifndef BENCH_PLOT_BARS_H
#define BENCH_PLOT_BARS_H

#include "plot/axes.h"

enum { MAX_PANELS = 8, MAX_PANEL_LINES = 4 };

/* Dashed, from the top of a panel down to a row. */
typedef struct panel_line {
    double ns; /* NaN: not drawn */
    double row;
} panel_line_t;

typedef struct bar_panel {
    char *title;
    panel_line_t lines[MAX_PANEL_LINES];
    size_t n_lines;
    range_t range_ns; /* of what it shows: start with RANGE_INIT; bars_write() widens it */
    double least_bar_ns;
    char *rows; /* its part of the table */
    size_t size;
    FILE *table;
} bar_panel_t;

typedef struct bars {
    chart_t *chart; /* borrowed */
    bar_panel_t panels[MAX_PANELS];
    size_t n_panels;
    size_t n_rows;    /* some of them may be free, as gaps between groups */
    bool logarithmic; /* bars start a decade's end below the least value, else at 0 */
    bool in_ms;       /* axes are in milliseconds, though the table is in µs as all are */
} bars_t;

/* A label at the left: `row` -1 is the heading. `x` is in pixels from the left edge. */
void bars_label(bars_t *bars, int row, int x, const char *text, bool faded);
/* Start the next panel, with a line through all rows (NaN for none); NULL when there is room for no
 * more. */
bar_panel_t *bars_panel(bars_t *bars, const char *title, double line_ns);
/* In place of a bar: a line from the top down to this row, with a text at its end. It comes behind
 * the panel's bars: far below them it is off the axis, and only its text is there. */
void bars_line(bar_panel_t *panel, size_t row, double ns, const char *text);
/* A case without times shows its status instead of a bar. */
void bars_bar(bar_panel_t *panel, size_t row, const case_result_t *result, const char *phase,
              const char *text, int style);
/* Table, numbers and size; frees the panels. `left` are the pixels that the labels take. */
void bars_write(bars_t *bars, size_t n_columns, int left);

#endif
