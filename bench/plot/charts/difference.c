/* difference: a signed bar per size with the faster side and by how much, and the
 * size at which the lead changes. */
#include "analysis/speedup.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"

#include <math.h>

typedef enum lead { LEAD_UNKNOWN, LEAD_LEFT, LEAD_RIGHT, LEAD_NONE } lead_t;

typedef struct bar {
    int64_t size;
    lead_t lead;
    double difference_ns; /* left − right; NaN if a time is missing */
    double ratio;         /* slower / faster */
    bool has_interval;    /* does the ratio have one? */
    bool throttled;
    const char *names[2]; /* of both sides' engines */
    int styles[2];        /* their line types */
    const char *status;   /* why a time is missing, or "" */
} bar_t;

typedef struct difference {
    const series_t *left, *right;
    const char *phase, *size_param;
    bar_t *bars;
    size_t n;
    size_t n_timed;
} difference_t;

/* The report's rule, by which a throttled case is never faster. Without an interval, as in a saved
 * CSV or a run of few passes, the medians decide. */
static lead_t lead_of(const speedup_t *speedup) {
    switch (speedup->verdict) {
    case VERDICT_OURS:
        return LEAD_LEFT;
    case VERDICT_THEIRS:
        return LEAD_RIGHT;
    case VERDICT_UNDECIDED:
        return speedup->ratio.centre > 1   ? LEAD_LEFT
               : speedup->ratio.centre < 1 ? LEAD_RIGHT
                                           : LEAD_NONE;
    default:
        return LEAD_NONE;
    }
}

/* Of all rivals together, each bar has the colour of its rival. */
static int style_at(const plot_data_t *data, const series_t *series, const case_result_t *result) {
    return series->engine[0] != '\0' ? series->style : style_of_mixed(data->run, &result->spec);
}

static bar_t bar_of(const boots_t *boots, const case_result_t *left, const case_result_t *right,
                    const char *phase) {
    bar_t bar = {.size = size_of(left),
                 .difference_ns = NAN,
                 .names = {engine_name(left->spec.engine), engine_name(right->spec.engine)},
                 .status = ""};
    double a = result_median(left, phase), b = result_median(right, phase);
    if (!isfinite(a) || !isfinite(b)) {
        const case_result_t *without = isfinite(a) ? right : left;
        bar.status = result_has_times(without) ? "no time" : case_status_name(without->status);
        return bar;
    }
    speedup_t speedup = speedup_make(left, phase, right, phase);
    boots_widen(boots, left, right, phase, &speedup);
    if (speedup.self_reported) {
        bar.status = "self-reported";
        return bar;
    }
    bar.lead = lead_of(&speedup);
    bar.has_interval = isfinite(speedup.ratio.low);
    bar.difference_ns = a - b;
    bar.ratio = fmax(speedup.ratio.centre, 1 / speedup.ratio.centre); /* as in the report */
    bar.throttled = left->status == CASE_THROTTLED || right->status == CASE_THROTTLED;
    return bar;
}

/* `bars`: one per size of the data. */
static difference_t difference_of(const plot_data_t *data, const series_t *left,
                                  const series_t *right, const char *phase, bar_t *bars) {
    difference_t difference = {.left = left,
                               .right = right,
                               .phase = phase,
                               .size_param = data->workload->size_param,
                               .bars = bars};
    for (size_t i = 0; i < data->n_sizes; i++) {
        const case_result_t *a = series_at(left, data->sizes[i]);
        const case_result_t *b = series_at(right, data->sizes[i]);
        if (a == NULL || b == NULL)
            continue;
        bar_t *bar = &difference.bars[difference.n++];
        *bar = bar_of(data->boots, a, b, phase);
        bar->styles[0] = style_at(data, left, a);
        bar->styles[1] = style_at(data, right, b);
        difference.n_timed += isfinite(bar->difference_ns);
    }
    return difference;
}

static bool is_decided(const bar_t *bar) {
    return bar->lead == LEAD_LEFT || bar->lead == LEAD_RIGHT;
}

static const char *leader_of(const bar_t *bar) {
    return bar->lead == LEAD_NONE ? "undecided"
           : is_decided(bar)      ? bar->names[bar->lead == LEAD_RIGHT]
                                  : "";
}

static void write_bars(const difference_t *difference, chart_t *chart) {
    chart_row(
        chart,
        "# difference in µs, %s − %s; lead: 1 the first is faster, 2 the second, 3 none found\n"
        "index size difference lead throttled who amount ratio status style",
        difference->left->side, difference->right->side);
    for (size_t i = 0; i < difference->n; i++) {
        const bar_t *bar = &difference->bars[i];
        char size[UNITS_TEXT], amount[UNITS_TEXT] = "", ratio[UNITS_TEXT] = "";
        if (is_decided(bar)) {
            units_time(amount, fabs(bar->difference_ns));
            char digits[UNITS_TEXT];
            if (bar->has_interval)
                snprintf(ratio, sizeof ratio, bar->ratio < 9.95 ? "%.2f×" : "%.0f×", bar->ratio);
            else
                snprintf(ratio, sizeof ratio, "%.20s×", units_two_digits(digits, bar->ratio));
        }
        chart_row(chart, "%zu %s %s %d %d %s %s %s %s %d", i,
                  chart_quote(chart, chart_size_text(size, bar->size)),
                  chart_us(chart, bar->difference_ns), (int)bar->lead, bar->throttled,
                  chart_quote(chart, leader_of(bar)), chart_quote(chart, amount),
                  chart_quote(chart, ratio), chart_quote(chart, bar->status),
                  bar->styles[bar->lead == LEAD_RIGHT]);
    }
}

/* The first bar from `from` on with another leader than the last decided bar before it, ignoring
 * undecided bars; `n` if there is none. */
static size_t next_crossover(const difference_t *difference, size_t from) {
    lead_t before = LEAD_UNKNOWN;
    for (size_t i = from; i < difference->n; i++) {
        const bar_t *bar = &difference->bars[i];
        if (!is_decided(bar))
            continue;
        if (before != LEAD_UNKNOWN && bar->lead != before)
            return i;
        before = bar->lead;
    }
    return difference->n;
}

/* A single crossover is labelled; with several, the note gives their number. */
static size_t write_crossovers(const difference_t *difference, chart_t *chart) {
    size_t n = 0;
    const size_t first = next_crossover(difference, 0);
    chart_row(chart, "\n\n# sizes at which the lead changes\nindex size text");
    for (size_t i = first; i < difference->n; i = next_crossover(difference, i), n++) {
        char size[UNITS_TEXT];
        const bar_t *bar = &difference->bars[i];
        chart_size_text(size, bar->size);
        const char *text = i == first && next_crossover(difference, i) == difference->n
                               ? chart_format(chart, "crossover: %s is faster from %s %s",
                                              leader_of(bar), difference->size_param, size)
                               : "";
        chart_row(chart, "%zu %s %s", i, chart_quote(chart, size), chart_quote(chart, text));
    }
    return n;
}

/* The axis is linear around 0 and logarithmic beyond: from the decade below the smallest decided
 * difference, no less than 0.01 µs. */
static void write_axis(const difference_t *difference, chart_t *chart) {
    range_t decided = RANGE_INIT, below = RANGE_INIT, above = RANGE_INIT;
    for (size_t i = 0; i < difference->n; i++) {
        double difference_us = difference->bars[i].difference_ns / 1000;
        if (difference->bars[i].lead != LEAD_NONE)
            range_take(&decided, fabs(difference_us));
        range_take(&below, -difference_us);
        range_take(&above, difference_us);
    }
    if (below.high <= 0 && above.high <= 0)
        above.high = 1; /* all equal: any length */
    double linear = decided.high > 0 ? fmax(floor(log10(decided.low / 2)), -2) : 0;
    chart_numbers(chart, "linear=%.10g below=%.10g above=%.10g", linear,
                  log10(1 + below.high / pow(10, linear)), log10(1 + above.high / pow(10, linear)));
}

/* What up and down mean. Without an interval no side is called faster. */
static void write_directions(const plot_data_t *data, const difference_t *difference,
                             chart_t *chart) {
    const char *what = chart_has_intervals(data) ? "is faster" : "takes less time";
    chart_row(chart, "\n\n# directions\nup text\n1 %s\n0 %s",
              chart_quote(chart, chart_format(chart, "↑ %s %s", difference->right->side, what)),
              chart_quote(chart, chart_format(chart, "↓ %s %s", difference->left->side, what)));
}

static void draw(const plot_data_t *data, const difference_t *difference, chart_t *chart) {
    enum { LABELS_HEIGHT = 60 };
    chart_init(chart, "difference");
    write_axis(difference, chart);
    chart_size(chart, difference->n, CHART_HEIGHT + LABELS_HEIGHT);
    write_bars(difference, chart);
    size_t n_crossovers = write_crossovers(difference, chart);
    write_directions(data, difference, chart);
    chart_numbers(chart, "n_bars=%zu n_crossovers=%zu n_untimed=%zu", difference->n, n_crossovers,
                  difference->n - difference->n_timed);
    const char *meaning =
        data->study_csv
            ? "medians of the rows of a batch"
            : chart_format(chart, "%s%s",
                           chart_has_intervals(data) ? "medians; undecided: the 95 % interval of "
                                                       "the ratio contains 1"
                                                     : chart_medians(chart, data),
                           chart_hollow(data));
    const char *changes = n_crossovers > 1
                              ? chart_format(chart, "  ·  the lead changes %zu times", n_crossovers)
                              : "";
    chart->note = chart_format(chart, "%s  ·  %s − %s  ·  phase %s  ·  %s%s", data->shape,
                               difference->left->title, difference->right->title, difference->phase,
                               meaning, changes);
}

static const char *label_of_ours(const plot_data_t *data, bool on_gpu) {
    const char *label = on_gpu ? "cuda" : "cpu";
    for (size_t s = 0; s < data->n_series; s++)
        if (data->series[s].ours && data->series[s].on_gpu == on_gpu)
            label = data->series[s].label;
    return label;
}

/* The set-ups of the study, if both were run; else our fastest and the strongest rival. */
static bool find_sides(const plot_data_t *data, bool on_gpu, const series_t **left,
                       const series_t **right) {
    const char *ours = label_of_ours(data, on_gpu);
    *left = plot_default_series(data, ours);
    *right = plot_default_series(data, on_gpu ? "pytorch-cuda" : "pytorch-cpu");
    if (*left == NULL || *right == NULL) {
        *left = plot_fastest_series(data, ours, "total");
        *right = plot_strongest_rival(data, on_gpu, "total");
    }
    return *left != NULL && *right != NULL;
}

/* Ours against a rival on the GPU; on the CPU if only one of them was run there. */
char *chart_difference(const plot_data_t *data, chart_t *chart) {
    const series_t *left, *right;
    if (!find_sides(data, true, &left, &right) && !find_sides(data, false, &left, &right))
        return mem_text("only one of the two sides has times");
    AUTO_FREE bar_t *bars = mem_zeroed(data->n_sizes, sizeof *bars);
    const difference_t difference = difference_of(data, left, right, "total", bars);
    if (difference.n_timed == 0)
        return mem_format("no size at which both %s and %s have a time for total", left->title,
                          right->title);
    draw(data, &difference, chart);
    return NULL;
}
