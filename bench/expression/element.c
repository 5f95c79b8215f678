#include "expression/element.h"

#include "base/half.h"

#include <float.h>
#include <string.h>

static const char *const NAMES[ELEMENT_KINDS] = {
    [ELEMENT_F32] = "f32",   [ELEMENT_F16] = "f16",   [ELEMENT_BF16] = "bf16",
    [ELEMENT_F64] = "f64",   [ELEMENT_I32] = "i32",   [ELEMENT_I64] = "i64",
    [ELEMENT_U8] = "u8",     [ELEMENT_BOOL] = "bool", [ELEMENT_I8] = "i8",
    [ELEMENT_E4M3] = "e4m3", [ELEMENT_E5M2] = "e5m2",
};

static const char *const LETTERS[ELEMENT_LETTERS] = {"A", "B", "C", "D", "E", "F", "G", "H", "I",
                                                     "J", "K", "L", "M", "N", "O", "P", "Q", "R",
                                                     "S", "T", "U", "V", "W", "X", "Y", "Z"};

static const struct {
    size_t bytes;
    bool is_float;
    element_range_t range;
} ELEMENTS[ELEMENT_KINDS] = {
    [ELEMENT_F32] = {4, true, {-FLT_MAX, FLT_MAX, 0x1p24}},
    [ELEMENT_F16] = {2, true, {-65504, 65504, 0x1p11}},
    [ELEMENT_BF16] = {2, true, {-0x1.fep127, 0x1.fep127, 0x1p8}},
    [ELEMENT_F64] = {8, true, {-DBL_MAX, DBL_MAX, 0x1p53}},
    [ELEMENT_I32] = {4, false, {INT32_MIN, INT32_MAX, INT32_MAX}},
    [ELEMENT_I64] = {8, false, {1 - 0x1p53, 0x1p53 - 1, 0x1p53 - 1}},
    [ELEMENT_U8] = {1, false, {0, UINT8_MAX, UINT8_MAX}},
    [ELEMENT_BOOL] = {1, false, {0, 1, 1}},
    [ELEMENT_I8] = {1, false, {INT8_MIN, INT8_MAX, INT8_MAX}},
    [ELEMENT_E4M3] = {1, true, {-448, 448, 0x1p4}},
    [ELEMENT_E5M2] = {1, true, {-57344, 57344, 0x1p3}},
};

const char *const *element_names(void) {
    return NAMES;
}

const char *element_name(element_t element) {
    return NAMES[element];
}

size_t element_words(const int64_t *itemsizes, const char *words[ELEMENT_LETTERS + ELEMENT_KINDS]) {
    size_t n = 0;
    for (size_t i = 0; itemsizes != NULL && i < ELEMENT_LETTERS; i++)
        if (itemsizes[i] > 0)
            words[n++] = LETTERS[i];
    memcpy(words + n, NAMES, sizeof NAMES);
    return n;
}

bool element_find(const char *name, element_t *element) {
    for (size_t i = 0; i < ELEMENT_KINDS; i++)
        if (strcmp(element_name((element_t)i), name) == 0) {
            *element = (element_t)i;
            return true;
        }
    return false;
}

size_t element_bytes(element_t element) {
    return ELEMENTS[element].bytes;
}

bool element_is_float(element_t element) {
    return ELEMENTS[element].is_float;
}

element_range_t element_range(element_t element) {
    return ELEMENTS[element].range;
}

double element_value(const void *values, size_t i, element_t element) {
    switch (element) {
    case ELEMENT_F32:
        return ((const float *)values)[i];
    case ELEMENT_F16:
        return half_to_float(((const uint16_t *)values)[i]);
    case ELEMENT_BF16:
        return bfloat16_to_float(((const uint16_t *)values)[i]);
    case ELEMENT_F64:
        return ((const double *)values)[i];
    case ELEMENT_E4M3:
        return e4m3_to_float(((const uint8_t *)values)[i]);
    case ELEMENT_E5M2:
        return e5m2_to_float(((const uint8_t *)values)[i]);
    case ELEMENT_I32:
        return ((const int32_t *)values)[i];
    case ELEMENT_I64:
        return (double)((const int64_t *)values)[i];
    case ELEMENT_I8:
        return ((const int8_t *)values)[i];
    case ELEMENT_U8:
    case ELEMENT_BOOL:
    case ELEMENT_KINDS:
        break;
    }
    return ((const uint8_t *)values)[i];
}
