/* Parts on several cores: each once, and the first failure. */
#include "base/parallel.h"
#include "checks.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { PARTS = 1000 };

static status_t count(void *context, size_t part, error_t *err) {
    (void)err;
    atomic_fetch_add(&((atomic_int *)context)[part], 1);
    return STATUS_OK;
}

static void every_part_is_done_once(void **state) {
    static atomic_int counts[PARTS];
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
    for (size_t first = 0; first < PARTS; first += 37) {
        error_t err = ERROR_INIT;
        char expected[32];
        snprintf(expected, sizeof expected, "part %zu", first);
        assert_int_equal(parallel_parts(PARTS, fail_from, &first, &err), STATUS_USAGE);
        assert_string_equal(err.text, expected);
    }
}

/* Both begin before one ends, if there is a core for each; the second as a rule ends last. */
static status_t fail_both(void *context, size_t part, error_t *err) {
    atomic_int *begun = context;
    cpu_set_t cores;
    sched_getaffinity(0, sizeof cores, &cores);
    atomic_fetch_add(begun, 1);
    while (CPU_COUNT(&cores) > 1 && atomic_load(begun) < 2)
        sched_yield();
    for (size_t i = 0; i < 100 * part; i++)
        sched_yield();
    return error_set(err, STATUS_FAILED, "part %zu", part);
}

static void a_later_failure_changes_nothing(void **state) {
    for (int i = 0; i < 300; i++) {
        atomic_int begun = 0;
        error_t err = ERROR_INIT;
        assert_int_equal(parallel_parts(2, fail_both, &begun, &err), STATUS_FAILED);
        assert_string_equal(err.text, "part 0");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_done_once),
        cmocka_unit_test(the_first_part_that_fails_is_named),
        cmocka_unit_test(a_later_failure_changes_nothing),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
