/* phases_*: stacked bars on a log axis, as in the study. Their heights are misleading as shares, so
 * the exact shares are printed below. */
#include "analysis/contenders.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"

#include <math.h>
#include <string.h>

/* From bottom to top, with line types of plots/style.gp. No contender has two phases that share a
 * type. */
static const struct {
    const char *name;
    int style;
} PHASES[] = {
    {"init", STYLE_PHASES},       {"malloc", STYLE_PHASES + 1},  {"h2d", STYLE_PHASES + 2},
    {"kernel", STYLE_PHASES + 3}, {"forward", STYLE_PHASES + 4}, {"train", STYLE_PHASES + 4},
    {"d2h", STYLE_PHASES + 5},    {"free", STYLE_PHASES + 6},    {"residual", STYLE_PHASES + 7},
};
enum { N_PHASES = sizeof PHASES / sizeof *PHASES };

typedef struct phase_stack {
    const series_t *series;
    const char *phases[N_PHASES]; /* those that the series has */
    int styles[N_PHASES];
    size_t n;
} phase_stack_t;

static phase_stack_t stack_of(const series_t *series) {
    phase_stack_t stack = {.series = series};
    for (size_t i = 0; i < N_PHASES; i++)
        if (series_has_phase(series, PHASES[i].name)) {
            stack.phases[stack.n] = PHASES[i].name;
            stack.styles[stack.n++] = PHASES[i].style;
        }
    return stack;
}

/* A residual of almost nothing may be below 0. */
static double drawn_ns(const phase_stack_t *stack, size_t i, const case_result_t *result) {
    return fmax(result_median(result, stack->phases[i]), 0);
}

static double height_ns(const phase_stack_t *stack, const case_result_t *result) {
    double sum = 0;
    for (size_t i = 0; i < stack->n; i++)
        sum += drawn_ns(stack, i, result);
    return sum;
}

static void write_times(const phase_stack_t *stack, chart_t *chart) {
    const char *names = "";
    for (size_t i = 0; i < stack->n; i++)
        names = chart_format(chart, "%s %s", names, chart_quote(chart, stack->phases[i]));
    chart_row(chart,
              "# medians in µs; a case that is not ok or throttled has no time\n"
              "index size%s total throttled status",
              names);
    for (size_t i = 0; i < stack->series->n_cases; i++) {
        const case_result_t *result = stack->series->cases[i];
        char size[UNITS_TEXT];
        const char *times = chart_quote(chart, chart_size_text(size, size_of(result)));
        for (size_t j = 0; j < stack->n; j++)
            times = chart_format(chart, "%s %s", times,
                                 chart_us(chart, result_median(result, stack->phases[j])));
        const char *status = result_has_times(result) ? "" : case_status_name(result->status);
        chart_row(chart, "%zu %s %s %d %s", i, times,
                  chart_us(chart, result_median(result, "total")), result->status == CASE_THROTTLED,
                  chart_quote(chart, status));
    }
}

static void share_text(char text[UNITS_TEXT], double share) {
    double percent = 100 * share;
    if (percent >= 9.95)
        snprintf(text, UNITS_TEXT, "%.0f", percent);
    else if (percent >= 0.05)
        snprintf(text, UNITS_TEXT, "%.1f", percent);
    else
        snprintf(text, UNITS_TEXT, percent > 0 ? "<0.1" : "0");
}

/* Rows from the top of the table, which is the bottom of the bars. */
static void write_shares(const phase_stack_t *stack, chart_t *chart) {
    chart_row(chart, "\n\n# shares of the phases' sum, %%\nindex row phase share");
    for (size_t j = 0; j < stack->n; j++)
        for (size_t i = 0; i < stack->series->n_cases; i++) {
            const case_result_t *result = stack->series->cases[i];
            double height = height_ns(stack, result);
            char text[UNITS_TEXT] = "–";
            if (height > 0)
                share_text(text, drawn_ns(stack, j, result) / height);
            chart_row(chart, "%zu %zu %s %s", i, j, chart_quote(chart, stack->phases[j]),
                      chart_quote(chart, text));
        }
}

/* The segment at the bottom of the bar. */
static double lowest_ns(const phase_stack_t *stack, const case_result_t *result) {
    for (size_t i = 0; i < stack->n; i++)
        if (drawn_ns(stack, i, result) > 0)
            return drawn_ns(stack, i, result);
    return NAN;
}

static range_t range_of(const phase_stack_t *stack) {
    range_t range = RANGE_INIT;
    for (size_t i = 0; i < stack->series->n_cases; i++) {
        const case_result_t *result = stack->series->cases[i];
        range_take(&range, lowest_ns(stack, result) / 2); /* each bar shows part of it */
        range_take(&range, height_ns(stack, result));
    }
    return range;
}

/* The engine's set-up of the study, else its fastest; on the GPU if it was run there. */
static const series_t *series_of(const plot_data_t *data, const char *engine) {
    for (int fastest = 0; fastest < 2; fastest++)
        for (size_t i = 0; i < data->n_series; i++) { /* the GPU's first */
            const char *label = data->series[i].label;
            const series_t *series = fastest ? plot_fastest_series(data, label, "total")
                                             : plot_default_series(data, label);
            if (strcmp(data->series[i].engine, engine) == 0 && series != NULL)
                return series;
        }
    return NULL;
}

char *chart_phases(const plot_data_t *data, const char *engine, chart_t *chart) {
    const series_t *series = series_of(data, engine);
    if (series == NULL)
        return mem_format("no case of %s has times", engine_name(engine));
    phase_stack_t stack = stack_of(series);
    range_t range = range_of(&stack);
    if (range.high <= 0)
        return mem_format("no case of %s has times", series->title);
    chart_init(chart, "phases");
    chart->note =
        chart_format(chart,
                     "%s  ·  %s  ·  medians%s  ·  on a log axis the height of a segment is not its "
                     "share: see the numbers below",
                     data->shape, series->title, chart_hollow(data));
    chart_time_axis(chart, &range);
    enum { BARS_HEIGHT = 540, ROW_HEIGHT = 19 };
    chart_size(chart, series->n_cases, BARS_HEIGHT + (int)stack.n * ROW_HEIGHT);
    chart_numbers(chart, "row_height=%d n_bars=%zu n_phases=%zu", ROW_HEIGHT, series->n_cases,
                  stack.n);
    chart_integers(chart, "styles", stack.styles, stack.n);
    write_times(&stack, chart);
    write_shares(&stack, chart);
    return NULL;
}
