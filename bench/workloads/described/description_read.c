#include "workloads/described/description_read.h"

#include "base/memory.h"
#include "model/result.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The params, so many of the techniques of the description's own, and, of an array in a list, its number there. */
static scope_t scope_of(const description_t *description, const described_array_t *array,
                        size_t n_own, const char *names[DESCRIBED_VALUES]) {
    const size_t n = description->params.n;
    for (size_t i = 0; i < n + n_own; i++)
        names[i] = i < n ? description->params.items[i] : description->own[i - n].name;
    names[n + n_own] = DESCRIBED_ITEM;
    return (scope_t){.names = names,
                     .n = n + n_own + (array != NULL && array->repeat != NULL),
                     .itemsizes = description->types[0].itemsizes,
                     .lists = description->lists};
}

static status_t parse(const node_t *node, const char *text, const scope_t *scope,
                      expression_t **expression, error_t *err) {
    error_t wrong = ERROR_INIT;
    return expression_parse(text, scope, expression, &wrong) == STATUS_OK
               ? STATUS_OK
               : node_error(node, err, "%s", wrong.text);
}

/* An integer of at least `least`, or an expression over the params; `array`: its number in a list, too. */
static status_t read_expression_of(const node_t *node, const description_t *description,
                                   const described_array_t *array, int64_t least,
                                   expression_t **expression, error_t *err) {
    const char *names[DESCRIBED_VALUES];
    const scope_t scope = scope_of(description, array, 0, names);
    int64_t value = 0;
    if (json_is_string(node->json))
        return parse(node, json_string_value(node->json), &scope, expression, err);
    if (!json_is_integer(node->json))
        return node_expected(node, err, "an integer or a string with an expression");
    TRY(node_integer(node, (double)least, DESCRIBED_LARGEST, &value, err));
    AUTO_FREE char *text = mem_format("%" PRId64, value);
    return parse(node, text, &scope, expression, err);
}

static status_t read_bound(const node_t *node, const description_t *description,
                           const described_array_t *array, expression_t **expression,
                           error_t *err) {
    const char *names[DESCRIBED_VALUES];
    const scope_t scope = scope_of(description, array, description->n_own, names);
    return parse(node, json_string_value(node->json), &scope, expression, err);
}

/* Of a key, if it is there. */
static status_t read_expression(const node_t *object, const char *key,
                                const description_t *description, int64_t least,
                                expression_t **expression, error_t *err) {
    const node_t node = node_member(object, key);
    return node_exists(&node) ? read_expression_of(&node, description, NULL, least, expression, err)
                              : STATUS_OK;
}

/* ==== fills =================================================================================== */

/* Integers are made of one random word each; uniform numbers of the difference of two floats. */
#define MOST_INTEGERS 0x1p32
#define LARGEST_FLOAT (FLT_MAX / 2)

/* Then it is checked where the params have values: description_shape(). */
static bool has_expressions(const described_array_t *array) {
    return array->fill_low != NULL || array->fill_high != NULL;
}

/* What a range lacks, as "expected" in messages; NULL: nothing. */
static const char *range_lacks(const fill_t *fill) {
    if (fill->kind == FILL_NORMAL && !(fill->high > 0))
        return "a standard deviation above 0";
    if (fill->kind != FILL_NORMAL && !(fill->low < fill->high))
        return "an end above the start";
    return NULL;
}

/* A number, or an expression over the params. */
static status_t read_number(const node_t *node, const description_t *description,
                            const described_array_t *array, double *value,
                            expression_t **expression, error_t *err) {
    const fill_kind_t kind = array->fill.kind;
    const double most = kind == FILL_CONSTANT ? DBL_MAX : LARGEST_FLOAT;
    int64_t integer;
    if (json_is_string(node->json))
        return read_expression_of(node, description, array, 0, expression, err);
    if (kind != FILL_INTEGERS)
        return node_number(node, -most, most, value, err);
    TRY(node_integer(node, -DESCRIBED_LARGEST, DESCRIBED_LARGEST, &integer, err));
    *value = (double)integer;
    return STATUS_OK;
}

static status_t read_pair(const node_t *node, const description_t *description,
                          described_array_t *array, error_t *err) {
    fill_t *fill = &array->fill;
    if (!json_is_array(node->json) || node_length(node) != 2)
        return node_expected(node, err, "an array of two numbers");
    node_t low = node_item(node, 0), high = node_item(node, 1);
    TRY(read_number(&low, description, array, &fill->low, &array->fill_low, err));
    TRY(read_number(&high, description, array, &fill->high, &array->fill_high, err));
    const char *lacks = has_expressions(array) ? NULL : range_lacks(fill);
    return lacks == NULL ? STATUS_OK : node_expected(&high, err, lacks);
}

static bool has_range(const described_array_t *array) {
    return array->fill.kind == FILL_UNIFORM || array->fill.kind == FILL_NORMAL ||
           array->fill.kind == FILL_INTEGERS;
}

static bool is_alike(const described_array_t *a, const described_array_t *b) {
    bool alike = a->letter == b->letter && a->element == b->element &&
                 a->n_dimensions == b->n_dimensions && a->repeat == NULL && b->repeat == NULL;
    for (unsigned i = 0; alike && i < a->n_dimensions; i++)
        alike = strcmp(expression_text(a->shape[i]), expression_text(b->shape[i])) == 0;
    return alike;
}

/* "add": [2, "x"]. Of float32 or float64, whose values are told by one conversion. */
static status_t read_added(const node_t *node, const description_t *description,
                           described_array_t *array, error_t *err) {
    bool wide = has_range(array);
    const char *name;
    if (!json_is_array(node->json) || node_length(node) != 2)
        return node_expected(node, err, "a number and the name of an input");
    node_t times = node_item(node, 0), of = node_item(node, 1);
    TRY(node_number(&times, -LARGEST_FLOAT, LARGEST_FLOAT, &array->fill.times, err));
    if (array->fill.times == 0)
        return node_expected(&times, err, "a number other than 0");
    TRY(node_text(&of, &name, err));
    for (size_t i = 0; i < description->dtypes.n; i++) {
        const element_t element = description_element_of(description, array, i);
        wide &= element == ELEMENT_F32 || element == ELEMENT_F64;
    }
    for (size_t i = 0; i < description->n_arrays; i++) {
        const described_array_t *other = &description->arrays[i];
        if (strcmp(other->name, name) == 0 && has_range(other) && other->fill_adds == 0 &&
            other != array && is_alike(other, array))
            array->fill_adds = i + 1;
    }
    return array->fill_adds > 0 && wide
               ? STATUS_OK
               : node_expected(&of, err,
                               "an input before it of the same shape and type, f32 or f64, both "
                               "with random numbers, and this one without \"add\"");
}

static status_t read_object(const node_t *node, const description_t *description,
                            described_array_t *array, node_t *value, error_t *err) {
    static const char *const KEYS[] = {"uniform", "normal", "integers", "constant", "add"};
    static const fill_kind_t KINDS[] = {FILL_UNIFORM, FILL_NORMAL, FILL_INTEGERS, FILL_CONSTANT};
    enum { N_KINDS = sizeof KINDS / sizeof KINDS[0] };
    fill_t *fill = &array->fill;
    const node_t added = node_member(node, KEYS[N_KINDS]);
    TRY(node_object(node, KEYS, N_KINDS + 1, 0, err));
    if (json_object_size(node->json) != (node_exists(&added) ? 2 : 1))
        return node_expected(node, err, "an object with one key, and perhaps \"add\"");
    for (size_t i = 0; i < N_KINDS; i++) {
        *value = node_member(node, KEYS[i]);
        fill->kind = KINDS[i];
        if (node_exists(value))
            break;
    }
    if (node_exists(&added))
        TRY(read_added(&added, description, array, err));
    return fill->kind == FILL_CONSTANT
               ? read_number(value, description, array, &fill->low, &array->fill_low, err)
               : read_pair(value, description, array, err);
}

static status_t read_word(const node_t *node, fill_t *fill, error_t *err) {
    static const char *const WORDS[] = {"permutation", "zeros", "ones", "function", "data"};
    static const fill_t FILLS[] = {{.kind = FILL_PERMUTATION},
                                   {.kind = FILL_CONSTANT},
                                   {.kind = FILL_CONSTANT, .low = 1},
                                   {.kind = FILL_FUNCTION},
                                   {.kind = FILL_DATA}};
    const vocabulary_t known = {"fill", "", WORDS, sizeof WORDS / sizeof WORDS[0]};
    size_t index;
    if (!json_is_string(node->json))
        return node_expected(
            node, err, "\"permutation\", \"zeros\", \"ones\", \"function\", \"data\" or an object");
    TRY(node_choice(node, &known, &index, err));
    *fill = FILLS[index];
    return STATUS_OK;
}

/* A generated normal number is at most this many standard deviations from the mean: 2^-33 is 6.3 of them away. */
enum { DEVIATIONS = 7 };

static double largest_of(fill_kind_t kind, double low, double high) {
    return kind == FILL_NORMAL ? fabs(low) + DEVIATIONS * high : fmax(fabs(low), fabs(high));
}

double fill_largest(const fill_t *fill) {
    return largest_of(fill->kind, fill->low, fill->high) +
           fabs(fill->times) * largest_of(fill->of_kind, fill->of_low, fill->of_high);
}

/* How many values a permutation has depends on the case. */
const char *fill_lacks(const fill_t *fill, element_t element, char what[FILL_LACKS]) {
    const element_range_t range = element_range(element);
    const char *name = element_name(element);
    const bool is_float = element_is_float(element);
    const double least = fmax(range.least, -range.exact);
    const double spread = fill->kind == FILL_NORMAL ? DEVIATIONS * fill->high : 0;
    const double low = fill->low - spread, high = spread > 0 ? fill->low + spread : fill->high;
    bool holds = true;
    switch (fill->kind) {
    case FILL_NORMAL:
    case FILL_UNIFORM:
        snprintf(what, FILL_LACKS, "\"integers\", \"permutation\" or a constant for %s", name);
        if (is_float)
            snprintf(what, FILL_LACKS, "%s within %s: %g…%g",
                     fill->kind == FILL_NORMAL ? "a mean and 7 standard deviations" : "numbers",
                     name, fmax(range.least, -LARGEST_FLOAT), fmin(range.most, LARGEST_FLOAT));
        holds = is_float && low >= range.least && high <= range.most &&
                fmax(fabs(fill->low), fabs(fill->high)) <= LARGEST_FLOAT;
        break;
    case FILL_INTEGERS:
        snprintf(what, FILL_LACKS, "a range within [%.0f,%.0f] for %s (its end is not included)",
                 least, range.exact + 1, name);
        holds = low >= least && high - 1 <= range.exact;
        if (high - low > MOST_INTEGERS) {
            snprintf(what, FILL_LACKS, "at most 2^32 integers");
            holds = false;
        }
        break;
    case FILL_CONSTANT:
        snprintf(what, FILL_LACKS, "a value of %s: %.17g…%.17g", name, range.least, range.most);
        holds = low >= range.least && low <= range.most && (is_float || low == floor(low));
        break;
    case FILL_PERMUTATION:
    case FILL_FUNCTION:
    case FILL_DATA:
        return NULL;
    }
    if (holds && fill->kind != FILL_CONSTANT)
        return range_lacks(fill);
    return holds ? NULL : what;
}

/* "fill" of an input. */
static status_t read_fill(const node_t *node, const description_t *description,
                          described_array_t *array, error_t *err) {
    node_t value = *node;
    array->fill = (fill_t){.kind = FILL_NORMAL, .high = 1};
    if (json_is_object(node->json))
        TRY(read_object(node, description, array, &value, err));
    else if (node_exists(node))
        TRY(read_word(node, &array->fill, err));
    for (size_t i = 0; i < description->dtypes.n && !has_expressions(array); i++) {
        char what[FILL_LACKS];
        const char *lacks =
            fill_lacks(&array->fill, description_element_of(description, array, i), what);
        if (lacks != NULL)
            return node_expected(&value, err, lacks);
    }
    return STATUS_OK;
}

/* ==== arrays ================================================================================== */

enum { ARRAY_REQUIRED = 3 };

static status_t read_shape(const node_t *node, const description_t *description,
                           described_array_t *array, error_t *err) {
    const size_t n = node_length(node);
    if (!json_is_array(node->json) || n > DESCRIBED_DIMENSIONS) {
        char what[80];
        snprintf(what, sizeof what, "an array of at most %d integers and expressions",
                 DESCRIBED_DIMENSIONS);
        return node_expected(node, err, what);
    }
    for (size_t i = 0; i < n; i++) {
        node_t size = node_item(node, i);
        TRY(read_expression_of(&size, description, array, 1, &array->shape[i], err));
        array->n_dimensions++;
    }
    return STATUS_OK;
}

static status_t read_type(const node_t *node, const description_t *description,
                          described_array_t *array, error_t *err) {
    const char *words[ELEMENT_LETTERS + ELEMENT_KINDS];
    const size_t n_letters = element_words(description->types[0].itemsizes, words);
    const vocabulary_t known = {"dtype", "", words, n_letters + ELEMENT_KINDS};
    size_t index;
    TRY(node_choice(node, &known, &index, err));
    if (index < n_letters)
        array->letter = words[index][0];
    else
        array->element = (element_t)(index - n_letters);
    return STATUS_OK;
}

/* ---- tolerances ------------------------------------------------------------------------------- */

/* Of a long training's curve: the more steps, the less do two of them that round differently agree. */
static status_t read_first(const node_t *node, bool is_curve, bounds_t *bounds, error_t *err) {
    const node_t first = node_member(node, "first");
    int64_t n = 0;
    if (node_exists(&first) && !is_curve)
        return node_error(&first, err,
                          "only with \"curve\": true, of which it is the first values");
    if (node_exists(&first))
        TRY(node_integer(&first, 1, DESCRIBED_STEPS, &n, err));
    bounds->first = (size_t)n;
    return STATUS_OK;
}

/* In cases of a dtype. */
static status_t read_bounds(const node_t *node, const description_t *description,
                            described_array_t *array, size_t dtype, error_t *err) {
    static const char *const KEYS[] = {"rel_l2", "max_abs", "change", "first"};
    bounds_t *bounds = &array->bounds[dtype];
    TRY(node_object(node, KEYS, 4, 0, err));
    node_t rel_l2 = node_member(node, "rel_l2"), max_abs = node_member(node, "max_abs"),
           change = node_member(node, "change");
    if (!node_exists(&rel_l2) && !node_exists(&max_abs) && !node_exists(&change))
        return node_expected(node, err, "\"rel_l2\", \"max_abs\" or both");
    *bounds = (bounds_t){INFINITY, INFINITY, node_exists(&change), 0};
    TRY(read_first(node, array->is_curve, bounds, err));
    if (bounds->of_change && (!array->is_input || node_exists(&rel_l2)))
        return node_error(&change, err,
                          "only for an input with \"in_place\": true, in place of \"rel_l2\"");
    if (bounds->of_change)
        rel_l2 = change;
    if (json_is_string(rel_l2.json))
        TRY(read_bound(&rel_l2, description, array, &array->rel_l2[dtype], err));
    else if (node_exists(&rel_l2))
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
static status_t read_tolerance(const node_t *node, const description_t *description,
                               described_array_t *array, error_t *err) {
    const text_list_t *dtypes = &description->dtypes;
    const bool by_dtype = has_objects(node->json);
    if (by_dtype)
        TRY(node_object(node, (const char *const *)dtypes->items, dtypes->n, 0, err));
    size_t n_floats = 0;
    for (size_t i = 0; i < dtypes->n; i++) {
        const element_t element = description_element_of(description, array, i);
        const node_t bounds = by_dtype ? node_member(node, dtypes->items[i]) : *node;
        array->bounds[i] = dtypes_bounds(description, array, i);
        n_floats += element_is_float(element);
        if (!node_exists(&bounds))
            continue;
        if (element_is_float(element))
            TRY(read_bounds(&bounds, description, array, i, err));
        else if (by_dtype || (i + 1 == dtypes->n && n_floats == 0))
            return node_error(&bounds, err, "found a tolerance of %s, which is compared exactly",
                              element_name(element));
    }
    return STATUS_OK;
}

/* ---- arrays ----------------------------------------------------------------------------------- */

/* What inputs and outputs share; the array counts from here on. */
static status_t read_array(const node_t *node, description_t *description, described_array_t *array,
                           error_t *err) {
    node_t name = node_member(node, "name"), shape = node_member(node, "shape");
    node_t dtype = node_member(node, "dtype"), tolerance = node_member(node, "tolerance");
    TRY(node_text(&name, &array->name, err));
    TRY(check_identifier(&name, array->name, description, err));
    description->n_arrays++;
    TRY(read_shape(&shape, description, array, err));
    TRY(read_type(&dtype, description, array, err));
    return array->is_output ? read_tolerance(&tolerance, description, array, err) : STATUS_OK;
}

/* How an input gets to the kernel, if no sample copies it. */
static status_t read_role(const node_t *input, described_array_t *array, error_t *err) {
    static const char *const ROLES[] = {"weights", "resident"};
    bool *const flags[] = {&array->is_weight, &array->is_resident};
    for (size_t i = 0; i < 2; i++) {
        const node_t role = node_member(input, ROLES[i]);
        TRY(read_flag(input, ROLES[i], flags[i], err));
        if (*flags[i] && array->is_output)
            return node_error(&role, err, "not with \"in_place\": true: a run changes this input");
    }
    const node_t resident = node_member(input, "resident");
    return array->is_resident && array->is_weight
               ? node_error(&resident, err, "not with \"weights\": true")
               : STATUS_OK;
}

/* Of a list. */
static status_t read_repeat(const node_t *input, const description_t *description,
                            described_array_t *array, error_t *err) {
    const node_t repeat = node_member(input, "repeat"), name = node_member(input, "name");
    if (!node_exists(&repeat))
        return STATUS_OK;
    if (text_list_has(&description->params, DESCRIBED_ITEM))
        return node_error(&repeat, err,
                          "\"" DESCRIBED_ITEM "\" is the number of an array in its list: give the "
                          "param of this name another");
    for (size_t i = 0; i < description->n_arrays && json_is_string(name.json); i++)
        if (is_item_of(json_string_value(name.json), description->arrays[i].name))
            return node_error(&name, err,
                              "found the list \"%s\", whose part has the name of the array %s",
                              json_string_value(name.json), description->arrays[i].name);
    return read_expression(input, "repeat", description, 1, &array->repeat, err);
}

static status_t read_input(const node_t *node, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name",     "shape",     "dtype",   "fill",  "in_place",
                                       "resident", "tolerance", "weights", "repeat"};
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], ARRAY_REQUIRED, err));
    described_array_t *array = &description->arrays[description->n_arrays];
    node_t fill = node_member(node, "fill"), tolerance = node_member(node, "tolerance");
    array->is_input = true;
    TRY(read_flag(node, "in_place", &array->is_output, err));
    TRY(read_role(node, array, err));
    TRY(read_repeat(node, description, array, err));
    if (node_exists(&tolerance) && !array->is_output)
        return node_error(&tolerance, err,
                          "only for an output, or an input with \"in_place\": true");
    TRY(read_array(node, description, array, err));
    return read_fill(&fill, description, array, err);
}

/* What a call of several steps leaves besides arrays in place is what it records on the way. */
static status_t read_curve(const node_t *node, const description_t *description,
                           described_array_t *array, error_t *err) {
    const node_t curve = node_member(node, "curve"), every = node_member(node, "every");
    const node_t shape = node_member(node, "shape");
    if (array->is_curve && description->steps == NULL)
        return node_error(&curve, err, "only with \"training\", of whose steps it has values");
    if (!array->is_curve && description->steps != NULL)
        return node_error(&curve, err,
                          "missing: an output of a training is a \"curve\", or an input with "
                          "\"in_place\": true");
    if (!array->is_curve && node_exists(&every))
        return node_error(&every, err, "only with \"curve\": true");
    if (array->is_curve && array->n_dimensions == 0)
        return node_expected(&shape, err, "the number of values first: [\"steps\"]");
    return read_expression(node, "every", description, 1, &array->every, err);
}

static status_t read_output(const node_t *node, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name", "shape", "dtype", "tolerance", "curve", "every"};
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], ARRAY_REQUIRED, err));
    described_array_t *array = &description->arrays[description->n_arrays];
    array->is_output = true;
    TRY(read_flag(node, "curve", &array->is_curve, err));
    TRY(read_array(node, description, array, err));
    return read_curve(node, description, array, err);
}

/* "inputs" and "outputs". */
static status_t read_arrays(const node_t *top, description_t *description, error_t *err) {
    node_t inputs = node_member(top, "inputs"), outputs = node_member(top, "outputs");
    TRY(node_set(&inputs, err));
    if (node_exists(&outputs))
        TRY(node_set(&outputs, err));
    const size_t n_inputs = node_length(&inputs), n_outputs = node_length(&outputs);
    if (n_inputs + n_outputs > DESCRIBED_ARRAYS)
        return node_error(top, err, "found %zu inputs and outputs, expected at most %d",
                          n_inputs + n_outputs, DESCRIBED_ARRAYS);
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

/* ==== the description ========================================================================= */

enum { DESCRIPTION_SCHEMA = 1, LONGEST_SUMMARY = 200 };

/* ---- training --------------------------------------------------------------------------------- */

static status_t read_training(const node_t *top, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"steps", "bounded_by", "whole", "seed"};
    static const char *const BOUNDS[] = {"passes", "steps"};
    static const bounded_by_t KINDS[] = {BOUNDED_BY_PASSES, BOUNDED_BY_STEPS};
    const vocabulary_t bounds = {"bound", "", BOUNDS, 2};
    const node_t training = node_member(top, "training"), params = node_member(top, "params");
    if (!node_exists(&training))
        return STATUS_OK;
    TRY(node_object(&training, KEYS, 4, 1, err));
    const node_t whole = node_member(&training, "whole"), seed = node_member(&training, "seed");
    const node_t bounded_by = node_member(&training, "bounded_by"),
                 taken = node_member(&params, DESCRIBED_STEP);
    if (node_exists(&taken))
        return node_error(&taken, err, "found the name \"%s\", which a training has for its steps",
                          DESCRIBED_STEP);
    size_t index;
    if (node_exists(&bounded_by)) {
        TRY(node_choice(&bounded_by, &bounds, &index, err));
        description->workload.bounded_by = KINDS[index];
    }
    if (node_exists(&seed) && !node_exists(&whole))
        return node_error(&seed, err, "only with \"whole\", whose inputs are those of the seed");
    TRY(read_expression(&training, "whole", description, 1, &description->whole, err));
    TRY(read_expression(&training, "seed", description, 1, &description->seed, err));
    return read_expression(&training, "steps", description, 1, &description->steps, err);
}

/* ---- scalars ---------------------------------------------------------------------------------- */

/* With a range it is a param of cases. */
static status_t read_range(const node_t *node, described_scalar_t *scalar, error_t *err) {
    const node_t least = node_member(node, "min"), most = node_member(node, "max");
    const element_range_t range = element_range(scalar->element);
    scalar->is_param = node_exists(&least) || node_exists(&most);
    if (!scalar->is_param)
        return STATUS_OK;
    if (!element_is_float(scalar->element) || scalar->expression != NULL)
        return node_error(node_exists(&least) ? &least : &most, err,
                          "only for f32 and f64 with a \"value\" that is a number");
    TRY(node_number(&least, range.least, scalar->value, &scalar->least, err));
    return node_number(&most, scalar->value, range.most, &scalar->most, err);
}

static status_t read_scalar(const node_t *node, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name", "dtype", "value", "min", "max"};
    static const char *const DTYPES[] = {"f32", "f64", "i32", "i64"};
    const vocabulary_t dtypes = {"dtype", " of a scalar", DTYPES, 4};
    described_scalar_t *scalar = &description->scalars[description->n_scalars];
    TRY(node_object(node, KEYS, 5, 3, err));
    node_t name = node_member(node, "name"), dtype = node_member(node, "dtype");
    node_t value = node_member(node, "value");
    size_t index;
    int64_t integer;
    TRY(node_text(&name, &scalar->name, err));
    TRY(check_identifier(&name, scalar->name, description, err));
    TRY(node_choice(&dtype, &dtypes, &index, err));
    element_find(DTYPES[index], &scalar->element);
    const element_range_t range = element_range(scalar->element);
    if (json_is_string(value.json)) {
        TRY(read_expression(node, "value", description, 0, &scalar->expression, err));
    } else if (element_is_float(scalar->element)) {
        TRY(node_number(&value, range.least, range.most, &scalar->value, err));
    } else {
        TRY(node_integer(&value, range.least, range.most, &integer, err));
        scalar->value = (double)integer;
    }
    TRY(read_range(node, scalar, err));
    if (scalar->is_param)
        TRY(check_param_name(&name, scalar->name, description, err));
    description->n_scalars++;
    return STATUS_OK;
}

static status_t read_scalars(const node_t *top, description_t *description, error_t *err) {
    node_t scalars = node_member(top, "scalars");
    if (!node_exists(&scalars))
        return STATUS_OK;
    TRY(node_set(&scalars, err));
    if (node_length(&scalars) > DESCRIBED_ARRAYS)
        return node_error(&scalars, err, "found %zu scalars, expected at most %d",
                          node_length(&scalars), DESCRIBED_ARRAYS);
    for (size_t i = 0; i < node_length(&scalars); i++) {
        node_t scalar = node_item(&scalars, i);
        TRY(read_scalar(&scalar, description, err));
    }
    return STATUS_OK;
}

/* ---- cost ------------------------------------------------------------------------------------ */

static status_t read_cost(const node_t *top, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"bytes", "flops", "working_set", "math"};
    const node_t dtypes = node_member(top, "dtypes"), cost = node_member(top, "cost");
    if (!node_exists(&cost))
        return STATUS_OK;
    TRY(node_object(&cost, KEYS, json_is_object(dtypes.json) ? 3 : 4, 0, err));
    const node_t flops = node_member(&cost, "flops"), math = node_member(&cost, "math");
    described_cost_t *of = &description->cost;
    TRY(read_expression(&cost, "bytes", description, 0, &of->bytes, err));
    TRY(read_expression(&cost, "working_set", description, 1, &of->working_set, err));
    TRY(read_expression(&cost, "flops", description, 0, &of->flops, err));
    if (node_exists(&math) && !node_exists(&flops))
        return node_error(&flops, err, "missing: \"math\" is the rate of \"flops\"");
    return dtypes_read_former_math(&math, description, err);
}

/* ---- the whole -------------------------------------------------------------------------------- */

static status_t read_deterministic(const node_t *top, description_t *description, error_t *err) {
    node_t node = node_member(top, "deterministic");
    description->deterministic = !json_is_false(node.json);
    description->needs_deterministic =
        json_is_string(node.json) && strcmp(json_string_value(node.json), "required") == 0;
    if (node_exists(&node) && !json_is_boolean(node.json) && !description->needs_deterministic)
        return node_expected(&node, err, "true, false or \"required\"");
    return STATUS_OK;
}

static status_t read_head(const node_t *top, description_t *description, error_t *err) {
    node_t schema = node_member(top, "schema"), name = node_member(top, "name");
    node_t dollar_schema = node_member(top, "$schema"), summary = node_member(top, "summary");
    int64_t version;
    const char *text;
    TRY(node_integer(&schema, DESCRIPTION_SCHEMA, DESCRIPTION_SCHEMA, &version, err));
    if (node_exists(&dollar_schema))
        TRY(node_text(&dollar_schema, &text, err));
    TRY(node_name(&name, &description->name, err));
    description->workload.summary = text = "";
    if (node_exists(&summary))
        TRY(node_text(&summary, &text, err));
    if (!text_is_plain(text) || strlen(text) > LONGEST_SUMMARY)
        return node_expected(&summary, err, "one line of at most 200 bytes");
    description->workload.summary = text;
    return STATUS_OK;
}

static status_t read_compare(const node_t *top, description_t *description, error_t *err) {
    static const char *const PHASES[] = {COMPUTATION, "host_to_host", PHASE_STEP, PHASE_TRAIN};
    static const char *const COMPARED[] = {COMPUTATION, NULL, PHASE_STEP, PHASE_TRAIN};
    const vocabulary_t phases = {"time", "", PHASES, 4};
    node_t compare = node_member(top, "compare");
    size_t index = 0;
    if (node_exists(&compare))
        TRY(node_choice(&compare, &phases, &index, err));
    description->workload.compared_by = COMPARED[index];
    return index >= 2 && description->steps == NULL
               ? node_error(&compare, err, "only with \"training\"")
               : STATUS_OK;
}

status_t read_description(const node_t *top, description_t *description, error_t *err) {
    static const char *const KEYS[] = {
        "schema",  "name",    "params",   "dtypes",     "inputs",        "$schema", "summary",
        "outputs", "scalars", "where",    "cost",       "deterministic", "size",    "sweep",
        "splits",  "compare", "training", "techniques", "study"};
    TRY(node_object(top, KEYS, sizeof KEYS / sizeof KEYS[0], 5, err));
    TRY(read_head(top, description, err));
    TRY(read_params(top, description, err));
    TRY(read_size(top, description, err));
    TRY(read_training(top, description, err));
    TRY(dtypes_read(top, description, err));
    TRY(read_study(top, description, err));
    TRY(read_techniques(top, description, err));
    TRY(read_arrays(top, description, err));
    TRY(read_flag(top, "splits", &description->splits, err));
    TRY(read_scalars(top, description, err));
    TRY(read_expression(top, "where", description, 0, &description->where, err));
    TRY(read_cost(top, description, err));
    TRY(read_deterministic(top, description, err));
    TRY(read_compare(top, description, err));
    return check_sweep(top, description, err);
}
