#include "plot/lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void lines_add(lines_t *lines, const series_t *series, const char *phase, const char *role) {
    if (series == NULL || !series_has_phase(series, phase))
        return;
    size_t i = 0;
    while (i < lines->n && lines->items[i].series != series)
        i++;
    if (i == MAX_LINES)
        return;
    line_t *line = &lines->items[i];
    if (i == lines->n) {
        lines->n++;
        *line = (line_t){.series = series, .phase = phase};
        if (series->algorithmic)
            line->roles[line->n_roles++] = "algorithmic";
        if (series->self_reported)
            line->roles[line->n_roles++] = "self-reported";
    }
    if (role != NULL && line->n_roles < MAX_ROLES)
        line->roles[line->n_roles++] = role;
}

void lines_weigh(lines_t *lines, const series_t *series, weight_t weight) {
    for (size_t i = 0; i < lines->n; i++)
        if (lines->items[i].series == series)
            lines->items[i].weight = weight;
}

static const char *title_of(const line_t *line, chart_t *chart) {
    const char *title = line->series->title;
    for (size_t i = 0; i < line->n_roles; i++)
        title = chart_format(chart, i == 0 ? "%s (%s" : "%s, %s", title, line->roles[i]);
    return line->n_roles > 0 ? chart_format(chart, "%s)", title) : title;
}

static void write_line(const line_t *line, range_t *range_ns, legend_t *legend, chart_t *chart) {
    const char *title = title_of(line, chart);
    legend_take(legend, title);
    chart_row(chart, "size %s low high throttled status", chart_quote(chart, title));
    for (size_t i = 0; i < line->series->n_cases; i++) {
        const case_result_t *result = line->series->cases[i];
        const double median = result_median(result, line->phase);
        const double *ci95_ns = result_ci95(result, line->phase);
        chart_row(chart, "%" PRId64 " %s %s %s %d %s", size_of(result), chart_us(chart, median),
                  chart_us(chart, ci95_ns[0]), chart_us(chart, ci95_ns[1]),
                  result->status == CASE_THROTTLED,
                  chart_quote(chart, case_status_name(result->status)));
        range_take(range_ns, median);
        range_take(range_ns, ci95_ns[0]); /* no interval is cut off */
        range_take(range_ns, ci95_ns[1]);
    }
    chart_row(chart, "\n");
}

void lines_limit(lines_t *lines, const plot_data_t *data, double *ns, const char *title,
                 int style) {
    bool any = false;
    for (size_t i = 0; i < data->n_sizes; i++)
        any = any || isfinite(ns[i]);
    if (any && lines->n_limits < MAX_LIMITS)
        lines->limits[lines->n_limits++] = (limit_line_t){ns, title, style};
    else
        free(ns);
}

static void write_limit(const limit_line_t *limit, const plot_data_t *data, range_t *range_ns,
                        legend_t *legend, chart_t *chart) {
    legend_take(legend, limit->title);
    chart_row(chart, "size %s", chart_quote(chart, limit->title));
    for (size_t i = 0; i < data->n_sizes; i++) {
        chart_row(chart, "%" PRId64 " %s", data->sizes[i], chart_us(chart, limit->ns[i]));
        range_take(range_ns, limit->ns[i]);
    }
    chart_row(chart, "\n");
}

static void write_weights(const lines_t *lines, chart_t *chart) {
    int dashed[MAX_LINES], weighed[WEIGHT_THICK + 1][MAX_LINES];
    size_t n_dashed = 0, n_weighed[WEIGHT_THICK + 1] = {0};
    for (size_t i = 0; i < lines->n; i++) {
        const line_t *line = &lines->items[i];
        weighed[line->weight][n_weighed[line->weight]++] = line->series->style;
        if (line->series->algorithmic)
            dashed[n_dashed++] = line->series->style;
    }
    chart_integers(chart, "thin", weighed[WEIGHT_THIN], n_weighed[WEIGHT_THIN]);
    chart_integers(chart, "thick", weighed[WEIGHT_THICK], n_weighed[WEIGHT_THICK]);
    chart_integers(chart, "dashed", dashed, n_dashed);
}

static size_t line_breaks(const char *text) {
    size_t n = 0;
    for (const char *c = text; c != NULL && *c != '\0'; c++)
        n += *c == '\n';
    return n;
}

void lines_write(lines_t *lines, const plot_data_t *data, chart_t *chart) {
    int styles[MAX_LINES + MAX_LIMITS];
    range_t range_ns = RANGE_INIT;
    legend_t legend = {0};
    size_t n = lines->n;
    chart_row(chart, "# a block per line: medians in µs, 95 %% interval of the median");
    for (size_t i = 0; i < n; i++) {
        styles[i] = lines->items[i].series->style;
        write_line(&lines->items[i], &range_ns, &legend, chart);
    }
    /* At small sizes the limit is far below any measurable time: it may leave the chart. */
    double lowest_ns = range_ns.low / 3;
    for (size_t i = 0; i < lines->n_limits; i++) {
        styles[n++] = lines->limits[i].style;
        write_limit(&lines->limits[i], data, &range_ns, &legend, chart);
        free(lines->limits[i].ns);
    }
    range_ns.low = fmax(range_ns.low, lowest_ns);
    chart_integers(chart, "styles", styles, n);
    chart_numbers(chart, "n_lines=%zu n_limits=%zu note_lines=%zu", lines->n, lines->n_limits,
                  1 + line_breaks(chart->note));
    write_weights(lines, chart);
    size_t n_ticks = chart_size_axis(chart, data);
    chart_time_axis(chart, &range_ns);
    chart_size(chart, n_ticks, CHART_HEIGHT + chart_legend(chart, &legend, n_ticks));
}
