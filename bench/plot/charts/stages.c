/* operations of one step of a training, stage by stage: a panel a size, a bar a rung, its stages
 * stacked in the order in which they run. */
#include "analysis/step_parts.h"
#include "plot/axes.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STAGE_PANELS = 4, MAX_STAGE_ROWS = 24 };

/* A number inside a bar needs this share of the panel's width. */
static const double NARROW_FRAC = 0.045;

typedef struct stage_chart {
    const plot_data_t *data;
    const series_t *rows[MAX_STAGE_ROWS]; /* who has stages at any size */
    size_t n_rows;
    int64_t sizes[MAX_STAGE_PANELS];
    double highest_ns[MAX_STAGE_PANELS]; /* sums */
    size_t n_sizes;
} stage_chart_t;

/* ---- which cases -------------------------------------------------------------------------------
 */

static const case_result_t *stages_at(const series_t *series, int64_t size) {
    const case_result_t *result = series->standard ? series_at(series, size) : NULL;
    return result != NULL && has_step_parts(result) ? result : NULL;
}

static double bar_ns(const case_result_t *result) {
    return fmax(step_parts_sum_ns(result), step_part_ns(result, PART_FUSED)); /* one of both */
}

static bool has_size(const stage_chart_t *chart, int64_t size) {
    for (size_t s = 0; s < chart->data->n_series; s++)
        if (stages_at(&chart->data->series[s], size) != NULL)
            return true;
    return false;
}

/* Of too many sizes the first and the largest. */
static void find_sizes(stage_chart_t *chart) {
    for (size_t i = 0; i < chart->data->n_sizes; i++)
        if (has_size(chart, chart->data->sizes[i])) {
            chart->n_sizes -= chart->n_sizes == MAX_STAGE_PANELS;
            chart->sizes[chart->n_sizes++] = chart->data->sizes[i];
        }
}

static void find_rows(stage_chart_t *chart) {
    for (size_t s = 0; s < chart->data->n_series && chart->n_rows < MAX_STAGE_ROWS; s++) {
        const series_t *series = &chart->data->series[s];
        bool any = false;
        for (size_t i = 0; i < chart->n_sizes; i++) {
            const case_result_t *result = stages_at(series, chart->sizes[i]);
            if (result == NULL)
                continue;
            any = true;
            chart->highest_ns[i] = fmax(chart->highest_ns[i], bar_ns(result));
        }
        if (any)
            chart->rows[chart->n_rows++] = series;
    }
}

/* ---- table -------------------------------------------------------------------------------------
 */

static void write_labels(const stage_chart_t *chart, drawing_t *drawing) {
    fputs("# rows\nrow text\n", drawing->table);
    for (size_t r = 0; r < chart->n_rows; r++) {
        fprintf(drawing->table, "%zu", r);
        drawing_text(drawing, chart->rows[r]->variant);
        fputc('\n', drawing->table);
    }
}

static void write_titles(const stage_chart_t *chart, drawing_t *drawing) {
    fputs("\n\n# panels\npanel title\n", drawing->table);
    for (size_t p = 0; p < chart->n_sizes; p++) {
        char *title = mem_format("%s %" PRId64, chart->data->workload->size_param, chart->sizes[p]);
        fprintf(drawing->table, "%zu", p);
        drawing_text(drawing, title);
        fputc('\n', drawing->table);
        free(title);
    }
}

/* What is behind the part's name: the layer of "forward_2", the operand of "backward_weights". */
static const char *piece_of(const char *phase) {
    const char *behind = strchr(phase, '_');
    return behind != NULL && strlen(behind) == 2 ? behind + 1 : "";
}

static void write_stages(const case_result_t *result, size_t row, double highest_ns,
                         drawing_t *drawing) {
    double from_ns = 0;
    for (size_t i = 0; i < result->n_phases; i++) {
        const char *phase = result->phases[i].name;
        const step_part_t part = step_part_of(phase);
        const double ns = part != N_STEP_PARTS ? result_median(result, phase) : NAN;
        if (!isfinite(ns))
            continue;
        fprintf(drawing->table, "%zu", row);
        drawing_us(drawing, from_ns);
        drawing_us(drawing, from_ns + ns);
        drawing_text(drawing, ns > NARROW_FRAC * highest_ns ? piece_of(phase) : "");
        fprintf(drawing->table, " %d", (int)part);
        drawing_text(drawing, phase);
        fputc('\n', drawing->table);
        from_ns += ns;
    }
}

static void write_panel(const stage_chart_t *chart, size_t panel, drawing_t *drawing) {
    fputs("\n\n# stages: from and to in µs\nrow from to piece part stage\n", drawing->table);
    for (size_t r = 0; r < chart->n_rows; r++) {
        const case_result_t *result = stages_at(chart->rows[r], chart->sizes[panel]);
        if (result != NULL)
            write_stages(result, r, chart->highest_ns[panel], drawing);
    }
    fputs("\n\n# sums in µs\nrow sum text\n", drawing->table);
    for (size_t r = 0; r < chart->n_rows; r++) {
        char text[UNITS_TEXT];
        const case_result_t *result = stages_at(chart->rows[r], chart->sizes[panel]);
        const case_result_t *any = series_at(chart->rows[r], chart->sizes[panel]);
        if (any == NULL)
            continue;
        fprintf(drawing->table, "%zu", r);
        drawing_us(drawing, result != NULL ? bar_ns(result) : 0);
        drawing_text(drawing, result != NULL ? units_time(text, bar_ns(result))
                                             : case_status_name(any->status));
        fputc('\n', drawing->table);
    }
}

char *chart_stages(const plot_data_t *data, drawing_t *drawing) {
    enum { ROW_HEIGHT = 30, AROUND_ROWS = 190, LEFT = 160 };
    static const double ROOM_FOR_SUMS = 1.28;
    stage_chart_t chart = {.data = data};
    double highs[MAX_STAGE_PANELS];
    find_sizes(&chart);
    find_rows(&chart);
    if (chart.n_rows == 0)
        return mem_text("no case has its operations timed one by one");
    drawing_init(drawing, "stages");
    drawing->title = mem_text("What each stage of one step takes");
    drawing->note = mem_format("%s  ·  medians, each stage by itself on an idle device  ·  digits: "
                               "the layer  ·  fused: all in one launch, no parts",
                               data->shape);
    write_labels(&chart, drawing);
    write_titles(&chart, drawing);
    for (size_t p = 0; p < chart.n_sizes; p++) {
        highs[p] = ROOM_FOR_SUMS * chart.highest_ns[p] / 1000;
        write_panel(&chart, p, drawing);
    }
    drawing_reals(drawing, "highs", highs, chart.n_sizes);
    drawing_number(drawing, "n_panels", (double)chart.n_sizes);
    drawing_number(drawing, "n_rows", (double)chart.n_rows);
    drawing_number(drawing, "n_parts", N_STEP_PARTS);
    drawing_number(drawing, "first_style", STYLE_PARTS);
    drawing_number(drawing, "left", LEFT);
    chart_size(drawing, 0, AROUND_ROWS + ROW_HEIGHT * (int)chart.n_rows);
    return NULL;
}
