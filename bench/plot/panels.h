/* Data of plots/panels.gp: panels of horizontal rows with one list of labels at the left of each
 * line of panels, and a text after each row. A row is a bar with the 95 % interval of its median,
 * crossed by dashed reference lines; in a stacked chart it is a sequence of pieces. Axes start at 0
 * or, if logarithmic, at a decade below the smallest value; the text of a 0 is placed there. */
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
    range_t seen;            /* in the axis's unit: µs for bars */
    panel_line_t lines[MAX_PANEL_LINES];
    size_t n_lines;
    double least_bar_ns;
    const char *axis; /* stacked: the axis's title with the unit; kept by the chart */
    double end;       /* stacked: last tick of an axis that is always linear; 0: automatic */
    double at;        /* stacked: start of the row's next piece */
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
    bool in_ms; /* axes of bars are in milliseconds; the table stays in µs */
    panel_t items[MAX_PANELS];
    size_t n;
    size_t n_rows; /* including gaps between groups */
    shown_t *shown;
    size_t n_shown, capacity;
    const char *legend[MAX_PANEL_LEGEND]; /* stacked; borrowed */
    int styles[MAX_PANEL_LEGEND];
    size_t n_legend;
} panels_t;

/* Initialises the chart. `faded`: the meaning of faded labels, or NULL. */
panels_t panels_open(chart_t *chart, bool stacked, const char *faded);
/* Add a series after `gap` free rows; returns its row. */
size_t panels_show(panels_t *panels, const series_t *series, size_t gap);
/* `row` -1 is the heading; headings and faded labels are for bars only. `x`: pixels from the left
 * edge. */
void panels_label(panels_t *panels, int row, int x, const char *text, bool faded);
/* Start the next panel; the chart keeps the title. NULL if there is no room. */
panel_t *panels_add(panels_t *panels, const char *title);
/* `text` must live until panels_write(). */
void panels_legend(panels_t *panels, int style, const char *text);
/* Write table, numbers and size; frees the panels. `left`: width of the labels in pixels. */
void panels_write(panels_t *panels, size_t n_columns, int left);

/* A line through all rows; NaN: none. */
void panel_line(panel_t *panel, double ns);
/* Instead of a bar: a line from the top down to this row, with a text at its end. Add it after the
 * panel's bars: if it is far below them it is off the axis, and only its text appears. */
void panel_bound(panel_t *panel, size_t row, double ns, const char *text);
/* A case without times shows its status instead of a bar. */
void panel_bar(panel_t *panel, size_t row, const case_result_t *result, const char *phase,
               const char *text, int style);
/* The next piece of the current row. Pieces up to 0 are ignored. */
void panel_piece(panel_t *panel, size_t row, double length, int style, bool hollow);
/* End a row of pieces. */
void panel_text(panel_t *panel, size_t row, const char *text);

#endif
