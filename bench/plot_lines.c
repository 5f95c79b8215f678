#include "plot_lines.h"

#include "ground/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void lines_add(lines_t *lines, const series_t *series, const char *phase, const char *role) {
    if (series == NULL || !series_has_phase(series, phase))
        return;
    size_t i = 0;
    while (i < lines->n && lines->items[i].series != series)
        i++;
    if (i == MAX_LINES)
        return;
    if (i == lines->n)
        lines->items[lines->n++] = (line_t){.series = series, .phase = phase};
    if (role != NULL)
        text_list_add(&lines->items[i].roles, role);
}

static char *title_of(const line_t *line) {
    if (line->roles.n == 0)
        return mem_text(line->series->title);
    char *roles = text_list_join(&line->roles, ", ");
    char *title = mem_format("%s (%s)", line->series->title, roles);
    free(roles);
    return title;
}

static void write_line(const line_t *line, range_t *range_ns, drawing_t *drawing) {
    char *title = title_of(line);
    fputs("batch", drawing->table);
    drawing_text(drawing, title);
    free(title);
    fputs(" low high throttled status\n", drawing->table);
    for (size_t i = 0; i < line->series->n_cases; i++) {
        const case_result_t *result = line->series->cases[i];
        double median = result_median(result, line->phase);
        const phase_t *phase = isfinite(median) ? result_phase(result, line->phase) : NULL;
        fprintf(drawing->table, "%" PRId64, batch_of(result));
        drawing_us(drawing, median);
        drawing_us(drawing, phase != NULL ? phase->summary.ci95[0] : NAN);
        drawing_us(drawing, phase != NULL ? phase->summary.ci95[1] : NAN);
        fprintf(drawing->table, " %d", result->status == CASE_THROTTLED);
        drawing_text(drawing, case_status_name(result->status));
        fputc('\n', drawing->table);
        range_take(range_ns, median);
    }
    fputs("\n\n", drawing->table);
}

static void write_limits(const lines_t *lines, const plot_data_t *data, range_t *range_ns,
                         drawing_t *drawing) {
    fputs("batch", drawing->table);
    drawing_text(drawing, lines->limit_title);
    fputc('\n', drawing->table);
    for (size_t i = 0; i < data->n_batches; i++) {
        fprintf(drawing->table, "%" PRId64, data->batches[i]);
        drawing_us(drawing, lines->limits_ns[i]);
        fputc('\n', drawing->table);
        range_take(range_ns, lines->limits_ns[i]);
    }
}

/* gnuplot falls back to one column where two do not fit, without room for it. */
static size_t legend_columns(const lines_t *lines) {
    enum { LONGEST_OF_TWO = 56 };
    for (size_t i = 0; i < lines->n; i++) {
        char *title = title_of(&lines->items[i]);
        size_t length = strlen(title);
        free(title);
        if (length > LONGEST_OF_TWO)
            return 1;
    }
    return 2;
}

void lines_write(const lines_t *lines, const plot_data_t *data, drawing_t *drawing) {
    int styles[MAX_LINES + 1];
    range_t range_ns = RANGE_INIT;
    size_t n = lines->n;
    fputs("# a block a line: medians in µs, 95 % interval of the median\n", drawing->table);
    for (size_t i = 0; i < n; i++) {
        styles[i] = lines->items[i].series->style;
        write_line(&lines->items[i], &range_ns, drawing);
    }
    if (lines->limits_ns != NULL) {
        /* At small batches the limit is nothing that a clock could show: a decade below the fastest
         * is enough of it. */
        double lowest_ns = range_ns.low / 10;
        styles[n++] = STYLE_LIMIT;
        write_limits(lines, data, &range_ns, drawing);
        range_ns.low = fmax(range_ns.low, lowest_ns);
    }
    drawing_integers(drawing, "styles", styles, n);
    drawing_number(drawing, "n_lines", (double)lines->n);
    drawing_number(drawing, "n_limits", (double)(n - lines->n));
    double x_low = log2((double)data->batches[0]);
    double x_high = log2((double)data->batches[data->n_batches - 1]);
    drawing_number(drawing, "x_low", x_low);
    drawing_number(drawing, "x_high", x_high);
    chart_time_axis(drawing, &range_ns);
    enum { LEGEND_ROW_HEIGHT = 20 };
    size_t columns = legend_columns(lines);
    int legend_height = (int)((n + columns - 1) / columns) * LEGEND_ROW_HEIGHT;
    drawing_number(drawing, "legend_columns", (double)columns);
    drawing_number(drawing, "legend_height", legend_height);
    chart_size(drawing, (size_t)(x_high - x_low) + 1, CHART_HEIGHT + legend_height);
}

void lines_free(lines_t *lines) {
    for (size_t i = 0; i < lines->n; i++)
        text_list_free(&lines->items[i].roles);
    free(lines->limits_ns);
    free(lines->limit_title);
    *lines = (lines_t){0};
}
