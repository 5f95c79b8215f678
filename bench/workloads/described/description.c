#include "workloads/described/description.h"

#include "base/memory.h"
#include "io/fs.h"
#include "workloads/described/description_read.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values of a case ------------------------------------------------------------------------- */

bool described_starts(const described_shape_t *shape) {
    return shape->array->repeat == NULL || shape->item == 0;
}

size_t described_length(const described_shape_t *shapes, size_t n) {
    size_t length = 1;
    while (length < n && !described_starts(&shapes[length]))
        length++;
    return length;
}

void described_order(const described_shape_t *shapes, size_t n, size_t order[DESCRIBED_SHAPES]) {
    size_t placed = 0;
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < n; i++) {
            const described_array_t *array = shapes[i].array;
            if (pass == (!array->is_input ? 2 : array->is_output ? 1 : 0))
                order[placed++] = i;
        }
}

void description_values(const description_t *description, const case_t *spec, int sm_count,
                        described_values_t *values) {
    const size_t n = description->params.n;
    memcpy(values->lists, description->lists, sizeof values->lists);
    for (size_t i = 0; i < n; i++) {
        const value_t *value = case_param(spec, description->params.items[i]);
        values->names[i] = description->params.items[i];
        values->params[i] = case_param_int(spec, values->names[i], description->defaults[i]);
        if (value != NULL && value->kind == VALUE_INTS)
            values->lists[i] = (scope_list_t){value->ints, value->n_ints};
    }
    values->names[n] = "sm_count";
    values->names[n + 1] = DESCRIBED_ITEM;
    values->params[n] = sm_count;
    values->dtype = description_dtype(description, spec);
    values->scope = (scope_t){values->names, values->params, n + 1,
                              description->types[values->dtype].itemsizes, values->lists};
}

/* A size or an amount, of at least `least`. */
static status_t amount(const expression_t *expression, const described_values_t *values,
                       int64_t least, int64_t *value, error_t *err) {
    TRY(expression_value(expression, &values->scope, value, err));
    if (*value < least)
        return error_set(err, STATUS_FAILED, "\"%s\": %" PRId64 ", expected at least %" PRId64,
                         expression_text(expression), *value, least);
    return STATUS_OK;
}

static status_t check_permutation(const described_shape_t *shape, error_t *err) {
    /* Its order is that of 32-bit words. */
    const double most = fmin(element_range(shape->element).exact, UINT32_MAX) + 1;
    if (!shape->array->is_input || shape->fill.kind != FILL_PERMUTATION || (double)shape->n <= most)
        return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "%s: fill: a permutation of %zu, expected at most %.0f of %s", shape->name,
                     shape->n, most, element_name(shape->element));
}

/* An expression's value, in integers or in float64; without one `value` stays as it is. */
static status_t number_of(const expression_t *expression, const described_values_t *values,
                          bool real, double *value, error_t *err) {
    int64_t integer;
    if (expression == NULL)
        return STATUS_OK;
    if (real)
        return expression_real(expression, &values->scope, value, err);
    TRY(expression_value(expression, &values->scope, &integer, err));
    *value = (double)integer;
    if (fabs(*value) > DESCRIBED_LARGEST)
        return error_set(err, STATUS_FAILED, "\"%s\": %" PRId64 ", expected at most 2^53 - 1",
                         expression_text(expression), integer);
    return STATUS_OK;
}

static status_t compute_range(const described_array_t *array, const described_values_t *values,
                              described_shape_t *shape, error_t *err) {
    fill_t *fill = &shape->fill;
    const bool real = fill->kind == FILL_CONSTANT ? element_is_float(shape->element)
                                                  : fill->kind != FILL_INTEGERS;
    TRY(number_of(array->fill_low, values, real, &fill->low, err));
    TRY(number_of(array->fill_high, values, real, &fill->high, err));
    char what[FILL_LACKS];
    const char *lacks = fill_lacks(fill, shape->element, what);
    if (lacks == NULL)
        return STATUS_OK;
    return fill->kind == FILL_CONSTANT
               ? error_set(err, STATUS_FAILED, "found %.17g, expected %s", fill->low, lacks)
               : error_set(err, STATUS_FAILED, "found [%.17g,%.17g], expected %s", fill->low,
                           fill->high, lacks);
}

static status_t compute_fill(const description_t *description, const described_array_t *array,
                             const described_values_t *values, described_shape_t *shape,
                             error_t *err) {
    fill_t *fill = &shape->fill;
    *fill = array->fill;
    if (array->fill_low != NULL || array->fill_high != NULL)
        TRY(compute_range(array, values, shape, err));
    if (array->fill_adds == 0)
        return STATUS_OK;
    described_shape_t added = {.element = shape->element};
    TRY(compute_fill(description, &description->arrays[array->fill_adds - 1], values, &added, err));
    fill->of_kind = added.fill.kind;
    fill->of_low = added.fill.low;
    fill->of_high = added.fill.high;
    const double most = element_range(shape->element).most;
    return fill_largest(fill) <= most
               ? STATUS_OK
               : error_set(err, STATUS_FAILED,
                           "add: found numbers up to %g, expected up to %g, the largest %s",
                           fill_largest(fill), most, element_name(shape->element));
}

status_t description_bounds_of(const description_t *description, size_t array, size_t item,
                               const case_t *spec, bounds_t *bounds, error_t *err) {
    const described_array_t *of = &description->arrays[array];
    const size_t n = description->params.n;
    described_values_t values;
    description_values(description, spec, 0, &values);
    for (size_t i = 0; i < description->n_own; i++)
        values.params[n + i] = (int64_t)description_choice(description, spec, i);
    values.params[n + description->n_own] = (int64_t)item;
    values.scope.n = n + description->n_own + 1;
    *bounds = of->bounds[values.dtype];
    if (number_of(of->rel_l2[values.dtype], &values, true, &bounds->rel_l2, err) != STATUS_OK)
        return error_within(err, "%s: rel_l2", of->name);
    return of->rel_l2[values.dtype] == NULL || (bounds->rel_l2 >= 0 && bounds->rel_l2 <= 1)
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "%s: rel_l2: \"%s\": %g, expected 0…1", of->name,
                           expression_text(of->rel_l2[values.dtype]), bounds->rel_l2);
}

status_t description_scalar(const description_t *description, size_t scalar, const case_t *spec,
                            double *value, error_t *err) {
    const described_scalar_t *of = &description->scalars[scalar];
    const element_range_t range = element_range(of->element);
    described_values_t values;
    description_values(description, spec, 0, &values);
    const value_t *given = of->is_param ? case_param(spec, of->name) : NULL;
    *value = given != NULL ? given->real : of->value;
    if (number_of(of->expression, &values, element_is_float(of->element), value, err) != STATUS_OK)
        return error_within(err, "%s: value", of->name);
    if (*value < range.least || *value > range.most)
        return error_set(err, STATUS_FAILED, "%s: value: found %.17g, expected %s: %.17g…%.17g",
                         of->name, *value, element_name(of->element), range.least, range.most);
    return STATUS_OK;
}

described_value_t description_scalar_value(const description_t *description, size_t scalar,
                                           const case_t *spec) {
    described_value_t value = {.i64 = 0};
    double number = 0;
    /* The case has passed workload_check(). */
    description_scalar(description, scalar, spec, &number, NULL);
    switch (description->scalars[scalar].element) {
    case ELEMENT_F32:
        value.f32 = (float)number;
        break;
    case ELEMENT_I32:
        value.i32 = (int32_t)number;
        break;
    case ELEMENT_I64:
        value.i64 = (int64_t)number;
        break;
    default:
        value.f64 = number;
    }
    return value;
}

status_t description_steps(const description_t *description, const case_t *spec, size_t *steps,
                           error_t *err) {
    described_values_t values;
    int64_t value = 1;
    description_values(description, spec, 0, &values);
    if (description->steps != NULL &&
        amount(description->steps, &values, 1, &value, err) != STATUS_OK)
        return error_within(err, "training.steps");
    if (value > DESCRIBED_STEPS)
        return error_set(err, STATUS_FAILED,
                         "training.steps: \"%s\": %" PRId64 ", expected at most %d",
                         expression_text(description->steps), value, DESCRIBED_STEPS);
    *steps = (size_t)value;
    return STATUS_OK;
}

size_t description_steps_of(const description_t *description, const case_t *spec) {
    size_t steps = 1;
    description_steps(description, spec, &steps, NULL); /* the case has passed workload_check() */
    return steps;
}

/* A curve has as many values as steps record one. */
static status_t check_curve(const description_t *description, const case_t *spec,
                            const described_values_t *values, described_shape_t *shape,
                            error_t *err) {
    const described_array_t *of = shape->array;
    int64_t every = 1;
    size_t steps;
    if (!of->is_curve)
        return STATUS_OK;
    TRY(description_steps(description, spec, &steps, err));
    if (of->every != NULL && amount(of->every, values, 1, &every, err) != STATUS_OK)
        return error_within(err, "%s: every", of->name);
    const size_t expected = (steps - 1) / (size_t)every + 1;
    if (shape->sizes[0] != expected)
        return error_set(err, STATUS_FAILED,
                         "%s: shape[0]: \"%s\": %zu, expected %zu, as it is a curve of %zu steps "
                         "with a value every %" PRId64,
                         of->name, expression_text(of->shape[0]), shape->sizes[0], expected, steps,
                         every);
    shape->every = (size_t)every;
    return STATUS_OK;
}

/* Number `item` of a list, or an array alone; `i` has the place of sm_count, which no shape may use. */
static status_t shape_of(const description_t *description, const described_array_t *of, size_t item,
                         const case_t *spec, described_shape_t *shape, error_t *err) {
    described_values_t values;
    description_values(description, spec, 0, &values);
    values.params[description->params.n] = (int64_t)item;
    *shape = (described_shape_t){.array = of,
                                 .item = item,
                                 .n = 1,
                                 .element = description_element_of(description, of, values.dtype)};
    snprintf(shape->name, sizeof shape->name, of->repeat != NULL ? "%s_%zu" : "%s", of->name, item);
    int64_t bytes = (int64_t)element_bytes(shape->element);
    for (size_t i = 0; i < of->n_dimensions; i++) {
        int64_t size;
        if (amount(of->shape[i], &values, 1, &size, err) != STATUS_OK)
            return error_within(err, "%s: shape[%zu]", shape->name, i);
        if (__builtin_mul_overflow(bytes, size, &bytes))
            return error_set(err, STATUS_FAILED, "%s: shape: over 2^63 bytes", of->name);
        shape->sizes[i] = (size_t)size;
        shape->n *= (size_t)size;
    }
    shape->bytes = (size_t)bytes;
    if (compute_fill(description, of, &values, shape, err) != STATUS_OK)
        return error_within(err, "%s: fill", shape->name);
    TRY(check_curve(description, spec, &values, shape, err));
    return check_permutation(shape, err);
}

status_t description_shape(const description_t *description, size_t array, const case_t *spec,
                           described_shape_t *shape, error_t *err) {
    return shape_of(description, &description->arrays[array], 0, spec, shape, err);
}

status_t description_arrays(const description_t *description, const case_t *spec,
                            described_shape_t shapes[DESCRIBED_SHAPES], size_t *n, error_t *err) {
    described_values_t values;
    description_values(description, spec, 0, &values);
    *n = 0;
    for (size_t i = 0; i < description->n_arrays; i++) {
        const described_array_t *array = &description->arrays[i];
        int64_t length = 1;
        if (array->repeat != NULL && amount(array->repeat, &values, 1, &length, err) != STATUS_OK)
            return error_within(err, "%s: repeat", array->name);
        if (length > (int64_t)(DESCRIBED_SHAPES - *n))
            return error_set(err, STATUS_FAILED,
                             "%s: repeat: found %" PRId64
                             ", expected at most %zu: %d arrays in all",
                             array->name, length, DESCRIBED_SHAPES - *n, DESCRIBED_SHAPES);
        for (size_t k = 0; k < (size_t)length; k++) {
            bounds_t bounds;
            TRY(shape_of(description, array, k, spec, &shapes[(*n)++], err));
            TRY(description_bounds_of(description, i, k, spec, &bounds, err));
        }
        for (uint32_t k = 0; array->fill_adds > 0 && k < *n; k++)
            if (shapes[k].array == &description->arrays[array->fill_adds - 1])
                shapes[*n - 1].fill.of = k;
    }
    return STATUS_OK;
}

size_t description_choice(const description_t *description, const case_t *spec, size_t technique) {
    const char *const *choices = description->own[technique].choices;
    const char *chosen = case_technique(spec, description->own[technique].name);
    size_t i = 0;
    while (chosen != NULL && choices[i] != NULL && strcmp(choices[i], chosen) != 0)
        i++;
    return choices[i] != NULL ? i : 0;
}

static bool has_choice(const case_t *spec, const char *technique, const char *choice) {
    const char *chosen = case_technique(spec, technique);
    return chosen != NULL && strcmp(chosen, choice) == 0;
}

/* The host sees NaNs disappear. */
static status_t check_polling(const description_t *description, const case_t *spec, error_t *err) {
    for (size_t i = 0; i < description->n_arrays; i++) {
        const described_array_t *array = &description->arrays[i];
        const element_t element =
            description_element_of(description, array, description_dtype(description, spec));
        if (array->is_output && element != ELEMENT_F32 && element != ELEMENT_F16)
            return error_set(err, STATUS_FAILED,
                             "wait=poll: found the output %s of %s, expected f32 or f16",
                             array->name, element_name(element));
    }
    return STATUS_OK;
}

status_t description_techniques(const description_t *description, const case_t *spec,
                                error_t *err) {
    bool weights = false;
    for (size_t i = 0; i < description->n_arrays; i++)
        weights |= description->arrays[i].is_weight;
    if (!weights && has_choice(spec, "weights", "upload"))
        return error_set(err, STATUS_FAILED, "weights=upload: no input of %s has \"weights\": true",
                         description->name);
    if (description->steps != NULL && has_choice(spec, "copy", "overlapped"))
        return error_set(err, STATUS_FAILED,
                         "copy=overlapped: %s is a training, whose steps need all of the input and "
                         "the step before",
                         description->name);
    if (!description->splits && has_choice(spec, "copy", "overlapped"))
        return error_set(err, STATUS_FAILED, "copy=overlapped: %s has no \"splits\": true",
                         description->name);
    return has_choice(spec, "wait", "poll") ? check_polling(description, spec, err) : STATUS_OK;
}

status_t description_where(const description_t *description, const case_t *spec, bool *allowed,
                           error_t *err) {
    described_values_t values;
    int64_t value = 1;
    description_values(description, spec, 0, &values);
    if (description->where != NULL &&
        expression_value(description->where, &values.scope, &value, err) != STATUS_OK)
        return error_within(err, "where");
    *allowed = value != 0;
    return STATUS_OK;
}

static status_t amount_or_nan(const expression_t *expression, const char *key,
                              const described_values_t *values, double *amount_of, error_t *err) {
    int64_t value;
    *amount_of = NAN;
    if (expression == NULL)
        return STATUS_OK;
    if (amount(expression, values, 0, &value, err) != STATUS_OK)
        return error_within(err, "cost.%s", key);
    *amount_of = (double)value;
    return STATUS_OK;
}

status_t description_cost(const description_t *description, const case_t *spec,
                          workload_cost_t *cost, error_t *err) {
    const described_cost_t *of = &description->cost;
    described_values_t values;
    description_values(description, spec, 0, &values);
    TRY(amount_or_nan(of->bytes, "bytes", &values, &cost->bytes, err));
    TRY(amount_or_nan(of->flops, "flops", &values, &cost->flops, err));
    return amount_or_nan(of->working_set, "working_set", &values, &cost->working_set_bytes, err);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static status_t evaluate(const description_t *description, const case_t *spec, bool *allowed,
                         error_t *err) {
    described_shape_t shapes[DESCRIBED_SHAPES];
    size_t n, steps;
    workload_cost_t cost;
    TRY(description_where(description, spec, allowed, err));
    if (!*allowed)
        return STATUS_OK;
    TRY(description_steps(description, spec, &steps, err));
    TRY(description_arrays(description, spec, shapes, &n, err));
    for (size_t i = 0; i < description->n_scalars; i++) {
        double value;
        TRY(description_scalar(description, i, spec, &value, err));
    }
    return description_cost(description, spec, &cost, err);
}

/* Every expression has a value at the default params, which `where` allows at least with the default dtype. */
static status_t check_defaults(const node_t *top, const description_t *description, error_t *err) {
    for (size_t i = 0; i < description->dtypes.n; i++) {
        case_t spec = {.dtype = description->dtypes.items[i]};
        error_t wrong = ERROR_INIT;
        bool allowed = true;
        if (evaluate(description, &spec, &allowed, &wrong) != STATUS_OK)
            return node_error(top, err, "default params, dtype %s: %s", spec.dtype, wrong.text);
        node_t where = node_member(top, "where");
        if (!allowed && i == 0)
            return node_error(&where, err, "\"%s\" is false for the default params and dtype %s",
                              expression_text(description->where), spec.dtype);
    }
    return STATUS_OK;
}

/* Are the default techniques possible? */
static status_t check_techniques(const node_t *top, const description_t *description,
                                 error_t *err) {
    const node_t techniques = node_member(top, "techniques");
    AUTO(case_free) case_t spec = {.dtype = mem_text(description->dtypes.items[0])};
    error_t wrong = ERROR_INIT;
    for (size_t i = 0; i < DESCRIBED_TECHNIQUES; i++)
        case_add_technique(&spec, description->techniques[i].name, description->choices[i][0]);
    return description_techniques(description, &spec, &wrong) == STATUS_OK
               ? STATUS_OK
               : node_error(&techniques, err, "%s", wrong.text);
}

/* Does it depend on the size param? Without this name it cannot be parsed then. */
static bool has_size(const description_t *description, const expression_t *expression) {
    const char *names[DESCRIBED_PARAMS + 1] = {[DESCRIBED_PARAMS] = ""};
    scope_t others = {.names = names,
                      .n = description->params.n + 1,
                      .itemsizes = description->types[0].itemsizes,
                      .lists = description->lists};
    expression_t *parsed = NULL;
    names[description->params.n] = DESCRIBED_ITEM;
    error_t unknown = ERROR_INIT;
    for (size_t i = 0; i < description->params.n; i++) {
        const char *name = description->params.items[i];
        names[i] = strcmp(name, description->workload.size_param) != 0 ? name : "";
    }
    expression_parse(expression_text(expression), &others, &parsed, &unknown);
    expression_free(parsed);
    return parsed == NULL;
}

/* With "splits" rows of arrays are cut, and every output is. */
static status_t check_cut(const node_t *of, const description_t *description,
                          described_array_t *array, error_t *err) {
    const char *size = description->workload.size_param;
    const node_t shape = node_member(of, "shape");
    array->is_cut = array->n_dimensions > 0 && strcmp(expression_text(array->shape[0]), size) == 0;
    for (unsigned i = array->is_cut ? 1 : 0; i < array->n_dimensions; i++)
        if (has_size(description, array->shape[i]))
            return node_error(&shape, err,
                              "\"splits\" cuts %s: expected it as the first size alone", size);
    if (array->is_output && !array->is_cut)
        return node_error(&shape, err, "\"splits\" cuts %s: expected it as the first size", size);
    if (array->is_cut && (array->is_weight || array->is_resident))
        return node_error(&shape, err, "\"splits\" cuts %s: not in an input with \"%s\": true",
                          size, array->is_weight ? "weights" : "resident");
    return STATUS_OK;
}

static status_t check_splits(const node_t *top, description_t *description, error_t *err) {
    const node_t splits = node_member(top, "splits");
    if (description->splits && description->steps != NULL)
        return node_error(&splits, err,
                          "not with \"training\": a part of the size cannot be trained alone");
    for (size_t i = 0; description->splits && i < description->params.n; i++)
        if (description->constant[i] &&
            strcmp(description->params.items[i], description->workload.size_param) == 0)
            return node_error(
                &splits, err,
                "the size param \"%s\" has \"constant\": true, and kernels for a part "
                "get another value",
                description->workload.size_param);
    size_t n = 0;
    for (int of_outputs = 0; description->splits && of_outputs < 2; of_outputs++) {
        const node_t arrays = node_member(top, of_outputs ? "outputs" : "inputs");
        for (size_t i = 0; i < node_length(&arrays); i++) {
            const node_t array = node_item(&arrays, i);
            TRY(check_cut(&array, description, &description->arrays[n++], err));
        }
    }
    return STATUS_OK;
}

static status_t read_and_check(const node_t *top, description_t *description, error_t *err) {
    TRY(read_description(top, description, err));
    TRY(check_splits(top, description, err));
    TRY(check_defaults(top, description, err));
    return check_techniques(top, description, err);
}

status_t description_parse(const char *file, const json_t *json, description_t *description,
                           error_t *err) {
    *description = (description_t){.json = json_incref((json_t *)json)};
    const node_t top = node_root(file, json);
    const status_t status = read_and_check(&top, description, err);
    if (status != STATUS_OK)
        description_free(description);
    return status;
}

static const char NAME[] = "workload.json", FORMER_NAME[] = "operator.json";

char *description_path(const char *folder) {
    AUTO_FREE char *path = fs_join(folder, NAME), *former = fs_join(folder, FORMER_NAME);
    return mem_text(!fs_exists(path) && fs_exists(former) ? former : path);
}

char *description_advice(const description_t *description) {
    AUTO_FREE char *path = description_path(description->folder), *shown = fs_from_here(path);
    return text_ends(path, FORMER_NAME)
               ? mem_format("%s: rename it to %s: the old name is read for one release only", shown,
                            NAME)
               : NULL;
}

/* The description counts under its former name: to rename it changes no hash of a saved run. */
static char *file_path(const char *folder, const char *name) {
    return strcmp(name, FORMER_NAME) == 0 ? description_path(folder) : fs_join(folder, name);
}

/* Add a file's name and content to `hash` (may be NULL); `own` gets the hash of the content alone. */
static status_t hash_file(hash_t *hash, const char *folder, const char *name, char own[HASH_TEXT],
                          error_t *err) {
    AUTO_FREE char *path = file_path(folder, name), *data = NULL;
    size_t size = 0;
    const status_t status = fs_is_folder(path) ? STATUS_OK : fs_read(path, &data, &size, err);
    hash_t *alone = hash_new();
    if (data != NULL)
        hash_add(alone, data, size);
    hash_finish(alone, own);
    if (data != NULL && hash != NULL) {
        hash_add_text(hash, name);
        hash_add(hash, data, size);
    }
    return status;
}

static status_t hash_folder(const char *folder, described_files_t *files, char text[HASH_TEXT],
                            error_t *err) {
    text_list_t *names = &files->names;
    text_list_add(names, FORMER_NAME);
    TRY(fs_list(folder, ".py", names, err));
    TRY(fs_list(folder, ".cu", names, err));
    TRY(fs_list(folder, ".c", names, err));
    if (!text_list_has(names, "reference.py"))
        return error_set(err, STATUS_USAGE,
                         "%s: found no reference.py, which a workload needs beside %s", folder,
                         NAME);
    hash_t *hash = hash_new();
    status_t status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < names->n; i++) {
        char own[HASH_TEXT];
        status = hash_file(hash, folder, names->items[i], own, err);
        text_list_add(&files->hashes, own);
    }
    hash_finish(hash, text);
    return status;
}

/* Does reference.py define this function? Its worker says what is wrong with it. */
static bool reference_defines(const char *folder, const char *name) {
    AUTO_FREE char *path = fs_join(folder, "reference.py"), *text = NULL,
                   *function = mem_format("def %s(", name), *value = mem_format("%s =", name);
    size_t size;
    bool has = false;
    if (fs_read(path, &text, &size, NULL) != STATUS_OK)
        return false;
    AUTO(text_list_free) text_list_t lines = text_split(text, '\n');
    for (size_t i = 0; i < lines.n; i++)
        has |= text_starts(lines.items[i], function) || text_starts(lines.items[i], value);
    return has;
}

/* Is there a reference.c, and may it replace reference.py as the reference output? */
static status_t find_c_reference(const char *folder, description_t *d, error_t *err) {
    static const char *const IN_PYTHON[] = {"verify", "setup", "oracle", "scale"};
    d->has_c_reference = text_list_has(&d->files.names, "reference.c");
    for (size_t i = 0; d->has_c_reference && i < sizeof IN_PYTHON / sizeof *IN_PYTHON; i++)
        if (reference_defines(folder, IN_PYTHON[i]))
            return error_set(err, STATUS_USAGE,
                             "%s/reference.c: found a function %s in reference.py, which only the "
                             "reference in Python can use: expected one of the two",
                             folder, IN_PYTHON[i]);
    return STATUS_OK;
}

static void free_files(described_files_t *files) {
    text_list_free(&files->names);
    text_list_free(&files->hashes);
}

status_t description_check_files(const description_t *description, error_t *err) {
    const described_files_t *files = &description->files;
    for (size_t i = 0; description->folder != NULL && i < files->names.n; i++) {
        const char *name = files->names.items[i];
        char now[HASH_TEXT];
        error_t gone = ERROR_INIT;
        if (text_ends(name, ".cu") ||
            text_ends(name, ".c")) /* compiled before any contender is loaded */
            continue;
        if (hash_file(NULL, description->folder, name, now, &gone) != STATUS_OK ||
            strcmp(now, files->hashes.items[i]) != 0) {
            AUTO_FREE char *path = file_path(description->folder, name);
            return error_set(err, STATUS_FAILED, "%s was changed during the run", path);
        }
    }
    return STATUS_OK;
}

static status_t load(const char *folder, description_t *description, error_t *err) {
    AUTO_FREE char *path = description_path(folder), *text = NULL;
    json_auto_t *json = NULL;
    TRY(node_read(path, &text, err));
    TRY(node_parse(path, text, &json, err));
    AUTO(free_files) described_files_t files = {0};
    char hash[HASH_TEXT];
    TRY(hash_folder(folder, &files, hash, err));
    TRY(description_parse(path, json, description, err));
    memcpy(description->hash, hash, sizeof hash);
    description->files = files;
    files = (described_files_t){0};
    description->folder = realpath(folder, NULL);
    description->has_jax =
        reference_defines(folder, description->steps != NULL ? "jax_step" : "jax_reference");
    description->has_manual_training = reference_defines(folder, "manual_training");
    description->has_dataloader = reference_defines(folder, "dataloader");
    description->has_evaluate = reference_defines(folder, "evaluate");
    return find_c_reference(folder, description, err);
}

status_t description_load(const char *folder, description_t *description, error_t *err) {
    *description = (description_t){0};
    const status_t status = load(folder, description, err);
    if (status != STATUS_OK)
        description_free(description);
    return status;
}

void description_free(description_t *description) {
    for (size_t i = 0; i < description->n_arrays; i++) {
        described_array_t *array = &description->arrays[i];
        for (size_t k = 0; k < array->n_dimensions; k++)
            expression_free(array->shape[k]);
        expression_free(array->repeat);
        expression_free(array->fill_low);
        expression_free(array->fill_high);
        expression_free(array->every);
        for (size_t k = 0; k < DESCRIBED_DTYPES; k++)
            expression_free(array->rel_l2[k]);
    }
    for (size_t i = 0; i < DESCRIBED_PARAMS; i++) /* of one that was refused, too */
        free((void *)description->lists[i].items);
    for (size_t i = 0; i < description->n_scalars; i++)
        expression_free(description->scalars[i].expression);
    expression_free(description->where);
    expression_free(description->steps);
    expression_free(description->whole);
    expression_free(description->seed);
    expression_free(description->cost.bytes);
    expression_free(description->cost.flops);
    expression_free(description->cost.working_set);
    free_files(&description->files);
    text_list_free(&description->params);
    text_list_free(&description->dtypes);
    free(description->folder);
    free((void *)description->workload.study);
    arena_free(&description->texts);
    json_decref(description->json);
    *description = (description_t){0};
}
