/* base/error: the first message wins, and context goes in front of it. */
#include "base/text.h"
#include "checks.h"

static void first_message_wins(void **state) {
    error_t err = ERROR_INIT;
    assert_int_equal(error_set(&err, STATUS_USAGE, "file %s", "a.json"), STATUS_USAGE);
    assert_int_equal(error_set(&err, STATUS_FAILED, "a consequence"), STATUS_FAILED);
    assert_int_equal(err.status, STATUS_USAGE);
    assert_string_equal(err.text, "file a.json");
}

static void null_error_is_fine(void **state) {
    assert_int_equal(error_set(NULL, STATUS_NOISY, "nobody listens"), STATUS_NOISY);
}

static void context_goes_in_front(void **state) {
    error_t err = ERROR_INIT;
    error_set(&err, STATUS_INCOMPARABLE, "GPUs differ");
    assert_int_equal(error_within(&err, "run %d", 2), STATUS_INCOMPARABLE);
    error_within(&err, "compare");
    assert_string_equal(err.text, "compare: run 2: GPUs differ");
}

static void long_messages_are_cut(void **state) {
    error_t err = ERROR_INIT;
    char longer[2 * sizeof err.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    error_set(&err, STATUS_FAILED, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    error_within(&err, "%s", "case 1");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_memory_equal(err.text, "case 1: xxx", 11);
    error_within(&err, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

/* A message that is cut inside of a character could not be written as JSON. */
static void messages_are_plain_text(void **state) {
    error_t err = ERROR_INIT;
    error_set(&err, STATUS_USAGE, "%s",
              "a\x1b[2J\x07"
              "b\xff\xc3\xa9\xc2\x9b"
              "31m\r\n\tc\x7f");
    assert_string_equal(err.text, "a?[2J?b?\xc3\xa9??31m?\n\tc?");
    char longer[2 * sizeof err.text];
    for (size_t shift = 0; shift < 2; shift++) {
        for (size_t i = 0; i + 1 < sizeof longer; i++)
            longer[i] = (i + shift) % 2 == 0 ? '\xc3' : '\xa9';
        longer[sizeof longer - 1] = '\0';
        error_clear(&err);
        error_set(&err, STATUS_USAGE, "%s", longer + shift);
        error_within(&err, "x");
        char *valid = text_utf8(err.text);
        assert_string_equal(err.text, valid);
        free(valid);
    }
}

static void cleared_errors_can_be_set_again(void **state) {
    error_t err = ERROR_INIT;
    error_set(&err, STATUS_FAILED, "one");
    error_clear(&err);
    assert_int_equal(err.status, STATUS_OK);
    assert_string_equal(err.text, "");
    error_set(&err, STATUS_USAGE, "two");
    assert_string_equal(err.text, "two");
}

static status_t count_calls(status_t status, int *calls) {
    ++*calls;
    return status;
}

static status_t try_twice(status_t first, int *calls) {
    TRY(count_calls(first, calls));
    TRY(count_calls(STATUS_OK, calls));
    return STATUS_OK;
}

static void try_leaves_with_the_status(void **state) {
    int calls = 0;
    assert_int_equal(try_twice(STATUS_NOISY, &calls), STATUS_NOISY);
    assert_int_equal(calls, 1);
    assert_int_equal(try_twice(STATUS_OK, &calls), STATUS_OK);
    assert_int_equal(calls, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_message_wins),
        cmocka_unit_test(null_error_is_fine),
        cmocka_unit_test(context_goes_in_front),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(messages_are_plain_text),
        cmocka_unit_test(cleared_errors_can_be_set_again),
        cmocka_unit_test(try_leaves_with_the_status),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
