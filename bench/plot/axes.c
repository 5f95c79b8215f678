#include "plot/axes.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/output.h"
#include "limits/limits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ==== lines over sizes ======================================================================== */

void lines_add(lines_t *lines, const series_t *series, const char *phase, const char *role) {
    if (series == NULL || !series_has_phase(series, phase))
        return;
    size_t i = 0;
    while (i < lines->n && lines->items[i].series != series)
        i++;
    if (i == MAX_LINES)
        return;
    line_t *line = &lines->items[i];
    if (i == lines->n) {
        lines->n++;
        *line = (line_t){.series = series, .phase = phase};
        if (series->algorithmic)
            line->roles[line->n_roles++] = "algorithmic";
        if (series->self_reported)
            line->roles[line->n_roles++] = "self-reported";
    }
    if (role != NULL && line->n_roles < MAX_ROLES)
        line->roles[line->n_roles++] = role;
}

static const char *title_of(const line_t *line, chart_t *chart) {
    const char *title = line->series->title;
    for (size_t i = 0; i < line->n_roles; i++)
        title = chart_format(chart, i == 0 ? "%s (%s" : "%s, %s", title, line->roles[i]);
    return line->n_roles > 0 ? chart_format(chart, "%s)", title) : title;
}

static void write_line(const line_t *line, range_t *range_ns, legend_t *legend, chart_t *chart) {
    const char *title = title_of(line, chart);
    legend_take(legend, title);
    chart_row(chart, "size %s low high throttled status", chart_quote(chart, title));
    for (size_t i = 0; i < line->series->n_cases; i++) {
        const case_result_t *result = line->series->cases[i];
        const double median = result_median(result, line->phase);
        const double *ci95_ns = result_ci95(result, line->phase);
        chart_row(chart, "%" PRId64 " %s %s %s %d %s", size_of(result), chart_us(chart, median),
                  chart_us(chart, ci95_ns[0]), chart_us(chart, ci95_ns[1]),
                  result->status == CASE_THROTTLED,
                  chart_quote(chart, case_status_name(result->status)));
        range_take(range_ns, median);
        range_take(range_ns, ci95_ns[0]); /* no interval is cut off */
        range_take(range_ns, ci95_ns[1]);
    }
    chart_row(chart, "\n");
}

/* Add a dashed line; takes ownership of `ns`. A line without any number is dropped. */
static void lines_limit(lines_t *lines, const plot_data_t *data, double *ns, const char *title,
                        int style) {
    bool any = false;
    for (size_t i = 0; i < data->n_sizes; i++)
        any = any || isfinite(ns[i]);
    if (any && lines->n_limits < MAX_LIMITS)
        lines->limits[lines->n_limits++] = (limit_line_t){ns, title, style};
    else
        free(ns);
}

static void write_limit(const limit_line_t *limit, const plot_data_t *data, range_t *range_ns,
                        legend_t *legend, chart_t *chart) {
    legend_take(legend, limit->title);
    chart_row(chart, "size %s", chart_quote(chart, limit->title));
    for (size_t i = 0; i < data->n_sizes; i++) {
        chart_row(chart, "%" PRId64 " %s", data->sizes[i], chart_us(chart, limit->ns[i]));
        range_take(range_ns, limit->ns[i]);
    }
    chart_row(chart, "\n");
}

static void write_dashed(const lines_t *lines, chart_t *chart) {
    int dashed[MAX_LINES];
    size_t n = 0;
    for (size_t i = 0; i < lines->n; i++)
        if (lines->items[i].series->algorithmic)
            dashed[n++] = lines->items[i].series->style;
    chart_integers(chart, "dashed", dashed, n);
}

static size_t line_breaks(const char *text) {
    size_t n = 0;
    for (const char *c = text; c != NULL && *c != '\0'; c++)
        n += *c == '\n';
    return n;
}

void lines_write(lines_t *lines, const plot_data_t *data, chart_t *chart) {
    int styles[MAX_LINES + MAX_LIMITS];
    range_t range_ns = RANGE_INIT;
    legend_t legend = {0};
    size_t n = lines->n;
    chart_row(chart, "# a block per line: medians in µs, 95 %% interval of the median");
    for (size_t i = 0; i < n; i++) {
        styles[i] = lines->items[i].series->style;
        write_line(&lines->items[i], &range_ns, &legend, chart);
    }
    /* At small sizes the limit is far below any measurable time: it may leave the chart. */
    double lowest_ns = range_ns.low / 3;
    for (size_t i = 0; i < lines->n_limits; i++) {
        styles[n++] = lines->limits[i].style;
        write_limit(&lines->limits[i], data, &range_ns, &legend, chart);
        free(lines->limits[i].ns);
    }
    range_ns.low = fmax(range_ns.low, lowest_ns);
    chart_integers(chart, "styles", styles, n);
    chart_numbers(chart, "n_lines=%zu n_limits=%zu note_lines=%zu", lines->n, lines->n_limits,
                  1 + line_breaks(chart->note));
    write_dashed(lines, chart);
    size_t n_ticks = chart_size_axis(chart, data);
    chart_time_axis(chart, &range_ns);
    chart_size(chart, n_ticks, CHART_HEIGHT + chart_legend(chart, &legend, n_ticks));
}

/* ---- the hardware limit ---------------------------------------------------------------------- */

/* The limit depends only on the size and the device: any case of the size has it. */
static double limit_at(const plot_data_t *data, const char *label, int64_t size,
                       text_list_t *bounds) {
    for (size_t s = 0; s < data->n_series; s++) {
        const case_result_t *result = series_at(&data->series[s], size);
        if (strcmp(data->series[s].label, label) != 0 || result == NULL ||
            !isfinite(result->limit.limit_ns))
            continue;
        const char *bound = result->limit.bound;
        if (bound != NULL && !text_list_has(bounds, bound))
            text_list_add(bounds, bound);
        return result->limit.limit_ns;
    }
    return NAN;
}

void lines_add_limits(lines_t *lines, const plot_data_t *data, const char *label, chart_t *chart) {
    double *limits_ns = mem_zeroed(data->n_sizes, sizeof *limits_ns);
    AUTO(text_list_free) text_list_t bounds = {0};
    for (size_t i = 0; i < data->n_sizes; i++)
        limits_ns[i] = limit_at(data, label, data->sizes[i], &bounds);
    const char *names = arena_keep(&chart->texts, text_list_join(&bounds, ", "));
    lines_limit(
        lines, data, limits_ns,
        chart_format(chart, bounds.n > 0 ? "hardware limit (%s)" : "hardware limit%s", names),
        STYLE_LIMIT);
}

/* ---- bounds of a training -------------------------------------------------------------------- */

bool has_training_bounds(const plot_data_t *data) {
    return data->workload->bounded_by != BOUNDED_BY_NOTHING;
}

/* Any case of this size, whatever its status; every size of the data has one. */
static const case_t *any_at(const plot_data_t *data, int64_t size) {
    for (size_t s = 0; s < data->n_series; s++) {
        const case_result_t *result = series_at(&data->series[s], size);
        if (result != NULL)
            return &result->spec;
    }
    return NULL;
}

static size_t n_known(const case_t *spec, const device_rates_t *rates) {
    size_t n = 0;
    for (training_bound_t b = 0; b < N_TRAINING_BOUNDS; b++)
        n += isfinite(training_bound(b, spec, rates).ns);
    return n;
}

/* "every epoch from DRAM", "2.5·W per step, in DRAM" */
static const char *name_of(training_bound_t bound, double times, chart_t *chart) {
    static const char *const NAMES[] = {
        [BOUND_DRAM] = "every epoch from DRAM",       [BOUND_L2] = "every epoch from the L2",
        [BOUND_BARRIER] = "a grid barrier per epoch", [BOUND_ONCE] = "read once from DRAM",
        [BOUND_WEIGHTS] = "W per step, in DRAM",      [BOUND_KEPT] = "W, less what the L2 keeps"};
    return bound < BOUND_WEIGHTS ? NAMES[bound] : chart_format(chart, "%g·%s", times, NAMES[bound]);
}

/* "200 × 32.0 MB / 4.00 TB/s = 1.60 ms", "200 × 1.00 µs = 200 µs" */
static const char *arithmetic_of(const lower_bound_t *bound, chart_t *chart) {
    char time[UNITS_TEXT], each[UNITS_TEXT], rate[UNITS_TEXT];
    units_time(time, bound->ns);
    return bound->bytes > 0 ? chart_format(chart, "%g × %s / %s = %s", bound->times,
                                           units_bytes(each, bound->bytes),
                                           units_rate(rate, bound->bytes_per_s), time)
                            : chart_format(chart, "%g × %s = %s", bound->times,
                                           units_time(each, bound->ns / bound->times), time);
}

/* For the largest of the sizes that have the most bounds: those whose data fit into the L2. */
static const char *worked_example(const plot_data_t *data, const device_rates_t *rates,
                                  chart_t *chart) {
    char text[UNITS_TEXT];
    const case_t *spec = NULL;
    int64_t size = 0;
    for (size_t i = 0; i < data->n_sizes; i++) {
        const case_t *other = any_at(data, data->sizes[i]);
        if (spec == NULL || n_known(other, rates) >= n_known(spec, rates)) {
            spec = other;
            size = data->sizes[i];
        }
    }
    const char *example = "";
    for (training_bound_t b = 0; b < N_TRAINING_BOUNDS && spec != NULL; b++) {
        const lower_bound_t bound = training_bound(b, spec, rates);
        if (isfinite(bound.ns))
            example = chart_format(chart, "%s\nlimit at %s %s, %s: %s", example,
                                   data->workload->size_param, chart_size_in(text, data, size),
                                   name_of(b, bound.times, chart), arithmetic_of(&bound, chart));
    }
    return example;
}

const char *lines_add_bounds(lines_t *lines, const plot_data_t *data, chart_t *chart) {
    const device_rates_t rates = device_rates_of_record(data->run);
    for (training_bound_t b = 0; b < N_TRAINING_BOUNDS; b++) {
        double times = NAN, *ns = mem_zeroed(data->n_sizes, sizeof *ns);
        for (size_t i = 0; i < data->n_sizes; i++) {
            const lower_bound_t bound = training_bound(b, any_at(data, data->sizes[i]), &rates);
            ns[i] = bound.ns;
            times = fmax(times, bound.times);
        }
        lines_limit(lines, data, ns, chart_format(chart, "limit: %s", name_of(b, times, chart)),
                    STYLE_BOUNDS + (int)b);
    }
    return worked_example(data, &rates, chart);
}
