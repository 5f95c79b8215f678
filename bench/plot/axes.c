#include "plot/axes.h"

#include "base/units.h"
#include "io/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TICKS = 64 };

const char *chart_size_text(char *text, int64_t size) {
    static const char *const RAISED[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    if (size > 1000 && size % 1000 == 0) {
        bool millions = size >= 1000000 && size % 10000 == 0;
        snprintf(text, UNITS_TEXT, "%g %c", (double)size / (millions ? 1e6 : 1e3),
                 millions ? 'M' : 'k');
        return text;
    }
    units_count(text, size);
    char *caret = strchr(text, '^');
    if (caret == NULL)
        return text;
    char digits[UNITS_TEXT];
    snprintf(digits, sizeof digits, "%s", caret + 1);
    *caret = '\0';
    for (const char *digit = digits; *digit >= '0' && *digit <= '9'; digit++)
        strncat(text, RAISED[*digit - '0'], UNITS_TEXT - strlen(text) - 1);
    return text;
}

static bool sizes_are_plain(const plot_data_t *data) {
    return data->sizes[data->n_sizes - 1] < 100000;
}

const char *chart_size_in(char *text, const plot_data_t *data, int64_t size) {
    if (!sizes_are_plain(data))
        return chart_size_text(text, size);
    snprintf(text, UNITS_TEXT, "%lld", (long long)size);
    return text;
}

const char *chart_size_title(chart_t *chart, const plot_data_t *data, int64_t size) {
    return chart_format(chart, "%s %lld", data->workload->size_param, (long long)size);
}

/* At most two digits, then zeros: 5000, 120000. */
static bool is_round(int64_t size) {
    while (size >= 100 && size % 10 == 0)
        size /= 10;
    return size < 100;
}

/* Powers of 2 or 10 around all sizes. */
static size_t powers_around(int base, const plot_data_t *data, double *ticks) {
    const double least = (double)data->sizes[0], most = (double)data->sizes[data->n_sizes - 1];
    const double low = base == 2 ? log2(least) : log10(least);
    const double high = base == 2 ? log2(most) : log10(most);
    size_t n = 0;
    for (double e = floor(low); e <= ceil(high) && n < MAX_TICKS; e++)
        ticks[n++] = pow(base, e);
    return n;
}

/* The round sizes; powers of ten if there are too few. */
static size_t ticks_of_ten(const plot_data_t *data, double *ticks) {
    enum { LEAST = 2 };
    size_t n = 0;
    for (size_t i = 0; i < data->n_sizes && n < MAX_TICKS; i++) {
        double size = (double)data->sizes[i];
        bool fits = n == 0 || size > 1.5 * ticks[n - 1];
        if (is_round(data->sizes[i]) && fits)
            ticks[n++] = size;
    }
    if (n >= LEAST)
        return n;
    return powers_around(10, data, ticks);
}

size_t chart_size_axis(chart_t *chart, const plot_data_t *data) {
    double ticks[MAX_TICKS];
    size_t n_powers = 0;
    for (size_t i = 0; i < data->n_sizes; i++)
        n_powers += (data->sizes[i] & (data->sizes[i] - 1)) == 0;
    bool twos = 2 * n_powers >= data->n_sizes;
    size_t n = twos ? powers_around(2, data, ticks) : ticks_of_ten(data, ticks);
    double margin = twos ? pow(2, 0.4) : 1.5;
    chart_numbers(chart, "size_base=%d size_plain=%d size_low=%.10g size_high=%.10g", twos ? 2 : 10,
                  sizes_are_plain(data), (double)data->sizes[0] / margin,
                  (double)data->sizes[data->n_sizes - 1] * margin);
    chart_reals(chart, "size_ticks", ticks, n);
    return n;
}

void range_take(range_t *range, double value) {
    if (!isfinite(value) || value <= 0)
        return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

void chart_time_axis(chart_t *chart, const range_t *seen_ns) {
    static const range_t NOTHING_SEEN_NS = {1000, 1000};
    static const double MARGIN = 1.25; /* so that nothing lies on the frame */
    const range_t *range_ns = seen_ns->high > 0 ? seen_ns : &NOTHING_SEEN_NS;
    const double from = range_ns->low / 1000 / MARGIN, to = range_ns->high / 1000 * MARGIN;
    chart_numbers(chart, "y_from=%.10g y_to=%.10g y_low=%.10g y_high=%.10g", from, to,
                  floor(log10(from)), ceil(log10(to)));
}

/* 42 pixels fit five digits of a size under its bar; 150 are for the axis and the margins. */
static double width_of(size_t n_bars) {
    return fmax(CHART_WIDTH, 150 + 42 * (double)n_bars);
}

void chart_size(chart_t *chart, size_t n_bars, int height) {
    chart_numbers(chart, "width=%.10g height=%d", width_of(n_bars), height);
}

void legend_take(legend_t *legend, const char *title) {
    size_t letters = text_width(title);
    legend->n++;
    legend->longest = letters > legend->longest ? letters : legend->longest;
}

/* gnuplot assumes 8.4 pixels per letter of a key (svg; 8 in a png) and 6.5 letters per sample; if
 * it thinks that two columns do not fit, it draws one. Actual letters are narrower, so a negative
 * spread corrects its estimate as far as needed. */
int chart_legend(chart_t *chart, const legend_t *legend, size_t n_bars) {
    enum { MARGINS = 137, ROW_HEIGHT = 20, DEFAULT_SPREAD = 2 };
    static const double LETTER = 7, SAMPLE = 55, GNUPLOT_LETTER = 8.4, GNUPLOT_SAMPLE = 6.5;
    const double column = (width_of(n_bars) - MARGINS) / 2, letters = (double)legend->longest;
    const bool two = LETTER * letters + SAMPLE <= column;
    const double most = floor(column / GNUPLOT_LETTER - GNUPLOT_SAMPLE - letters);
    const int height = (int)(two ? (legend->n + 1) / 2 : legend->n) * ROW_HEIGHT;
    chart_numbers(chart, "legend_columns=%d legend_spread=%.10g legend_height=%d", two ? 2 : 1,
                  two ? fmin(most, DEFAULT_SPREAD) : DEFAULT_SPREAD, height);
    return height;
}

static size_t most_passes(const plot_data_t *data) {
    size_t most = 0;
    for (size_t s = 0; s < data->n_series; s++)
        for (size_t i = 0; i < data->series[s].n_cases; i++) {
            const case_result_t *result = data->series[s].cases[i];
            for (size_t k = 0; k < result->n_phases && result_has_times(result); k++)
                most = result->phases[k].n_passes > most ? result->phases[k].n_passes : most;
        }
    return most;
}

bool chart_has_intervals(const plot_data_t *data) {
    return most_passes(data) >= STATS_FEWEST_PASSES;
}

const char *chart_medians(chart_t *chart, const plot_data_t *data) {
    const size_t n = most_passes(data);
    if (chart_has_intervals(data))
        return "medians, 95 % intervals over passes";
    return n == 0   ? "medians"
           : n == 1 ? "medians of one pass"
                    : chart_format(chart, "medians of %zu passes", n);
}

static bool has_any_case(const plot_data_t *data, size_t boot) {
    for (size_t s = 0; s < data->n_series; s++)
        for (size_t i = 0; i < data->series[s].n_cases; i++) {
            const case_t *spec = &data->series[s].cases[i]->spec;
            if (record_find(data->boots->runs[boot], spec->id) != NULL &&
                boots_same_code(data->boots, boot, spec->workload))
                return true;
        }
    return false;
}

/* A boot may have cases of some sizes only. */
const char *chart_ratio_intervals(chart_t *chart, const plot_data_t *data) {
    size_t n = 0;
    for (size_t i = 0; i < data->boots->n; i++)
        n += has_any_case(data, i);
    return n == 0 ? "95 % intervals over passes"
                  : chart_format(chart, "95 %% intervals over passes and up to %zu boots", n + 1);
}

const char *chart_hollow(const plot_data_t *data) {
    for (size_t s = 0; s < data->n_series; s++)
        for (size_t i = 0; i < data->series[s].n_cases; i++)
            if (data->series[s].cases[i]->status == CASE_THROTTLED)
                return "  ·  hollow: throttled";
    return "";
}
