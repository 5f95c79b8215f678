#include "plot/bars.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static void write_text(FILE *table, const char *text) {
    chart_t quoting = {.table = table};
    chart_text(&quoting, text);
}

static void write_us(FILE *table, double ns) {
    chart_t quoting = {.table = table};
    chart_us(&quoting, ns);
}

void bars_label(bars_t *bars, int row, int x, const char *text, bool faded) {
    fprintf(bars->chart->table, "%d %d", row, x);
    chart_text(bars->chart, text);
    fprintf(bars->chart->table, " %d\n", faded);
}

bar_panel_t *bars_panel(bars_t *bars, const char *title, double line_ns) {
    if (bars->n_panels == MAX_PANELS)
        return NULL;
    bar_panel_t *panel = &bars->panels[bars->n_panels++];
    *panel = (bar_panel_t){.title = mem_text(title),
                           .lines = {{line_ns, INFINITY}},
                           .n_lines = 1,
                           .least_bar_ns = INFINITY,
                           .range_ns = RANGE_INIT};
    panel->table = open_memstream(&panel->rows, &panel->size);
    if (panel->table == NULL)
        abort(); /* out of memory, as in mem_alloc() */
    range_take(&panel->range_ns, line_ns);
    fputs("row time low high text style throttled\n", panel->table);
    return panel;
}

void bars_bar(bar_panel_t *panel, size_t row, const case_result_t *result, const char *phase,
              const char *text, int style) {
    double median = result_median(result, phase);
    const summary_t *summary =
        isfinite(median) ? &result_phase(result, phase)->summary : &(summary_t){.n = 0};
    fprintf(panel->table, "%zu", row);
    write_us(panel->table, median);
    write_us(panel->table, isfinite(median) ? summary->ci95[0] : NAN);
    write_us(panel->table, isfinite(median) ? summary->ci95[1] : NAN);
    write_text(panel->table, result_has_times(result) ? text : case_status_name(result->status));
    fprintf(panel->table, " %d %d\n", style, result->status == CASE_THROTTLED);
    range_take(&panel->range_ns, median);
    panel->least_bar_ns = fmin(panel->least_bar_ns, median); /* NaN is passed over */
}

/* More decades than this would leave the bars no room. */
static const double FAR_BELOW = 10;

/* bars.gp places a text behind the interval's end, wherever there is no bar. */
void bars_line(bar_panel_t *panel, size_t row, double ns, const char *text) {
    if (panel->n_lines == MAX_PANEL_LINES && isfinite(panel->lines[0].ns))
        return;
    size_t line = isfinite(panel->lines[0].ns) ? panel->n_lines++ : 0;
    panel->lines[line] = (panel_line_t){ns, (double)row};
    fprintf(panel->table, "%zu NaN", row);
    write_us(panel->table, ns);
    write_us(panel->table, ns);
    write_text(panel->table, text);
    fputs(" 0 0\n", panel->table);
    bool any_bar = isfinite(panel->least_bar_ns);
    range_take(&panel->range_ns, any_bar ? fmax(ns, panel->least_bar_ns / FAR_BELOW) : ns);
}

/* Room behind the longest bar for its text. */
static void axis_of(const bars_t *bars, const bar_panel_t *panel, double *low_us, double *high_us) {
    const range_t *seen = &panel->range_ns;
    double most_us = seen->high > 0 ? seen->high / 1000 : 1;
    if (bars->logarithmic) {
        double least_us = seen->high > 0 ? seen->low / 1000 : 1;
        *low_us = pow(10, floor(log10(least_us / 1.1)));
        *high_us = most_us * pow(most_us / *low_us, 0.6);
    } else {
        *low_us = 0;
        *high_us = 1.5 * most_us;
    }
}

void bars_write(bars_t *bars, size_t n_columns, int left) {
    enum { ROW_HEIGHT = 17, AROUND_ROWS = 75, FRAME_HEIGHT = 110 };
    chart_t *chart = bars->chart;
    double lows[MAX_PANELS], highs[MAX_PANELS];
    fputs("\n\n# panels: reference lines in µs, down to a row\npanel title line row\n",
          chart->table);
    for (size_t p = 0; p < bars->n_panels; p++) {
        bar_panel_t *panel = &bars->panels[p];
        axis_of(bars, panel, &lows[p], &highs[p]);
        for (size_t l = 0; l < panel->n_lines; l++) {
            fprintf(chart->table, "%zu", p);
            chart_text(chart, l == 0 ? panel->title : "");
            chart_us(chart, panel->lines[l].ns);
            fprintf(chart->table, " %g\n", fmin(panel->lines[l].row, (double)bars->n_rows - 1));
        }
    }
    for (size_t p = 0; p < bars->n_panels; p++) {
        bar_panel_t *panel = &bars->panels[p];
        fclose(panel->table);
        fprintf(chart->table, "\n\n# %s: medians in µs, 95 %% interval\n%s", panel->title,
                panel->rows);
        free(panel->rows);
        free(panel->title);
    }
    chart_reals(chart, "lows", lows, bars->n_panels);
    chart_reals(chart, "highs", highs, bars->n_panels);
    chart_number(chart, "n_panels", (double)bars->n_panels);
    chart_number(chart, "n_columns", (double)n_columns);
    chart_number(chart, "n_rows", (double)bars->n_rows);
    chart_number(chart, "logarithmic", bars->logarithmic);
    chart_number(chart, "in_ms", bars->in_ms);
    chart_number(chart, "left", left);
    size_t n_lines = (bars->n_panels + n_columns - 1) / n_columns;
    chart_number(chart, "width", fmax(CHART_WIDTH, left + 20 + 240 * (double)n_columns));
    chart_number(chart, "height",
                 FRAME_HEIGHT +
                     (double)n_lines * (AROUND_ROWS + ROW_HEIGHT * ((double)bars->n_rows + 1)));
}
