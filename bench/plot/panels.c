#include "plot/panels.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

panels_t panels_open(chart_t *chart, bool stacked, const char *faded) {
    chart_init(chart, "panels");
    chart_row(chart, "# labels: x in pixels%s%s\nrow x text%s", faded != NULL ? "; faded: " : "",
              faded != NULL ? faded : "", stacked ? "" : " faded");
    return (panels_t){.chart = chart, .stacked = stacked};
}

size_t panels_show(panels_t *panels, const series_t *series, size_t gap) {
    const size_t row = panels->n_rows + gap;
    mem_grow(&panels->shown, panels->n_shown, &panels->capacity, sizeof *panels->shown);
    panels->shown[panels->n_shown++] = (shown_t){series, row};
    panels->n_rows = row + 1;
    return row;
}

void panels_label(panels_t *panels, int row, int x, const char *text, bool faded) {
    const char *last = panels->stacked ? "" : faded ? " 1" : " 0";
    chart_row(panels->chart, "%d %d %s%s", row, x, chart_quote(panels->chart, text), last);
    if (row >= (int)panels->n_rows)
        panels->n_rows = (size_t)row + 1;
}

panel_t *panels_add(panels_t *panels, const char *title) {
    if (panels->n == MAX_PANELS)
        return NULL;
    panel_t *panel = &panels->items[panels->n++];
    *panel = (panel_t){.chart = panels->chart,
                       .title = title,
                       .lines = {{NAN, INFINITY}},
                       .n_lines = 1,
                       .least_bar_ns = INFINITY,
                       .seen = RANGE_INIT};
    return panel;
}

void panels_legend(panels_t *panels, int style, const char *text) {
    if (panels->n_legend == MAX_PANEL_LEGEND)
        return;
    panels->legend[panels->n_legend] = text;
    panels->styles[panels->n_legend++] = style;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void panel_line(panel_t *panel, double ns) {
    panel->lines[0].ns = ns;
    range_take(&panel->seen, ns / 1000);
}

void panel_bar(panel_t *panel, size_t row, const case_result_t *result, const char *phase,
               const char *text, int style) {
    chart_t *chart = panel->chart;
    const double median = result_median(result, phase);
    const double *ci95_ns = result_ci95(result, phase);
    const char *label = result_has_times(result) ? text : case_status_name(result->status);
    text_list_add_format(&panel->rows, "%zu %s %s %s %s %d %d", row, chart_us(chart, median),
                         chart_us(chart, ci95_ns[0]), chart_us(chart, ci95_ns[1]),
                         chart_quote(chart, label), style, result->status == CASE_THROTTLED);
    range_take(&panel->seen, median / 1000);
    panel->least_bar_ns = fmin(panel->least_bar_ns, median); /* ignores NaN */
}

/* A bound further below the bars than this factor would leave them no room. */
static const double FAR_BELOW = 10;

/* panels.gp places a text after the interval's end if there is no bar. */
void panel_bound(panel_t *panel, size_t row, double ns, const char *text) {
    if (panel->n_lines == MAX_PANEL_LINES && isfinite(panel->lines[0].ns))
        return;
    size_t line = isfinite(panel->lines[0].ns) ? panel->n_lines++ : 0;
    panel->lines[line] = (panel_line_t){ns, (double)row};
    const char *us = chart_us(panel->chart, ns);
    text_list_add_format(&panel->rows, "%zu NaN %s %s %s 0 0", row, us, us,
                         chart_quote(panel->chart, text));
    bool any_bar = isfinite(panel->least_bar_ns);
    range_take(&panel->seen, (any_bar ? fmax(ns, panel->least_bar_ns / FAR_BELOW) : ns) / 1000);
}

void panel_piece(panel_t *panel, size_t row, double length, int style, bool hollow) {
    if (!(length > 0))
        return;
    text_list_add_format(&panel->rows, "%zu %.9g %.9g %d %d", row, panel->at, panel->at + length,
                         style, hollow);
    panel->at += length;
}

void panel_text(panel_t *panel, size_t row, const char *text) {
    text_list_add_format(&panel->texts, "%zu %.9g %s", row, panel->at,
                         chart_quote(panel->chart, text));
    range_take(&panel->seen, panel->at);
    panel->at = 0;
}

/* ---- table ----------------------------------------------------------------------------------- */

static void write_list(const panels_t *panels) {
    chart_t *chart = panels->chart;
    chart_row(chart,
              panels->stacked
                  ? "\n\n# panels\npanel title axis"
                  : "\n\n# panels: reference lines in µs, down to a row\npanel title line row");
    for (size_t p = 0; p < panels->n; p++) {
        const panel_t *panel = &panels->items[p];
        const char *title = chart_quote(chart, panel->title);
        if (panels->stacked)
            chart_row(chart, "%zu %s %s", p, title, chart_quote(chart, panel->axis));
        for (size_t l = 0; l < panel->n_lines && !panels->stacked; l++)
            chart_row(chart, "%zu %s %s %g", p, l == 0 ? title : "\"\"",
                      chart_us(chart, panel->lines[l].ns),
                      fmin(panel->lines[l].row, (double)panels->n_rows - 1));
    }
}

static void write_block(chart_t *chart, const char *columns, const text_list_t *rows) {
    chart_row(chart, "%s", columns);
    for (size_t i = 0; i < rows->n; i++)
        chart_row(chart, "%s", rows->items[i]);
}

static void write_rows(const panels_t *panels) {
    chart_t *chart = panels->chart;
    for (size_t p = 0; p < panels->n; p++) {
        const panel_t *panel = &panels->items[p];
        if (panels->stacked) {
            chart_row(chart, "\n\n# %s", panel->title);
            write_block(chart, "row from to style hollow", &panel->rows);
            write_block(chart, "\n\nrow at text", &panel->texts);
        } else {
            chart_row(chart, "\n\n# %s: medians in µs, 95 %% interval", panel->title);
            write_block(chart, "row time low high text style throttled", &panel->rows);
        }
    }
    for (size_t i = 0; i < panels->n_legend; i++)
        chart_row(chart, "\n\n# legend\nstyle %s\n%d NaN", chart_quote(chart, panels->legend[i]),
                  panels->styles[i]);
}

static bool is_logarithmic(const panels_t *panels, const panel_t *panel) {
    return panels->logarithmic && panel->end <= 0;
}

/* With room after the longest row for its text. */
static void axis_of(const panels_t *panels, const panel_t *panel, double *low, double *high) {
    const range_t seen = panel->seen.high > 0 ? panel->seen : (range_t){1, 1};
    *low = 0;
    *high = 1.5 * (panel->end > 0 ? panel->end : seen.high);
    if (is_logarithmic(panels, panel)) {
        *low = pow(10, floor(log10(seen.low / 1.1)));
        *high = seen.high * pow(seen.high / *low, 0.6);
    }
}

static void write_axes(const panels_t *panels) {
    chart_t *chart = panels->chart;
    double lows[MAX_PANELS], highs[MAX_PANELS], tops[MAX_PANELS];
    int logarithmic[MAX_PANELS];
    for (size_t p = 0; p < panels->n; p++) {
        const panel_t *panel = &panels->items[p];
        axis_of(panels, panel, &lows[p], &highs[p]);
        tops[p] = panel->end > 0 ? panel->end : highs[p];
        logarithmic[p] = is_logarithmic(panels, panel);
    }
    chart_reals(chart, "lows", lows, panels->n);
    chart_reals(chart, "highs", highs, panels->n);
    if (panels->stacked) {
        chart_reals(chart, "tops", tops, panels->n);
        chart_integers(chart, "logarithmic", logarithmic, panels->n);
        chart_integers(chart, "styles", panels->styles, panels->n_legend);
        chart_numbers(chart, "n_legend=%zu", panels->n_legend);
    } else {
        chart_numbers(chart, "logarithmic=%d in_ms=%d", panels->logarithmic, panels->in_ms);
    }
}

/* Bars have an extra row for headings. They get room for their texts, however many columns there
 * are. */
static void write_size(const panels_t *panels, size_t n_columns, int left) {
    enum { FRAME_HEIGHT = 110, LEGEND_HEIGHT = 26, PANEL_WIDTH = 240, RIGHT_MARGIN = 20 };
    const double n_lines = (double)((panels->n + n_columns - 1) / n_columns);
    const double n_rows = (double)panels->n_rows;
    const double line_height = panels->stacked ? 80 + 18 * n_rows : 75 + 17 * (n_rows + 1);
    const double needed = left + RIGHT_MARGIN + PANEL_WIDTH * (double)n_columns;
    const double width = panels->stacked ? CHART_WIDTH : fmax(CHART_WIDTH, needed);
    chart_numbers(panels->chart, "width=%.10g height=%.10g", width,
                  FRAME_HEIGHT + LEGEND_HEIGHT * (panels->n_legend > 0) + n_lines * line_height);
}

void panels_write(panels_t *panels, size_t n_columns, int left) {
    write_list(panels);
    write_rows(panels);
    write_axes(panels);
    chart_numbers(panels->chart, "stacked=%d n_panels=%zu n_columns=%zu n_rows=%zu left=%d",
                  panels->stacked, panels->n, n_columns, panels->n_rows, left);
    write_size(panels, n_columns, left);
    for (size_t p = 0; p < panels->n; p++) {
        text_list_free(&panels->items[p].rows);
        text_list_free(&panels->items[p].texts);
    }
    free(panels->shown);
}
