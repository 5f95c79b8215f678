#include "expression/expression_steps.h"

#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
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
static const char *of_integers(step_kind_t kind, int64_t a, int64_t b, int64_t *result) {
    switch (kind) {
    case STEP_ADD:
        return __builtin_add_overflow(a, b, result) ? OVERFLOWS : NULL;
    case STEP_SUBTRACT:
        return __builtin_sub_overflow(a, b, result) ? OVERFLOWS : NULL;
    case STEP_MULTIPLY:
        return __builtin_mul_overflow(a, b, result) ? OVERFLOWS : NULL;
    case STEP_POWER:
        return power(a, b, result);
    default:
        return divide(kind, a, b, result);
    }
}

static const char *of_reals(step_kind_t kind, double a, double b, double *result) {
    const bool divides = kind == STEP_DIVIDE || kind == STEP_REMAINDER || kind == STEP_CEIL_DIV;
    if (divides && b == 0)
        return "division by zero";
    *result = kind == STEP_ADD         ? a + b
              : kind == STEP_SUBTRACT  ? a - b
              : kind == STEP_MULTIPLY  ? a * b
              : kind == STEP_POWER     ? pow(a, b)
              : kind == STEP_DIVIDE    ? a / b
              : kind == STEP_REMAINDER ? fmod(a, b)
                                       : ceil(a / b);
    return isfinite(*result) ? NULL : "no finite number";
}

/* Of an expression in integers or in float64. */
typedef union number {
    int64_t integer;
    double real;
} number_t;

static number_t number_from(int64_t integer, bool real) {
    number_t number = {.integer = integer};
    if (real)
        number.real = (double)integer;
    return number;
}

static bool is_true(number_t of, bool real) {
    return real ? of.real != 0 : of.integer != 0;
}

static const char *compute(step_kind_t kind, number_t a, number_t b, bool real, number_t *result) {
    const int order = real ? (a.real > b.real) - (a.real < b.real)
                           : (a.integer > b.integer) - (a.integer < b.integer);
    switch (kind) {
    case STEP_LESS:
        *result = number_from(order < 0, real);
        return NULL;
    case STEP_LESS_EQUAL:
        *result = number_from(order <= 0, real);
        return NULL;
    case STEP_GREATER:
        *result = number_from(order > 0, real);
        return NULL;
    case STEP_GREATER_EQUAL:
        *result = number_from(order >= 0, real);
        return NULL;
    case STEP_EQUAL:
        *result = number_from(order == 0, real);
        return NULL;
    case STEP_UNEQUAL:
        *result = number_from(order != 0, real);
        return NULL;
    case STEP_MIN:
        *result = order < 0 ? a : b;
        return NULL;
    case STEP_MAX:
        *result = order > 0 ? a : b;
        return NULL;
    default:
        return real ? of_reals(kind, a.real, b.real, &result->real)
                    : of_integers(kind, a.integer, b.integer, &result->integer);
    }
}

/* "7", "0.5". The caller frees it. */
static char *number_text(number_t of, bool real) {
    return real ? mem_format("%.17g", of.real) : mem_format("%" PRId64, of.integer);
}

/* Carry out an operation on the last two numbers. */
static status_t combine(const expression_t *expression, step_kind_t kind, bool real,
                        number_t operands[2], error_t *err) {
    number_t result;
    const char *wrong = compute(kind, operands[0], operands[1], real, &result);
    if (wrong != NULL) {
        char *a = number_text(operands[0], real), *b = number_text(operands[1], real);
        const bool is_call = kind == STEP_CEIL_DIV;
        error_set(err, STATUS_FAILED, "\"%s\": %s%s%s%s %s%s: %s", expression->text,
                  is_call ? "ceil_div(" : "", a, is_call ? "" : " ", SIGNS[kind], b,
                  is_call ? ")" : "", wrong);
        free(a);
        free(b);
        return STATUS_FAILED;
    }
    operands[0] = result;
    return STATUS_OK;
}

static status_t evaluate(const expression_t *expression, const scope_t *scope, bool real,
                         number_t *value, error_t *err) {
    number_t stack[EXPRESSION_STACK] = {{0}};
    size_t n = 0;
    for (size_t i = 0; i < expression->n; i++) {
        const step_t *step = &expression->steps[i];
        switch (step->kind) {
        case STEP_NUMBER:
            stack[n++] = number_from(step->operand, real);
            break;
        case STEP_NAME:
            stack[n++] = number_from(scope->values[step->operand], real);
            break;
        case STEP_ITEMSIZE:
            stack[n++] = number_from(scope->itemsize, real);
            break;
        case STEP_TRUTH:
            stack[n - 1] = number_from(is_true(stack[n - 1], real), real);
            break;
        case STEP_AND:
        case STEP_OR: {
            const bool left = is_true(stack[n - 1], real);
            stack[n - 1] = number_from(left, real);
            if (left == (step->kind == STEP_OR))
                i = (size_t)step->operand - 1;
            else
                n--;
            break;
        }
        default:
            TRY(combine(expression, step->kind, real, &stack[n - 2], err));
            n--;
            break;
        }
    }
    *value = stack[0];
    return STATUS_OK;
}

status_t expression_value(const expression_t *expression, const scope_t *scope, int64_t *value,
                          error_t *err) {
    number_t number;
    TRY(evaluate(expression, scope, false, &number, err));
    *value = number.integer;
    return STATUS_OK;
}

status_t expression_real(const expression_t *expression, const scope_t *scope, double *value,
                         error_t *err) {
    number_t number;
    TRY(evaluate(expression, scope, true, &number, err));
    *value = number.real;
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
