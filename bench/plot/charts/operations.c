/* operations: time of each part of a call or a step, contenders side by side. A training that fuses
 * them has one bar: its parts are not estimated. */
#include "analysis/contenders.h"
#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"

#include <math.h>

/* A GPU's bars are unreadable beside CPU bars that are higher by more than this. */
static const double ONE_PANEL_RATIO = 30;
/* With a larger ratio a low bar is only a line on a linear axis. */
static const double LINEAR_RATIO = 40;

/* The text of such a high bar would touch that of the sum, which is raised. */
static const double NEAR_THE_TOP = 0.7;

enum { MAX_GROUPS = 24 };

/* One contender's bars. */
typedef struct group {
    const series_t *series;
    const case_result_t *result;
    size_t n, n_alone;    /* bars; those of parts timed separately */
    double sum_ns;        /* of the latter; NaN if fewer than two */
    double highest_ns;    /* of the latter */
    double first, middle; /* places of the first bar and of the group, in bars */
} group_t;

typedef struct panel {
    group_t groups[MAX_GROUPS];
    size_t n;
    range_t range_ns; /* of bars and of sums */
    double slots;     /* its width, in bars */
    const parts_t *parts;
} panel_t;

/* A different algorithm has no comparable step. */
static const case_result_t *parts_at(const series_t *series, int64_t size) {
    const case_result_t *result = !series->algorithmic ? series_default_at(series, size) : NULL;
    return result != NULL && has_parts(result) ? result : NULL;
}

size_t operations_contenders(const plot_data_t *data, int64_t *size) {
    size_t most = 0;
    *size = 0;
    for (size_t i = 0; i < data->n_sizes; i++) {
        size_t n = 0;
        for (size_t s = 0; s < data->n_series; s++)
            n += parts_at(&data->series[s], data->sizes[i]) != NULL;
        if (n > 0 && n >= most) {
            most = n;
            *size = data->sizes[i];
        }
    }
    return most;
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* The name below a group takes a minimum of slots. */
static void add_group(panel_t *panel, const series_t *series, const case_result_t *result) {
    enum { NAME_SLOTS = 3 };
    static const double GAP = 0.7;
    if (panel->n == MAX_GROUPS)
        return;
    group_t group = {.series = series, .result = result};
    for (size_t i = 0; i < panel->parts->n; i++) {
        const double median = part_ns(panel->parts, i, result);
        range_take(&panel->range_ns, median);
        if (!isfinite(median))
            continue;
        group.n++;
        if (part_is_whole(panel->parts, i, result))
            continue;
        group.n_alone++;
        group.sum_ns += median;
        group.highest_ns = fmax(group.highest_ns, median);
    }
    if (group.n_alone < 2)
        group.sum_ns = NAN;
    const double width = fmax((double)group.n, NAME_SLOTS);
    group.middle = panel->slots + (GAP + width) / 2;
    group.first = group.middle - (double)group.n / 2 + 0.5;
    panel->slots += width + GAP;
    panel->groups[panel->n++] = group;
}

/* In the study's order: rivals, then hand-fused kernels. */
static void add_side(const plot_data_t *data, int64_t size, bool on_gpu, panel_t *panel) {
    for (int ours = 0; ours < 2; ours++)
        for (size_t s = 0; s < data->n_series; s++) {
            const series_t *series = &data->series[s];
            const case_result_t *result = parts_at(series, size);
            if (result != NULL && series->on_gpu == on_gpu &&
                engine_is_ours(series->engine) == (ours == 1))
                add_group(panel, series, result);
        }
}

static size_t make_panels(const plot_data_t *data, int64_t size, const parts_t *parts,
                          panel_t panels[2]) {
    panel_t gpu = {.range_ns = RANGE_INIT, .parts = parts},
            cpu = {.range_ns = RANGE_INIT, .parts = parts};
    add_side(data, size, true, &gpu);
    add_side(data, size, false, &cpu);
    bool separate = cpu.range_ns.high > ONE_PANEL_RATIO * gpu.range_ns.high ||
                    gpu.range_ns.high > ONE_PANEL_RATIO * cpu.range_ns.high;
    panels[0] = gpu;
    panels[1] = cpu;
    if (gpu.n > 0 && cpu.n > 0 && separate)
        return 2;
    for (size_t i = 0; i < cpu.n; i++)
        add_group(&panels[0], cpu.groups[i].series, cpu.groups[i].result);
    return 1;
}

/* ---- table ----------------------------------------------------------------------------------- */

/* Microseconds, three digits: a bar has no room for a unit. */
static const char *number_text(char *text, double ns) {
    double us = ns / 1000;
    int digits = us < 1 ? 3 : us < 10 ? 2 : us < 100 ? 1 : 0;
    snprintf(text, UNITS_TEXT, "%.*f", digits, us);
    return text;
}

static void write_bars(const group_t *group, const parts_t *parts, chart_t *chart) {
    char text[UNITS_TEXT];
    double x = group->first;
    for (size_t i = 0; i < parts->n; i++) {
        const double median = part_ns(parts, i, group->result);
        /* A sum of several phases has no interval. */
        const phase_t *phase = part_phase(parts, i, group->result);
        const double *ci95_ns = result_ci95(group->result, phase != NULL ? phase->name : "");
        if (isfinite(median))
            chart_row(chart, "%.2f %s %s %s %s %d %d", x++, chart_us(chart, median),
                      chart_us(chart, ci95_ns[0]), chart_us(chart, ci95_ns[1]),
                      chart_quote(chart, number_text(text, median)), (int)i,
                      group->result->status == CASE_THROTTLED);
    }
}

/* The name, and a box as high as the sum of the parts timed separately. */
static void write_group(const group_t *group, chart_t *chart) {
    char text[UNITS_TEXT];
    const double left = group->first - 0.5;
    const char *sum_text = isfinite(group->sum_ns)
                               ? chart_format(chart, "Σ %s", number_text(text, group->sum_ns))
                               : "";
    chart_row(chart, "%.2f %s %s %.2f %.2f %s %s %d", group->middle,
              chart_quote(chart, group->series->side), chart_quote(chart, group->series->variant),
              left, left + (double)group->n_alone, chart_us(chart, group->sum_ns),
              chart_quote(chart, sum_text), group->highest_ns > NEAR_THE_TOP * group->sum_ns);
}

static void write_panel(panel_t *panel, chart_t *chart) {
    chart_row(chart, "# bars: medians in µs, 95 %% interval\nx time low high text part throttled");
    for (size_t g = 0; g < panel->n; g++)
        write_bars(&panel->groups[g], panel->parts, chart);
    chart_row(chart, "\n\n# groups: middle, name, box around the parts timed separately, "
                     "their sum in µs\nx engine variant from to sum text raised");
    for (size_t g = 0; g < panel->n; g++) {
        write_group(&panel->groups[g], chart);
        range_take(&panel->range_ns, panel->groups[g].sum_ns);
    }
    chart_row(chart, "\n");
}

/* Ends of the axis in µs; a logarithmic one starts at a decade below the lowest bar. */
static bool axis_of(const panel_t *panel, double least_ns, double most_ns, double *low_us,
                    double *high_us) {
    bool logarithmic = most_ns > LINEAR_RATIO * least_ns;
    double top_us = panel->range_ns.high / 1000;
    *low_us = logarithmic ? pow(10, floor(log10(least_ns / 1000 / 1.5))) : 0;
    *high_us = logarithmic ? top_us * pow(top_us / *low_us, 0.14) : 1.14 * top_us;
    return logarithmic;
}

/* The parts that some contender has: the legend's, each with a block of its own. */
static void write_used(const panel_t *panels, size_t n, chart_t *chart) {
    const parts_t *parts = panels[0].parts;
    int used[MOST_PARTS];
    size_t n_used = 0;
    for (size_t part = 0; part < parts->n; part++) {
        bool any = false;
        for (size_t p = 0; p < n; p++)
            for (size_t g = 0; g < panels[p].n; g++)
                any = any || isfinite(part_ns(parts, part, panels[p].groups[g].result));
        if (!any)
            continue;
        chart_row(chart, "# legend\n%s\nNaN\n\n", chart_quote(chart, parts->names[part]));
        used[n_used++] = (int)part;
    }
    chart_integers(chart, "used", used, n_used);
}

static void write_panels(panel_t *panels, size_t n, chart_t *chart) {
    double slots[2], lows[2], highs[2], all_slots = 0;
    int logarithmic[2];
    for (size_t p = 0; p < n; p++) {
        const range_t bars_ns = panels[p].range_ns;
        write_panel(&panels[p], chart);
        slots[p] = panels[p].slots;
        logarithmic[p] = axis_of(&panels[p], bars_ns.low, bars_ns.high, &lows[p], &highs[p]);
        all_slots += slots[p];
    }
    write_used(panels, n, chart);
    chart_numbers(chart, "n_panels=%zu first_style=%d", n, STYLE_PARTS);
    chart_reals(chart, "slots", slots, n);
    chart_reals(chart, "lows", lows, n);
    chart_reals(chart, "highs", highs, n);
    chart_integers(chart, "logarithmic", logarithmic, n);
    enum { SLOT_WIDTH = 38, FRAME_WIDTH = 95 };
    chart_numbers(chart, "width=%.10g height=%d",
                  fmax(CHART_WIDTH, FRAME_WIDTH * (double)n + 25 + SLOT_WIDTH * all_slots),
                  CHART_HEIGHT);
}

/* Does a contender have one bar for all of them? */
static bool any_whole(const parts_t *parts, const panel_t *panels, size_t n) {
    for (size_t p = 0; p < n; p++)
        for (size_t g = 0; g < panels[p].n; g++)
            for (size_t i = 0; i < parts->n; i++)
                if (part_is_whole(parts, i, panels[p].groups[g].result))
                    return true;
    return false;
}

char *chart_operations(const plot_data_t *data, chart_t *chart) {
    int64_t size;
    if (operations_contenders(data, &size) == 0)
        return mem_text("no case has separately timed parts");
    char text[UNITS_TEXT];
    parts_t parts = {0};
    panel_t panels[2];
    for (size_t s = 0; s < data->n_series; s++) {
        const case_result_t *result = parts_at(&data->series[s], size);
        if (result != NULL)
            parts_add(&parts, result);
    }
    size_t n_panels = make_panels(data, size, &parts, panels);
    chart_init(chart, "operations");
    chart->note =
        chart_format(chart,
                     "%s, %s %s  ·  %s  ·  Σ, outline: sum of those timed separately"
                     "%s%s",
                     data->shape, data->workload->size_param, chart_size_text(text, size),
                     chart_medians(chart, data),
                     any_whole(&parts, panels, n_panels) ? "  ·  fused: all in one, no parts" : "",
                     n_panels > 1 ? "  ·  right: on the CPU" : "");
    write_panels(panels, n_panels, chart);
    return NULL;
}
