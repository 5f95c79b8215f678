#include "analysis/learning.h"

#include "analysis/speedup.h"
#include "base/memory.h"
#include "io/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== losses ================================================================================== */

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

static double number_of(const json_t *object, const char *key) {
    return json_or_nan(json_object_get(object, key));
}

/* ==== epochs ================================================================================== */

static json_t *results_of(const case_result_t *result) {
    bool any = result_has_times(result) && result->results_json != NULL;
    return any ? json_loads(result->results_json, 0, NULL) : NULL;
}

void driver_calls_of(const case_result_t *result, double calls[2]) {
    json_t *results = results_of(result);
    const json_t *epochs = json_object_get(results, "epochs");
    calls[0] = calls[1] = NAN;
    for (size_t i = 0; i < json_array_size(epochs); i++) {
        const double n = number_of(json_array_get(epochs, i), "driver_calls");
        if (i < 2)
            calls[i] = n;
        else /* what is not told is not zero */
            calls[1] = isnan(calls[1]) || isnan(n) ? (double)NAN : fmax(calls[1], n);
    }
    json_decref(results);
}

bool time_split_of(const case_result_t *result, time_split_t *split) {
    json_t *results = results_of(result);
    const json_t *json = json_object_get(results, "split");
    *split = (time_split_t){.kernels_ns = number_of(json, "kernels_ns"),
                            .driver_ns = number_of(json, "driver_ns"),
                            .epoch_ns = number_of(json, "epoch_ns")};
    split->gaps_ns = split->epoch_ns - split->kernels_ns - split->driver_ns;
    json_decref(results);
    return split->kernels_ns >= 0 && split->driver_ns >= 0 && split->epoch_ns > 0 &&
           split->gaps_ns >= 0;
}

const char *allocator_of(const case_t *spec) {
    return case_technique(spec, "allocator");
}

/* ==== parts of a step ========================================================================= */

static const char *const NAMES[] = {"gather", "forward", "loss", "backward", "update", "fused"};

const char *step_part_name(step_part_t part) {
    return NAMES[part];
}

/* "forward_0", "backward_weights"; but `forward_device` is the phase by another clock. */
static bool is_piece_of(const char *phase, const char *part) {
    const size_t length = strlen(part);
    return strncmp(phase, part, length) == 0 && (phase[length] == '\0' || phase[length] == '_') &&
           strcmp(phase + length, "_device") != 0;
}

step_part_t step_part_of(const char *phase) {
    if (is_piece_of(phase, "sgd"))
        return PART_UPDATE;
    step_part_t part = PART_GATHER;
    while (part < N_STEP_PARTS && !is_piece_of(phase, NAMES[part]))
        part++;
    return part;
}

/* Ignores NaN; the sum of nothing is NaN. */
static double add_ns(double sum_ns, double ns) {
    return isfinite(sum_ns) && isfinite(ns) ? sum_ns + ns : isfinite(ns) ? ns : sum_ns;
}

double step_part_ns(const case_result_t *result, step_part_t part) {
    double sum_ns = NAN;
    for (size_t i = 0; i < result->n_phases; i++)
        if (step_part_of(result->phases[i].name) == part)
            sum_ns = add_ns(sum_ns, result_median(result, result->phases[i].name));
    return sum_ns;
}

double step_parts_sum_ns(const case_result_t *result) {
    double sum_ns = NAN;
    for (step_part_t part = PART_GATHER; part < PART_FUSED; part++)
        sum_ns = add_ns(sum_ns, step_part_ns(result, part));
    return sum_ns;
}

bool has_backward_part(const case_result_t *result) {
    return isfinite(step_part_ns(result, PART_BACKWARD)) ||
           isfinite(step_part_ns(result, PART_FUSED));
}

/* ==== what runs learn ========================================================================= */

int64_t seed_of(const case_t *spec) {
    return case_param_int(spec, "seed", 0);
}

bool same_but_seed_and(const case_t *a, const case_t *b, const char *other) {
    bool same = strcmp(a->workload, b->workload) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
                a->n_params == b->n_params;
    for (size_t i = 0; same && i < a->n_params; i++) {
        const char *name = a->params[i].name;
        const value_t *value = case_param(b, name);
        same = strcmp(name, "seed") == 0 || (other != NULL && strcmp(name, other) == 0) ||
               (value != NULL && value_equal(&a->params[i].value, value));
    }
    return same;
}

/* Engine, device, variant and techniques. */
static bool same_contender(const case_t *a, const case_t *b) {
    if (strcmp(a->engine, b->engine) != 0 || strcmp(a->device, b->device) != 0)
        return false;
    char *left = contender_name(a), *right = contender_name(b);
    bool same = strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

static bool has_loss(const case_result_t *result) {
    curve_t curve = curve_of(result, "loss");
    bool has = curve.n > 0;
    curve_free(&curve);
    return has;
}

static int by_seed(const void *a, const void *b) {
    int64_t left = seed_of(&(*(const case_result_t *const *)a)->spec);
    int64_t right = seed_of(&(*(const case_result_t *const *)b)->spec);
    return (left > right) - (left < right);
}

seeds_t seeds_of(const record_t *run, const case_t *like) {
    seeds_t seeds = {.n = 0};
    for (size_t i = 0; i < run->n_cases && seeds.n < MOST_SEEDS; i++) {
        const case_result_t *result = &run->cases[i];
        if (same_but_seed_and(&result->spec, like, NULL) && same_contender(&result->spec, like) &&
            has_loss(result))
            seeds.cases[seeds.n++] = result;
    }
    if (seeds.n > 0)
        qsort(seeds.cases, seeds.n, sizeof seeds.cases[0], by_seed);
    return seeds;
}

const char *weights_dtype(const case_t *spec) {
    const bool of_products = strcmp(spec->dtype, "tf32") == 0 || strcmp(spec->dtype, "mixed") == 0;
    return of_products ? "f32" : spec->dtype;
}

char *weights_of(const case_result_t *result) {
    char *stored = result_string(result, "weights");
    const bool plain = strcmp(result->spec.dtype, "f16") != 0;
    if (stored != NULL || !(plain || case_engine_is_built_in(result->spec.engine)))
        return stored;
    return mem_text(weights_dtype(&result->spec));
}

curve_t smooth_loss(const case_result_t *result) {
    curve_t curve = curve_of(result, "loss");
    curve_t smooth = curve_smooth(&curve, curve_window(&curve));
    curve_free(&curve);
    return smooth;
}
