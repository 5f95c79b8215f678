#include "expression/expression.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A parsed expression: steps that a stack of numbers carries out, so that evaluation does not recurse. */
typedef enum step_kind {
    STEP_NUMBER,   /* push `operand` */
    STEP_NAME,     /* push value `operand` of the scope */
    STEP_ITEMSIZE, /* push that of type letter `operand`, from 0 for A */
    STEP_LENGTH,   /* push that of list `operand` */
    STEP_ITEM,     /* replace an index by what stands there in list `operand` */
    STEP_SUM, /* take a number of terms; of none the sum is 0: push it and go on at step `operand` */
    STEP_INDEX, /* push the number of the term */
    STEP_NEXT,  /* take a term; go on at step `operand` with the next one, or push the sum */
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
enum {
    EXPRESSION_NESTING = 32,
    EXPRESSION_STACK = 4 * (EXPRESSION_NESTING + 1),
    MOST_TERMS = 1024
};

struct expression {
    char *text;
    step_t *steps;
    size_t n, capacity;
};

/* ==== parsing ================================================================================= */

typedef struct parser {
    const scope_t *scope;
    expression_t *parsed;
    const char *at; /* what is still to be read */
    unsigned nesting;
    bool in_sum;
    error_t *err;
} parser_t;

/* An operator's sign; tables have "<=" before "<". */
typedef struct sign {
    const char *text;
    step_kind_t kind;
} sign_t;

static const char DIGITS[] = "0123456789";
static const char WORD[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

static const char *const FUNCTIONS[] = {"itemsize", "len", "sum", "ceil_div", "min", "max"};
static const step_kind_t FUNCTION_STEPS[] = {STEP_ITEMSIZE, STEP_LENGTH, STEP_SUM,
                                             STEP_CEIL_DIV, STEP_MIN,    STEP_MAX};

enum { N_FUNCTIONS = sizeof FUNCTIONS / sizeof FUNCTIONS[0] };

__attribute__((format(printf, 3, 4))) static status_t
wrong_at(const parser_t *parser, const char *place, const char *format, ...) {
    size_t character = 1;
    for (const char *c = parser->parsed->text; c < place; c++)
        character += (*c & 0xC0) != 0x80; /* not inside a UTF-8 character */
    va_list args;
    va_start(args, format);
    AUTO_FREE char *message = mem_format_args(format, args);
    va_end(args);
    error_set(parser->err, STATUS_USAGE, "\"%s\": character %zu: %s", parser->parsed->text,
              character, message);
    return STATUS_USAGE;
}

static void skip_blanks(parser_t *parser) {
    parser->at += strspn(parser->at, " \t");
}

static status_t expected(parser_t *parser, const char *what) {
    skip_blanks(parser);
    const char *at = parser->at;
    if (*at == '\0')
        return wrong_at(parser, at, "found the end, expected %s", what);
    size_t length = strspn(at, WORD);
    if (length == 0)
        length = text_utf8_length((const unsigned char *)at);
    return wrong_at(parser, at, "found \"%.*s\", expected %s", length > 0 ? (int)length : 1, at,
                    what);
}

static bool accept(parser_t *parser, const char *sign) {
    skip_blanks(parser);
    if (!text_starts(parser->at, sign))
        return false;
    parser->at += strlen(sign);
    return true;
}

static bool accept_sign(parser_t *parser, const sign_t *signs, size_t n, step_kind_t *kind) {
    for (size_t i = 0; i < n; i++)
        if (accept(parser, signs[i].text)) {
            *kind = signs[i].kind;
            return true;
        }
    return false;
}

/* Returns the index of the new step. */
static size_t add_step(parser_t *parser, step_kind_t kind, int64_t operand) {
    expression_t *parsed = parser->parsed;
    mem_grow(&parsed->steps, parsed->n, &parsed->capacity, sizeof *parsed->steps);
    parsed->steps[parsed->n] = (step_t){kind, operand};
    return parsed->n++;
}

static status_t parse_or(parser_t *parser);
static status_t parse_unary(parser_t *parser);

static status_t parse_number(parser_t *parser) {
    const char *start = parser->at;
    int64_t value = 0;
    for (; *parser->at >= '0' && *parser->at <= '9'; parser->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *parser->at - '0', &value))
            return wrong_at(parser, start, "found a number over 9223372036854775807");
    size_t rest = strspn(parser->at, WORD) + (*parser->at == '.');
    if (rest > 0)
        return wrong_at(parser, start, "found \"%.*s\", expected an integer in decimal digits",
                        (int)((size_t)(parser->at - start) + rest), start);
    add_step(parser, STEP_NUMBER, value);
    return STATUS_OK;
}

static status_t unknown(parser_t *parser, const char *word, const vocabulary_t *names) {
    AUTO_FREE char *name = mem_text_n(word, strspn(word, WORD)),
                   *complaint = vocabulary_complaint(names, name);
    wrong_at(parser, word, "%s", complaint);
    return STATUS_USAGE;
}

/* The index of the next word in `names`; `names->n` for another word. */
static size_t read_word(parser_t *parser, const vocabulary_t *names) {
    size_t length = strspn(parser->at, WORD), i = 0;
    while (i < names->n &&
           (strlen(names->names[i]) != length || strncmp(names->names[i], parser->at, length) != 0))
        i++;
    parser->at += length;
    return i;
}

static status_t parse_itemsize(parser_t *parser) {
    const char *words[ELEMENT_LETTERS + ELEMENT_KINDS];
    const size_t n_letters = element_words(parser->scope->itemsizes, words);
    const vocabulary_t known = {"dtype", "", words, n_letters + ELEMENT_KINDS};
    skip_blanks(parser);
    const char *word = parser->at;
    if (strspn(word, WORD) == 0)
        return expected(parser, "a dtype");
    size_t index = read_word(parser, &known);
    if (index == known.n)
        return unknown(parser, word, &known);
    if (index < n_letters)
        add_step(parser, STEP_ITEMSIZE, words[index][0] - 'A');
    else
        add_step(parser, STEP_NUMBER, (int64_t)element_bytes((element_t)(index - n_letters)));
    return accept(parser, ")") ? STATUS_OK : expected(parser, "\")\"");
}

static bool is_list(const scope_t *scope, size_t name) {
    return scope->lists != NULL && scope->lists[name].n > 0;
}

static status_t parse_length(parser_t *parser) {
    const scope_t *scope = parser->scope;
    const vocabulary_t known = {"list", "", scope->names, scope->n};
    skip_blanks(parser);
    const char *word = parser->at;
    const size_t index = strspn(word, WORD) > 0 ? read_word(parser, &known) : known.n;
    if (index == known.n || !is_list(scope, index)) {
        parser->at = word;
        return expected(parser, "the name of a list");
    }
    add_step(parser, STEP_LENGTH, (int64_t)index);
    return accept(parser, ")") ? STATUS_OK : expected(parser, "\")\"");
}

static status_t parse_sum_of(parser_t *parser, const char *word) {
    if (parser->in_sum)
        return wrong_at(parser, word, "a sum within a sum");
    TRY(parse_or(parser));
    if (!accept(parser, ","))
        return expected(parser, "an operator or \",\"");
    const size_t start = add_step(parser, STEP_SUM, 0);
    parser->in_sum = true;
    TRY(parse_or(parser));
    parser->in_sum = false;
    add_step(parser, STEP_NEXT, (int64_t)start + 1);
    parser->parsed->steps[start].operand = (int64_t)parser->parsed->n;
    return accept(parser, ")") ? STATUS_OK : expected(parser, "an operator or \")\"");
}

/* From behind the "[". */
static status_t parse_item(parser_t *parser, size_t list) {
    TRY(parse_or(parser));
    add_step(parser, STEP_ITEM, (int64_t)list);
    return accept(parser, "]") ? STATUS_OK : expected(parser, "an operator or \"]\"");
}

/* From behind the "(". min(a, b, c) is min(min(a, b), c). */
static status_t parse_call(parser_t *parser, const char *word) {
    const vocabulary_t known = {"function", "", FUNCTIONS, N_FUNCTIONS};
    const char *arguments = parser->at;
    parser->at = word;
    size_t index = read_word(parser, &known);
    parser->at = arguments;
    if (index == known.n)
        return unknown(parser, word, &known);
    const step_kind_t kind = FUNCTION_STEPS[index];
    if (kind == STEP_ITEMSIZE)
        return parse_itemsize(parser);
    if (kind == STEP_LENGTH)
        return parse_length(parser);
    if (kind == STEP_SUM)
        return parse_sum_of(parser, word);
    size_t n = 0;
    do {
        TRY(parse_or(parser));
        if (++n > 1)
            add_step(parser, kind, 0);
    } while (accept(parser, ","));
    if (!accept(parser, ")"))
        return expected(parser, "an operator, \",\" or \")\"");
    if (n < 2 || (n > 2 && kind == STEP_CEIL_DIV))
        return wrong_at(parser, word, "found %zu argument%s of %s, expected %s", n,
                        n == 1 ? "" : "s", FUNCTIONS[index],
                        kind == STEP_CEIL_DIV ? "2" : "at least 2");
    return STATUS_OK;
}

static status_t parse_word(parser_t *parser) {
    const scope_t *scope = parser->scope;
    const vocabulary_t known = {"name", "", scope->names, scope->n};
    const char *word = parser->at;
    size_t index = read_word(parser, &known);
    const bool is_index = parser->in_sum && parser->at == word + 1 && *word == 'i';
    if (accept(parser, "("))
        return parse_call(parser, word);
    if (is_index) {
        add_step(parser, STEP_INDEX, 0);
        return STATUS_OK;
    }
    if (index == known.n)
        return unknown(parser, word, &known);
    if (is_list(scope, index))
        return accept(parser, "[")
                   ? parse_item(parser, index)
                   : wrong_at(parser, word, "found the list %s, expected %s[…] or len(%s)",
                              scope->names[index], scope->names[index], scope->names[index]);
    add_step(parser, STEP_NAME, (int64_t)index);
    return STATUS_OK;
}

static status_t parse_atom(parser_t *parser) {
    if (accept(parser, "(")) {
        TRY(parse_or(parser));
        return accept(parser, ")") ? STATUS_OK : expected(parser, "an operator or \")\"");
    }
    if (strspn(parser->at, DIGITS) > 0)
        return parse_number(parser);
    if (strspn(parser->at, WORD) > 0)
        return parse_word(parser);
    return expected(parser, "a number, a name, \"-\" or \"(\"");
}

static status_t parse_power(parser_t *parser) {
    TRY(parse_atom(parser));
    if (accept(parser, "**")) {
        TRY(parse_unary(parser));
        add_step(parser, STEP_POWER, 0);
    }
    return STATUS_OK;
}

/* All that nests passes here. */
static status_t parse_unary(parser_t *parser) {
    if (++parser->nesting > EXPRESSION_NESTING)
        return wrong_at(parser, parser->at, "nested over %d levels deep", EXPRESSION_NESTING);
    if (accept(parser, "-")) {
        add_step(parser, STEP_NUMBER, 0);
        TRY(parse_unary(parser));
        add_step(parser, STEP_SUBTRACT, 0);
    } else {
        TRY(parse_power(parser));
    }
    parser->nesting--;
    return STATUS_OK;
}

typedef status_t parse_t(parser_t *parser);

/* Any number of sides, from left to right. */
static status_t parse_chain(parser_t *parser, const sign_t *signs, size_t n, parse_t *parse_side) {
    step_kind_t kind;
    TRY(parse_side(parser));
    while (accept_sign(parser, signs, n, &kind)) {
        TRY(parse_side(parser));
        add_step(parser, kind, 0);
    }
    return STATUS_OK;
}

static status_t parse_product(parser_t *parser) {
    static const sign_t SIGNS[] = {{"*", STEP_MULTIPLY}, {"/", STEP_DIVIDE}, {"%", STEP_REMAINDER}};
    return parse_chain(parser, SIGNS, sizeof SIGNS / sizeof *SIGNS, parse_unary);
}

static status_t parse_sum(parser_t *parser) {
    static const sign_t SIGNS[] = {{"+", STEP_ADD}, {"-", STEP_SUBTRACT}};
    return parse_chain(parser, SIGNS, sizeof SIGNS / sizeof *SIGNS, parse_product);
}

static status_t parse_comparison(parser_t *parser) {
    static const sign_t SIGNS[] = {{"<=", STEP_LESS_EQUAL}, {">=", STEP_GREATER_EQUAL},
                                   {"==", STEP_EQUAL},      {"!=", STEP_UNEQUAL},
                                   {"<", STEP_LESS},        {">", STEP_GREATER}};
    enum { N = sizeof SIGNS / sizeof *SIGNS };
    step_kind_t kind;
    TRY(parse_sum(parser));
    if (!accept_sign(parser, SIGNS, N, &kind))
        return STATUS_OK;
    TRY(parse_sum(parser));
    add_step(parser, kind, 0);
    skip_blanks(parser);
    const char *second = parser->at;
    return accept_sign(parser, SIGNS, N, &kind)
               ? wrong_at(parser, second, "a second comparison: join two with \"&&\"")
               : STATUS_OK;
}

static status_t parse_logic(parser_t *parser, sign_t sign, parse_t *parse_side) {
    TRY(parse_side(parser));
    while (accept(parser, sign.text)) {
        size_t decide = add_step(parser, sign.kind, 0);
        TRY(parse_side(parser));
        add_step(parser, STEP_TRUTH, 0);
        parser->parsed->steps[decide].operand = (int64_t)parser->parsed->n;
    }
    return STATUS_OK;
}

static status_t parse_and(parser_t *parser) {
    return parse_logic(parser, (sign_t){"&&", STEP_AND}, parse_comparison);
}

static status_t parse_or(parser_t *parser) {
    return parse_logic(parser, (sign_t){"||", STEP_OR}, parse_and);
}

status_t expression_parse(const char *text, const scope_t *scope, expression_t **expression,
                          error_t *err) {
    *expression = NULL;
    if (strlen(text) > EXPRESSION_LONGEST)
        return error_set(err, STATUS_USAGE, "found an expression of %zu bytes, expected at most %d",
                         strlen(text), EXPRESSION_LONGEST);
    expression_t *parsed = mem_zeroed(1, sizeof *parsed);
    parsed->text = mem_text(text);
    parser_t parser = {.scope = scope, .parsed = parsed, .at = parsed->text, .err = err};
    status_t status = parse_or(&parser);
    skip_blanks(&parser);
    if (status == STATUS_OK && *parser.at != '\0')
        status = expected(&parser, "an operator or the end");
    if (status == STATUS_OK)
        *expression = parsed;
    else
        expression_free(parsed);
    return status;
}

/* ==== values ================================================================================== */

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

/* `order`: below 0 if the left side is less. */
static bool holds(step_kind_t comparison, int order) {
    return comparison == STEP_LESS            ? order < 0
           : comparison == STEP_LESS_EQUAL    ? order <= 0
           : comparison == STEP_GREATER       ? order > 0
           : comparison == STEP_GREATER_EQUAL ? order >= 0
                                              : (comparison == STEP_EQUAL) == (order == 0);
}

static const char *compute(step_kind_t kind, number_t a, number_t b, bool real, number_t *result) {
    const int order = real ? (a.real > b.real) - (a.real < b.real)
                           : (a.integer > b.integer) - (a.integer < b.integer);
    if (kind >= STEP_LESS && kind <= STEP_UNEQUAL)
        *result = number_from(holds(kind, order), real);
    else if (kind == STEP_MIN || kind == STEP_MAX)
        *result = (kind == STEP_MIN ? order < 0 : order > 0) ? a : b;
    else
        return real ? of_reals(kind, a.real, b.real, &result->real)
                    : of_integers(kind, a.integer, b.integer, &result->integer);
    return NULL;
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
        AUTO_FREE char *a = number_text(operands[0], real), *b = number_text(operands[1], real);
        const bool is_call = kind == STEP_CEIL_DIV;
        return error_set(err, STATUS_FAILED, "\"%s\": %s%s%s%s %s%s: %s", expression->text,
                         is_call ? "ceil_div(" : "", a, is_call ? "" : " ", SIGNS[kind], b,
                         is_call ? ")" : "", wrong);
    }
    operands[0] = result;
    return STATUS_OK;
}

static status_t item_of(const expression_t *expression, const scope_t *scope, size_t list,
                        bool real, number_t *index, error_t *err) {
    const scope_list_t *of = &scope->lists[list];
    const double at = real ? index->real : (double)index->integer;
    if (!(at >= 0 && at < (double)of->n && at == floor(at)))
        return error_set(err, STATUS_FAILED, "\"%s\": %s[%.17g]: expected an index from 0 to %zu",
                         expression->text, scope->names[list], at, of->n - 1);
    *index = number_from(of->items[(size_t)at], real);
    return STATUS_OK;
}

/* A sum that is being computed. */
typedef struct terms {
    int64_t i, n;
    number_t sums[2]; /* so far; the next term */
} terms_t;

static status_t start_sum(const expression_t *expression, bool real, number_t n, terms_t *terms,
                          error_t *err) {
    const double count = real ? n.real : (double)n.integer;
    if (!(count >= 0 && count <= MOST_TERMS && count == floor(count)))
        return error_set(err, STATUS_FAILED, "\"%s\": a sum of %.17g terms: expected 0 to %d",
                         expression->text, count, MOST_TERMS);
    *terms = (terms_t){.n = (int64_t)count, .sums = {number_from(0, real)}};
    return STATUS_OK;
}

static status_t evaluate(const expression_t *expression, const scope_t *scope, bool real,
                         number_t *value, error_t *err) {
    number_t stack[EXPRESSION_STACK] = {{0}};
    terms_t terms = {0};
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
            stack[n++] = number_from(scope->itemsizes[step->operand], real);
            break;
        case STEP_LENGTH:
            stack[n++] = number_from((int64_t)scope->lists[step->operand].n, real);
            break;
        case STEP_ITEM:
            TRY(item_of(expression, scope, (size_t)step->operand, real, &stack[n - 1], err));
            break;
        case STEP_SUM:
            TRY(start_sum(expression, real, stack[--n], &terms, err));
            if (terms.n == 0) {
                stack[n++] = terms.sums[0];
                i = (size_t)step->operand - 1;
            }
            break;
        case STEP_INDEX:
            stack[n++] = number_from(terms.i, real);
            break;
        case STEP_NEXT:
            terms.sums[1] = stack[--n];
            TRY(combine(expression, STEP_ADD, real, terms.sums, err));
            if (++terms.i < terms.n)
                i = (size_t)step->operand - 1;
            else
                stack[n++] = terms.sums[0];
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
