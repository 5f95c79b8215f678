/* accuracy: what a training by epochs has learnt after each of them, on the test images: a panel a
 * size, above the share that is recognised, below the loss. Each seed is a small point, their mean
 * a large one; contenders stand beside each other, since most of them learn the same. */
#include "analysis/epochs.h"
#include "analysis/learning.h"
#include "plot/axes.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ACCURACY_PANELS = 3, MAX_ACCURACY_ROWS = 24, MAX_ACCURACY_BLOCKS = 80 };

typedef struct accuracy_chart {
    const plot_data_t *data;
    const series_t *rows[MAX_ACCURACY_ROWS];
    size_t n_rows;
    int64_t sizes[MAX_ACCURACY_PANELS];
    size_t n_sizes;
    double last_epoch;
    range_t accuracy, loss; /* seen */
    int panels[MAX_ACCURACY_BLOCKS], styles[MAX_ACCURACY_BLOCKS], means[MAX_ACCURACY_BLOCKS];
    size_t n_blocks;
} accuracy_chart_t;

/* ---- who is shown -------------------------------------------------------------------------------
 */

static size_t epochs_at(const series_t *series, int64_t size) {
    const case_result_t *result = series->standard ? series_at(series, size) : NULL;
    epoch_list_t epochs = result != NULL ? epochs_of(result) : (epoch_list_t){.n = 0};
    const size_t n = epochs.n;
    epoch_list_free(&epochs);
    return n;
}

static accuracy_chart_t chart_of(const plot_data_t *data) {
    accuracy_chart_t chart = {
        .data = data, .last_epoch = 1, .accuracy = RANGE_INIT, .loss = RANGE_INIT};
    for (size_t s = 0; s < data->n_series && chart.n_rows < MAX_ACCURACY_ROWS; s++) {
        size_t most = 0;
        for (size_t i = 0; i < data->n_sizes; i++)
            most += epochs_at(&data->series[s], data->sizes[i]);
        if (most > 0)
            chart.rows[chart.n_rows++] = &data->series[s];
    }
    for (size_t i = 0; i < data->n_sizes; i++) {
        bool any = false;
        for (size_t r = 0; r < chart.n_rows; r++)
            any = any || epochs_at(chart.rows[r], data->sizes[i]) > 0;
        if (!any)
            continue;
        chart.n_sizes -= chart.n_sizes == MAX_ACCURACY_PANELS; /* the last one gives way */
        chart.sizes[chart.n_sizes++] = data->sizes[i];
    }
    return chart;
}

/* ---- table -------------------------------------------------------------------------------------
 */

static bool start_block(accuracy_chart_t *chart, size_t panel, const series_t *series, bool mean,
                        drawing_t *drawing) {
    if (chart->n_blocks == MAX_ACCURACY_BLOCKS)
        return false;
    chart->panels[chart->n_blocks] = (int)panel;
    chart->styles[chart->n_blocks] = series->style;
    chart->means[chart->n_blocks++] = mean;
    fputs("\n\nepoch", drawing->table);
    drawing_text(drawing, series->title);
    fputs(" loss\n", drawing->table);
    return true;
}

static void write_point(accuracy_chart_t *chart, size_t row, const epoch_t *epoch,
                        drawing_t *drawing) {
    static const double SPREAD = 0.5; /* of the way to the next epoch */
    const double place = ((double)row + 0.5) / (double)chart->n_rows - 0.5;
    const double percent = 100 * epoch->accuracy;
    fprintf(drawing->table, "%.6g ", epoch->number + SPREAD * place);
    fprintf(drawing->table, isfinite(percent) ? "%.6g " : "NaN ", percent);
    fprintf(drawing->table, isfinite(epoch->validation_loss) ? "%.6g\n" : "NaN\n",
            epoch->validation_loss);
    range_take(&chart->accuracy, percent);
    range_take(&chart->loss, epoch->validation_loss);
    chart->last_epoch = fmax(chart->last_epoch, epoch->number);
}

/* Over the seeds that have that epoch. */
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

static void write_row(accuracy_chart_t *chart, size_t panel, size_t row, drawing_t *drawing) {
    const series_t *series = chart->rows[row];
    const case_result_t *like = series_at(series, chart->sizes[panel]);
    const seeds_t seeds =
        like != NULL ? seeds_of(chart->data->run, &like->spec) : (seeds_t){.n = 0};
    epoch_list_t lists[MOST_SEEDS] = {{.n = 0}};
    for (size_t k = 0; k < seeds.n; k++)
        lists[k] = epochs_of(seeds.cases[k]);
    for (size_t k = 0; k < seeds.n && seeds.n > 1; k++)
        if (start_block(chart, panel, series, false, drawing))
            for (size_t e = 0; e < lists[k].n; e++)
                write_point(chart, row, &lists[k].items[e], drawing);
    if (seeds.n > 0 && lists[0].n > 0 && start_block(chart, panel, series, true, drawing))
        for (size_t e = 0; e < lists[0].n; e++) {
            const epoch_t mean = mean_of(lists, seeds.n, e);
            write_point(chart, row, &mean, drawing);
        }
    for (size_t k = 0; k < seeds.n; k++)
        epoch_list_free(&lists[k]);
}

static void write_titles(const accuracy_chart_t *chart, drawing_t *drawing) {
    fputs("# panels\npanel title\n", drawing->table);
    for (size_t p = 0; p < chart->n_sizes; p++) {
        char *title =
            mem_format("%s %lld", chart->data->workload->size_param, (long long)chart->sizes[p]);
        fprintf(drawing->table, "%zu", p);
        drawing_text(drawing, title);
        fputc('\n', drawing->table);
        free(title);
    }
}

/* A block without points for each contender: the legend's. */
static legend_t write_legend(accuracy_chart_t *chart, drawing_t *drawing) {
    legend_t legend = {0};
    for (size_t r = 0; r < chart->n_rows; r++) {
        if (!start_block(chart, chart->n_sizes, chart->rows[r], true, drawing))
            break;
        fputs("0 NaN NaN\n", drawing->table);
        legend_take(&legend, chart->rows[r]->title);
    }
    return legend;
}

static void write_numbers(const accuracy_chart_t *chart, size_t n_drawn, drawing_t *drawing) {
    const range_t *accuracy = &chart->accuracy, *loss = &chart->loss;
    const double air = fmax(0.08 * (accuracy->high - accuracy->low), 0.5);
    const double loss_air = fmax(0.08 * (loss->high - loss->low), 0.01);
    drawing_integers(drawing, "panels", chart->panels, chart->n_blocks);
    drawing_integers(drawing, "styles", chart->styles, chart->n_blocks);
    drawing_integers(drawing, "means", chart->means, chart->n_blocks);
    drawing_number(drawing, "n_blocks", (double)chart->n_blocks);
    drawing_number(drawing, "n_drawn", (double)n_drawn);
    drawing_number(drawing, "n_panels", (double)chart->n_sizes);
    drawing_number(drawing, "last_epoch", chart->last_epoch);
    drawing_number(drawing, "accuracy_low", fmax(0, accuracy->low - air));
    drawing_number(drawing, "accuracy_high", fmin(100, accuracy->high + air));
    drawing_number(drawing, "loss_low", fmax(0, loss->low - loss_air));
    drawing_number(drawing, "loss_high", loss->high + loss_air);
}

char *chart_accuracy(const plot_data_t *data, drawing_t *drawing) {
    enum { PANELS_HEIGHT = 600 };
    accuracy_chart_t chart = chart_of(data);
    if (chart.n_sizes == 0)
        return mem_text("no case keeps what it had learnt after each epoch");
    drawing_init(drawing, "accuracy");
    char *shape = plot_shape_without(data, "seed");
    drawing->title = mem_text("Validation after each epoch");
    drawing->note = mem_format("%s  ·  on the test images  ·  small: a seed each; large: their "
                               "mean  ·  contenders side by side within an epoch",
                               shape);
    free(shape);
    write_titles(&chart, drawing);
    for (size_t p = 0; p < chart.n_sizes; p++)
        for (size_t r = 0; r < chart.n_rows; r++)
            write_row(&chart, p, r, drawing);
    const size_t n_drawn = chart.n_blocks;
    const legend_t legend = write_legend(&chart, drawing);
    write_numbers(&chart, n_drawn, drawing);
    chart_size(drawing, 0, PANELS_HEIGHT + chart_legend(drawing, &legend, 0));
    return NULL;
}
