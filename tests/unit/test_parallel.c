/* Parts on several cores: each once, and the first failure. */
#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { PARTS = 1000 };

static status_t count(void *context, size_t part, error_t *err) {
    (void)err;
    atomic_fetch_add(&((atomic_int *)context)[part], 1);
    return STATUS_OK;
}

static void every_part_is_done_once(void **state) {
    static atomic_int counts[PARTS];
    (void)state;
    assert_int_equal(parallel_parts(PARTS, count, counts, NULL), STATUS_OK);
    for (size_t i = 0; i < PARTS; i++)
        assert_int_equal(counts[i], 1);
    assert_int_equal(parallel_parts(0, count, NULL, NULL), STATUS_OK);
}

static status_t fail_from(void *context, size_t part, error_t *err) {
    const size_t first = *(const size_t *)context;
    return part < first ? STATUS_OK : error_set(err, STATUS_USAGE, "part %zu", part);
}

/* Whichever thread fails first. */
static void the_first_part_that_fails_is_named(void **state) {
    (void)state;
    for (size_t first = 0; first < PARTS; first += 37) {
        error_t err = ERROR_INIT;
        char expected[32];
        snprintf(expected, sizeof expected, "part %zu", first);
        assert_int_equal(parallel_parts(PARTS, fail_from, &first, &err), STATUS_USAGE);
        assert_string_equal(err.text, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_done_once),
        cmocka_unit_test(the_first_part_that_fails_is_named),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
