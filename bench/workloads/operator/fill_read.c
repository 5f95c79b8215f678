#include "workloads/operator/description_read.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Integers are made of one random word each; uniform numbers of the difference of two floats. */
#define MOST_INTEGERS 0x1p32
#define LARGEST_FLOAT (FLT_MAX / 2)

/* Then it is checked where the params have values: description_shape(). */
static bool has_expressions(const operator_array_t *array) {
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
static status_t read_number(const node_t *node, const operator_description_t *description,
                            fill_kind_t kind, double *value, expression_t **expression,
                            error_t *err) {
    const double most = kind == FILL_CONSTANT ? DBL_MAX : LARGEST_FLOAT;
    int64_t integer;
    if (json_is_string(node->json))
        return read_expression(node, description, 0, expression, err);
    if (kind != FILL_INTEGERS)
        return node_number(node, -most, most, value, err);
    TRY(node_integer(node, -OPERATOR_LARGEST, OPERATOR_LARGEST, &integer, err));
    *value = (double)integer;
    return STATUS_OK;
}

static status_t read_pair(const node_t *node, const operator_description_t *description,
                          operator_array_t *array, error_t *err) {
    fill_t *fill = &array->fill;
    if (!json_is_array(node->json) || node_length(node) != 2)
        return node_expected(node, err, "an array of two numbers");
    node_t low = node_item(node, 0), high = node_item(node, 1);
    TRY(read_number(&low, description, fill->kind, &fill->low, &array->fill_low, err));
    TRY(read_number(&high, description, fill->kind, &fill->high, &array->fill_high, err));
    const char *lacks = has_expressions(array) ? NULL : range_lacks(fill);
    return lacks == NULL ? STATUS_OK : node_expected(&high, err, lacks);
}

static status_t read_object(const node_t *node, const operator_description_t *description,
                            operator_array_t *array, node_t *value, error_t *err) {
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

status_t read_fill(const node_t *node, const operator_description_t *description,
                   operator_array_t *array, error_t *err) {
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
