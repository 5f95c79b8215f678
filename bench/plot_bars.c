#include "plot_bars.h"

#include "ground/memory.h"

#include <math.h>
#include <stdlib.h>

static void write_text(FILE *table, const char *text) {
    drawing_t quoting = {.table = table};
    drawing_text(&quoting, text);
}

static void write_us(FILE *table, double ns) {
    drawing_t quoting = {.table = table};
    drawing_us(&quoting, ns);
}

void bars_label(bars_t *bars, int row, int x, const char *text, bool faded) {
    fprintf(bars->drawing->table, "%d %d", row, x);
    drawing_text(bars->drawing, text);
    fprintf(bars->drawing->table, " %d\n", faded);
}

bar_panel_t *bars_panel(bars_t *bars, const char *title, double line_ns) {
    if (bars->n_panels == MAX_PANELS)
        return NULL;
    bar_panel_t *panel = &bars->panels[bars->n_panels++];
    *panel = (bar_panel_t){.title = mem_text(title), .line_ns = line_ns, .range_ns = RANGE_INIT};
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
    drawing_t *drawing = bars->drawing;
    double lows[MAX_PANELS], highs[MAX_PANELS];
    fputs("\n\n# panels: reference line in µs\npanel title line\n", drawing->table);
    for (size_t p = 0; p < bars->n_panels; p++) {
        bar_panel_t *panel = &bars->panels[p];
        axis_of(bars, panel, &lows[p], &highs[p]);
        fprintf(drawing->table, "%zu", p);
        drawing_text(drawing, panel->title);
        drawing_us(drawing, panel->line_ns);
        fputc('\n', drawing->table);
    }
    for (size_t p = 0; p < bars->n_panels; p++) {
        bar_panel_t *panel = &bars->panels[p];
        fclose(panel->table);
        fprintf(drawing->table, "\n\n# %s: medians in µs, 95 %% interval\n%s", panel->title,
                panel->rows);
        free(panel->rows);
        free(panel->title);
    }
    drawing_reals(drawing, "lows", lows, bars->n_panels);
    drawing_reals(drawing, "highs", highs, bars->n_panels);
    drawing_number(drawing, "n_panels", (double)bars->n_panels);
    drawing_number(drawing, "n_columns", (double)n_columns);
    drawing_number(drawing, "n_rows", (double)bars->n_rows);
    drawing_number(drawing, "logarithmic", bars->logarithmic);
    drawing_number(drawing, "left", left);
    size_t n_lines = (bars->n_panels + n_columns - 1) / n_columns;
    drawing_number(drawing, "width", fmax(CHART_WIDTH, left + 20 + 240 * (double)n_columns));
    drawing_number(drawing, "height",
                   FRAME_HEIGHT +
                       (double)n_lines * (AROUND_ROWS + ROW_HEIGHT * ((double)bars->n_rows + 1)));
}
