/* techniques: host-to-host times of every combination of host techniques at up to four sizes. */
#include "analysis/contenders.h"
#include "base/memory.h"
#include "base/units.h"
#include "plot/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char PHASE[] = "host_to_host";

static technique_set_t set_of(const plot_data_t *data) {
    const case_result_t **cases = mem_zeroed(data->run->n_cases + 1, sizeof *cases);
    size_t n = 0;
    for (size_t s = 0; s < data->n_series; s++)
        for (size_t i = 0;
             strcmp(data->series[s].label, "cuda") == 0 && i < data->series[s].n_cases; i++)
            if (isfinite(result_median(data->series[s].cases[i], PHASE)))
                cases[n++] = data->series[s].cases[i];
    technique_set_t set = technique_set_of(cases, n);
    free(cases);
    return set;
}

/* A free row between groups of the first technique. The study's choices are faded, so that changes
 * stand out. */
static size_t *write_labels(const technique_set_t *set, panels_t *bars) {
    enum { FIRST_X = 16, COLUMN_WIDTH = 66 };
    size_t *places = mem_zeroed(set->n_rows, sizeof *places);
    for (size_t t = 0; t < set->n_techniques; t++)
        panels_label(bars, -1, FIRST_X + (int)t * COLUMN_WIDTH, set->techniques[t].name, false);
    for (size_t r = 0; r < set->n_rows; r++) {
        const technique_row_t *row = &set->rows[r];
        places[r] = bars->n_rows + (r > 0 && row->choices[0] != row[-1].choices[0]);
        for (size_t t = 0; t < set->n_techniques; t++)
            panels_label(bars, (int)places[r], FIRST_X + (int)t * COLUMN_WIDTH,
                         technique_choice(set, row, t), row->choices[t] == 0);
    }
    return places;
}

static const technique_row_t *fastest_row(const technique_set_t *set, size_t b) {
    const technique_row_t *fastest = NULL;
    double least_ns = INFINITY;
    for (size_t r = 0; r < set->n_rows; r++) {
        const case_result_t *result = set->rows[r].cases[b];
        double median = result != NULL ? result_median(result, PHASE) : NAN;
        if (result != NULL && result->status == CASE_OK && median < least_ns) {
            least_ns = median;
            fastest = &set->rows[r];
        }
    }
    return fastest;
}

static double find_default_ns(const technique_set_t *set, size_t b) {
    for (size_t r = 0; r < set->n_rows; r++)
        if (technique_row_is_default(set, &set->rows[r]) && set->rows[r].cases[b] != NULL)
            return result_median(set->rows[r].cases[b], PHASE);
    return NAN;
}

/* Speed relative to the study's set-up. */
static void bar_text(char text[UNITS_TEXT], const technique_set_t *set, const technique_row_t *row,
                     double default_ns, double median, bool fastest) {
    char digits[UNITS_TEXT];
    if (technique_row_is_default(set, row))
        snprintf(text, UNITS_TEXT, "1×");
    else if (isfinite(default_ns))
        snprintf(text, UNITS_TEXT, "%.20s×%s", units_two_digits(digits, default_ns / median),
                 fastest ? " fastest" : "");
    else
        snprintf(text, UNITS_TEXT, fastest ? "fastest" : "");
}

static const series_t *series_of(const plot_data_t *data, const char *variant) {
    for (size_t s = 0; s < data->n_series; s++)
        if (strcmp(data->series[s].label, "cuda") == 0 &&
            strcmp(data->series[s].variant, variant) == 0)
            return &data->series[s];
    return NULL;
}

static void write_panel(const plot_data_t *data, const technique_set_t *set, size_t b,
                        const size_t *places, panels_t *bars) {
    char size[UNITS_TEXT], text[UNITS_TEXT];
    double default_ns = find_default_ns(set, b);
    panel_t *panel = panels_add(bars, chart_format(bars->chart, "%s %s", data->workload->size_param,
                                                   chart_size_text(size, set->batches[b])));
    panel_line(panel, default_ns);
    const technique_row_t *fastest = fastest_row(set, b);
    const series_t *series = series_of(data, set->variant);
    for (size_t r = 0; r < set->n_rows; r++) {
        const technique_row_t *row = &set->rows[r];
        if (row->cases[b] == NULL)
            continue;
        double median = result_median(row->cases[b], PHASE);
        bar_text(text, set, row, default_ns, median, row == fastest);
        panel_bar(panel, places[r], row->cases[b], PHASE, text, series != NULL ? series->style : 1);
    }
}

char *chart_techniques(const plot_data_t *data, chart_t *chart) {
    enum { LEFT = 350 };
    technique_set_t set = set_of(data);
    if (set.variant == NULL || set.n_rows < 2) {
        technique_set_free(&set);
        return mem_text("no CUDA rung was run with several host techniques");
    }
    panels_t bars = panels_open(chart, false, "the study's choice");
    chart->title = chart_format(chart, "Host techniques side by side: CUDA %s", set.variant);
    chart->note = chart_format(chart,
                               "%s  ·  phase %s, %s  ·  dashed, 1×: the study's set-up; n×: n "
                               "times as fast  ·  grey: as in the study%s",
                               data->shape, PHASE, chart_medians(chart, data), chart_hollow(data));
    size_t *places = write_labels(&set, &bars);
    for (size_t b = 0; b < set.n_batches; b++)
        write_panel(data, &set, b, places, &bars);
    panels_write(&bars, set.n_batches, LEFT);
    free(places);
    technique_set_free(&set);
    return NULL;
}
