#include "plot/lines.h"

#include "base/memory.h"

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
    if (i == lines->n) {
        lines->items[lines->n++] = (line_t){.series = series, .phase = phase};
        if (series->algorithmic)
            text_list_add(&lines->items[i].roles, "algorithmic");
    }
    if (role != NULL)
        text_list_add(&lines->items[i].roles, role);
}

void lines_weigh(lines_t *lines, const series_t *series, weight_t weight) {
    for (size_t i = 0; i < lines->n; i++)
        if (lines->items[i].series == series)
            lines->items[i].weight = weight;
}

static char *title_of(const line_t *line) {
    if (line->roles.n == 0)
        return mem_text(line->series->title);
    char *roles = text_list_join(&line->roles, ", ");
    char *title = mem_format("%s (%s)", line->series->title, roles);
    free(roles);
    return title;
}

static void write_line(const line_t *line, range_t *range_ns, legend_t *legend, chart_t *chart) {
    char *title = title_of(line);
    fputs("size", chart->table);
    chart_text(chart, title);
    legend_take(legend, title);
    free(title);
    fputs(" low high throttled status\n", chart->table);
    for (size_t i = 0; i < line->series->n_cases; i++) {
        const case_result_t *result = line->series->cases[i];
        double median = result_median(result, line->phase);
        const phase_t *phase = isfinite(median) ? result_phase(result, line->phase) : NULL;
        fprintf(chart->table, "%" PRId64, size_of(result));
        chart_us(chart, median);
        chart_us(chart, phase != NULL ? phase->summary.ci95[0] : NAN);
        chart_us(chart, phase != NULL ? phase->summary.ci95[1] : NAN);
        fprintf(chart->table, " %d", result->status == CASE_THROTTLED);
        chart_text(chart, case_status_name(result->status));
        fputc('\n', chart->table);
        range_take(range_ns, median);
    }
    fputs("\n\n", chart->table);
}

void lines_limit(lines_t *lines, const plot_data_t *data, double *ns, char *title, int style) {
    bool any = false;
    for (size_t i = 0; i < data->n_sizes; i++)
        any = any || isfinite(ns[i]);
    if (any && lines->n_limits < MAX_LIMITS) {
        lines->limits[lines->n_limits++] = (limit_line_t){ns, title, style};
        return;
    }
    free(ns);
    free(title);
}

static void write_limit(const limit_line_t *limit, const plot_data_t *data, range_t *range_ns,
                        legend_t *legend, chart_t *chart) {
    fputs("size", chart->table);
    chart_text(chart, limit->title);
    legend_take(legend, limit->title);
    fputc('\n', chart->table);
    for (size_t i = 0; i < data->n_sizes; i++) {
        fprintf(chart->table, "%" PRId64, data->sizes[i]);
        chart_us(chart, limit->ns[i]);
        fputc('\n', chart->table);
        range_take(range_ns, limit->ns[i]);
    }
    fputs("\n\n", chart->table);
}

static void write_styles(const lines_t *lines, const char *name, weight_t weight, chart_t *chart) {
    int styles[MAX_LINES];
    size_t n = 0;
    for (size_t i = 0; i < lines->n; i++)
        if (lines->items[i].weight == weight)
            styles[n++] = lines->items[i].series->style;
    chart_integers(chart, name, styles, n);
}

static void write_weights(const lines_t *lines, chart_t *chart) {
    int dashed[MAX_LINES];
    size_t n_dashed = 0;
    for (size_t i = 0; i < lines->n; i++)
        if (lines->items[i].series->algorithmic)
            dashed[n_dashed++] = lines->items[i].series->style;
    write_styles(lines, "thin", WEIGHT_THIN, chart);
    write_styles(lines, "thick", WEIGHT_THICK, chart);
    chart_integers(chart, "dashed", dashed, n_dashed);
}

static size_t line_breaks(const char *text) {
    size_t n = 0;
    for (const char *c = text; c != NULL && *c != '\0'; c++)
        n += *c == '\n';
    return n;
}

void lines_write(const lines_t *lines, const plot_data_t *data, chart_t *chart) {
    int styles[MAX_LINES + MAX_LIMITS];
    range_t range_ns = RANGE_INIT;
    legend_t legend = {0};
    size_t n = lines->n;
    fputs("# a block a line: medians in µs, 95 % interval of the median\n", chart->table);
    for (size_t i = 0; i < n; i++) {
        styles[i] = lines->items[i].series->style;
        write_line(&lines->items[i], &range_ns, &legend, chart);
    }
    /* At small sizes the limit is nothing that a clock could show: a decade below the fastest is
     * enough of it. */
    double lowest_ns = range_ns.low / 10;
    for (size_t i = 0; i < lines->n_limits; i++) {
        styles[n++] = lines->limits[i].style;
        write_limit(&lines->limits[i], data, &range_ns, &legend, chart);
    }
    range_ns.low = fmax(range_ns.low, lowest_ns);
    chart_integers(chart, "styles", styles, n);
    chart_number(chart, "n_lines", (double)lines->n);
    chart_number(chart, "n_limits", (double)(n - lines->n));
    write_weights(lines, chart);
    size_t n_ticks = chart_size_axis(chart, data);
    chart_time_axis(chart, &range_ns);
    chart_number(chart, "note_lines", 1 + (double)line_breaks(chart->note));
    int legend_height = chart_legend(chart, &legend, n_ticks);
    chart_size(chart, n_ticks, CHART_HEIGHT + legend_height);
}

void lines_free(lines_t *lines) {
    for (size_t i = 0; i < lines->n; i++)
        text_list_free(&lines->items[i].roles);
    for (size_t i = 0; i < lines->n_limits; i++) {
        free(lines->limits[i].ns);
        free(lines->limits[i].title);
    }
    *lines = (lines_t){0};
}
