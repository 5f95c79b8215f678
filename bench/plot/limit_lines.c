#include "plot/limit_lines.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    static const char *const NAMES[] = {[BOUND_DRAM] = "every epoch from DRAM",
                                        [BOUND_L2] = "every epoch from the L2",
                                        [BOUND_BARRIER] = "a grid barrier per epoch",
                                        [BOUND_ONCE] = "read once from DRAM",
                                        [BOUND_WEIGHTS] = "W per step, in DRAM",
                                        [BOUND_KEPT] = "W, less what the L2 keeps"};
    return bound < BOUND_WEIGHTS ? NAMES[bound]
                                 : chart_format(chart, "%g·%s", times, NAMES[bound]);
}

/* "200 × 32.0 MB / 4.00 TB/s = 1.60 ms", "200 × 1.00 µs = 200 µs" */
static const char *arithmetic_of(const lower_bound_t *bound, chart_t *chart) {
    char time[UNITS_TEXT], each[UNITS_TEXT], rate[UNITS_TEXT];
    units_time(time, bound->ns);
    return bound->bytes > 0
               ? chart_format(chart, "%g × %s / %s = %s", bound->times,
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
