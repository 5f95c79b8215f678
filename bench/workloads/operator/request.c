/* What a worker in another language needs to know of an operator's case. */
#include "base/memory.h"
#include "workloads/operator/operators.h"

#include <stdlib.h>

static const char *const FILLS[] = {[FILL_UNIFORM] = "uniform",
                                    [FILL_NORMAL] = "normal",
                                    [FILL_INTEGERS] = "integers",
                                    [FILL_PERMUTATION] = "permutation",
                                    [FILL_CONSTANT] = "constant"};

static json_t *array_to_json(const operator_array_t *array, const operator_shape_t *shape) {
    json_t *sizes = json_array();
    for (unsigned i = 0; i < array->n_dimensions; i++)
        json_array_append_new(sizes, json_integer((json_int_t)shape->sizes[i]));
    json_t *json = json_pack("{s:s, s:o, s:s, s:b, s:b}", "name", array->name, "shape", sizes,
                             "dtype", element_name(shape->element), "input", array->is_input,
                             "output", array->is_output);
    if (array->is_input)
        json_object_set_new(json, "fill",
                            json_pack("{s:s, s:f, s:f}", "kind", FILLS[array->fill.kind], "low",
                                      array->fill.low, "high", array->fill.high));
    return json;
}

static json_t *scalars_to_json(const operator_description_t *d) {
    json_t *list = json_array();
    for (size_t i = 0; i < d->n_scalars; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "name", d->scalars[i].name,
                                              "dtype", element_name(d->scalars[i].element),
                                              "value", d->scalars[i].value));
    return list;
}

status_t operators_request(const operator_description_t *d, const case_t *spec, json_t **request,
                           error_t *err) {
    json_t *arrays = json_array();
    for (size_t i = 0; i < d->n_arrays; i++) {
        operator_shape_t shape;
        if (description_shape(d, i, spec, &shape, err) != STATUS_OK) {
            json_decref(arrays);
            return STATUS_FAILED;
        }
        json_array_append_new(arrays, array_to_json(&d->arrays[i], &shape));
    }
    *request = json_pack("{s:s?, s:s, s:s, s:o, s:o, s:b}", "folder", d->folder, "hash", d->hash,
                         "name", d->name, "arrays", arrays, "scalars", scalars_to_json(d),
                         "deterministic", d->deterministic);
    return STATUS_OK;
}
