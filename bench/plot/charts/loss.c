/* loss: the loss over a training, all contenders laid over each other at one size; below, how far
 * each is from the float64 oracle's. That they all learn the same is what makes their times
 * comparable. */
#include "analysis/curve.h"
#include "plot/axes.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char CURVE[] = "loss";

/* One roundoff of float32 (2^-24). */
static const double FLOAT32_NOISE = 0x1p-24;

enum { MAX_LOSSES = 32 };

/* One line of both panels. A contender that is trained from several seeds would have several of
 * them, all but one without a title. */
typedef struct loss {
    const series_t *series;
    curve_t curve;
} loss_t;

typedef struct losses {
    loss_t items[MAX_LOSSES];
    size_t n;
    const series_t *reference; /* that the others are held against */
    const curve_t *expected;   /* its curve */
} losses_t;

/* ---- which size --------------------------------------------------------------------------------
 */

static bool has_curve(const series_t *series, int64_t size) {
    const case_result_t *result = series->is_default ? series_at(series, size) : NULL;
    if (result == NULL)
        return false;
    curve_t curve = curve_of(result, CURVE);
    bool has = curve.n > 0;
    curve_free(&curve);
    return has;
}

static bool is_oracle(const series_t *series) {
    return strcmp(series->label, "cpu") == 0 && strcmp(series->variant, "ref") == 0;
}

static size_t curves_at(const plot_data_t *data, int64_t size, bool *oracle) {
    size_t n = 0;
    *oracle = false;
    for (size_t s = 0; s < data->n_series; s++) {
        if (!has_curve(&data->series[s], size))
            continue;
        n++;
        *oracle = *oracle || is_oracle(&data->series[s]);
    }
    return n;
}

/* The largest size that most contenders have: with the oracle among them if there is such a size,
 * else without. 0 when no case has a curve. */
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

/* ---- lines ------------------------------------------------------------------------------------
 */

static void collect(const plot_data_t *data, int64_t size, losses_t *losses) {
    for (size_t s = 0; s < data->n_series && losses->n < MAX_LOSSES; s++)
        if (has_curve(&data->series[s], size))
            losses->items[losses->n++] =
                (loss_t){&data->series[s], curve_of(series_at(&data->series[s], size), CURVE)};
    /* Without an oracle, C on the CPU comes next: its sums are in double. */
    static const char *const PREFERRED[] = {"cpu", "pytorch-cpu", "cuda"};
    const loss_t *best = NULL;
    for (size_t i = 0; i < losses->n; i++)
        if (is_oracle(losses->items[i].series))
            best = &losses->items[i];
    for (size_t p = 0; p < sizeof PREFERRED / sizeof *PREFERRED; p++)
        for (size_t i = 0; i < losses->n && best == NULL; i++)
            if (strcmp(losses->items[i].series->label, PREFERRED[p]) == 0)
                best = &losses->items[i];
    if (best == NULL)
        best = &losses->items[0];
    losses->reference = best->series;
    losses->expected = &best->curve;
}

static void free_losses(losses_t *losses) {
    for (size_t i = 0; i < losses->n; i++)
        curve_free(&losses->items[i].curve);
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

/* In the legend: how far it is from the reference at the most. */
static char *title_of(const loss_t *loss, const losses_t *losses) {
    char text[UNITS_TEXT];
    if (loss->series == losses->reference)
        return mem_format("%s: the reference", loss->series->title);
    double worst = worst_difference(loss, losses);
    if (!isfinite(worst))
        return mem_text(loss->series->title);
    return mem_format("%s (%s)", loss->series->title,
                      worst > 0 ? short_text(text, worst) : "equal");
}

/* Lines that coincide show only the last of them: so each has a few marks, at places of its own. */
static bool is_marked(size_t point, size_t n_points, size_t line, size_t n_lines) {
    enum { MARKS_AT_LEAST = 3 };
    size_t stride = n_points / MARKS_AT_LEAST > n_lines ? n_points / MARKS_AT_LEAST : n_lines;
    return (point + stride - line * stride / n_lines % stride) % stride == 0;
}

static void write_line(const losses_t *losses, size_t line, range_t *values, range_t *differences,
                       bool *any_equal, chart_t *chart) {
    const loss_t *loss = &losses->items[line];
    char *title = title_of(loss, losses);
    fputs("step", chart->table);
    chart_text(chart, title);
    free(title);
    fputs(" difference mark\n", chart->table);
    for (size_t i = 0; i < loss->curve.n; i++) {
        double difference = loss->series == losses->reference
                                ? NAN
                                : curve_difference(&loss->curve, i, losses->expected);
        fprintf(chart->table, "%.9g %.9g ", loss->curve.steps[i], loss->curve.values[i]);
        fprintf(chart->table, isfinite(difference) ? "%.4g" : "NaN", difference);
        fprintf(chart->table, " %d\n", is_marked(i, loss->curve.n, line, losses->n));
        range_take(values, loss->curve.values[i]);
        range_take(differences, difference);
        *any_equal = *any_equal || difference == 0;
    }
    fputs("\n\n", chart->table);
}

/* Decades around all that is seen; where some differences are 0, they lie on the axis, a decade
 * below the least other one. */
static void add_decades(chart_t *chart, const char *low, const char *high, const range_t *seen,
                        double below) {
    chart_number(chart, low, floor(log10(seen->low / 1.1)) - below);
    chart_number(chart, high, ceil(log10(seen->high * 1.1)));
}

/* Where the first steps do nearly all, what comes behind is flat in a picture of the whole: it gets
 * a picture of its own, from the second point on. */
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
    chart_number(chart, "inset", steep);
    chart_number(chart, "inset_from", from);
    double air = steep ? fmax(0.08 * (later.high - later.low), 1e-6 * later.high) : 0;
    chart_number(chart, "inset_low", steep ? later.low - air : 0);
    chart_number(chart, "inset_high", steep ? later.high + air : 1);
}

static void write_losses(const losses_t *losses, chart_t *chart) {
    int styles[MAX_LOSSES];
    range_t values = RANGE_INIT, differences = RANGE_INIT;
    bool any_equal = false;
    double last_step = 1;
    fputs("# a block a contender: loss; relative difference from the reference's; marked?\n",
          chart->table);
    for (size_t i = 0; i < losses->n; i++) {
        const curve_t *curve = &losses->items[i].curve;
        styles[i] = losses->items[i].series->style;
        write_line(losses, i, &values, &differences, &any_equal, chart);
        last_step = fmax(last_step, curve->steps[curve->n - 1]);
    }
    range_take(&differences, FLOAT32_NOISE);
    if (!(values.high > 0))
        range_take(&values, 1);
    add_decades(chart, "loss_low", "loss_high", &values, 0);
    add_decades(chart, "difference_low", "difference_high", &differences, any_equal);
    chart_number(chart, "any_equal", any_equal);
    chart_number(chart, "noise", FLOAT32_NOISE);
    chart_number(chart, "last_step", last_step);
    add_inset(losses, chart);
    chart_integers(chart, "styles", styles, losses->n);
    chart_number(chart, "n_lines", (double)losses->n);
}

static legend_t legend_of(const losses_t *losses) {
    legend_t legend = {0};
    for (size_t i = 0; i < losses->n; i++) {
        char *title = title_of(&losses->items[i], losses);
        legend_take(&legend, title);
        free(title);
    }
    legend_take(&legend, "one roundoff of float32, 2⁻²⁴"); /* plots/loss.gp draws it */
    return legend;
}

char *chart_loss(const plot_data_t *data, chart_t *chart) {
    enum { PANELS_HEIGHT = 660 };
    if (case_param(&data->series[0].cases[0]->spec, "seed") != NULL)
        return chart_loss_of_seeds(data, chart);
    int64_t size = size_to_show(data);
    if (size == 0)
        return mem_text("no case keeps its loss over the training");
    losses_t losses = {0};
    char text[UNITS_TEXT];
    collect(data, size, &losses);
    chart_init(chart, "loss");
    const char *counted =
        case_param(&losses.items[0].series->cases[0]->spec, "epochs") != NULL ? "epochs" : "steps";
    chart->title = mem_format("Loss over the %s, all contenders laid over each other", counted);
    chart->note = mem_format(
        "%s, %s %s  ·  below: |loss − reference| / reference; in brackets: the most of it  ·  "
        "reference: %s%s",
        data->shape, data->workload->size_param, chart_size_text(text, size),
        losses.reference->title,
        is_oracle(losses.reference) ? ", in float64" : "; no float64 oracle at this size");
    chart_number(chart, "in_epochs", strcmp(counted, "epochs") == 0);
    write_losses(&losses, chart);
    legend_t legend = legend_of(&losses);
    chart_size(chart, 0, PANELS_HEIGHT + chart_legend(chart, &legend, 0));
    free_losses(&losses);
    return NULL;
}
