/* A parsed expression: steps that a stack of numbers carries out, so that evaluation does not recurse. */
#ifndef BENCH_EXPRESSION_STEPS_H
#define BENCH_EXPRESSION_STEPS_H

#include "expression/expression.h"

typedef enum step_kind {
    STEP_NUMBER,   /* push `operand` */
    STEP_NAME,     /* push value `operand` of the scope */
    STEP_ITEMSIZE, /* push that of T */
    /* Replace two numbers by one. */
    STEP_ADD,
    STEP_SUBTRACT,
    STEP_MULTIPLY,
    STEP_DIVIDE,
    STEP_REMAINDER,
    STEP_POWER,
    STEP_LESS,
    STEP_LESS_EQUAL,
    STEP_GREATER,
    STEP_GREATER_EQUAL,
    STEP_EQUAL,
    STEP_UNEQUAL,
    STEP_MIN,
    STEP_MAX,
    STEP_CEIL_DIV,
    STEP_TRUTH, /* replace a number by 0 or 1 */
    /* The same; if that decides, go on at step `operand`, else drop it. */
    STEP_AND,
    STEP_OR
} step_kind_t;

typedef struct step {
    step_kind_t kind;
    int64_t operand;
} step_t;

/* A level of nesting leaves at most four numbers on the stack: the left sides of a comparison, a sum and a
 * product, and an argument. */
enum { EXPRESSION_NESTING = 32, EXPRESSION_STACK = 4 * (EXPRESSION_NESTING + 1) };

struct expression {
    char *text;
    step_t *steps;
    size_t n, capacity;
};

#endif
