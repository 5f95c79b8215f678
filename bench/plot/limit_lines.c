#include "plot/limit_lines.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *training_bounds_phase(const plot_data_t *data) {
    const char *name = data->workload->name;
    return strcmp(name, "linreg_train") == 0  ? "train_device"
           : strcmp(name, "mnist_train") == 0 ? "step_device"
                                              : NULL;
}

bool has_training_bounds(const plot_data_t *data) {
    return training_bounds_phase(data) != NULL;
}

const case_t *series_any_at(const plot_data_t *data, int64_t size) {
    for (size_t s = 0; s < data->n_series; s++) {
        const case_result_t *result = series_at(&data->series[s], size);
        if (result != NULL)
            return &result->spec;
    }
    return NULL;
}

static size_t n_known(const case_t *spec, const device_rates_t *rates) {
    size_t n = 0;
    for (int b = 0; b < N_TRAINING_BOUNDS; b++)
        n += isfinite(training_bound_ns(b, spec, rates)) ? 1 : 0;
    return n;
}

/* For the largest of the sizes that have the most bounds: those whose data fit into the L2. */
static const char *worked_example(const plot_data_t *data, const device_rates_t *rates,
                                  chart_t *chart) {
    char text[UNITS_TEXT];
    const case_t *spec = NULL;
    int64_t size = 0;
    for (size_t i = 0; i < data->n_sizes; i++) {
        const case_t *other = series_any_at(data, data->sizes[i]);
        if (spec == NULL || n_known(other, rates) >= n_known(spec, rates)) {
            spec = other;
            size = data->sizes[i];
        }
    }
    const char *example = "";
    for (int b = 0; b < N_TRAINING_BOUNDS && spec != NULL; b++) {
        char *arithmetic = training_bound_arithmetic(b, spec, rates);
        if (arithmetic != NULL)
            example = chart_format(chart, "%s\nlimit at %s %s, %s: %s", example,
                                   data->workload->size_param, chart_size_in(text, data, size),
                                   training_bound_name(b, spec), arithmetic);
        free(arithmetic);
    }
    return example;
}

const char *lines_add_bounds(lines_t *lines, const plot_data_t *data, chart_t *chart) {
    const device_rates_t rates = device_rates_of_record(data->run);
    for (int b = 0; b < N_TRAINING_BOUNDS; b++) {
        double *ns = mem_zeroed(data->n_sizes, sizeof *ns);
        for (size_t i = 0; i < data->n_sizes; i++)
            ns[i] = training_bound_ns(b, series_any_at(data, data->sizes[i]), &rates);
        const char *name = training_bound_name(b, series_any_at(data, data->sizes[0]));
        lines_limit(lines, data, ns, chart_format(chart, "limit: %s", name), STYLE_BOUNDS + b);
    }
    return worked_example(data, &rates, chart);
}
