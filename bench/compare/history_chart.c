#include "compare/history_chart.h"

#include "base/memory.h"
#include "io/fs.h"
#include "plot/axes.h"
#include "plot/gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LABELS = 40, LONGEST_LABEL = 20 };

static void write_runs(const history_series_t *series, const record_t *runs, chart_t *chart) {
    size_t stride = 1 + (series->n_runs - 1) / MOST_LABELS;
    chart_row(chart, "# run, median, ends of its 95 %% interval, level of the fit (µs)\n"
                     "run median low high level label");
    for (size_t r = 0; r < series->n_runs; r++) {
        char *label = mem_format("%.*s", LONGEST_LABEL, runs[r].name);
        const char *valid = arena_keep(&chart->texts, text_utf8(label));
        chart_row(chart, "%zu %s %s %s %s %s", r + 1, chart_us(chart, series->points[r].median),
                  chart_us(chart, series->points[r].low), chart_us(chart, series->points[r].high),
                  chart_us(chart, series->points[r].level),
                  chart_quote(chart, r % stride == 0 ? valid : ""));
        free(label);
    }
    chart_row(chart, "\n\n# steps: first run of the new level, the level (µs), change\n"
                     "run level change");
    for (size_t s = 0; s < series->n_steps; s++) {
        const char *change = chart_format(chart, "%+.1f %%", (series->steps[s].ratio - 1) * 100);
        chart_row(chart, "%zu %s %s", series->steps[s].run + 1,
                  chart_us(chart, series->points[series->steps[s].run].level),
                  chart_quote(chart, change));
    }
}

static void write_axes(const history_series_t *series, chart_t *chart) {
    double low = INFINITY, high = 0;
    for (size_t r = 0; r < series->n_runs; r++) {
        const history_point_t *point = &series->points[r];
        low = fmin(low, fmin(point->low, point->median));
        high = fmax(high, fmax(point->high, point->median));
    }
    /* Room above for the labels of steps; at least a few per cent, so that noise does not fill the
     * chart. */
    static const double LEAST_BAND = 0.04;
    double middle = (low + high) / 2, half = fmax((high - low) / 2, LEAST_BAND / 2 * middle);
    chart_numbers(chart, "y_low=%.10g y_high=%.10g n_runs=%zu n_steps=%zu",
                  fmax(middle - 1.15 * half, 0) / 1000, (middle + 1.45 * half) / 1000,
                  series->n_runs, series->n_steps);
}

/* `target` lacks the chart's name and footer. */
static status_t draw(const history_series_t *series, const record_t *runs, chart_target_t target,
                     const text_list_t *formats, text_list_t *files, error_t *err) {
    enum { HEIGHT = 440 };
    chart_t chart = {0};
    chart_init(&chart, "history");
    chart.title = series->id;
    chart.note = chart_format(&chart,
                              "phase %s, median and its 95 %% interval  ·  line: fit of levels "
                              "(optimal partitioning, Schwarz-type penalty)",
                              series->phase);
    chart_size(&chart, 0, HEIGHT);
    write_axes(series, &chart);
    write_runs(series, runs, &chart);
    char *title = mem_format("%s_%s", series->id, series->phase), *name = fs_file_name(title);
    free(title);
    char *footer = mem_format("%zu runs, from %s to %s", series->n_runs, runs[0].name,
                              runs[series->n_runs - 1].name);
    target.name = name;
    target.footer = footer;
    status_t status = chart_write(&chart, &target, formats, err);
    for (size_t i = 0; i < formats->n && status == STATUS_OK; i++)
        text_list_add_format(files, "%s/%s.%s", target.folder, name, formats->items[i]);
    free(footer);
    free(name);
    chart_free(&chart);
    return status;
}

status_t history_draw(const history_options_t *options, const history_list_t *list,
                      const record_t *runs, text_list_t *files, error_t *err) {
    text_list_t formats = {0};
    char *scripts = fs_join(options->root, "plots"), *gnuplot = NULL;
    status_t status = chart_formats(options->format, &formats, err);
    if (status == STATUS_OK)
        status = chart_find_gnuplot(&gnuplot, err);
    if (status == STATUS_OK)
        status = fs_make_folders(options->out, err);
    const chart_target_t target = {
        .folder = options->out, .scripts = scripts, .gnuplot = gnuplot, .size_title = ""};
    for (size_t i = 0; i < list->n && status == STATUS_OK; i++)
        if (history_is_shown(&list->items[i], options->all) && list->items[i].n_times > 0)
            status = draw(&list->items[i], runs, target, &formats, files, err);
    free(gnuplot);
    free(scripts);
    text_list_free(&formats);
    return status;
}
