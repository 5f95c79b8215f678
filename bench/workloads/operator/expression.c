#include "workloads/operator/expression_steps.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

static const char OVERFLOWS[] = "over 64 bits";

/* How operators that can fail look in messages. */
static const char *const SIGNS[] = {
    [STEP_ADD] = "+",       [STEP_SUBTRACT] = "-", [STEP_MULTIPLY] = "*", [STEP_DIVIDE] = "/",
    [STEP_REMAINDER] = "%", [STEP_POWER] = "**",   [STEP_CEIL_DIV] = ","};

static const char *power(int64_t base, int64_t exponent, int64_t *result) {
    if (exponent < 0)
        return "negative exponent";
    *result = 1;
    while (exponent > 0) {
        if (exponent % 2 == 1 && __builtin_mul_overflow(*result, base, result))
            return OVERFLOWS;
        exponent /= 2;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
            return OVERFLOWS;
    }
    return NULL;
}

static const char *divide(step_kind_t kind, int64_t a, int64_t b, int64_t *result) {
    *result = 0;
    if (b == 0)
        return "division by zero";
    if (b == -1) /* the processor traps at INT64_MIN / -1 and its remainder */
        return kind != STEP_REMAINDER && __builtin_sub_overflow(0, a, result) ? OVERFLOWS : NULL;
    const bool rounded_down = a % b != 0 && (a < 0) == (b < 0);
    *result = kind == STEP_REMAINDER ? a % b : a / b + (kind == STEP_CEIL_DIV && rounded_down);
    return NULL;
}

/* What is wrong, or NULL. */
static const char *compute(step_kind_t kind, int64_t a, int64_t b, int64_t *result) {
    switch (kind) {
    case STEP_ADD:
        return __builtin_add_overflow(a, b, result) ? OVERFLOWS : NULL;
    case STEP_SUBTRACT:
        return __builtin_sub_overflow(a, b, result) ? OVERFLOWS : NULL;
    case STEP_MULTIPLY:
        return __builtin_mul_overflow(a, b, result) ? OVERFLOWS : NULL;
    case STEP_POWER:
        return power(a, b, result);
    case STEP_DIVIDE:
    case STEP_REMAINDER:
    case STEP_CEIL_DIV:
        return divide(kind, a, b, result);
    case STEP_LESS:
        *result = a < b;
        return NULL;
    case STEP_LESS_EQUAL:
        *result = a <= b;
        return NULL;
    case STEP_GREATER:
        *result = a > b;
        return NULL;
    case STEP_GREATER_EQUAL:
        *result = a >= b;
        return NULL;
    case STEP_EQUAL:
        *result = a == b;
        return NULL;
    case STEP_UNEQUAL:
        *result = a != b;
        return NULL;
    case STEP_MIN:
        *result = a < b ? a : b;
        return NULL;
    default: /* STEP_MAX */
        *result = a > b ? a : b;
        return NULL;
    }
}

/* Carry out an operation on the last two numbers. */
static status_t combine(const expression_t *expression, step_kind_t kind, int64_t operands[2],
                        error_t *err) {
    int64_t result;
    const char *wrong = compute(kind, operands[0], operands[1], &result);
    if (wrong != NULL)
        return error_set(err, STATUS_FAILED, "\"%s\": %s%" PRId64 "%s%s %" PRId64 "%s: %s",
                         expression->text, kind == STEP_CEIL_DIV ? "ceil_div(" : "", operands[0],
                         kind == STEP_CEIL_DIV ? "" : " ", SIGNS[kind], operands[1],
                         kind == STEP_CEIL_DIV ? ")" : "", wrong);
    operands[0] = result;
    return STATUS_OK;
}

status_t expression_value(const expression_t *expression, const scope_t *scope, int64_t *value,
                          error_t *err) {
    int64_t stack[EXPRESSION_STACK] = {0};
    size_t n = 0;
    for (size_t i = 0; i < expression->n; i++) {
        const step_t *step = &expression->steps[i];
        switch (step->kind) {
        case STEP_NUMBER:
            stack[n++] = step->operand;
            break;
        case STEP_NAME:
            stack[n++] = scope->values[step->operand];
            break;
        case STEP_ITEMSIZE:
            stack[n++] = scope->itemsize;
            break;
        case STEP_TRUTH:
            stack[n - 1] = stack[n - 1] != 0;
            break;
        case STEP_AND:
        case STEP_OR:
            stack[n - 1] = stack[n - 1] != 0;
            if (stack[n - 1] == (step->kind == STEP_OR))
                i = (size_t)step->operand - 1;
            else
                n--;
            break;
        default:
            TRY(combine(expression, step->kind, &stack[n - 2], err));
            n--;
            break;
        }
    }
    *value = stack[0];
    return STATUS_OK;
}

const char *expression_text(const expression_t *expression) {
    return expression->text;
}

void expression_free(expression_t *expression) {
    if (expression == NULL)
        return;
    free(expression->text);
    free(expression->steps);
    free(expression);
}
