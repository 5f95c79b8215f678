#include "base/memory.h"
#include "workloads/operator/description_read.h"

#include <math.h>
#include <stdio.h>

enum { ARRAY_REQUIRED = 3 };

static status_t read_shape(const node_t *node, const operator_description_t *description,
                           operator_array_t *array, error_t *err) {
    const size_t n = node_length(node);
    if (!json_is_array(node->json) || n > OPERATOR_DIMENSIONS) {
        char what[80];
        snprintf(what, sizeof what, "an array of at most %d integers and expressions",
                 OPERATOR_DIMENSIONS);
        return node_expected(node, err, what);
    }
    for (size_t i = 0; i < n; i++) {
        node_t size = node_item(node, i);
        TRY(read_expression(&size, description, 1, &array->shape[i], err));
        array->n_dimensions++;
    }
    return STATUS_OK;
}

static status_t read_dtype(const node_t *node, operator_array_t *array, error_t *err) {
    const vocabulary_t known = {"dtype", "", element_names(), ELEMENT_KINDS + 1};
    size_t index;
    TRY(node_choice(node, &known, &index, err));
    array->of_case = index == 0;
    array->element = array->of_case ? ELEMENT_F32 : (element_t)(index - 1);
    return STATUS_OK;
}

/* ---- tolerances ------------------------------------------------------------------------------- */

/* f16, bf16: four roundings of the result (unit roundoff 2^-11, 2^-8), as sums are kept in f32. f32, f64: sums over
 * whole rows in any order; their rounding errors grow with the root of the number of terms, and 1e-5 is 168 unit
 * roundoffs of f32. Integers are exact. */
bounds_t description_bounds(element_t element) {
    static const double REL_L2[ELEMENT_KINDS] = {
        [ELEMENT_F32] = 1e-5, [ELEMENT_F16] = 2e-3, [ELEMENT_BF16] = 1.6e-2, [ELEMENT_F64] = 1e-12};
    return (bounds_t){REL_L2[element], element_is_float(element) ? INFINITY : 0};
}

static status_t read_bounds(const node_t *node, bounds_t *bounds, error_t *err) {
    static const char *const KEYS[] = {"rel_l2", "max_abs"};
    TRY(node_object(node, KEYS, 2, 0, err));
    node_t rel_l2 = node_member(node, "rel_l2"), max_abs = node_member(node, "max_abs");
    if (!node_exists(&rel_l2) && !node_exists(&max_abs))
        return node_expected(node, err, "\"rel_l2\", \"max_abs\" or both");
    *bounds = (bounds_t){INFINITY, INFINITY};
    if (node_exists(&rel_l2))
        TRY(node_number(&rel_l2, 0, 1, &bounds->rel_l2, err));
    if (node_exists(&max_abs))
        TRY(node_number(&max_abs, 0, 1e300, &bounds->max_abs, err));
    return STATUS_OK;
}

static bool has_objects(const json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        if (json_is_object(value))
            return true;
    }
    return false;
}

/* Bounds for all floating-point dtypes, or an object with bounds by the case's dtype. */
static status_t read_tolerance(const node_t *node, const operator_description_t *description,
                               operator_array_t *array, error_t *err) {
    const text_list_t *dtypes = &description->dtypes;
    const bool by_dtype = has_objects(node->json);
    if (by_dtype)
        TRY(node_object(node, (const char *const *)dtypes->items, dtypes->n, 0, err));
    size_t n_floats = 0;
    for (size_t i = 0; i < dtypes->n; i++) {
        const element_t element = array_element(description, array, i);
        const node_t bounds = by_dtype ? node_member(node, dtypes->items[i]) : *node;
        element_t of_case = ELEMENT_F32;
        element_find(dtypes->items[i], &of_case);
        array->bounds[of_case] = description_bounds(element);
        n_floats += element_is_float(element);
        if (!node_exists(&bounds))
            continue;
        if (element_is_float(element))
            TRY(read_bounds(&bounds, &array->bounds[of_case], err));
        else if (by_dtype || (i + 1 == dtypes->n && n_floats == 0))
            return node_error(&bounds, err, "found a tolerance of %s, which is compared exactly",
                              element_name(element));
    }
    return STATUS_OK;
}

/* ---- arrays ----------------------------------------------------------------------------------- */

/* What inputs and outputs share; the array counts from here on. */
static status_t read_array(const node_t *node, operator_description_t *description,
                           operator_array_t *array, error_t *err) {
    node_t name = node_member(node, "name"), shape = node_member(node, "shape");
    node_t dtype = node_member(node, "dtype"), tolerance = node_member(node, "tolerance");
    const char *text;
    TRY(node_text(&name, &text, err));
    TRY(check_identifier(&name, text, description, err));
    array->name = mem_text(text);
    description->n_arrays++;
    TRY(read_shape(&shape, description, array, err));
    TRY(read_dtype(&dtype, array, err));
    return array->is_output ? read_tolerance(&tolerance, description, array, err) : STATUS_OK;
}

static status_t read_input(const node_t *node, operator_description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name", "shape", "dtype", "fill", "in_place", "tolerance"};
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], ARRAY_REQUIRED, err));
    operator_array_t *array = &description->arrays[description->n_arrays];
    node_t in_place = node_member(node, "in_place"), tolerance = node_member(node, "tolerance");
    node_t fill = node_member(node, "fill");
    if (node_exists(&in_place) && !json_is_boolean(in_place.json))
        return node_expected(&in_place, err, "true or false");
    array->is_input = true;
    array->is_output = json_is_true(in_place.json);
    if (node_exists(&tolerance) && !array->is_output)
        return node_error(&tolerance, err,
                          "only for an output, or an input with \"in_place\": true");
    TRY(read_array(node, description, array, err));
    return read_fill(&fill, description, array, err);
}

static status_t read_output(const node_t *node, operator_description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name", "shape", "dtype", "tolerance"};
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], ARRAY_REQUIRED, err));
    operator_array_t *array = &description->arrays[description->n_arrays];
    array->is_output = true;
    return read_array(node, description, array, err);
}

status_t read_arrays(const node_t *top, operator_description_t *description, error_t *err) {
    node_t inputs = node_member(top, "inputs"), outputs = node_member(top, "outputs");
    TRY(node_set(&inputs, err));
    if (node_exists(&outputs))
        TRY(node_set(&outputs, err));
    const size_t n_inputs = node_length(&inputs), n_outputs = node_length(&outputs);
    if (n_inputs + n_outputs > OPERATOR_ARRAYS)
        return node_error(top, err, "found %zu inputs and outputs, expected at most %d",
                          n_inputs + n_outputs, OPERATOR_ARRAYS);
    bool has_output = n_outputs > 0;
    for (size_t i = 0; i < n_inputs; i++) {
        node_t input = node_item(&inputs, i);
        TRY(read_input(&input, description, err));
        has_output = has_output || description->arrays[i].is_output;
    }
    for (size_t i = 0; i < n_outputs; i++) {
        node_t output = node_item(&outputs, i);
        TRY(read_output(&output, description, err));
    }
    if (!has_output)
        return node_error(&outputs, err, "missing: no input has \"in_place\": true either");
    return STATUS_OK;
}
