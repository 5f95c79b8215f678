/* What each unit program includes: cmocka with the headers that it wants, and checks that most programs use. */
#ifndef TESTS_CHECKS_H
#define TESTS_CHECKS_H

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The call names `&err`, which is this macro's own. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        error_t err = ERROR_INIT;                                                                  \
        if ((call) != STATUS_OK)                                                                   \
            fail_msg("%s: %s", #call, err.text);                                                   \
    } while (0)

/* Likewise a call that must fail, with this message or with one that has these words. */
#define assert_fails(call, status, message)                                                        \
    do {                                                                                           \
        error_t err = ERROR_INIT;                                                                  \
        assert_int_equal(call, status);                                                            \
        assert_string_equal(err.text, message);                                                    \
    } while (0)

#define assert_fails_with(call, status, words)                                                     \
    do {                                                                                           \
        error_t err = ERROR_INIT;                                                                  \
        assert_int_equal(call, status);                                                            \
        assert_has(err.text, words);                                                               \
    } while (0)

/* What is in a text, and what is not. */
static inline void assert_has(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in:\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part) {
    if (strstr(text, part) != NULL)
        fail_msg("'%s' is in:\n%s", part, text);
}

/* A text that the caller frees. */
#define assert_text(call, expected)                                                                \
    do {                                                                                           \
        char *text_ = (call);                                                                      \
        assert_string_equal(text_, expected);                                                      \
        free(text_);                                                                               \
    } while (0)

/* cmocka 1.1.5's assert_float_equal() lets NaN pass as equal to any. */
#define assert_near(found, expected, epsilon)                                                      \
    do {                                                                                           \
        const double found_ = (found), expected_ = (expected);                                     \
        if (found_ != expected_ && !(fabs(found_ - expected_) <= (epsilon)))                       \
            fail_msg("%s is %.17g, expected %.17g", #found, found_, expected_);                    \
    } while (0)

#endif
