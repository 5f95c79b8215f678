/* What plots/panels.gp draws: panels of horizontal rows, with one list of labels at the left of
 * each line of panels, and a text behind each row. A row is a bar with the 95 % interval of its
 * median, and dashed reference lines pass it; or, of a stacked chart, pieces one behind the other.
 * Axes start at 0 or, if logarithmic, at a decade below the least value: a 0 has its text there. */
#ifndef BENCH_PLOT_PANELS_H
#define BENCH_PLOT_PANELS_H

#include "plot/axes.h"

enum { MAX_PANELS = 8, MAX_PANEL_LINES = 4, MAX_PANEL_LEGEND = 8 };

/* Dashed, from the top of a panel down to a row. */
typedef struct panel_line {
    double ns; /* NaN: not drawn */
    double row;
} panel_line_t;

typedef struct panel {
    chart_t *chart;          /* borrowed */
    const char *title;       /* kept by the chart */
    text_list_t rows, texts; /* its blocks of the table; texts of bars are in their rows */
    range_t seen;            /* in the axis's unit, which is µs for bars */
    panel_line_t lines[MAX_PANEL_LINES];
    size_t n_lines;
    double least_bar_ns;
    const char *axis; /* of a stacked panel: the axis's title, with the unit; kept by the chart */
    double end;       /* likewise: last tick of an axis that is linear in any case; 0: as needed */
    double at;        /* likewise: where the row's next piece begins */
} panel_t;

/* A series and its row in all panels. */
typedef struct shown {
    const series_t *series;
    size_t row;
} shown_t;

typedef struct panels {
    chart_t *chart; /* borrowed; its table takes the labels */
    bool stacked;
    bool logarithmic;
    bool in_ms; /* axes of bars are in milliseconds, though the table is in µs as all are */
    panel_t items[MAX_PANELS];
    size_t n;
    size_t n_rows; /* some of them may be free, as gaps between groups */
    shown_t *shown;
    size_t n_shown, capacity;
    const char *legend[MAX_PANEL_LEGEND]; /* of a stacked chart; borrowed */
    int styles[MAX_PANEL_LEGEND];
    size_t n_legend;
} panels_t;

/* Initialises the chart. `faded`: what faded labels mean, or NULL. */
panels_t panels_open(chart_t *chart, bool stacked, const char *faded);
/* Another series that is shown; it gets the next row behind `gap` free ones, which is returned. */
size_t panels_show(panels_t *panels, const series_t *series, size_t gap);
/* `row` -1 is the heading, of bars only, and so is a faded label. `x` is in pixels from the left
 * edge. */
void panels_label(panels_t *panels, int row, int x, const char *text, bool faded);
/* Start the next panel; the title is kept by the chart. NULL when there is room for no more. */
panel_t *panels_add(panels_t *panels, const char *title);
/* `text` is kept until panels_write(). */
void panels_legend(panels_t *panels, int style, const char *text);
/* Table, numbers and size; frees the panels. `left` are the pixels that the labels take. */
void panels_write(panels_t *panels, size_t n_columns, int left);

/* A line through all rows; NaN for none. */
void panel_line(panel_t *panel, double ns);
/* In place of a bar: a line from the top down to this row, with a text at its end. It comes behind
 * the panel's bars: far below them it is off the axis, and only its text is there. */
void panel_bound(panel_t *panel, size_t row, double ns, const char *text);
/* A case without times shows its status instead of a bar. */
void panel_bar(panel_t *panel, size_t row, const case_result_t *result, const char *phase,
               const char *text, int style);
/* The next piece of the row that is being written. Pieces that are not above 0 are passed over. */
void panel_piece(panel_t *panel, size_t row, double length, int style, bool hollow);
/* Ends a row of pieces. */
void panel_text(panel_t *panel, size_t row, const char *text);

#endif
