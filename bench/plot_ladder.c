/* ladder: the compute time of each rung, and how far it is from what the hardware allows. */
#include "plot_bars.h"
#include "plot_lines.h"

#include "ground/memory.h"
#include "ground/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a kernel was measured in a graph, that is the time that the limit is compared with. */
static const char *compute_phase(const series_t *series) {
    static const char *const PREFERRED[] = {"kernel_graph", "kernel", "forward"};
    for (size_t i = 0; i < sizeof PREFERRED / sizeof *PREFERRED; i++)
        if (series_has_phase(series, PREFERRED[i]))
            return PREFERRED[i];
    return NULL;
}

/* The limit depends on the batch and the device only: any case of the batch tells it. */
static double limit_at(const plot_data_t *data, const char *label, int64_t batch,
                       text_list_t *bounds) {
    for (size_t s = 0; s < data->n_series; s++) {
        const case_result_t *result = series_at(&data->series[s], batch);
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

static void add_limits(const plot_data_t *data, const char *label, lines_t *lines) {
    double *limits_ns = mem_zeroed(data->n_batches, sizeof *limits_ns);
    text_list_t bounds = {0};
    bool any = false;
    for (size_t i = 0; i < data->n_batches; i++) {
        limits_ns[i] = limit_at(data, label, data->batches[i], &bounds);
        any = any || isfinite(limits_ns[i]);
    }
    if (any) {
        char *names = text_list_join(&bounds, ", ");
        lines->limit_title = bounds.n > 0 ? mem_format("least that the hardware allows (%s)", names)
                                          : mem_text("least that the hardware allows");
        lines->limits_ns = limits_ns;
        free(names);
    } else {
        free(limits_ns);
    }
    text_list_free(&bounds);
}

/* Rungs in their order. `usual` gets the first one's phase; those timed by another say so. */
static void add_rungs(const plot_data_t *data, const char *label, lines_t *lines,
                      const char **usual) {
    for (size_t i = 0; i < data->n_series; i++) {
        const series_t *series = &data->series[i];
        const char *phase = compute_phase(series);
        if (strcmp(series->label, label) != 0 || !series->standard || phase == NULL)
            continue;
        if (*usual == NULL)
            *usual = phase;
        lines_add(lines, series, phase, strcmp(phase, *usual) == 0 ? NULL : phase);
    }
}

char *chart_ladder(const plot_data_t *data, drawing_t *drawing) {
    const char *label = "cuda", *phase = NULL;
    lines_t lines = {0};
    add_rungs(data, label, &lines, &phase);
    if (lines.n == 0) {
        label = "cpu";
        add_rungs(data, label, &lines, &phase);
    }
    if (lines.n == 0)
        return mem_text("no case of CUDA or C has a compute time");
    add_limits(data, label, &lines);
    drawing_init(drawing, "lines");
    drawing->title = mem_format("The %s ladder: compute time of each rung against batch",
                                strcmp(label, "cuda") == 0 ? "CUDA" : "C");
    const char *meaning =
        strcmp(phase, "kernel_graph") == 0 ? ": one launch of many in a CUDA graph" : "";
    drawing->note = mem_format(
        "%s  ·  phase %s%s  ·  medians, 95 %% intervals  ·  hollow: throttled%s", data->shape,
        phase, meaning, lines.limits_ns == NULL ? "  ·  no limit known" : "");
    lines_write(&lines, data, drawing);
    lines_free(&lines);
    return NULL;
}

/* ---- a panel of bars a batch -------------------------------------------------------------------
 */

static const char PANEL_PHASE[] = "kernel_graph";

static bool is_rung(const series_t *series) {
    return strcmp(series->label, "cuda") == 0 && series->standard &&
           series_has_phase(series, PANEL_PHASE);
}

static bool any_rung_at(const plot_data_t *data, int64_t batch) {
    for (size_t s = 0; s < data->n_series; s++) {
        const case_result_t *result =
            is_rung(&data->series[s]) ? series_at(&data->series[s], batch) : NULL;
        if (result != NULL && isfinite(result_median(result, PANEL_PHASE)))
            return true;
    }
    return false;
}

static void write_batch(const plot_data_t *data, int64_t batch, bars_t *bars) {
    char text[UNITS_TEXT], time[UNITS_TEXT], share[UNITS_TEXT];
    text_list_t bounds = {0};
    double limit_ns = limit_at(data, "cuda", batch, &bounds);
    char *title = mem_format("batch %s%s%s", chart_batch_text(text, batch),
                             bounds.n > 0 ? ", limit: " : "", bounds.n > 0 ? bounds.items[0] : "");
    bar_panel_t *panel = bars_panel(bars, title, limit_ns);
    size_t row = 0;
    for (size_t s = 0; s < data->n_series; s++) {
        const series_t *series = &data->series[s];
        if (!is_rung(series))
            continue;
        const case_result_t *result = series_at(series, batch);
        if (result != NULL) {
            double median = result_median(result, PANEL_PHASE);
            char *label =
                mem_format("%s%s%s", units_time(time, median), isfinite(limit_ns) ? ", " : "",
                           isfinite(limit_ns) ? units_percent(share, limit_ns / median) : "");
            bars_bar(panel, row, result, PANEL_PHASE, label, series->style);
            free(label);
        }
        row++;
    }
    text_list_free(&bounds);
    free(title);
}

char *chart_ladder_batch(const plot_data_t *data, drawing_t *drawing) {
    static const int64_t BATCHES[] = {1, 64, 1 << 12, 1 << 20, 1 << 22, 1 << 24};
    enum { COLUMNS = 3, LEFT = 170, LABEL_X = 16 };
    size_t n_rows = 0;
    for (size_t s = 0; s < data->n_series; s++)
        n_rows += is_rung(&data->series[s]);
    if (n_rows == 0)
        return mem_text("no CUDA rung has a time for kernel_graph");
    drawing_init(drawing, "bars");
    drawing->title = mem_text("The CUDA ladder at some batches, and the limit");
    drawing->note =
        mem_format("%s  ·  phase %s, medians with 95 %% intervals  ·  dashed: the least "
                   "that the hardware allows; %%: how much of it is reached",
                   data->shape, PANEL_PHASE);
    bars_t bars = {.drawing = drawing, .n_rows = n_rows, .logarithmic = true};
    fputs("# labels: x in pixels\nrow x text faded\n", drawing->table);
    int row = 0;
    for (size_t s = 0; s < data->n_series; s++)
        if (is_rung(&data->series[s]))
            bars_label(&bars, row++, LABEL_X, data->series[s].variant, false);
    for (size_t b = 0; b < sizeof BATCHES / sizeof *BATCHES; b++)
        if (any_rung_at(data, BATCHES[b]))
            write_batch(data, BATCHES[b], &bars);
    if (bars.n_panels == 0) { /* an odd set of batches: its last one stands for all */
        size_t last = data->n_batches;
        while (!any_rung_at(data, data->batches[last - 1]))
            last--;
        write_batch(data, data->batches[last - 1], &bars);
    }
    bars_write(&bars, COLUMNS, LEFT);
    return NULL;
}
