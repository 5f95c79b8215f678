#include "plot/rows.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static FILE *memory_file(char **text, size_t *size) {
    FILE *file = open_memstream(text, size);
    if (file == NULL)
        abort(); /* out of memory, as in mem_alloc() */
    return file;
}

static void write_text(FILE *table, const char *text) {
    chart_t quoting = {.table = table};
    chart_text(&quoting, text);
}

void rows_start(rows_t *rows, chart_t *chart) {
    *rows = (rows_t){.chart = chart};
    fputs("# labels: x in pixels\nrow x text\n", chart->table);
}

void rows_label(rows_t *rows, size_t row, int x, const char *text) {
    fprintf(rows->chart->table, "%zu %d", row, x);
    chart_text(rows->chart, text);
    fputc('\n', rows->chart->table);
    rows->n_rows = row >= rows->n_rows ? row + 1 : rows->n_rows;
}

row_panel_t *rows_panel(rows_t *rows, const char *title, const char *axis, bool logarithmic) {
    if (rows->n_panels == MAX_ROW_PANELS)
        return NULL;
    row_panel_t *panel = &rows->panels[rows->n_panels++];
    *panel = (row_panel_t){.title = mem_text(title),
                           .axis = mem_text(axis),
                           .logarithmic = logarithmic,
                           .seen = RANGE_INIT};
    panel->piece_table = memory_file(&panel->pieces, &panel->pieces_size);
    panel->text_table = memory_file(&panel->texts, &panel->texts_size);
    fputs("row from to style hollow\n", panel->piece_table);
    fputs("row at text\n", panel->text_table);
    return panel;
}

void rows_piece(row_panel_t *panel, size_t row, double length, int style, bool hollow) {
    if (!(length > 0))
        return;
    fprintf(panel->piece_table, "%zu %.9g %.9g %d %d\n", row, panel->at, panel->at + length, style,
            hollow);
    panel->at += length;
}

void rows_text(row_panel_t *panel, size_t row, const char *text) {
    fprintf(panel->text_table, "%zu %.9g", row, panel->at);
    write_text(panel->text_table, text);
    fputc('\n', panel->text_table);
    range_take(&panel->seen, panel->at);
    panel->at = 0;
}

void rows_legend(rows_t *rows, int style, const char *text) {
    if (rows->n_legend == MAX_ROW_LEGEND)
        return;
    rows->legend[rows->n_legend] = text;
    rows->styles[rows->n_legend++] = style;
}

/* With room behind the longest row for its text. */
static void axis_of(const row_panel_t *panel, double *low, double *high) {
    const double most = panel->seen.high > 0 ? panel->seen.high : 1;
    if (panel->logarithmic) {
        const double least = panel->seen.high > 0 ? panel->seen.low : 1;
        *low = pow(10, floor(log10(least / 1.1)));
        *high = most * pow(most / *low, 0.6);
    } else {
        *low = 0;
        *high = 1.5 * (panel->end > 0 ? panel->end : most);
    }
}

static void write_panels(rows_t *rows) {
    FILE *table = rows->chart->table;
    double lows[MAX_ROW_PANELS], highs[MAX_ROW_PANELS], tops[MAX_ROW_PANELS];
    int logarithmic[MAX_ROW_PANELS];
    fputs("\n\n# panels\npanel title axis\n", table);
    for (size_t p = 0; p < rows->n_panels; p++) {
        row_panel_t *panel = &rows->panels[p];
        axis_of(panel, &lows[p], &highs[p]);
        logarithmic[p] = panel->logarithmic;
        tops[p] = panel->end > 0 ? panel->end : highs[p];
        fprintf(table, "%zu", p);
        chart_text(rows->chart, panel->title);
        chart_text(rows->chart, panel->axis);
        fputc('\n', table);
    }
    for (size_t p = 0; p < rows->n_panels; p++) {
        row_panel_t *panel = &rows->panels[p];
        fclose(panel->piece_table);
        fclose(panel->text_table);
        fprintf(table, "\n\n# %s\n%s\n\n%s", panel->title, panel->pieces, panel->texts);
        free(panel->pieces);
        free(panel->texts);
        free(panel->title);
        free(panel->axis);
    }
    chart_reals(rows->chart, "lows", lows, rows->n_panels);
    chart_reals(rows->chart, "highs", highs, rows->n_panels);
    chart_reals(rows->chart, "tops", tops, rows->n_panels);
    chart_integers(rows->chart, "logarithmic", logarithmic, rows->n_panels);
}

void rows_write(rows_t *rows, size_t n_columns, int left) {
    enum { ROW_HEIGHT = 18, AROUND_ROWS = 80, FRAME_HEIGHT = 110, LEGEND_HEIGHT = 26 };
    chart_t *chart = rows->chart;
    write_panels(rows);
    for (size_t i = 0; i < rows->n_legend; i++) {
        fputs("\n\n# legend\nstyle", chart->table);
        chart_text(chart, rows->legend[i]);
        fprintf(chart->table, "\n%d NaN\n", rows->styles[i]);
    }
    chart_integers(chart, "styles", rows->styles, rows->n_legend);
    chart_number(chart, "n_panels", (double)rows->n_panels);
    chart_number(chart, "n_columns", (double)n_columns);
    chart_number(chart, "n_rows", (double)rows->n_rows);
    chart_number(chart, "n_legend", (double)rows->n_legend);
    chart_number(chart, "left", left);
    const size_t n_lines = (rows->n_panels + n_columns - 1) / n_columns;
    chart_size(chart, 0,
               FRAME_HEIGHT + LEGEND_HEIGHT * (rows->n_legend > 0) +
                   (int)n_lines * (AROUND_ROWS + ROW_HEIGHT * (int)rows->n_rows));
}
