#include "analysis/curve.h"

#include "base/memory.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* The file is not trusted: the curve ends at the first point that is not an ascending pair. */
curve_t curve_of(const case_result_t *result, const char *name) {
    curve_t curve = {0};
    if (!result_has_times(result) || result->results_json == NULL)
        return curve;
    json_t *results = json_loads(result->results_json, 0, NULL);
    const json_t *points = json_object_get(results, name);
    const size_t n = json_array_size(points);
    curve.steps = mem_zeroed(n + 1, sizeof *curve.steps);
    curve.values = mem_zeroed(n + 1, sizeof *curve.values);
    for (size_t i = 0; i < n; i++) {
        const json_t *point = json_array_get(points, i);
        const json_t *step = json_array_get(point, 0), *value = json_array_get(point, 1);
        if (!json_is_number(step) || !json_is_number(value) ||
            (curve.n > 0 && json_number_value(step) <= curve.steps[curve.n - 1]))
            break;
        curve.steps[curve.n] = json_number_value(step);
        curve.values[curve.n++] = json_number_value(value);
    }
    json_decref(results);
    return curve;
}

void curve_free(curve_t *curve) {
    free(curve->steps);
    free(curve->values);
    *curve = (curve_t){0};
}

double curve_at(const curve_t *curve, double step) {
    size_t low = 0, high = curve->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curve->steps[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < curve->n && curve->steps[low] == step ? curve->values[low] : NAN;
}

double curve_difference(const curve_t *curve, size_t i, const curve_t *reference) {
    double expected = curve_at(reference, curve->steps[i]);
    return expected != 0 ? fabs(curve->values[i] - expected) / fabs(expected) : NAN;
}

curve_t curve_smooth(const curve_t *curve, size_t window) {
    const size_t reach = window / 2;
    curve_t smooth = {.n = curve->n > 2 * reach ? curve->n - 2 * reach : 0};
    smooth.steps = mem_zeroed(smooth.n + 1, sizeof *smooth.steps);
    smooth.values = mem_zeroed(smooth.n + 1, sizeof *smooth.values);
    for (size_t i = 0; i < smooth.n; i++) {
        double sum = 0;
        for (size_t k = i; k <= i + 2 * reach; k++)
            sum += curve->values[k];
        smooth.steps[i] = curve->steps[i + reach];
        smooth.values[i] = sum / (double)(2 * reach + 1);
    }
    return smooth;
}

size_t curve_window(const curve_t *curve) {
    enum { DEFAULT = 21 };
    const size_t tenth = curve->n / 10 | 1;
    return tenth < DEFAULT ? tenth : DEFAULT;
}

double curve_distance(const curve_t *a, const curve_t *b) {
    double distance = NAN;
    for (size_t i = 0; i < a->n; i++)
        distance = fmax(distance, fabs(a->values[i] - curve_at(b, a->steps[i])));
    return distance;
}
