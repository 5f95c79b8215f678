#include "workloads/described/description_read.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- of a case -------------------------------------------------------------------------------- */

size_t description_dtype(const description_t *description, const case_t *spec) {
    size_t i = 0;
    while (i + 1 < description->dtypes.n && strcmp(description->dtypes.items[i], spec->dtype) != 0)
        i++;
    return i;
}

element_t description_element(const description_t *description, size_t dtype) {
    return description->types[dtype].elements['T' - 'A'];
}

element_t description_element_of(const description_t *description, const described_array_t *array,
                                 size_t dtype) {
    return array->letter == '\0' ? array->element
                                 : description->types[dtype].elements[array->letter - 'A'];
}

bool description_allows_tf32(const description_t *description, size_t dtype) {
    const char *math = description->types[dtype].math;
    return math != NULL && strcmp(math, "tf32") == 0;
}

/* ---- precision -------------------------------------------------------------------------------- */

/* f16, bf16, e4m3, e5m2: four roundings of the result (unit roundoff 2^-11, 2^-8, 2^-4, 2^-3), as sums are kept in f32. f32, f64: sums over
 * whole rows in any order; their rounding errors grow with the root of the number of terms, and 1e-5 is 168 unit
 * roundoffs of f32. Integers are exact. */
bounds_t description_bounds(element_t element) {
    static const double REL_L2[ELEMENT_KINDS] = {
        [ELEMENT_F32] = 1e-5,  [ELEMENT_F16] = 2e-3,  [ELEMENT_BF16] = 1.6e-2,
        [ELEMENT_F64] = 1e-12, [ELEMENT_E4M3] = 0.25, [ELEMENT_E5M2] = 0.5};
    return (bounds_t){REL_L2[element], element_is_float(element) ? INFINITY : 0, false, 0};
}

/* Of multiply-adds, of matrix products of float32, and of tensor cores with factors of this type. */
static const char *const MATHS[] = {"fp32", "f32", "tf32", "f16", "bf16"};

enum { N_MATHS = sizeof MATHS / sizeof MATHS[0] };

/* What rounding factors to the type of a rate allows as a relative error. TF32 has the ten bits of f16; tensor cores that
 * truncate both factors of a product make it 7.7e-4 (normal numbers, any length of the sums). */
static double rounding_of(const char *math) {
    element_t element;
    if (math == NULL || strcmp(math, "fp32") == 0 || strcmp(math, "f32") == 0)
        return 0;
    return description_bounds(element_find(math, &element) ? element : ELEMENT_F16).rel_l2;
}

const char *description_factors(const description_t *description, size_t dtype) {
    const char *math = description->types[dtype].math, *factors = NULL;
    double most = rounding_of(math);
    if (!element_is_float(description_element(description, dtype)))
        return NULL;
    if (most > 0)
        factors = math;
    for (size_t i = 0; i < description->n_arrays; i++) {
        const described_array_t *array = &description->arrays[i];
        const element_t element = description_element_of(description, array, dtype);
        const double rel_l2 = description_bounds(element).rel_l2;
        if (array->is_input && element_is_float(element) && rel_l2 >= most) {
            most = rel_l2;
            factors = element_name(element);
        }
    }
    return factors;
}

bounds_t dtypes_bounds(const description_t *description, const described_array_t *array,
                       size_t dtype) {
    const element_t element = description_element_of(description, array, dtype);
    const described_dtype_t *type = &description->types[dtype];
    const double rounded = rounding_of(type->math);
    bounds_t bounds = description_bounds(element);
    for (size_t i = 0; element_is_float(element) && i < ELEMENT_LETTERS; i++)
        if (type->itemsizes[i] > 0 && element_is_float(type->elements[i]) &&
            description_bounds(type->elements[i]).rel_l2 < rounded)
            bounds.rel_l2 = fmax(bounds.rel_l2, rounded);
    return bounds;
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* A dtype that has the name of an element type does not compute with less. */
static status_t read_rate(const node_t *node, const char *dtype, described_dtype_t *type,
                          error_t *err) {
    const vocabulary_t rates = {"rate", "", MATHS, N_MATHS};
    element_t named;
    size_t index;
    TRY(node_choice(node, &rates, &index, err));
    if (element_find(dtype, &named) && element_is_float(named) &&
        rounding_of(MATHS[index]) > description_bounds(named).rel_l2)
        return node_error(
            node, err, "found \"%s\", which is less precise than %s: give the dtype another name",
            MATHS[index], dtype);
    type->math = MATHS[index];
    return STATUS_OK;
}

static void set_letter(described_dtype_t *type, char letter, element_t element) {
    type->elements[letter - 'A'] = element;
    type->itemsizes[letter - 'A'] = (int64_t)element_bytes(element);
}

static vocabulary_t known_elements(void) {
    return (vocabulary_t){"dtype", "", element_names(), ELEMENT_KINDS};
}

/* Programs have constant params as macros in capitals. */
static status_t check_letter(const node_t *node, char letter, const description_t *description,
                             error_t *err) {
    for (size_t i = 0; i < description->params.n; i++) {
        const char *name = description->params.items[i];
        const char first =
            description->constant[i] ? (char)toupper((unsigned char)name[0]) : name[0];
        if (first == letter && name[1] == '\0')
            return node_error(node, err,
                              "found the letter %c, which programs have for the param \"%s\"",
                              letter, name);
    }
    return STATUS_OK;
}

/* {"T": "f16", "W": "f32", "math": "f16"} */
static status_t read_letters(const node_t *node, const char *name, const description_t *description,
                             described_dtype_t *type, error_t *err) {
    const vocabulary_t known = known_elements();
    const bool is_named = element_find(name, &type->elements['T' - 'A']);
    const element_t named = type->elements['T' - 'A'];
    const char *key;
    json_t *value;
    size_t index;
    if (!json_is_object(node->json))
        return node_expected(node, err, "an object");
    if (is_named)
        set_letter(type, 'T', named);
    json_object_foreach((json_t *)node->json, key, value) {
        const node_t member = node_member(node, key);
        if (strcmp(key, "math") == 0) {
            TRY(read_rate(&member, name, type, err));
            continue;
        }
        if (key[0] < 'A' || key[0] > 'Z' || key[1] != '\0')
            return node_error(&member, err,
                              "unknown key \"%s\", expected \"math\" or a capital letter", key);
        TRY(check_letter(&member, key[0], description, err));
        TRY(node_choice(&member, &known, &index, err));
        set_letter(type, key[0], (element_t)index);
    }
    const element_t found = type->elements['T' - 'A'];
    if (type->itemsizes['T' - 'A'] == 0)
        return node_error(node, err, "missing: T, as \"%s\" is no element type", name);
    return is_named && found != named
               ? node_error(node, err, "found T as %s, expected %s, as the dtype has its name",
                            element_name(found), name)
               : STATUS_OK;
}

static status_t check_same_letters(const node_t *node, const description_t *description,
                                   size_t dtype, error_t *err) {
    const int64_t *first = description->types[0].itemsizes,
                  *own = description->types[dtype].itemsizes;
    for (int i = 0; i < ELEMENT_LETTERS; i++)
        if ((first[i] > 0) != (own[i] > 0))
            return node_error(node, err, "%s %c, which the dtype %s has%s",
                              own[i] > 0 ? "found" : "missing:", 'A' + i,
                              description->dtypes.items[0], own[i] > 0 ? " not" : "");
    return STATUS_OK;
}

/* A list of element types, or an object with letters by dtype. */
status_t dtypes_read(const node_t *top, description_t *description, error_t *err) {
    const node_t dtypes = node_member(top, "dtypes");
    const vocabulary_t known = known_elements();
    text_list_t *names = &description->dtypes;
    static const char CAPITALS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"; /* programs have DTYPE_MIXED */
    const char *name;
    json_t *value;
    if (!json_is_object(dtypes.json)) {
        TRY(node_choices(&dtypes, &known, names, err));
        for (size_t i = 0; i < names->n; i++) {
            element_t element = ELEMENT_F32;
            element_find(names->items[i], &element);
            set_letter(&description->types[i], 'T', element);
        }
        return check_letter(&dtypes, 'T', description, err);
    }
    if (json_object_size(dtypes.json) < 1 || json_object_size(dtypes.json) > DESCRIBED_DTYPES)
        return node_expected(&dtypes, err, "an object of 1…16 dtypes");
    json_object_foreach((json_t *)dtypes.json, name, value) {
        const node_t dtype = node_member(&dtypes, name);
        if (!text_is_identifier(name, DESCRIBED_WORD) || strpbrk(name, CAPITALS) != NULL)
            return node_error(&dtype, err,
                              "found the dtype \"%s\", expected a lower-case letter, then such "
                              "letters, digits and \"_\", at most %d",
                              name, DESCRIBED_WORD);
        text_list_add(names, name);
        TRY(read_letters(&dtype, name, description, &description->types[names->n - 1], err));
        TRY(check_same_letters(&dtype, description, names->n - 1, err));
    }
    return check_letter(&dtypes, 'T', description, err);
}

status_t dtypes_read_former_math(const node_t *math, description_t *description, error_t *err) {
    const text_list_t *dtypes = &description->dtypes;
    if (!node_exists(math))
        return STATUS_OK;
    TRY(node_object(math, (const char *const *)dtypes->items, dtypes->n, 0, err));
    for (size_t i = 0; i < dtypes->n; i++) {
        const node_t rate = node_member(math, dtypes->items[i]);
        if (node_exists(&rate))
            TRY(read_rate(&rate, dtypes->items[i], &description->types[i], err));
    }
    return STATUS_OK;
}
