/* roofline: the operations per second of each engine's fastest at each size, over operations per byte
 * moved, under the roofs that were measured on the same device (Williams et al. 2009, Roofline). Bytes
 * and operations are the least that the workload needs, not what a kernel moved: a point's distance to
 * its roof is what is left to gain, whoever wrote it. */
#include "base/memory.h"
#include "base/units.h"
#include "limits/limits.h"
#include "plot/axes.h"

#include <math.h>
#include <string.h>

enum { MOST_ROOFS = 4, MOST_SIDES = 12 };

/* A slope has bytes_per_s, a level flops_per_s; the other is NaN. */
typedef struct roof {
    const char *title;
    double bytes_per_s, flops_per_s;
} roof_t;

typedef struct roofline {
    const plot_data_t *data;
    const char *phase; /* of a call: a launch counts for both sides or for neither */
    roof_t roofs[MOST_ROOFS];
    size_t n_roofs;
    const series_t *sides[MOST_SIDES];
    size_t n_sides;
    range_t intensities, speeds; /* seen */
} roofline_t;

/* In FLOP per byte and FLOP/s; NaN without a limit, which an algorithmic rung has not either. */
static double intensity_of(const roofline_t *r, const case_result_t *result) {
    const limit_t *limit = &result->limit;
    const bool known = result->status == CASE_OK && isfinite(limit->frac) && limit->flops > 0 &&
                       isfinite(result_median(result, r->phase));
    return known ? limit->flops / limit->bytes : NAN;
}

static double speed_of(const roofline_t *r, const case_result_t *result) {
    return result->limit.flops / result_median(result, r->phase) * 1e9;
}

static void add_roof(roofline_t *r, const char *title, double bytes_per_s, double flops_per_s) {
    if (isfinite(bytes_per_s) || isfinite(flops_per_s))
        r->roofs[r->n_roofs++] = (roof_t){title, bytes_per_s, flops_per_s};
}

static void find_roofs(roofline_t *r, chart_t *chart) {
    const device_rates_t rates = device_rates_of_record(r->data->run);
    const case_t *spec = &r->data->series[0].cases[0]->spec;
    const matmul_type_t type = matmul_type_of(spec);
    char l2[UNITS_TEXT], dram[UNITS_TEXT], lanes[UNITS_TEXT], products[UNITS_TEXT];
    const double matmul = type < MATMUL_TYPES ? matmul_flops_per_s(&rates, type) : NAN;
    add_roof(r, chart_format(chart, "L2, %s read", units_rate(l2, rates.l2_bytes_per_s)),
             rates.l2_bytes_per_s, NAN);
    add_roof(r, chart_format(chart, "memory, %s copied", units_rate(dram, rates.dram_bytes_per_s)),
             rates.dram_bytes_per_s, NAN);
    if (type < MATMUL_TYPES)
        add_roof(r,
                 chart_format(chart, "products of %s, %s", matmul_type_name(type),
                              units_flops(products, matmul)),
                 NAN, matmul);
    if (type == MATMUL_F32 || type == MATMUL_TYPES) /* else tensor cores do more */
        add_roof(r,
                 chart_format(chart, "FP32 lanes, %s by their clock",
                              units_flops(lanes, rates.fp32_flops_per_s)),
                 NAN, rates.fp32_flops_per_s);
}

static void take(roofline_t *r, const series_t *series) {
    size_t n = 0;
    for (size_t i = 0; i < series->n_cases; i++) {
        const double intensity = intensity_of(r, series->cases[i]);
        if (!isfinite(intensity))
            continue;
        range_take(&r->intensities, intensity);
        range_take(&r->speeds, speed_of(r, series->cases[i]));
        n++;
    }
    if (n > 0 && r->n_sides < MOST_SIDES)
        r->sides[r->n_sides++] = series;
}

static void find_sides(roofline_t *r) {
    const plot_data_t *data = r->data;
    for (size_t s = 0; s < data->n_series; s++) {
        const char *label = data->series[s].label;
        const series_t *best = plot_fastest_series(data, label, r->phase);
        if (plot_is_first_of_engine(data, s) && data->series[s].on_gpu && best != NULL)
            take(r, best);
    }
}

/* ---- table ----------------------------------------------------------------------------------- */

static double steepest(const roofline_t *r) {
    double most = NAN;
    for (size_t i = 0; i < r->n_roofs; i++)
        most = fmax(most, r->roofs[i].bytes_per_s); /* ignores NaN */
    return most;
}

/* Infinite if no rate of arithmetic is known. */
static double highest(const roofline_t *r) {
    double most = NAN;
    for (size_t i = 0; i < r->n_roofs; i++)
        most = fmax(most, r->roofs[i].flops_per_s);
    return isfinite(most) ? most : INFINITY;
}

/* A slope ends at the highest level, a level begins at the steepest slope. */
static void write_roof(const roofline_t *r, const roof_t *roof, const double ends[2],
                       chart_t *chart) {
    const bool slope = isfinite(roof->bytes_per_s);
    const double from = slope ? ends[0] : fmax(ends[0], roof->flops_per_s / steepest(r));
    const double to = slope ? fmin(ends[1], highest(r) / roof->bytes_per_s) : ends[1];
    chart_row(chart, "intensity %s", chart_quote(chart, roof->title));
    for (int end = 0; end < 2; end++) {
        const double x = end == 0 ? from : to;
        const double y = slope ? x * roof->bytes_per_s : roof->flops_per_s;
        chart_row(chart, "%.6g %.6g", x, y / 1e9);
    }
    chart_row(chart, "\n");
}

/* The series' cases that have a point; returns their number. */
static size_t points_of(const roofline_t *r, const series_t *series, const case_result_t **points) {
    size_t n = 0;
    for (size_t i = 0; i < series->n_cases; i++)
        if (isfinite(intensity_of(r, series->cases[i])))
            points[n++] = series->cases[i];
    return n;
}

/* -1: to the left of point i, 1: to its right: where the line to its neighbour does not go. 0: none. */
static int side_of_label(const roofline_t *r, const case_result_t **points, size_t n, size_t i) {
    if (i != 0 && i != n - 1)
        return 0;
    const int outwards = i == 0 ? -1 : 1;
    const double own = intensity_of(r, points[i]);
    const double other = n < 2 ? NAN : intensity_of(r, points[i == 0 ? 1 : n - 2]);
    return other < own ? 1 : other > own ? -1 : outwards;
}

/* The first and the last size stand beside the points of the first side, ours. */
static void write_side(const roofline_t *r, size_t side, chart_t *chart) {
    const series_t *series = r->sides[side];
    AUTO_FREE const case_result_t **points = mem_alloc(series->n_cases * sizeof *points);
    const size_t n = points_of(r, series, points);
    chart_row(chart, "intensity %s left right", chart_quote(chart, series->title));
    for (size_t i = 0; i < n; i++) {
        char size[UNITS_TEXT];
        const char *text = chart_size_in(size, r->data, size_of(points[i]));
        const int label = side == 0 ? side_of_label(r, points, n, i) : 0;
        chart_row(chart, "%.6g %.6g %s %s", intensity_of(r, points[i]),
                  speed_of(r, points[i]) / 1e9, chart_quote(chart, label < 0 ? text : ""),
                  chart_quote(chart, label > 0 ? text : ""));
    }
    chart_row(chart, "\n");
}

static void draw(const roofline_t *r, chart_t *chart) {
    enum { LEGEND_ROW_HEIGHT = 20 };
    int styles[MOST_SIDES];
    const double ridge = isfinite(highest(r)) ? highest(r) / steepest(r) : 0;
    const double x[] = {floor(log10(r->intensities.low) - 0.5),
                        ceil(log10(fmax(r->intensities.high, ridge)) + 0.5)};
    const double ends[] = {pow(10, x[0]), pow(10, x[1])};
    const double top = fmin(highest(r), ends[1] * steepest(r));
    const double y[] = {floor(log10(r->speeds.low / 1e9)),
                        ceil(log10(fmax(r->speeds.high, top) / 1e9))};
    chart->note = chart_format(chart,
                               "%s  ·  %s, each engine's fastest at each %s  ·  bytes and "
                               "operations: the least needed",
                               r->data->shape,
                               strcmp(r->phase, CALL_IN_GRAPH) == 0 ? "one of many calls in a graph"
                                                                    : "one call alone",
                               r->data->workload->size_noun);
    chart_row(chart, "# a block per roof, then one per engine; FLOP per byte, GFLOP/s, size left "
                     "or right of it");
    for (size_t i = 0; i < r->n_roofs; i++)
        write_roof(r, &r->roofs[i], ends, chart);
    for (size_t i = 0; i < r->n_sides; i++) {
        styles[i] = r->sides[i]->style;
        write_side(r, i, chart);
    }
    const int legend_height = (int)(r->n_roofs + r->n_sides) * LEGEND_ROW_HEIGHT;
    chart_integers(chart, "styles", styles, r->n_sides);
    chart_numbers(chart, "n_roofs=%zu n_lines=%zu x_low=%g x_high=%g y_low=%g y_high=%g",
                  r->n_roofs, r->n_sides, x[0], x[1], y[0], y[1]);
    chart_numbers(chart, "legend_height=%d", legend_height);
    chart_size(chart, 1, CHART_HEIGHT + legend_height);
}

char *chart_roofline(const plot_data_t *data, chart_t *chart) {
    roofline_t r = {.data = data,
                    .phase = plot_call_phase(data),
                    .intensities = RANGE_INIT,
                    .speeds = RANGE_INIT};
    chart_init(chart, "roofline");
    find_roofs(&r, chart);
    find_sides(&r);
    if (r.n_sides == 0)
        return mem_text("no case on a GPU has a limit and operations");
    if (isnan(steepest(&r)))
        return mem_text("the run has no rate of memory");
    draw(&r, chart);
    return NULL;
}
