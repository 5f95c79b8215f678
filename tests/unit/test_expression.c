/* Expressions of operators: values, and the message for each kind of mistake. */
#include "checks.h"
#include "expression/expression.h"

static const char *const NAMES[] = {"rows", "cols", "zero", "least", "sm_count", "layers"};
static const int64_t VALUES[] = {10, 3, 0, INT64_MIN, 132, 0};
static const int64_t LAYERS[] = {4, 5, 1};
static const scope_list_t LISTS[] = {[5] = {LAYERS, 3}}, SOME_LIST[] = {[5] = {NULL, 1}};
/* T and W */
static const int64_t ITEMSIZES[ELEMENT_LETTERS] = {['T' - 'A'] = 2, ['W' - 'A'] = 4};
static const scope_t SCOPE = {NAMES, VALUES, 6, ITEMSIZES, LISTS};

static status_t evaluate(const char *text, int64_t *value, error_t *err) {
    expression_t *expression;
    const scope_t names_only = {
        .names = NAMES, .n = SCOPE.n, .itemsizes = ITEMSIZES, .lists = SOME_LIST};
    TRY(expression_parse(text, &names_only, &expression, err));
    assert_string_equal(expression_text(expression), text);
    status_t status = expression_value(expression, &SCOPE, value, err);
    expression_free(expression);
    return status;
}

static void check_value(const char *text, int64_t expected) {
    error_t err = ERROR_INIT;
    int64_t value;
    if (evaluate(text, &value, &err) != STATUS_OK)
        fail_msg("%s: %s", text, err.text);
    if (value != expected)
        fail_msg("%s: %lld, expected %lld", text, (long long)value, (long long)expected);
}

static void check_failure(const char *text, status_t status, const char *message) {
    error_t err = ERROR_INIT;
    int64_t value;
    assert_int_equal(evaluate(text, &value, &err), status);
    assert_text(mem_format("\"%s\": %s", text, message), err.text);
}

static void test_values(void **state) {
    static const struct {
        const char *text;
        int64_t value;
    } CASES[] = {
        {"7", 7},
        {" rows\t", 10},
        {"9223372036854775807", INT64_MAX},
        /* precedence and the side that is taken first */
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 4 - 3", 3},
        {"100 / 10 / 5", 2},
        {"100 / 5 * 3", 60},
        {"17 % 5 * 2", 4},
        {"2 * 3 ** 2", 18},
        {"2 ** 3 ** 2", 512},
        {"-2 ** 2", -4},
        {"(-2) ** 2", 4},
        {"2 ** -0", 1},
        {"--rows", 10},
        {"rows - -cols", 13},
        {"rows*cols", 30},
        {"1 + 1 == 2", 1},
        {"1 + (1 == 2)", 1},
        {"0 && 0 || 1", 1},
        {"1 || 1 && 0", 1},
        {"(1 || 1) && 0", 0},
        {"1 == 1 && 2 == 3", 0},
        /* comparisons */
        {"3 < 3", 0},
        {"2 < 3", 1},
        {"3 <= 3", 1},
        {"4 <= 3", 0},
        {"3 > 3", 0},
        {"4 > 3", 1},
        {"3 >= 3", 1},
        {"2 >= 3", 0},
        {"3 == 3", 1},
        {"3 != 3", 0},
        {"2 != 3", 1},
        /* truth is 0 or 1, and what does not count is not computed */
        {"7 && 8", 1},
        {"7 && 0", 0},
        {"0 || 9", 1},
        {"9 || 0", 1},
        {"0 || 0", 0},
        {"(5 || 0) + 1", 2},
        {"zero == 0 || rows / zero > 1", 1},
        {"zero != 0 && rows / zero > 1", 0},
        {"1 || 1 / 0 || 1 / 0", 1},
        {"0 && 1 / 0 && 1 / 0", 0},
        {"0 && 1 / 0 || 5", 1},
        /* division rounds toward zero, ceil_div up */
        {"7 / 2", 3},
        {"-7 / 2", -3},
        {"-7 % 2", -1},
        {"7 % -2", 1},
        {"least % -1", 0},
        {"7 / -1", -7},
        {"ceil_div(7, 2)", 4},
        {"ceil_div(8, 2)", 4},
        {"ceil_div(-7, 2)", -3},
        {"ceil_div(-7, -2)", 4},
        {"ceil_div(7, -2)", -3},
        {"ceil_div(0, 5)", 0},
        /* functions */
        {"min(rows, cols)", 3},
        {"max(rows, cols)", 10},
        {"min(5, 4, 3, 4, 5)", 3},
        {"max ( 1, 2 , min(9, 8) )", 8},
        {"itemsize(T)", 2},
        {"itemsize(W) + itemsize(T)", 6},
        {"itemsize( f64 ) * rows", 80},
        {"itemsize(bool)", 1},
        {"sm_count * 2", 264},
        /* powers */
        {"0 ** 0", 1},
        {"2 ** 62", INT64_C(1) << 62},
        {"(-2) ** 63", INT64_MIN},
        {"1 ** 9223372036854775807", 1},
        {"(-1) ** 9223372036854775807", -1},
        {"0 ** 9223372036854775807", 0},
        {"-9223372036854775807 - 1", INT64_MIN},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        check_value(CASES[i].text, CASES[i].value);
}

static void test_operations_that_fail(void **state) {
    static const char *const CASES[][2] = {
        {"rows + 9223372036854775807", "10 + 9223372036854775807: over 64 bits"},
        {"least - 1", "-9223372036854775808 - 1: over 64 bits"},
        {"-least", "0 - -9223372036854775808: over 64 bits"},
        {"least * -1", "-9223372036854775808 * -1: over 64 bits"},
        {"4611686018427387904 * 2", "4611686018427387904 * 2: over 64 bits"},
        {"least / -1", "-9223372036854775808 / -1: over 64 bits"},
        {"ceil_div(least, -1)", "ceil_div(-9223372036854775808, -1): over 64 bits"},
        {"rows / (cols - 3)", "10 / 0: division by zero"},
        {"rows % zero", "10 % 0: division by zero"},
        {"ceil_div(rows, zero)", "ceil_div(10, 0): division by zero"},
        {"2 ** 63", "2 ** 63: over 64 bits"},
        {"(-3) ** 41", "-3 ** 41: over 64 bits"},
        {"3 ** 9223372036854775807", "3 ** 9223372036854775807: over 64 bits"},
        {"2 ** -1", "2 ** -1: negative exponent"},
        {"1 && rows / zero", "10 / 0: division by zero"},
        {"0 || rows / zero", "10 / 0: division by zero"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        check_failure(CASES[i][0], STATUS_FAILED, CASES[i][1]);
}

#define KNOWN "(known: rows, cols, zero, least, sm_count, layers)"
#define START "expected a number, a name, \"-\" or \"(\""

static void test_texts_that_are_refused(void **state) {
    static const char *const CASES[][2] = {
        {"", "character 1: found the end, " START},
        {"rows *", "character 7: found the end, " START},
        {"rows cols", "character 6: found \"cols\", expected an operator or the end"},
        {"rows = 3", "character 6: found \"=\", expected an operator or the end"},
        {"rows & 3", "character 6: found \"&\", expected an operator or the end"},
        {"(rows", "character 6: found the end, expected an operator or \")\""},
        {"rows)", "character 5: found \")\", expected an operator or the end"},
        {"* 3", "character 1: found \"*\", " START},
        {"2 * * 3", "character 5: found \"*\", " START},
        {"+3", "character 1: found \"+\", " START},
        {"3 × 4", "character 3: found \"×\", expected an operator or the end"},
        {"×× $", "character 1: found \"×\", " START},
        {"rows × 4 + y", "character 6: found \"×\", expected an operator or the end"},
        {"1.5", "character 1: found \"1.\", expected an integer in decimal digits"},
        {"rows + 2e6", "character 8: found \"2e6\", expected an integer in decimal digits"},
        {"0x10", "character 1: found \"0x10\", expected an integer in decimal digits"},
        {"9223372036854775808", "character 1: found a number over 9223372036854775807"},
        {"1 < rows < 3", "character 10: a second comparison: join two with \"&&\""},
        {"row + 1", "character 1: unknown name \"row\"; did you mean \"rows\"? " KNOWN},
        {"1 + T", "character 5: unknown name \"T\" " KNOWN},
        {"rowss_and_columns", "character 1: unknown name \"rowss_and_columns\" " KNOWN},
        {"2 * ceildiv(1, 2)", "character 5: unknown function \"ceildiv\"; did you mean "
                              "\"ceil_div\"? (known: itemsize, len, sum, ceil_div, min, max)"},
        {"rows(1)",
         "character 1: unknown function \"rows\" (known: itemsize, len, sum, ceil_div, min, max)"},
        {"1 + min(1)", "character 5: found 1 argument of min, expected at least 2"},
        {"ceil_div(1)", "character 1: found 1 argument of ceil_div, expected 2"},
        {"ceil_div(1, 2, 3)", "character 1: found 3 arguments of ceil_div, expected 2"},
        {"max()", "character 5: found \")\", " START},
        {"max(1, 2", "character 9: found the end, expected an operator, \",\" or \")\""},
        {"itemsize()", "character 10: found \")\", expected a dtype"},
        {"itemsize(T, T)", "character 11: found \",\", expected \")\""},
        {"itemsize(f23)", "character 10: unknown dtype \"f23\"; did you mean \"f32\"? "
                          "(known: T, W, f32, f16, bf16, f64, i32, i64, u8, bool, i8, e4m3, e5m2)"},
        {"rows\n+ 1", "character 5: found \"\n\", expected an operator or the end"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        check_failure(CASES[i][0], STATUS_USAGE, CASES[i][1]);
}

/* "((…3…))": `n` times `open`, the middle, `n` times `close`. */
static char *nested(size_t n, const char *open, const char *middle, const char *close) {
    char *text = mem_text(middle);
    for (size_t i = 0; i < n; i++) {
        char *more = mem_format("%s%s%s", open, text, close);
        free(text);
        text = more;
    }
    return text;
}

static void test_nesting(void **state) {
    static const char *const BRACKETS[][2] = {{"(", ")"},
                                              {"-", ""},
                                              {"1 ** ", ""},
                                              {"min(3, ", ")"},
                                              /* as many numbers waiting as a level can have */
                                              {"max(1, 1 == 1 + 1 * ", ")"}};
    for (size_t i = 0; i < COUNT_OF(BRACKETS); i++) {
        AUTO_FREE char *deepest = nested(31, BRACKETS[i][0], "3", BRACKETS[i][1]);
        AUTO_FREE char *deeper = nested(32, BRACKETS[i][0], "3", BRACKETS[i][1]);
        int64_t value;
        assert_ok(evaluate(deepest, &value, &err));
        assert_fails_with(evaluate(deeper, &value, &err), STATUS_USAGE,
                          "nested over 32 levels deep");
    }
}

static void test_long_texts(void **state) {
    char *sum = nested(499, "1+", "11", ""); /* 1000 bytes, and no nesting */
    assert_int_equal(strlen(sum), EXPRESSION_LONGEST);
    check_value(sum, 510);
    AUTO_FREE char *longer = mem_format("%s ", sum);
    int64_t value;
    assert_fails(evaluate(longer, &value, &err), STATUS_USAGE,
                 "found an expression of 1001 bytes, expected at most 1000");
    free(sum);
    expression_free(NULL);
}

/* A description's expressions are computed with more names than they may use. */
static void test_a_longer_scope(void **state) {
    const scope_t fewer = {.names = NAMES, .n = 2};
    expression_t *expression;
    error_t err = ERROR_INIT;
    int64_t value;
    assert_int_equal(expression_parse("rows * cols", &fewer, &expression, &err), STATUS_OK);
    assert_int_equal(expression_value(expression, &SCOPE, &value, &err), STATUS_OK);
    assert_int_equal(value, 30);
    expression_free(expression);
    assert_int_equal(expression_parse("sm_count", &fewer, &expression, &err), STATUS_USAGE);
    assert_null(expression);
}

static void test_lists(void **state) {
    check_value("layers[0]", 4);
    check_value("layers[len(layers) - 1] + 2", 3);
    check_value("layers[layers[2]] * len( layers )", 15);
    check_value("sum(len(layers) - 1, layers[i + 1] * (layers[i] + 1))", 31);
    check_value("2 * sum(cols, i) - sum(0, 1 / 0) - 1", 5);
    check_value("rows + sum(2, i > 0 && layers[i] == 5)", 11);
    check_failure("layers[3]", STATUS_FAILED, "layers[3]: expected an index from 0 to 2");
    check_failure("layers[zero - 1]", STATUS_FAILED, "layers[-1]: expected an index from 0 to 2");
    check_failure("sum(1025, i)", STATUS_FAILED, "a sum of 1025 terms: expected 0 to 1024");
    check_failure("sum(2, 2 ** 62)", STATUS_FAILED,
                  "4611686018427387904 + 4611686018427387904: over 64 bits");
    check_failure("layers + 1", STATUS_USAGE,
                  "character 1: found the list layers, expected layers[…] or len(layers)");
    check_failure("rows[0]", STATUS_USAGE,
                  "character 5: found \"[\", expected an operator or the end");
    check_failure("layers[0", STATUS_USAGE,
                  "character 9: found the end, expected an operator or \"]\"");
    check_failure("len(rows)", STATUS_USAGE,
                  "character 5: found \"rows\", expected the name of a list");
    check_failure("sum(2, sum(2, i))", STATUS_USAGE, "character 8: a sum within a sum");
    check_failure("sum(2)", STATUS_USAGE,
                  "character 6: found \")\", expected an operator or \",\"");
    check_failure("sum(2, i) + i", STATUS_USAGE,
                  "character 13: unknown name \"i\" (known: rows, cols, zero, least, sm_count, "
                  "layers)");
}

/* In float64, for scalars and fills. */
static void test_reals(void **state) {
    static const struct {
        const char *text;
        double value;
    } CASES[] = {
        {"1 / 4", 0.25},
        {"rows / 4 * 4", 10},
        {"-7 % 4", -3},
        {"ceil_div(7, 2)", 4},
        {"rows ** -1", 0.1},
        {"9 ** (1 / 2)", 3},
        {"min(1 / 2, 1 / 3, 1)", 1 / 3.0},
        {"max(zero, 1 / 8)", 0.125},
        {"itemsize(T) / 4", 0.5},
        {"1 / 2 > zero", 1},
        {"1 / 3 == 1 / 3", 1},
        {"1 / 3 != 1 / 3", 0},
        {"1 / 3 <= 1 / 4", 0},
        {"1 / 3 >= 1 / 4", 1},
        {"1 / 4 < 1 / 3", 1},
        {"1 / 2 && 1 / 4", 1},
        {"0 * -1 || zero", 0},
        {"zero == 0 || 1 / zero", 1},
        {"layers[4 / 2] / layers[0]", 0.25},
        {"sum(len(layers), 1 / layers[i])", 1.45},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        error_t err = ERROR_INIT;
        expression_t *expression;
        double value;
        assert_int_equal(expression_parse(CASES[i].text, &SCOPE, &expression, &err), STATUS_OK);
        if (expression_real(expression, &SCOPE, &value, &err) != STATUS_OK)
            fail_msg("%s: %s", CASES[i].text, err.text);
        if (value != CASES[i].value)
            fail_msg("%s: %.17g, expected %.17g", CASES[i].text, value, CASES[i].value);
        expression_free(expression);
    }
}

static void test_reals_that_fail(void **state) {
    static const char *const CASES[][2] = {
        {"1 / zero", "1 / 0: division by zero"},
        {"ceil_div(rows / 4, zero)", "ceil_div(2.5, 0): division by zero"},
        {"layers[1 / 2]", "layers[0.5]: expected an index from 0 to 2"},
        {"10 ** 400", "10 ** 400: no finite number"},
        {"(-1) ** (1 / 2)", "-1 ** 0.5: no finite number"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        error_t err = ERROR_INIT;
        expression_t *expression;
        double value;
        assert_int_equal(expression_parse(CASES[i][0], &SCOPE, &expression, &err), STATUS_OK);
        assert_int_equal(expression_real(expression, &SCOPE, &value, &err), STATUS_FAILED);
        assert_text(mem_format("\"%s\": %s", CASES[i][0], CASES[i][1]), err.text);
        expression_free(expression);
    }
}

#include "run_tests.h"
