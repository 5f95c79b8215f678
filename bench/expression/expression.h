/* Integer expressions of a workload's description and of its kernels' launch tables:
 * "ceil_div(rows, 4) * itemsize(T)". Numbers are 64-bit integers; an operation that overflows, divides by
 * zero or gives a negative power is an error, never a wrong number.
 *
 *   or → and ("||" and)*      and → comparison ("&&" comparison)*
 *   comparison → sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?      true is 1, false is 0
 *   sum → product (("+" | "-") product)*      product → unary (("*" | "/" | "%") unary)*
 *   unary → "-" unary | power      power → atom ("**" unary)?      as in Python: -2 ** 2 is -4
 *   atom → integer | name | list "[" or "]" | "(" or ")" | function "(" or ("," or)* ")"
 *
 * Division rounds toward zero, as in C. The right side of "&&" and "||" is computed only where it counts:
 * `cols == 0 || rows / cols > 1` never divides by zero. Functions: min(a, b, …), max(a, b, …), ceil_div(a, b)
 * (toward positive infinity), itemsize(DTYPE), where DTYPE is a type letter such as T or a name such as f16, len(LIST), and
 * sum(n, or): its second argument for i = 0 … n - 1, added up. */
#ifndef BENCH_EXPRESSION_EXPRESSION_H
#define BENCH_EXPRESSION_EXPRESSION_H

#include "base/error.h"
#include "expression/element.h"

#include <stddef.h>
#include <stdint.h>

typedef struct expression expression_t;

/* A text has at most so many bytes. */
enum { EXPRESSION_LONGEST = 1000 };

/* The numbers of a list. */
typedef struct scope_list {
    const int64_t *items;
    size_t n; /* 0: the name is no list's */
} scope_list_t;

/* Names with values: parameters, sm_count. */
typedef struct scope {
    const char *const *names;
    const int64_t *values; /* NULL while parsing: only names are checked */
    size_t n;
    const int64_t *itemsizes; /* by type letter (element_words()), in bytes; NULL: there are none */
    const scope_list_t
        *lists; /* of each name; NULL: none is a list. While parsing their numbers do not matter */
} scope_t;

/* Parse `text`; `scope` has the names that it may use. The message quotes the text, says at which
 * character it is wrong and what was expected, and for an unknown name the nearest known one.
 * STATUS_USAGE. The caller frees it. */
status_t expression_parse(const char *text, const scope_t *scope, expression_t **expression,
                          error_t *err);
/* With the names it was parsed with, in the same order; more may follow them. STATUS_FAILED with the text, the operation and its operands
 * for an overflow, a division by zero or an index outside of a list. */
status_t expression_value(const expression_t *expression, const scope_t *scope, int64_t *value,
                          error_t *err);
/* The same in float64, for what is no size: "1 / cols" is not rounded, and "cols ** (1 / 2)" is a root. */
status_t expression_real(const expression_t *expression, const scope_t *scope, double *value,
                         error_t *err);
const char *expression_text(const expression_t *expression);
void expression_free(expression_t *expression); /* may be NULL */

#endif
