/* operations of one step of a training: a panel per size, a bar per rung, its stages stacked in the
 * order in which they run. */
#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/axes.h"

#include <math.h>
#include <string.h>

enum { MAX_STAGE_PANELS = 4, MAX_STAGE_ROWS = 24 };

/* A number inside a bar needs this fraction of the panel's width. */
static const double NARROW_FRAC = 0.045;

typedef struct stage_layout {
    const plot_data_t *data;
    const series_t *rows[MAX_STAGE_ROWS]; /* series with stages at any size */
    size_t n_rows;
    int64_t sizes[MAX_STAGE_PANELS];
    double highest_ns[MAX_STAGE_PANELS]; /* sums */
    size_t n_sizes;
} stage_layout_t;

static const case_result_t *stages_at(const series_t *series, int64_t size) {
    const case_result_t *result = series_default_at(series, size);
    return result != NULL && has_step_parts(result) ? result : NULL;
}

static double bar_ns(const case_result_t *result) {
    return fmax(step_parts_sum_ns(result),
                step_part_ns(result, PART_FUSED)); /* it has only one of them */
}

static bool has_size(const stage_layout_t *layout, int64_t size) {
    for (size_t s = 0; s < layout->data->n_series; s++)
        if (stages_at(&layout->data->series[s], size) != NULL)
            return true;
    return false;
}

/* If there are too many sizes: the first ones and the largest. */
static void find_sizes(stage_layout_t *layout) {
    for (size_t i = 0; i < layout->data->n_sizes; i++)
        if (has_size(layout, layout->data->sizes[i])) {
            layout->n_sizes -= layout->n_sizes == MAX_STAGE_PANELS;
            layout->sizes[layout->n_sizes++] = layout->data->sizes[i];
        }
}

static void find_rows(stage_layout_t *layout) {
    for (size_t s = 0; s < layout->data->n_series && layout->n_rows < MAX_STAGE_ROWS; s++) {
        const series_t *series = &layout->data->series[s];
        bool any = false;
        for (size_t i = 0; i < layout->n_sizes; i++) {
            const case_result_t *result = stages_at(series, layout->sizes[i]);
            if (result == NULL)
                continue;
            any = true;
            layout->highest_ns[i] = fmax(layout->highest_ns[i], bar_ns(result));
        }
        if (any)
            layout->rows[layout->n_rows++] = series;
    }
}

/* The suffix of the part's name: the layer of "forward_2", the operand of "backward_weights". */
static const char *piece_of(const char *phase) {
    const char *suffix = strchr(phase, '_');
    return suffix != NULL && strlen(suffix) == 2 ? suffix + 1 : "";
}

static void write_stages(const case_result_t *result, size_t row, double highest_ns,
                         chart_t *chart) {
    double from_ns = 0;
    for (size_t i = 0; i < result->n_phases; i++) {
        const char *phase = result->phases[i].name;
        const step_part_t part = step_part_of(phase);
        const double ns = part != N_STEP_PARTS ? result_median(result, phase) : NAN;
        if (!isfinite(ns))
            continue;
        const char *piece = ns > NARROW_FRAC * highest_ns ? piece_of(phase) : "";
        chart_row(chart, "%zu %s %s %s %d %s", row, chart_us(chart, from_ns),
                  chart_us(chart, from_ns + ns), chart_quote(chart, piece), (int)part,
                  chart_quote(chart, phase));
        from_ns += ns;
    }
}

static void write_panel(const stage_layout_t *layout, size_t panel, chart_t *chart) {
    const int64_t size = layout->sizes[panel];
    chart_row(chart, "\n\n# stages: from and to in µs\nrow from to piece part stage");
    for (size_t r = 0; r < layout->n_rows; r++) {
        const case_result_t *result = stages_at(layout->rows[r], size);
        if (result != NULL)
            write_stages(result, r, layout->highest_ns[panel], chart);
    }
    chart_row(chart, "\n\n# sums in µs\nrow sum text");
    for (size_t r = 0; r < layout->n_rows; r++) {
        char text[UNITS_TEXT];
        const case_result_t *result = stages_at(layout->rows[r], size);
        const case_result_t *any = series_at(layout->rows[r], size);
        const double sum_ns = result != NULL ? bar_ns(result) : 0;
        if (any != NULL)
            chart_row(chart, "%zu %s %s", r, chart_us(chart, sum_ns),
                      chart_quote(chart, result != NULL ? units_time(text, sum_ns)
                                                        : case_status_name(any->status)));
    }
}

char *chart_stages(const plot_data_t *data, chart_t *chart) {
    enum { ROW_HEIGHT = 30, AROUND_ROWS = 190, LEFT = 160 };
    static const double ROOM_FOR_SUMS = 1.28;
    stage_layout_t layout = {.data = data};
    double highs[MAX_STAGE_PANELS];
    find_sizes(&layout);
    find_rows(&layout);
    if (layout.n_rows == 0)
        return mem_text("no case has separately timed operations");
    chart_init(chart, "stages");
    chart->title = "Time of each stage of one step";
    chart->note = chart_format(chart,
                               "%s  ·  medians, each stage alone on an idle device  ·  digits: the "
                               "layer  ·  fused: all in one launch, no parts",
                               data->shape);
    chart_row(chart, "# rows\nrow text");
    for (size_t r = 0; r < layout.n_rows; r++)
        chart_row(chart, "%zu %s", r, chart_quote(chart, layout.rows[r]->variant));
    chart_row(chart, "\n");
    chart_panel_titles(chart, data, layout.sizes, layout.n_sizes);
    for (size_t p = 0; p < layout.n_sizes; p++) {
        highs[p] = ROOM_FOR_SUMS * layout.highest_ns[p] / 1000;
        write_panel(&layout, p, chart);
    }
    chart_reals(chart, "highs", highs, layout.n_sizes);
    chart_numbers(chart, "n_panels=%zu n_rows=%zu n_parts=%d first_style=%d left=%d",
                  layout.n_sizes, layout.n_rows, N_STEP_PARTS, STYLE_PARTS, LEFT);
    chart_size(chart, 0, AROUND_ROWS + ROW_HEIGHT * (int)layout.n_rows);
    return NULL;
}
