#include "workloads/described/description_read.h"

#include "base/memory.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_NAME = 64 };

/* Names that mean something else in kernels, in expressions or in a case's id. */
static const char *const RESERVED[] = {
    /* C++20 */
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return",
    "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
    "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline",
    "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
    /* CUDA */
    "blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize",
    /* operators */
    "T", "dtype", "sm_count", "workspace"};

static bool is_reserved(const char *name) {
    size_t n;
    const char *const *functions = expression_functions(&n);
    return text_is_one_of(name, functions, n) ||
           text_is_one_of(name, RESERVED, sizeof RESERVED / sizeof RESERVED[0]);
}

/* ==== names and tolerances ==================================================================== */

static bool is_identifier(const char *name) {
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const size_t length = strlen(name);
    /* What begins with "_" is the compiler's. */
    return length > 0 && length <= LONGEST_NAME && strspn(name, LETTERS) == length &&
           strchr("_0123456789", name[0]) == NULL;
}

static const char *taken_by(const description_t *description, const char *name) {
    if (text_list_has(&description->params, name))
        return "a param";
    for (size_t i = 0; i < description->n_arrays; i++)
        if (strcmp(description->arrays[i].name, name) == 0)
            return "an array";
    for (size_t i = 0; i < description->n_scalars; i++)
        if (strcmp(description->scalars[i].name, name) == 0)
            return "a scalar";
    return NULL;
}

/* Is it a name for a param, an array or a scalar that none read so far has? Kernels have it as an identifier. */
static status_t check_identifier(const node_t *node, const char *name,
                                 const description_t *description, error_t *err) {
    if (!is_identifier(name))
        return node_error(node, err,
                          "found the name \"%s\", expected a letter, then letters, digits and "
                          "\"_\", at most %d",
                          name, LONGEST_NAME);
    if (is_reserved(name))
        return node_error(node, err, "found the name \"%s\", which is reserved", name);
    for (size_t i = 0; i < description->params.n; i++)
        if (strcasecmp(description->params.items[i], name) == 0 &&
            strcmp(description->params.items[i], name) != 0)
            return node_error(node, err,
                              "found the name \"%s\", which differs from \"%s\" in upper and "
                              "lower case only: programs have constants in upper case",
                              name, description->params.items[i]);
    const char *other = taken_by(description, name);
    if (other != NULL)
        return node_error(node, err, "found the name \"%s\", which is that of %s", name, other);
    return STATUS_OK;
}

/* An integer of at least `least`, or an expression over the params. */
static status_t read_expression(const node_t *node, const description_t *description, int64_t least,
                                expression_t **expression, error_t *err) {
    const scope_t scope = {.names = (const char *const *)description->params.items,
                           .n = description->params.n};
    error_t wrong = ERROR_INIT;
    status_t status;
    if (json_is_integer(node->json)) {
        int64_t value = 0;
        TRY(node_integer(node, (double)least, DESCRIBED_LARGEST, &value, err));
        char *text = mem_format("%" PRId64, value);
        status = expression_parse(text, &scope, expression, &wrong);
        free(text);
    } else if (json_is_string(node->json)) {
        status = expression_parse(json_string_value(node->json), &scope, expression, &wrong);
    } else {
        return node_expected(node, err, "an integer or a string with an expression");
    }
    return status == STATUS_OK ? STATUS_OK : node_error(node, err, "%s", wrong.text);
}

/* The element type of an array in cases of the description's dtype number `dtype`. */
static element_t array_element(const description_t *description, const described_array_t *array,
                               size_t dtype) {
    element_t element = array->element;
    if (array->of_case)
        element_find(description->dtypes.items[dtype], &element);
    return element;
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
static status_t read_number(const node_t *node, const description_t *description, fill_kind_t kind,
                            double *value, expression_t **expression, error_t *err) {
    const double most = kind == FILL_CONSTANT ? DBL_MAX : LARGEST_FLOAT;
    int64_t integer;
    if (json_is_string(node->json))
        return read_expression(node, description, 0, expression, err);
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
    TRY(read_number(&low, description, fill->kind, &fill->low, &array->fill_low, err));
    TRY(read_number(&high, description, fill->kind, &fill->high, &array->fill_high, err));
    const char *lacks = has_expressions(array) ? NULL : range_lacks(fill);
    return lacks == NULL ? STATUS_OK : node_expected(&high, err, lacks);
}

static status_t read_object(const node_t *node, const description_t *description,
                            described_array_t *array, node_t *value, error_t *err) {
    static const char *const KEYS[] = {"uniform", "normal", "integers", "constant"};
    static const fill_kind_t KINDS[] = {FILL_UNIFORM, FILL_NORMAL, FILL_INTEGERS, FILL_CONSTANT};
    fill_t *fill = &array->fill;
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], 0, err));
    if (json_object_size(node->json) != 1)
        return node_expected(node, err, "an object with one key");
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        *value = node_member(node, KEYS[i]);
        fill->kind = KINDS[i];
        if (node_exists(value))
            break;
    }
    return fill->kind == FILL_CONSTANT
               ? read_number(value, description, fill->kind, &fill->low, &array->fill_low, err)
               : read_pair(value, description, array, err);
}

static status_t read_word(const node_t *node, fill_t *fill, error_t *err) {
    static const char *const WORDS[] = {"permutation", "zeros", "ones", "function"};
    static const fill_t FILLS[] = {{.kind = FILL_PERMUTATION},
                                   {FILL_CONSTANT, 0, 0},
                                   {FILL_CONSTANT, 1, 0},
                                   {.kind = FILL_FUNCTION}};
    const vocabulary_t known = {"fill", "", WORDS, sizeof WORDS / sizeof WORDS[0]};
    size_t index;
    if (!json_is_string(node->json))
        return node_expected(node, err,
                             "\"permutation\", \"zeros\", \"ones\", \"function\" or an object");
    TRY(node_choice(node, &known, &index, err));
    *fill = FILLS[index];
    return STATUS_OK;
}

/* How many values a permutation has depends on the case. */
const char *fill_lacks(const fill_t *fill, element_t element, char what[FILL_LACKS]) {
    /* A generated normal number is at most this many standard deviations from the mean: 2^-33 is 6.3 of them away. */
    enum { DEVIATIONS = 7 };
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
    array->fill = (fill_t){FILL_NORMAL, 0, 1};
    if (json_is_object(node->json))
        TRY(read_object(node, description, array, &value, err));
    else if (node_exists(node))
        TRY(read_word(node, &array->fill, err));
    for (size_t i = 0; i < description->dtypes.n && !has_expressions(array); i++) {
        char what[FILL_LACKS];
        const char *lacks = fill_lacks(&array->fill, array_element(description, array, i), what);
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
        TRY(read_expression(&size, description, 1, &array->shape[i], err));
        array->n_dimensions++;
    }
    return STATUS_OK;
}

static status_t read_dtype(const node_t *node, described_array_t *array, error_t *err) {
    const vocabulary_t known = {"dtype", "", element_names(), ELEMENT_KINDS + 1};
    size_t index;
    TRY(node_choice(node, &known, &index, err));
    array->of_case = index == 0;
    array->element = array->of_case ? ELEMENT_F32 : (element_t)(index - 1);
    return STATUS_OK;
}

/* ---- tolerances ------------------------------------------------------------------------------- */

/* f16, bf16, e4m3, e5m2: four roundings of the result (unit roundoff 2^-11, 2^-8, 2^-4, 2^-3), as sums are kept in f32. f32, f64: sums over
 * whole rows in any order; their rounding errors grow with the root of the number of terms, and 1e-5 is 168 unit
 * roundoffs of f32. Integers are exact. */
bounds_t description_bounds(element_t element) {
    static const double REL_L2[ELEMENT_KINDS] = {
        [ELEMENT_F32] = 1e-5,  [ELEMENT_F16] = 2e-3,  [ELEMENT_BF16] = 1.6e-2,
        [ELEMENT_F64] = 1e-12, [ELEMENT_E4M3] = 0.25, [ELEMENT_E5M2] = 0.5};
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
static status_t read_tolerance(const node_t *node, const description_t *description,
                               described_array_t *array, error_t *err) {
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
static status_t read_array(const node_t *node, description_t *description, described_array_t *array,
                           error_t *err) {
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

static status_t read_flag(const node_t *object, const char *key, bool *flag, error_t *err) {
    const node_t node = node_member(object, key);
    if (node_exists(&node) && !json_is_boolean(node.json))
        return node_expected(&node, err, "true or false");
    *flag = json_is_true(node.json);
    return STATUS_OK;
}

/* How an input gets to the kernel, if no sample copies it. */
static status_t read_role(const node_t *input, described_array_t *array, error_t *err) {
    static const char *const ROLES[] = {"weights", "by_value", "resident"};
    bool *const flags[] = {&array->is_weight, &array->is_by_value, &array->is_resident};
    for (size_t i = 0; i < 3; i++) {
        const node_t role = node_member(input, ROLES[i]);
        TRY(read_flag(input, ROLES[i], flags[i], err));
        if (*flags[i] && array->is_output)
            return node_error(&role, err, "not with \"in_place\": true: a run changes this input");
    }
    const node_t resident = node_member(input, "resident");
    if (array->is_resident && (array->is_weight || array->is_by_value))
        return node_error(&resident, err, "not with \"%s\": true",
                          array->is_weight ? "weights" : "by_value");
    return STATUS_OK;
}

static status_t read_input(const node_t *node, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name",     "shape",     "dtype",   "fill",    "in_place",
                                       "resident", "tolerance", "weights", "by_value"};
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], ARRAY_REQUIRED, err));
    described_array_t *array = &description->arrays[description->n_arrays];
    node_t fill = node_member(node, "fill"), tolerance = node_member(node, "tolerance");
    array->is_input = true;
    TRY(read_flag(node, "in_place", &array->is_output, err));
    TRY(read_role(node, array, err));
    if (node_exists(&tolerance) && !array->is_output)
        return node_error(&tolerance, err,
                          "only for an output, or an input with \"in_place\": true");
    TRY(read_array(node, description, array, err));
    return read_fill(&fill, description, array, err);
}

static status_t read_output(const node_t *node, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name", "shape", "dtype", "tolerance"};
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], ARRAY_REQUIRED, err));
    described_array_t *array = &description->arrays[description->n_arrays];
    array->is_output = true;
    return read_array(node, description, array, err);
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

/* Of multiply-adds, and of tensor cores with factors of this type. */
static const char *const MATHS[] = {"fp32", "tf32", "f16", "bf16"};

enum { N_MATHS = sizeof MATHS / sizeof MATHS[0] };

/* ---- params and dtypes ------------------------------------------------------------------------ */

/* A case's id and --set have params beside these. */
static status_t check_param_name(const node_t *node, const char *name,
                                 const description_t *description, error_t *err) {
    static const char *const TAKEN[] = {"alloc",  "copy",   "launch",  "wait",    "weights",
                                        "device", "engine", "variant", "workload"};
    for (size_t i = 0; i < sizeof TAKEN / sizeof TAKEN[0]; i++)
        if (strcmp(name, TAKEN[i]) == 0)
            return node_error(node, err,
                              "found the name \"%s\", which is an option of every run: choose "
                              "another",
                              name);
    return check_identifier(node, name, description, err);
}

static status_t read_param(const node_t *node, const char *name, description_t *description,
                           error_t *err) {
    static const char *const KEYS[] = {"default", "min", "max", "constant"};
    const size_t p = description->params.n;
    TRY(check_param_name(node, name, description, err));
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], 1, err));
    node_t by_default = node_member(node, "default"), constant = node_member(node, "constant");
    node_t least = node_member(node, "min"), most = node_member(node, "max");
    description->least[p] = 1;
    description->most[p] = (int64_t)DESCRIBED_LARGEST;
    if (node_exists(&least))
        TRY(node_integer(&least, -DESCRIBED_LARGEST, DESCRIBED_LARGEST, &description->least[p],
                         err));
    if (node_exists(&most))
        TRY(node_integer(&most, (double)description->least[p], DESCRIBED_LARGEST,
                         &description->most[p], err));
    TRY(node_integer(&by_default, (double)description->least[p], (double)description->most[p],
                     &description->defaults[p], err));
    if (node_exists(&constant) && !json_is_boolean(constant.json))
        return node_expected(&constant, err, "true or false");
    description->constant[p] = json_is_true(constant.json);
    text_list_add(&description->params, name);
    return STATUS_OK;
}

static status_t read_params(const node_t *top, description_t *description, error_t *err) {
    node_t params = node_member(top, "params");
    const size_t n = json_object_size(params.json);
    if (!json_is_object(params.json) || n == 0 || n > DESCRIBED_PARAMS)
        return node_expected(&params, err, "an object of 1…16 params");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)params.json, name, value) {
        node_t param = node_member(&params, name);
        TRY(read_param(&param, name, description, err));
    }
    return STATUS_OK;
}

static vocabulary_t param_names(const description_t *description) {
    return (vocabulary_t){"param", "", (const char *const *)description->params.items,
                          description->params.n};
}

static status_t read_size(const node_t *top, description_t *description, error_t *err) {
    const vocabulary_t params = param_names(description);
    node_t size = node_member(top, "size");
    size_t index = params.n - 1;
    if (node_exists(&size))
        TRY(node_choice(&size, &params, &index, err));
    description->size_param = mem_text(params.names[index]);
    return STATUS_OK;
}

/* ---- scalars ---------------------------------------------------------------------------------- */

static status_t read_scalar(const node_t *node, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"name", "dtype", "value"};
    static const char *const DTYPES[] = {"f32", "f64", "i32", "i64"};
    const vocabulary_t dtypes = {"dtype", " of a scalar", DTYPES, 4};
    described_scalar_t *scalar = &description->scalars[description->n_scalars];
    TRY(node_object(node, KEYS, 3, 3, err));
    node_t name = node_member(node, "name"), dtype = node_member(node, "dtype");
    node_t value = node_member(node, "value");
    const char *text;
    size_t index;
    int64_t integer;
    TRY(node_text(&name, &text, err));
    TRY(check_identifier(&name, text, description, err));
    TRY(node_choice(&dtype, &dtypes, &index, err));
    element_find(DTYPES[index], &scalar->element);
    const element_range_t range = element_range(scalar->element);
    if (json_is_string(value.json)) {
        TRY(read_expression(&value, description, 0, &scalar->expression, err));
    } else if (element_is_float(scalar->element)) {
        TRY(node_number(&value, range.least, range.most, &scalar->value, err));
    } else {
        TRY(node_integer(&value, range.least, range.most, &integer, err));
        scalar->value = (double)integer;
    }
    scalar->name = mem_text(text);
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

/* ---- cost and sweep --------------------------------------------------------------------------- */

static status_t read_math(const node_t *math, description_t *description, error_t *err) {
    const text_list_t *dtypes = &description->dtypes;
    const vocabulary_t rates = {"rate", "", MATHS, N_MATHS};
    if (!node_exists(math))
        return STATUS_OK;
    TRY(node_object(math, (const char *const *)dtypes->items, dtypes->n, 0, err));
    for (size_t i = 0; i < dtypes->n; i++) {
        node_t rate = node_member(math, dtypes->items[i]);
        element_t element = ELEMENT_F32;
        size_t index;
        if (!node_exists(&rate))
            continue;
        TRY(node_choice(&rate, &rates, &index, err));
        element_find(dtypes->items[i], &element);
        description->math[element] = MATHS[index];
    }
    return STATUS_OK;
}

static status_t read_cost(const node_t *top, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"bytes", "flops", "math"};
    node_t cost = node_member(top, "cost");
    if (!node_exists(&cost))
        return STATUS_OK;
    TRY(node_object(&cost, KEYS, 3, 0, err));
    node_t bytes = node_member(&cost, "bytes"), flops = node_member(&cost, "flops");
    node_t math = node_member(&cost, "math");
    if (node_exists(&bytes))
        TRY(read_expression(&bytes, description, 0, &description->cost.bytes, err));
    if (node_exists(&flops))
        TRY(read_expression(&flops, description, 0, &description->cost.flops, err));
    else if (node_exists(&math))
        return node_error(&flops, err, "missing: \"math\" is the rate of \"flops\"");
    return read_math(&math, description, err);
}

static status_t check_axis(const node_t *axis, const description_t *description, size_t param,
                           error_t *err) {
    TRY(node_set(axis, err));
    for (size_t i = 0; i < node_length(axis); i++) {
        node_t value = node_item(axis, i);
        int64_t integer;
        TRY(node_integer(&value, (double)description->least[param],
                         (double)description->most[param], &integer, err));
    }
    return STATUS_OK;
}

static status_t check_axes(const node_t *axes, const description_t *description, error_t *err) {
    const text_list_t *params = &description->params, *dtypes = &description->dtypes;
    const vocabulary_t known_dtypes = {"dtype", "", (const char *const *)dtypes->items, dtypes->n};
    const char *names[DESCRIBED_PARAMS + 1];
    for (size_t i = 0; i < params->n; i++)
        names[i] = params->items[i];
    names[params->n] = "dtype";
    TRY(node_object(axes, names, params->n + 1, 0, err));
    for (size_t i = 0; i < params->n; i++) {
        node_t axis = node_member(axes, params->items[i]);
        if (node_exists(&axis))
            TRY(check_axis(&axis, description, i, err));
    }
    node_t dtype = node_member(axes, "dtype");
    text_list_t chosen = {0};
    status_t status =
        node_exists(&dtype) ? node_choices(&dtype, &known_dtypes, &chosen, err) : STATUS_OK;
    text_list_free(&chosen);
    return status;
}

static status_t check_sweep(const node_t *top, const description_t *description, error_t *err) {
    static const char *const KEYS[] = {"quick", "full"};
    node_t sweep = node_member(top, "sweep");
    if (!node_exists(&sweep))
        return STATUS_OK;
    TRY(node_object(&sweep, KEYS, 2, 0, err));
    for (size_t i = 0; i < 2; i++) {
        node_t axes = node_member(&sweep, KEYS[i]);
        if (node_exists(&axes))
            TRY(check_axes(&axes, description, err));
    }
    return STATUS_OK;
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
    const char *text = "";
    TRY(node_integer(&schema, DESCRIPTION_SCHEMA, DESCRIPTION_SCHEMA, &version, err));
    if (node_exists(&dollar_schema))
        TRY(node_text(&dollar_schema, &text, err));
    TRY(node_name(&name, &text, err));
    description->name = mem_text(text);
    text = "";
    if (node_exists(&summary))
        TRY(node_text(&summary, &text, err));
    if (!text_is_plain(text) || strlen(text) > LONGEST_SUMMARY)
        return node_expected(&summary, err, "one line of at most 200 bytes");
    description->summary = mem_text(text);
    return STATUS_OK;
}

status_t read_description(const node_t *top, description_t *description, error_t *err) {
    static const char *const KEYS[] = {"schema",  "name",          "params",  "dtypes",  "inputs",
                                       "$schema", "summary",       "outputs", "scalars", "where",
                                       "cost",    "deterministic", "size",    "sweep",   "splits"};
    const vocabulary_t known = {"dtype", "", element_names() + 1, ELEMENT_KINDS};
    TRY(node_object(top, KEYS, sizeof KEYS / sizeof KEYS[0], 5, err));
    TRY(read_head(top, description, err));
    TRY(read_params(top, description, err));
    TRY(read_size(top, description, err));
    node_t dtypes = node_member(top, "dtypes"), where = node_member(top, "where");
    TRY(node_choices(&dtypes, &known, &description->dtypes, err));
    TRY(read_arrays(top, description, err));
    TRY(read_flag(top, "splits", &description->splits, err));
    TRY(read_scalars(top, description, err));
    if (node_exists(&where))
        TRY(read_expression(&where, description, 0, &description->where, err));
    TRY(read_cost(top, description, err));
    TRY(read_deterministic(top, description, err));
    return check_sweep(top, description, err);
}
