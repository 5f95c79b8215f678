/* Expressions: any text is refused with a message, or has a value or a message with any numbers, the same value in
 * parentheses. */
#include "fuzz.h"

#include "base/memory.h"
#include "expression/expression.h"

#include <stdlib.h>
#include <string.h>

static const char *const NAMES[] = {"rows", "cols", "n", "sm_count", "layers"};
enum { N_NAMES = sizeof NAMES / sizeof NAMES[0] };
static const int64_t LAYERS[] = {4, INT64_MAX, -1};
static const scope_list_t LISTS[N_NAMES] = {[4] = {LAYERS, 3}};
static const int64_t ITEMSIZES[ELEMENT_LETTERS] = {['T' - 'A'] = 2, ['W' - 'A'] = 4};

static status_t value_of(const expression_t *expression, const int64_t *numbers, int64_t *value) {
    const scope_t scope = {NAMES, numbers, N_NAMES, ITEMSIZES, LISTS};
    error_t err = ERROR_INIT;
    status_t status = expression_value(expression, &scope, value, &err);
    if (status != STATUS_OK)
        fuzz_check_refusal(status, &err);
    return status;
}

static void check_values(const expression_t *expression, const expression_t *other) {
    static const int64_t NUMBERS[][N_NAMES] = {{64, 128, 3, 132},
                                               {0, 1, -1, 0},
                                               {INT64_MAX, INT64_MIN, INT64_MIN, INT64_MAX},
                                               {INT64_MIN, -1, 63, 1}};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        int64_t a = 0, b = 0;
        FUZZ_CHECK(value_of(expression, NUMBERS[i], &a) == value_of(other, NUMBERS[i], &b));
        FUZZ_CHECK(a == b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const scope_t scope = {.names = NAMES, .n = N_NAMES, .itemsizes = ITEMSIZES, .lists = LISTS};
    AUTO_FREE char *text = fuzz_text(data, size), *inner = mem_format("(%s)", text);
    expression_t *expression, *other;
    error_t err = ERROR_INIT, inner_err = ERROR_INIT;
    status_t status = expression_parse(text, &scope, &expression, &err);
    if (status != STATUS_OK) {
        fuzz_check_refusal(status, &err);
        FUZZ_CHECK(expression == NULL);
    } else {
        FUZZ_CHECK(strcmp(expression_text(expression), text) == 0);
        check_values(expression, expression);
        /* Two bytes and a level more may be too many. */
        if (expression_parse(inner, &scope, &other, &inner_err) == STATUS_OK)
            check_values(expression, other);
        else
            FUZZ_CHECK(strstr(inner_err.text, "nested over") != NULL ||
                       strstr(inner_err.text, "expression of") != NULL);
        expression_free(other);
        expression_free(expression);
    }
    return 0;
}
