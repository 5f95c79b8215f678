/* loss: the loss over a training, all contenders overlaid at one size; below, their difference from
 * the float64 reference. Equal learning makes their times comparable. */
#include "analysis/contenders.h"
#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"

#include <math.h>
#include <string.h>

static const char CURVE[] = "loss";

/* One roundoff of float32 (2^-24). */
static const double FLOAT32_NOISE = 0x1p-24;

enum { MAX_LOSSES = 32, MOST_POINTS = 160 /* of a line */ };

/* One line of both panels. */
typedef struct loss {
    const series_t *series;
    curve_t curve;
} loss_t;

typedef struct losses {
    loss_t items[MAX_LOSSES];
    size_t n;
    const series_t *reference; /* that the others are compared with */
    const curve_t *expected;   /* its curve */
} losses_t;

/* Of more than a point: a call of one step has none to draw. */
static bool has_curve(const series_t *series, int64_t size) {
    const case_result_t *result = series_default_at(series, size);
    if (result == NULL)
        return false;
    AUTO(curve_free) curve_t curve = curve_of(result, CURVE);
    return curve.n > 1;
}

static size_t curves_at(const plot_data_t *data, int64_t size, bool *oracle) {
    size_t n = 0;
    *oracle = false;
    for (size_t s = 0; s < data->n_series; s++) {
        if (!has_curve(&data->series[s], size))
            continue;
        n++;
        *oracle = *oracle || series_is_oracle(&data->series[s]);
    }
    return n;
}

/* The largest size that most contenders have, with the float64 reference if possible. 0 if no case
 * has a curve. */
static int64_t size_to_show(const plot_data_t *data) {
    size_t most = 0;
    for (size_t i = 0; i < data->n_sizes; i++) {
        bool oracle;
        size_t n = curves_at(data, data->sizes[i], &oracle);
        most = n > most ? n : most;
    }
    int64_t with = 0, without = 0;
    for (size_t i = 0; i < data->n_sizes; i++) {
        bool oracle;
        size_t n = curves_at(data, data->sizes[i], &oracle);
        if (n == 0 || 2 * n <= most)
            continue;
        without = data->sizes[i];
        with = oracle ? data->sizes[i] : with;
    }
    return with > 0 ? with : without;
}

static void collect(const plot_data_t *data, int64_t size, losses_t *losses) {
    for (size_t s = 0; s < data->n_series && losses->n < MAX_LOSSES; s++)
        if (has_curve(&data->series[s], size))
            losses->items[losses->n++] =
                (loss_t){&data->series[s], curve_of(series_at(&data->series[s], size), CURVE)};
    /* Without a float64 reference, the CPU is preferred, and there C: its sums are in double. */
    const loss_t *best = NULL;
    for (size_t i = losses->n; i-- > 0;)
        if (!losses->items[i].series->on_gpu)
            best = &losses->items[i];
    for (size_t i = 0; i < losses->n; i++)
        if (series_is_oracle(losses->items[i].series))
            best = &losses->items[i];
    for (size_t i = losses->n; i-- > 0 && best == NULL;)
        if (engine_is_ours(losses->items[i].series->engine))
            best = &losses->items[i];
    if (best == NULL)
        best = &losses->items[0];
    losses->reference = best->series;
    losses->expected = &best->curve;
}

static double worst_difference(const loss_t *loss, const losses_t *losses) {
    double worst = NAN;
    for (size_t i = 0; i < loss->curve.n; i++)
        worst = fmax(worst, curve_difference(&loss->curve, i, losses->expected));
    return worst;
}

/* "2.1e-8": as %e, but without the exponent's leading zero. */
static const char *short_text(char text[UNITS_TEXT], double value) {
    snprintf(text, UNITS_TEXT, "%.1e", value);
    char *exponent = strchr(text, 'e');
    if (exponent != NULL && exponent[2] == '0')
        memmove(exponent + 2, exponent + 3, strlen(exponent + 3) + 1);
    return text;
}

/* The legend gives its largest difference from the reference. */
static const char *title_of(const loss_t *loss, const losses_t *losses, chart_t *chart) {
    char text[UNITS_TEXT];
    const char *title = loss->series->title;
    const double worst = worst_difference(loss, losses);
    if (loss->series == losses->reference)
        return chart_format(chart, "%s: the reference", title);
    if (!isfinite(worst))
        return title;
    return chart_format(chart, "%s (%s)", title, worst > 0 ? short_text(text, worst) : "equal");
}

/* Of coinciding lines only the last is visible, so each has a few marks at different places. */
static bool is_marked(size_t point, size_t n_points, size_t line, size_t n_lines) {
    enum { FEWEST_MARKS = 3 };
    size_t stride = n_points / FEWEST_MARKS > n_lines ? n_points / FEWEST_MARKS : n_lines;
    return (point + stride - line * stride / n_lines % stride) % stride == 0;
}

/* The last is always drawn. */
static size_t next_point(const curve_t *curve, size_t i) {
    const size_t next = i + (curve->n + MOST_POINTS - 1) / MOST_POINTS;
    return next >= curve->n && i + 1 < curve->n ? curve->n - 1 : next;
}

typedef struct shown {
    range_t values, differences;
    bool any_equal;
    legend_t legend;
} shown_t;

static void write_line(const losses_t *losses, size_t line, shown_t *shown, chart_t *chart) {
    const loss_t *loss = &losses->items[line];
    enum { DIGITS = 4 };
    const size_t n_points = loss->curve.n < MOST_POINTS ? loss->curve.n : MOST_POINTS;
    const char *title = title_of(loss, losses, chart);
    legend_take(&shown->legend, title);
    chart_row(chart, "step %s difference mark", chart_quote(chart, title));
    for (size_t i = 0, k = 0; i < loss->curve.n; i = next_point(&loss->curve, i), k++) {
        double difference = loss->series == losses->reference
                                ? NAN
                                : curve_difference(&loss->curve, i, losses->expected);
        chart_row(chart, "%.9g %.9g %s %d", loss->curve.steps[i], loss->curve.values[i],
                  chart_real(chart, difference, DIGITS), is_marked(k, n_points, line, losses->n));
        range_take(&shown->values, loss->curve.values[i]);
        range_take(&shown->differences, difference);
        shown->any_equal = shown->any_equal || difference == 0;
    }
    chart_row(chart, "\n");
}

/* Decades around all values; differences of 0 are drawn on the axis, a decade below the smallest
 * other one. */
static void add_decades(chart_t *chart, const char *name, const range_t *seen, double below) {
    chart_numbers(chart, "%s_low=%.10g %s_high=%.10g", name, floor(log10(seen->low / 1.1)) - below,
                  name, ceil(log10(seen->high * 1.1)));
}

/* If the first steps do nearly all, the rest is flat in the full picture: an inset shows it from
 * the second point on. */
static void add_inset(const losses_t *losses, chart_t *chart) {
    static const double STEEP = 20;
    range_t later = RANGE_INIT;
    double from = 0;
    bool steep = true;
    for (size_t i = 0; i < losses->n; i++) {
        const curve_t *curve = &losses->items[i].curve;
        steep = steep && curve->n > 3 && curve->values[0] > STEEP * curve->values[1];
        for (size_t k = 1; k < curve->n; k++)
            range_take(&later, curve->values[k]);
        from = curve->n > 1 ? fmax(from, curve->steps[1]) : from;
    }
    double margin = steep ? fmax(0.08 * (later.high - later.low), 1e-6 * later.high) : 0;
    chart_numbers(chart, "inset=%d inset_from=%.10g inset_low=%.10g inset_high=%.10g", steep, from,
                  steep ? later.low - margin : 0, steep ? later.high + margin : 1);
}

/* Returns the legend. */
static legend_t write_losses(const losses_t *losses, chart_t *chart) {
    int styles[MAX_LOSSES];
    shown_t shown = {.values = RANGE_INIT, .differences = RANGE_INIT};
    double last_step = 1;
    chart_row(chart,
              "# a block per contender: loss; relative difference from the reference's; marked?");
    for (size_t i = 0; i < losses->n; i++) {
        const curve_t *curve = &losses->items[i].curve;
        styles[i] = losses->items[i].series->style;
        write_line(losses, i, &shown, chart);
        last_step = fmax(last_step, curve->steps[curve->n - 1]);
    }
    range_take(&shown.differences, FLOAT32_NOISE);
    if (!(shown.values.high > 0))
        range_take(&shown.values, 1);
    add_decades(chart, "loss", &shown.values, 0);
    add_decades(chart, "difference", &shown.differences, shown.any_equal);
    chart_numbers(chart, "any_equal=%d noise=%.10g last_step=%.10g n_lines=%zu", shown.any_equal,
                  FLOAT32_NOISE, last_step, losses->n);
    add_inset(losses, chart);
    chart_integers(chart, "styles", styles, losses->n);
    legend_take(&shown.legend, "one roundoff of float32, 2⁻²⁴"); /* plots/loss.gp draws it */
    return shown.legend;
}

char *chart_loss(const plot_data_t *data, chart_t *chart) {
    enum { PANELS_HEIGHT = 660 };
    int64_t size = size_to_show(data);
    if (size == 0)
        return mem_text("no case recorded its loss over the training");
    losses_t losses = {0};
    char text[UNITS_TEXT];
    collect(data, size, &losses);
    chart_init(chart, "loss");
    chart->note = chart_format(
        chart,
        "%s, %s %s  ·  below: relative difference; in brackets: its maximum  ·  reference: %s%s",
        data->shape, data->workload->size_param, chart_size_text(text, size),
        losses.reference->title, series_is_oracle(losses.reference) ? ", in float64" : "");
    chart_numbers(chart, "in_epochs=%d", data->workload->steps_are_epochs);
    const legend_t legend = write_losses(&losses, chart);
    chart_size(chart, 0, PANELS_HEIGHT + chart_legend(chart, &legend, 0));
    for (size_t i = 0; i < losses.n; i++)
        curve_free(&losses.items[i].curve);
    return NULL;
}
