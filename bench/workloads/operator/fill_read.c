#include "workloads/operator/description_read.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Integers are made of one random word each; uniform numbers of the difference of two floats. */
#define MOST_INTEGERS 0x1p32
#define LARGEST_FLOAT (FLT_MAX / 2)

static status_t read_pair(const node_t *node, fill_t *fill, error_t *err) {
    if (!json_is_array(node->json) || node_length(node) != 2)
        return node_expected(node, err, "an array of two numbers");
    node_t low = node_item(node, 0), high = node_item(node, 1);
    if (fill->kind == FILL_INTEGERS) {
        int64_t from, to;
        TRY(node_integer(&low, -OPERATOR_LARGEST, OPERATOR_LARGEST, &from, err));
        TRY(node_integer(&high, -OPERATOR_LARGEST, OPERATOR_LARGEST, &to, err));
        fill->low = (double)from;
        fill->high = (double)to;
    } else {
        TRY(node_number(&low, -LARGEST_FLOAT, LARGEST_FLOAT, &fill->low, err));
        TRY(node_number(&high, -LARGEST_FLOAT, LARGEST_FLOAT, &fill->high, err));
    }
    if (fill->kind == FILL_NORMAL && !(fill->high > 0))
        return node_expected(&high, err, "a standard deviation above 0");
    if (fill->kind != FILL_NORMAL && !(fill->low < fill->high))
        return node_expected(&high, err, "an end above the start");
    if (fill->kind == FILL_INTEGERS && fill->high - fill->low > MOST_INTEGERS)
        return node_expected(node, err, "at most 2^32 integers");
    return STATUS_OK;
}

static status_t read_object(const node_t *node, node_t *value, fill_t *fill, error_t *err) {
    static const char *const KEYS[] = {"uniform", "normal", "integers", "constant"};
    static const fill_kind_t KINDS[] = {FILL_UNIFORM, FILL_NORMAL, FILL_INTEGERS, FILL_CONSTANT};
    TRY(node_object(node, KEYS, sizeof KEYS / sizeof KEYS[0], 0, err));
    if (json_object_size(node->json) != 1)
        return node_expected(node, err, "an object with one key");
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        *value = node_member(node, KEYS[i]);
        fill->kind = KINDS[i];
        if (node_exists(value))
            break;
    }
    return fill->kind == FILL_CONSTANT ? node_number(value, -DBL_MAX, DBL_MAX, &fill->low, err)
                                       : read_pair(value, fill, err);
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

/* Does the element type hold every value? How many values a permutation has depends on the case. */
static status_t check_fill(const node_t *node, const fill_t *fill, element_t element,
                           error_t *err) {
    /* A generated normal number is at most this many standard deviations from the mean: 2^-33 is 6.3 of them away. */
    enum { DEVIATIONS = 7 };
    const element_range_t range = element_range(element);
    const char *name = element_name(element);
    const bool is_float = element_is_float(element);
    const double least = fmax(range.least, -range.exact);
    double low = fill->low, high = fill->high;
    char what[120];
    switch (fill->kind) {
    case FILL_NORMAL:
        low = fill->low - DEVIATIONS * fill->high;
        high = fill->low + DEVIATIONS * fill->high;
        /* fall through */
    case FILL_UNIFORM:
        snprintf(what, sizeof what, "\"integers\", \"permutation\" or a constant for %s", name);
        if (is_float)
            snprintf(what, sizeof what, "%s within %s: %g…%g",
                     fill->kind == FILL_NORMAL ? "a mean and 7 standard deviations" : "numbers",
                     name, range.least, range.most);
        if (!is_float || low < range.least || high > range.most)
            return node_expected(node, err, what);
        break;
    case FILL_INTEGERS:
        snprintf(what, sizeof what, "a range within [%.0f,%.0f] for %s (its end is not included)",
                 least, range.exact + 1, name);
        if (low < least || high - 1 > range.exact)
            return node_expected(node, err, what);
        break;
    case FILL_CONSTANT:
        snprintf(what, sizeof what, "a value of %s: %.17g…%.17g", name, range.least, range.most);
        if (low < range.least || low > range.most || (!is_float && low != floor(low)))
            return node_expected(node, err, what);
        break;
    case FILL_PERMUTATION:
    case FILL_FUNCTION:
        break;
    }
    return STATUS_OK;
}

status_t read_fill(const node_t *node, const operator_description_t *description,
                   operator_array_t *array, error_t *err) {
    node_t value = *node;
    array->fill = (fill_t){FILL_NORMAL, 0, 1};
    if (json_is_object(node->json))
        TRY(read_object(node, &value, &array->fill, err));
    else if (node_exists(node))
        TRY(read_word(node, &array->fill, err));
    for (size_t i = 0; i < description->dtypes.n; i++)
        TRY(check_fill(&value, &array->fill, array_element(description, array, i), err));
    return STATUS_OK;
}
