/* speed: the fastest of each engine as a ratio to the strongest rival, at each size. */
#include "analysis/speedup.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDES = 12 };

/* By index of the data's sizes; a ratio is NaN if either side has no time, or a self-reported one. */
typedef struct side {
    const series_t *series;
    stats_interval_t *ratios;
} side_t;

typedef struct race {
    const plot_data_t *data;
    const char *phase;
    const series_t *strongest; /* rival: the line at 1 */
    const series_t *named;     /* the same cases under a name that says more; or NULL */
    side_t sides[MAX_SIDES];
    size_t n;
    range_t seen;
    bool logarithmic;
    double low, high; /* of the axis */
} race_t;

static bool is_strongest(const race_t *race, const series_t *series, size_t i) {
    const int64_t size = race->data->sizes[i];
    return series_at(series, size) == series_at(race->strongest, size);
}

static stats_interval_t ratio_at(const race_t *race, const series_t *series, size_t i) {
    const int64_t size = race->data->sizes[i];
    const case_result_t *ours = series_at(series, size), *theirs = series_at(race->strongest, size);
    speedup_t speedup = speedup_make(ours, race->phase, theirs, race->phase);
    boots_widen(race->data->boots, ours, theirs, race->phase, &speedup);
    if (is_strongest(race, series, i) && isfinite(speedup.ratio.centre)) /* even with two values */
        return (stats_interval_t){.centre = 1, .low = 1, .high = 1};
    return speedup.ratio;
}

static void add_side(race_t *race, const series_t *series) {
    size_t n_sizes = race->data->n_sizes, n_timed = 0, n_others = 0;
    stats_interval_t *ratios = mem_zeroed(n_sizes, sizeof *ratios);
    for (size_t i = 0; i < n_sizes; i++) {
        ratios[i] = ratio_at(race, series, i);
        n_timed += isfinite(ratios[i].centre);
        n_others += !is_strongest(race, series, i);
        range_take(&race->seen, ratios[i].centre);
        range_take(&race->seen, ratios[i].low);
        range_take(&race->seen, ratios[i].high);
    }
    if (n_others == 0)
        race->named = series;
    if (n_others == 0 || n_timed == 0 || race->n == MAX_SIDES)
        free(ratios);
    else
        race->sides[race->n++] = (side_t){series, ratios};
}

/* On the GPU; on the CPU only if no rival has a time on the GPU. */
static const series_t *strongest_of(const plot_data_t *data, const char **phase) {
    const char *const phases[] = {data->compared_by, "host_to_host", "total"};
    for (int cpu = 0; cpu < 2; cpu++)
        for (size_t p = 0; p < 3; p++) {
            const series_t *series =
                phases[p] != NULL ? plot_strongest_rival(data, !cpu, phases[p]) : NULL;
            *phase = phases[p];
            if (series != NULL)
                return series;
        }
    return NULL;
}

static void find_sides(race_t *race) {
    const plot_data_t *data = race->data;
    for (size_t s = 0; s < data->n_series; s++) {
        if (!plot_is_first_of_engine(data, s))
            continue;
        const series_t *best = plot_fastest_series(data, data->series[s].label, race->phase);
        if (best != NULL && best != race->strongest)
            add_side(race, best);
    }
}

/* Leaves room above the highest point for its number. */
static void choose_axis(race_t *race) {
    enum { LOGARITHMIC_FROM = 10 };
    double low = fmin(race->seen.low, 1), high = fmax(race->seen.high, 1);
    race->logarithmic = high / low > LOGARITHMIC_FROM;
    race->low = race->logarithmic ? low / pow(high / low, 0.08) : 0;
    race->high = race->logarithmic ? high * pow(high / low, 0.08) : 1.12 * high;
}

/* Ours, the first side, has its numbers; of two nearly equal sizes the second, as they would overlap. */
static bool is_labelled(const race_t *race, size_t side, size_t i) {
    static const double NEAR = 0.038; /* of the axis' length */
    const int64_t *sizes = race->data->sizes;
    const size_t n = race->data->n_sizes;
    const double all = log((double)sizes[n - 1] / (double)sizes[0]);
    return side == 0 && (i + 1 == n || log((double)sizes[i + 1] / (double)sizes[i]) > NEAR * all);
}

/* As the tables have it, without the interval, which is drawn. */
static const char *ratio_text(char text[UNITS_TEXT], const stats_interval_t *ratio) {
    units_ratio(text, ratio->centre, ratio->low, ratio->high);
    char *interval = strstr(text, " (");
    if (interval != NULL)
        *interval = '\0';
    return text;
}

/* ---- table ----------------------------------------------------------------------------------- */

static void write_side(const race_t *race, size_t side, chart_t *chart) {
    const side_t *what = &race->sides[side];
    const char *title = what->series->title;
    if (!series_is_mixed(what->series))
        title = chart_format(chart, "%s (the fastest of its side)", title);
    chart_row(chart, "size %s text low high", chart_quote(chart, title));
    for (size_t i = 0; i < race->data->n_sizes; i++) {
        char text[UNITS_TEXT];
        const stats_interval_t *ratio = &what->ratios[i];
        if (isfinite(ratio->centre))
            chart_row(chart, "%" PRId64 " %.6g %s %s %s", race->data->sizes[i], ratio->centre,
                      chart_quote(chart, is_labelled(race, side, i) ? ratio_text(text, ratio) : ""),
                      chart_real(chart, ratio->low, 6), chart_real(chart, ratio->high, 6));
    }
    chart_row(chart, "\n");
}

/* "PyTorch graph"; "PyTorch, the fastest at each batch size"; of several "the fastest at each …". */
static const char *strongest_text(const race_t *race, chart_t *chart) {
    const series_t *series = race->strongest;
    if (race->named != NULL)
        return race->named->title;
    return series->engine[0] != '\0'
               ? series->title
               : chart_format(chart, "the fastest at each %s", race->data->workload->size_noun);
}

static void draw(const race_t *race, chart_t *chart) {
    enum { LEGEND_ROW_HEIGHT = 20 };
    const plot_data_t *data = race->data;
    int styles[MAX_SIDES];
    chart_init(chart, "speed");
    chart->note = chart_format(chart, "%s  ·  phase %s of the rival / ours, %s%s  ·  rival: %s",
                               data->shape, race->phase,
                               chart_has_intervals(data) ? "medians, " : chart_medians(chart, data),
                               chart_has_intervals(data) ? chart_ratio_intervals(chart, data) : "",
                               strongest_text(race, chart));
    chart_row(chart, "# a block per engine: time of the strongest rival / of the engine's fastest");
    for (size_t s = 0; s < race->n; s++) {
        styles[s] = race->sides[s].series->style;
        write_side(race, s, chart);
    }
    chart_integers(chart, "styles", styles, race->n);
    const int legend_height = (int)race->n * LEGEND_ROW_HEIGHT;
    chart_numbers(chart, "n_lines=%zu logarithmic=%d y_low=%.10g y_high=%.10g legend_height=%d",
                  race->n, race->logarithmic, race->low, race->high, legend_height);
    size_t n_ticks = chart_size_axis(chart, data);
    chart_size(chart, n_ticks, CHART_HEIGHT + legend_height);
}

char *chart_speed(const plot_data_t *data, chart_t *chart) {
    race_t race = {.data = data, .seen = RANGE_INIT};
    if (data->n_sizes < 2)
        return mem_format("all cases have the same %s", data->workload->size_noun);
    race.strongest = strongest_of(data, &race.phase);
    if (race.strongest == NULL)
        return mem_text("no rival has a time to compare with");
    find_sides(&race);
    if (race.n == 0)
        return mem_format("no size at which both a rival and another engine have a time for %s",
                          race.phase);
    choose_axis(&race);
    draw(&race, chart);
    for (size_t s = 0; s < race.n; s++)
        free(race.sides[s].ratios);
    return NULL;
}
