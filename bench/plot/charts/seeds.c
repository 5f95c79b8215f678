/* loss of a training from several seeds: one thin curve per seed, their mean thick, a panel per
 * size; below, the difference from a rival with the same seed and weight precision. The loss of one
 * batch is noisy, so a running mean is drawn. */
#include "analysis/contenders.h"
#include "analysis/learning.h"
#include "analysis/speedup.h"
#include "base/memory.h"
#include "plot/axes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONTENDERS = 12, MAX_SEED_PANELS = 3 };
/* Of a curve: its panel is some 300 pixels wide, and a running mean changes little from point to point. */
enum { MOST_POINTS = 120 };

/* The reference is the widest, so that lines that coincide with it are visible on it. */
typedef enum thickness { THIN, ALONE, THICK, WIDEST } thickness_t;

/* One contender at one size. */
typedef struct trained {
    const series_t *series;
    seeds_t seeds;
    curve_t curves[MOST_SEEDS]; /* smoothed */
    bool like_reference;        /* its weights have the same precision */
} trained_t;

typedef struct seed_panel {
    trained_t items[MAX_CONTENDERS];
    size_t n;
    const trained_t *reference;
} seed_panel_t;

typedef struct drawn {
    blocks_t blocks;
    range_t losses;
    double difference; /* the largest */
} drawn_t;

static seeds_t seeds_at_size(const plot_data_t *data, const series_t *series, int64_t size) {
    const case_result_t *result = series_default_at(series, size);
    return result != NULL ? seeds_of(data->run, &result->spec) : (seeds_t){.n = 0};
}

static size_t most_seeds_at(const plot_data_t *data, int64_t size) {
    size_t most = 0;
    for (size_t s = 0; s < data->n_series; s++) {
        size_t n = seeds_at_size(data, &data->series[s], size).n;
        most = n > most ? n : most;
    }
    return most;
}

/* The rung with the most seeds (the fastest of equals) stands for all rungs. */
static const series_t *best_rung_at(const plot_data_t *data, int64_t size) {
    const series_t *best = NULL;
    size_t most = 0;
    double least_ns = INFINITY;
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        size_t n = seeds_at_size(data, series, size).n;
        if (strcmp(series->label, "cuda") != 0 || n == 0 || n < most)
            continue;
        double ns = result_median(series_at(series, size), series_compared_by(data, series));
        if (n > most || ns < least_ns) {
            best = series;
            most = n;
            least_ns = ns;
        }
    }
    return best;
}

/* Without other contenders, rungs are compared with each other. */
static bool has_others_at(const plot_data_t *data, int64_t size) {
    for (size_t s = 0; s < data->n_series; s++)
        if (strcmp(data->series[s].label, "cuda") != 0 &&
            seeds_at_size(data, &data->series[s], size).n > 0)
            return true;
    return false;
}

static seed_panel_t panel_at(const plot_data_t *data, int64_t size) {
    seed_panel_t panel = {0};
    const series_t *rung = has_others_at(data, size) ? best_rung_at(data, size) : NULL;
    for (size_t s = 0; s < data->n_series && panel.n < MAX_CONTENDERS; s++) {
        const series_t *series = &data->series[s];
        const seeds_t seeds = seeds_at_size(data, series, size);
        const bool is_rung = strcmp(series->label, "cuda") == 0;
        if (seeds.n == 0 || (is_rung && rung != NULL && series != rung))
            continue;
        trained_t *trained = &panel.items[panel.n++];
        *trained = (trained_t){.series = series, .seeds = seeds};
        for (size_t i = 0; i < seeds.n; i++)
            trained->curves[i] = smooth_loss(seeds.cases[i]);
    }
    return panel;
}

/* A rival with weights of the case's own precision, else a rival, else the first contender; ties go
 * to the first in the order of engines, then to the one with the most seeds. */
static size_t rank_as_reference(const trained_t *trained) {
    const case_result_t *result = trained->seeds.cases[0];
    char *weights = weights_of(result);
    bool same = weights != NULL && strcmp(weights, weights_dtype(&result->spec)) == 0;
    free(weights);
    return !engine_is_rival(result->spec.engine) ? 2 : same ? 0 : 1;
}

static void choose_reference(seed_panel_t *panel) {
    for (size_t i = 0; i < panel->n; i++) {
        const trained_t *item = &panel->items[i], *best = panel->reference;
        const size_t rank = rank_as_reference(item);
        if (best == NULL || rank < rank_as_reference(best) ||
            (rank == rank_as_reference(best) && item->seeds.n > best->seeds.n &&
             (rank == 2 || strcmp(item->series->engine, best->series->engine) == 0)))
            panel->reference = item;
    }
    char *of_reference = weights_of(panel->reference->seeds.cases[0]);
    for (size_t i = 0; i < panel->n; i++) {
        char *weights = weights_of(panel->items[i].seeds.cases[0]);
        panel->items[i].like_reference =
            weights == NULL || of_reference == NULL || strcmp(weights, of_reference) == 0;
        free(weights);
    }
    free(of_reference);
}

/* The first, middle and last of the sizes with the most seeds. */
static size_t choose_sizes(const plot_data_t *data, int64_t chosen[MAX_SEED_PANELS]) {
    int64_t *sizes = mem_zeroed(data->n_sizes, sizeof *sizes);
    size_t most = 1, n = 0;
    for (size_t i = 0; i < data->n_sizes; i++) {
        size_t seeds = most_seeds_at(data, data->sizes[i]);
        if (seeds < most)
            continue;
        n = seeds > most ? 0 : n;
        most = seeds;
        sizes[n++] = data->sizes[i];
    }
    const size_t n_chosen = sizes_spread(sizes, n, chosen, MAX_SEED_PANELS);
    free(sizes);
    return n_chosen;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const curve_t *reference_of(const seed_panel_t *panel, int64_t seed) {
    for (size_t i = 0; i < panel->reference->seeds.n; i++)
        if (seed_of(&panel->reference->seeds.cases[i]->spec) == seed)
            return &panel->reference->curves[i];
    return NULL;
}

static void write_point(drawn_t *drawn, double step, double loss, double difference,
                        chart_t *chart) {
    enum { DIGITS = 4 };
    chart_row(chart, "%.9g %.9g %s", step, loss, chart_real(chart, difference, DIGITS));
    range_take(&drawn->losses, loss);
    drawn->difference = fmax(drawn->difference, fabs(difference));
}

static double difference_at(const seed_panel_t *panel, const trained_t *trained, size_t seed,
                            size_t point) {
    const curve_t *curve = &trained->curves[seed];
    const curve_t *reference = trained != panel->reference && trained->like_reference
                                   ? reference_of(panel, seed_of(&trained->seeds.cases[seed]->spec))
                                   : NULL;
    return reference != NULL ? curve->values[point] - curve_at(reference, curve->steps[point])
                             : NAN;
}

/* The next point that is drawn; the last always is. */
static size_t next_point(const curve_t *curve, size_t point) {
    const size_t stride = (curve->n + MOST_POINTS - 1) / MOST_POINTS;
    return point + 1 < curve->n && point + stride >= curve->n ? curve->n - 1 : point + stride;
}

/* Loss over the seeds that have a value there; differences over those that the reference has. */
static void write_mean(const seed_panel_t *panel, const trained_t *trained, drawn_t *drawn,
                       chart_t *chart) {
    const curve_t *steps = &trained->curves[0];
    for (size_t i = 0; i < steps->n; i = next_point(steps, i)) {
        double sum = 0, difference = 0;
        size_t n = 0, n_differences = 0;
        for (size_t k = 0; k < trained->seeds.n; k++) {
            if (i >= trained->curves[k].n || trained->curves[k].steps[i] != steps->steps[i])
                continue;
            const double from_reference = difference_at(panel, trained, k, i);
            sum += trained->curves[k].values[i];
            n++;
            difference += isfinite(from_reference) ? from_reference : 0;
            n_differences += isfinite(from_reference);
        }
        write_point(drawn, steps->steps[i], sum / (double)n,
                    n_differences > 0 ? difference / (double)n_differences : NAN, chart);
    }
    chart_row(chart, "\n");
}

static void write_trained(const seed_panel_t *panel, const trained_t *trained, size_t index,
                          drawn_t *drawn, chart_t *chart) {
    const bool mean = trained->seeds.n > 1;
    const thickness_t thickness = trained == panel->reference ? WIDEST : mean ? THICK : ALONE;
    const series_t *series = trained->series;
    for (size_t k = 0; k < trained->seeds.n; k++) {
        const curve_t *curve = &trained->curves[k];
        const char *comment =
            chart_format(chart, "# seed %" PRId64 "\n", seed_of(&trained->seeds.cases[k]->spec));
        if (!blocks_add(&drawn->blocks, index, series->style, mean ? THIN : (int)thickness))
            continue;
        chart_row(chart, "%sstep %s difference", comment, chart_quote(chart, series->title));
        for (size_t i = 0; i < curve->n; i = next_point(curve, i))
            write_point(drawn, curve->steps[i], curve->values[i],
                        difference_at(panel, trained, k, i), chart);
        chart_row(chart, "\n");
    }
    if (mean && blocks_add(&drawn->blocks, index, series->style, (int)thickness)) {
        chart_row(chart, "# mean over the seeds\nstep %s difference",
                  chart_quote(chart, series->title));
        write_mean(panel, trained, drawn, chart);
    }
}

static void write_panel(const seed_panel_t *panel, size_t index, drawn_t *drawn, chart_t *chart) {
    write_trained(panel, panel->reference, index, drawn, chart);
    for (size_t i = panel->n; i-- > 0;)
        if (&panel->items[i] != panel->reference)
            write_trained(panel, &panel->items[i], index, drawn, chart);
}

/* Each contender of any panel once, in the order of all charts. */
static legend_t write_legend(const plot_data_t *data, const seed_panel_t *panels, size_t n_panels,
                             drawn_t *drawn, chart_t *chart) {
    legend_t legend = {0};
    drawn->blocks.n_drawn = drawn->blocks.n;
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        size_t most = 0;
        for (size_t p = 0; p < n_panels; p++)
            for (size_t i = 0; i < panels[p].n; i++)
                if (panels[p].items[i].series == series && panels[p].items[i].seeds.n > most)
                    most = panels[p].items[i].seeds.n;
        const char *title =
            chart_format(chart, "%s (%zu seed%s)", series->title, most, most == 1 ? "" : "s");
        if (most == 0 || !blocks_add(&drawn->blocks, n_panels, series->style, THICK))
            continue;
        chart_row(chart, "step %s difference", chart_quote(chart, title));
        chart_row(chart, "0 NaN NaN\n\n");
        legend_take(&legend, title);
    }
    return legend;
}

static void write_numbers(const drawn_t *drawn, const seed_panel_t *panels, size_t n_panels,
                          chart_t *chart) {
    const range_t *losses = &drawn->losses;
    double last_step = 1;
    for (size_t p = 0; p < n_panels; p++)
        for (size_t i = 0; i < panels[p].n; i++) {
            const curve_t *curve = &panels[p].items[i].curves[0];
            last_step = fmax(last_step, curve->steps[curve->n - 1]);
        }
    const double margin = fmax(0.06 * (losses->high - losses->low), 1e-3);
    blocks_write(&drawn->blocks, "thick", n_panels, chart);
    chart_numbers(chart, "last_step=%.10g loss_low=%.10g loss_high=%.10g difference_high=%.10g",
                  last_step, fmax(0, losses->low - margin), losses->high + margin,
                  drawn->difference > 0 ? 1.1 * drawn->difference : 1e-6);
}

static const char *reference_name(const seed_panel_t *panels, size_t n) {
    for (size_t p = 1; p < n; p++)
        if (panels[p].reference->series != panels[0].reference->series)
            return "the widest line";
    return panels[0].reference->series->title;
}

static void describe(const plot_data_t *data, const seed_panel_t *panels, size_t n,
                     chart_t *chart) {
    curve_t curve = curve_of(panels[0].items[0].seeds.cases[0], "loss");
    const size_t window = curve_window(&curve);
    const char *mean =
        window > 1 ? chart_format(chart, "running mean over %zu points, ", window) : "";
    curve_free(&curve);
    chart->note = chart_format(chart,
                               "%s  ·  %sthin: one seed; thick: mean of seeds; below: "
                               "difference from %s",
                               arena_keep(&chart->texts, plot_shape_without(data, "seed")), mean,
                               reference_name(panels, n));
}

char *chart_loss_of_seeds(const plot_data_t *data, chart_t *chart) {
    enum { PANELS_HEIGHT = 600 };
    int64_t sizes[MAX_SEED_PANELS];
    seed_panel_t panels[MAX_SEED_PANELS];
    drawn_t drawn = {.losses = RANGE_INIT};
    const size_t n = choose_sizes(data, sizes);
    if (n == 0)
        return mem_text("no case recorded its loss over the training");
    chart_init(chart, "seeds");
    chart_panel_titles(chart, data, sizes, n);
    chart_row(chart, "\n");
    for (size_t p = 0; p < n; p++) {
        panels[p] = panel_at(data, sizes[p]);
        choose_reference(&panels[p]);
        write_panel(&panels[p], p, &drawn, chart);
    }
    const legend_t legend = write_legend(data, panels, n, &drawn, chart);
    write_numbers(&drawn, panels, n, chart);
    describe(data, panels, n, chart);
    chart_size(chart, 0, PANELS_HEIGHT + chart_legend(chart, &legend, 0));
    for (size_t p = 0; p < n; p++)
        for (size_t i = 0; i < panels[p].n; i++)
            for (size_t k = 0; k < panels[p].items[i].seeds.n; k++)
                curve_free(&panels[p].items[i].curves[k]);
    return NULL;
}
