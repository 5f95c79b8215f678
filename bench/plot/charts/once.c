/* once: one-time costs of a contender before its first output. Never part of a phase. */
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"
#include "stats/passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Median over the cases of a series: cases of one worker share the costs of its process, but each
 * has its own compile and first run. */
static double median_ns(const series_t *series, const char *name) {
    double *values = mem_zeroed(series->n_cases, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; i < series->n_cases; i++) {
        const case_result_t *result = series->cases[i];
        for (size_t j = 0; result_has_times(result) && j < result->n_once; j++)
            if (strcmp(result->once[j].name, name) == 0 && isfinite(result->once[j].ns))
                values[n++] = result->once[j].ns;
    }
    stats_sort(values, n);
    double median = stats_quantile(values, n, 0.5);
    free(values);
    return median;
}

static text_list_t names_of(const series_t *series) {
    text_list_t names = {0};
    for (size_t i = 0; i < series->n_cases; i++)
        for (size_t j = 0; j < series->cases[i]->n_once; j++)
            if (!text_list_has(&names, series->cases[i]->once[j].name))
                text_list_add(&names, series->cases[i]->once[j].name);
    return names;
}

typedef struct rows {
    size_t n, n_groups;
    range_t range_ns;
} rows_t;

/* A row per cost, the first with the contender's name; a free row between groups. */
static void write_group(const series_t *series, rows_t *rows, chart_t *chart) {
    text_list_t names = names_of(series);
    bool first = true;
    for (size_t i = 0; i < names.n; i++) {
        double median = median_ns(series, names.items[i]);
        if (!(median > 0))
            continue;
        rows->n += first && rows->n > 0;
        char text[UNITS_TEXT];
        chart_row(chart, "%zu %s %s %s %s %d", rows->n++,
                  chart_quote(chart, first ? series->title : ""),
                  chart_quote(chart, names.items[i]), chart_us(chart, median),
                  chart_quote(chart, units_time(text, median)), series->style);
        range_take(&rows->range_ns, median);
        rows->n_groups += first;
        first = false;
    }
    text_list_free(&names);
}

char *chart_once(const plot_data_t *data, chart_t *chart) {
    rows_t rows = {.range_ns = RANGE_INIT};
    chart_init(chart, "once");
    chart_row(chart, "# median over a contender's cases, µs\nrow contender cost time text style");
    for (size_t i = 0; i < data->n_series; i++)
        if (data->series[i].is_default)
            write_group(&data->series[i], &rows, chart);
    if (rows.n_groups == 0)
        return mem_text("no case has one-time costs");
    chart->title = "One-time costs, by contender";
    chart->note = chart_format(
        chart, "%s  ·  medians over a contender's cases  ·  never part of a phase", data->shape);
    chart_time_axis(chart, &rows.range_ns);
    chart_numbers(chart, "n_rows=%zu", rows.n);
    enum { ROW_HEIGHT = 17, MARGINS_HEIGHT = 170 };
    chart_size(chart, 0, MARGINS_HEIGHT + (int)rows.n * ROW_HEIGHT);
    return NULL;
}
