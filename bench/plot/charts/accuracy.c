/* accuracy: accuracy and loss of a training by epochs on the test images after each epoch: a panel
 * per size, accuracy above, loss below. Each seed is a small point, their mean a large one;
 * contenders are side by side, since most of them learn the same. */
#include "analysis/learning.h"
#include "base/memory.h"
#include "plot/axes.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_ACCURACY_PANELS = 3, MAX_ACCURACY_ROWS = 24 };

typedef struct accuracy_layout {
    const plot_data_t *data;
    const series_t *rows[MAX_ACCURACY_ROWS];
    size_t n_rows;
    int64_t sizes[MAX_ACCURACY_PANELS];
    size_t n_sizes;
    double last_epoch;
    range_t accuracy, loss; /* seen */
    blocks_t blocks;
} accuracy_layout_t;

static size_t epochs_at(const series_t *series, int64_t size) {
    const case_result_t *result = series_default_at(series, size);
    epoch_list_t epochs = result != NULL ? epochs_of(result) : (epoch_list_t){.n = 0};
    const size_t n = epochs.n;
    epoch_list_free(&epochs);
    return n;
}

static accuracy_layout_t layout_of(const plot_data_t *data) {
    accuracy_layout_t layout = {
        .data = data, .last_epoch = 1, .accuracy = RANGE_INIT, .loss = RANGE_INIT};
    for (size_t s = 0; s < data->n_series && layout.n_rows < MAX_ACCURACY_ROWS; s++) {
        size_t n = 0;
        for (size_t i = 0; i < data->n_sizes; i++)
            n += epochs_at(&data->series[s], data->sizes[i]);
        if (n > 0)
            layout.rows[layout.n_rows++] = &data->series[s];
    }
    for (size_t i = 0; i < data->n_sizes; i++) {
        size_t n = 0;
        for (size_t r = 0; r < layout.n_rows; r++)
            n += epochs_at(layout.rows[r], data->sizes[i]);
        if (n == 0)
            continue;
        layout.n_sizes -= layout.n_sizes == MAX_ACCURACY_PANELS; /* replaces the last one */
        layout.sizes[layout.n_sizes++] = data->sizes[i];
    }
    return layout;
}

/* ---- table ----------------------------------------------------------------------------------- */

static bool start_block(accuracy_layout_t *layout, size_t panel, const series_t *series, bool mean,
                        chart_t *chart) {
    if (!blocks_add(&layout->blocks, panel, series->style, mean))
        return false;
    chart_row(chart, "\n\nepoch %s loss", chart_quote(chart, series->title));
    return true;
}

static void write_point(accuracy_layout_t *layout, size_t row, const epoch_t *epoch,
                        chart_t *chart) {
    static const double SPREAD = 0.5; /* of the way to the next epoch */
    enum { DIGITS = 6 };
    const double place = ((double)row + 0.5) / (double)layout->n_rows - 0.5;
    const double percent = 100 * epoch->accuracy;
    chart_row(chart, "%.6g %s %s", epoch->number + SPREAD * place,
              chart_real(chart, percent, DIGITS),
              chart_real(chart, epoch->validation_loss, DIGITS));
    range_take(&layout->accuracy, percent);
    range_take(&layout->loss, epoch->validation_loss);
    layout->last_epoch = fmax(layout->last_epoch, epoch->number);
}

/* Mean over the seeds that have that epoch. */
static epoch_t mean_of(const epoch_list_t *lists, size_t n, size_t e) {
    epoch_t mean = {.number = lists[0].items[e].number};
    size_t counted = 0;
    for (size_t k = 0; k < n; k++) {
        if (e >= lists[k].n)
            continue;
        mean.accuracy += lists[k].items[e].accuracy;
        mean.validation_loss += lists[k].items[e].validation_loss;
        counted++;
    }
    mean.accuracy /= (double)counted;
    mean.validation_loss /= (double)counted;
    return mean;
}

static void write_row(accuracy_layout_t *layout, size_t panel, size_t row, chart_t *chart) {
    const series_t *series = layout->rows[row];
    const case_result_t *like = series_at(series, layout->sizes[panel]);
    const seeds_t seeds =
        like != NULL ? seeds_of(layout->data->run, &like->spec) : (seeds_t){.n = 0};
    epoch_list_t lists[MOST_SEEDS] = {{.n = 0}};
    for (size_t k = 0; k < seeds.n; k++)
        lists[k] = epochs_of(seeds.cases[k]);
    for (size_t k = 0; k < seeds.n && seeds.n > 1; k++)
        if (start_block(layout, panel, series, false, chart))
            for (size_t e = 0; e < lists[k].n; e++)
                write_point(layout, row, &lists[k].items[e], chart);
    if (seeds.n > 0 && lists[0].n > 0 && start_block(layout, panel, series, true, chart))
        for (size_t e = 0; e < lists[0].n; e++) {
            const epoch_t mean = mean_of(lists, seeds.n, e);
            write_point(layout, row, &mean, chart);
        }
    for (size_t k = 0; k < seeds.n; k++)
        epoch_list_free(&lists[k]);
}

/* A block without points for each contender. */
static legend_t write_legend(accuracy_layout_t *layout, chart_t *chart) {
    legend_t legend = {0};
    layout->blocks.n_drawn = layout->blocks.n;
    for (size_t r = 0; r < layout->n_rows; r++) {
        if (!start_block(layout, layout->n_sizes, layout->rows[r], true, chart))
            break;
        chart_row(chart, "0 NaN NaN");
        legend_take(&legend, layout->rows[r]->title);
    }
    return legend;
}

static void write_numbers(const accuracy_layout_t *layout, chart_t *chart) {
    const range_t *accuracy = &layout->accuracy, *loss = &layout->loss;
    const double margin = fmax(0.08 * (accuracy->high - accuracy->low), 0.5);
    const double loss_margin = fmax(0.08 * (loss->high - loss->low), 0.01);
    blocks_write(&layout->blocks, "means", layout->n_sizes, chart);
    chart_numbers(chart, "last_epoch=%.10g accuracy_low=%.10g accuracy_high=%.10g",
                  layout->last_epoch, fmax(0, accuracy->low - margin),
                  fmin(100, accuracy->high + margin));
    chart_numbers(chart, "loss_low=%.10g loss_high=%.10g", fmax(0, loss->low - loss_margin),
                  loss->high + loss_margin);
}

char *chart_accuracy(const plot_data_t *data, chart_t *chart) {
    enum { PANELS_HEIGHT = 600 };
    accuracy_layout_t layout = layout_of(data);
    if (layout.n_sizes == 0)
        return mem_text("no case recorded its accuracy after each epoch");
    chart_init(chart, "accuracy");
    chart->title = "Validation after each epoch";
    chart->note = chart_format(chart,
                               "%s  ·  on the test images  ·  small: one seed; large: mean of "
                               "the seeds  ·  contenders side by side within an epoch",
                               arena_keep(&chart->texts, plot_shape_without(data, "seed")));
    chart_panel_titles(chart, data, layout.sizes, layout.n_sizes);
    for (size_t p = 0; p < layout.n_sizes; p++)
        for (size_t r = 0; r < layout.n_rows; r++)
            write_row(&layout, p, r, chart);
    const legend_t legend = write_legend(&layout, chart);
    write_numbers(&layout, chart);
    chart_size(chart, 0, PANELS_HEIGHT + chart_legend(chart, &legend, 0));
    return NULL;
}
