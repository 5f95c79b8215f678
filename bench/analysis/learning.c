#include "analysis/learning.h"

#include "base/memory.h"
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== losses ================================================================================== */

static json_t *value_of(const case_result_t *result, const char *key) {
    return result_has_times(result) ? result_value(result, key) : NULL;
}

/* The file is not trusted: the curve ends at the first point that is not an ascending pair. */
curve_t curve_of(const case_result_t *result, const char *name) {
    curve_t curve = {0};
    json_auto_t *points = value_of(result, name);
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

static double number_of(const json_t *object, const char *key) {
    return json_or_nan(json_object_get(object, key));
}

/* ==== epochs ================================================================================== */

void driver_calls_of(const case_result_t *result, double calls[2]) {
    json_auto_t *epochs = value_of(result, "epochs");
    calls[0] = calls[1] = NAN;
    for (size_t i = 0; i < json_array_size(epochs); i++) {
        const double n = number_of(json_array_get(epochs, i), "driver_calls");
        if (i < 2)
            calls[i] = n;
        else /* what is not told is not zero */
            calls[1] = isnan(calls[1]) || isnan(n) ? (double)NAN : fmax(calls[1], n);
    }
}

bool time_split_of(const case_result_t *result, time_split_t *split) {
    json_auto_t *json = value_of(result, "split");
    *split = (time_split_t){.kernels_ns = number_of(json, "kernels_ns"),
                            .driver_ns = number_of(json, "driver_ns"),
                            .epoch_ns = number_of(json, "epoch_ns")};
    split->gaps_ns = split->epoch_ns - split->kernels_ns - split->driver_ns;
    return split->kernels_ns >= 0 && split->driver_ns >= 0 && split->epoch_ns > 0 &&
           split->gaps_ns >= 0;
}

/* ==== parts of a call or a step =============================================================== */

static const char *const OPERATIONS[] = {"gather",   "forward", "loss",
                                         "backward", "update",  "fused"};
enum { N_OPERATIONS = sizeof OPERATIONS / sizeof *OPERATIONS, BACKWARD = 3, FUSED = 5 };

/* "forward_0", "backward_weights"; but `forward_device` is the phase by another clock. */
static bool is_piece_of(const char *phase, const char *part) {
    const size_t length = strlen(part);
    return strncmp(phase, part, length) == 0 && (phase[length] == '\0' || phase[length] == '_') &&
           strcmp(phase + length, "_device") != 0;
}

static const char *operation_of(const char *phase) {
    for (size_t i = 0; i < N_OPERATIONS; i++)
        if (is_piece_of(phase, OPERATIONS[i]))
            return OPERATIONS[i];
    return is_piece_of(phase, "sgd") ? "update" : NULL;
}

bool is_by_operation(const case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++) {
        const char *phase = result->phases[i].name, *operation = operation_of(phase);
        if ((operation == OPERATIONS[BACKWARD] || operation == OPERATIONS[FUSED]) &&
            isfinite(result_median(result, phase)))
            return true;
    }
    return false;
}

/* The part's name; NULL for other phases. */
static const char *part_of(const case_result_t *result, const phase_t *phase) {
    if (!isfinite(result_median(result, phase->name)))
        return NULL;
    if (text_starts(phase->name, PART_PHASE))
        return phase->name + strlen(PART_PHASE);
    return is_by_operation(result) ? operation_of(phase->name) : NULL;
}

static size_t find_part(const parts_t *parts, const char *name) {
    size_t i = 0;
    while (i < parts->n && strcmp(parts->names[i], name) != 0)
        i++;
    return i == MOST_PARTS ? MOST_PARTS - 1 : i;
}

static void add_part(parts_t *parts, const char *name) {
    const size_t n = parts->n;
    if (find_part(parts, name) < n)
        return;
    parts->names[n] = n < MOST_PARTS - 1 ? name : "others";
    parts->n = n + 1;
}

void parts_add(parts_t *parts, const case_result_t *result) {
    for (size_t i = 0; i < N_OPERATIONS && is_by_operation(result); i++)
        add_part(parts, OPERATIONS[i]);
    for (size_t i = 0; i < result->n_phases; i++) {
        const char *name = part_of(result, &result->phases[i]);
        if (name != NULL)
            add_part(parts, name);
    }
}

/* Ignores NaN; the sum of nothing is NaN. */
static double add_ns(double sum_ns, double ns) {
    return isfinite(sum_ns) && isfinite(ns) ? sum_ns + ns : isfinite(ns) ? ns : sum_ns;
}

double part_ns(const parts_t *parts, size_t part, const case_result_t *result) {
    double sum_ns = NAN;
    for (size_t i = 0; i < result->n_phases; i++) {
        const char *name = part_of(result, &result->phases[i]);
        if (name != NULL && find_part(parts, name) == part)
            sum_ns = add_ns(sum_ns, result_median(result, result->phases[i].name));
    }
    return sum_ns;
}

bool part_is_whole(const parts_t *parts, size_t part, const case_result_t *result) {
    return is_by_operation(result) && strcmp(parts->names[part], OPERATIONS[FUSED]) == 0;
}

double parts_sum_ns(const case_result_t *result) {
    parts_t parts = {0};
    double sum_ns = NAN;
    parts_add(&parts, result);
    for (size_t i = 0; i < parts.n; i++)
        if (!part_is_whole(&parts, i, result))
            sum_ns = add_ns(sum_ns, part_ns(&parts, i, result));
    return sum_ns;
}

const phase_t *part_phase(const parts_t *parts, size_t part, const case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++) {
        const phase_t *phase = &result->phases[i];
        const char *name = part_of(result, phase);
        if (name != NULL && strcmp(name, parts->names[part]) == 0 && text_ends(phase->name, name))
            return phase;
    }
    return NULL;
}

bool has_parts(const case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++)
        if (part_of(result, &result->phases[i]) != NULL)
            return true;
    return false;
}

/* ==== what runs learn ========================================================================= */

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
