/* Element types of a described workload's arrays. */
#ifndef BENCH_EXPRESSION_ELEMENT_H
#define BENCH_EXPRESSION_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum element {
    ELEMENT_F32,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_F64,
    ELEMENT_I32,
    ELEMENT_I64,
    ELEMENT_U8,
    ELEMENT_BOOL,
    ELEMENT_I8,
    ELEMENT_E4M3, /* base/half.h */
    ELEMENT_E5M2,
    ELEMENT_KINDS
} element_t;

/* Of a workload: "T", "W", …, of which each stands for an element type in cases of a dtype. */
enum { ELEMENT_LETTERS = 'Z' - 'A' + 1 };

/* The name of each, ELEMENT_KINDS of them. */
const char *const *element_names(void);
/* What a type may be called: the letters that have a size (bytes, by letter; NULL: none), then the name of each.
 * Returns how many letters there are. */
size_t element_words(const int64_t *itemsizes, const char *words[ELEMENT_LETTERS + ELEMENT_KINDS]);
/* "f32", …; false for another name. */
bool element_find(const char *name, element_t *element);
const char *element_name(element_t element);
size_t element_bytes(element_t element);
bool element_is_float(element_t element);

/* Finite values, and the largest integer up to which all are exact. i64: to the last that no other rounds to in a
 * double. */
typedef struct element_range {
    double least, most, exact;
} element_range_t;

element_range_t element_range(element_t element);

/* Element `i` of an array; integers from 2^53 on are rounded. */
double element_value(const void *values, size_t i, element_t element);

#endif
