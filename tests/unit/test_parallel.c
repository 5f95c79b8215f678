/* Parts on several cores: each once, and the first failure. */
#include "base/clock.h"
#include "base/parallel.h"
#include "checks.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { PARTS = 1000 };

static status_t count(void *context, size_t part, error_t *err) {
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
        char expected[32];
        snprintf(expected, sizeof expected, "part %zu", first);
        assert_fails(parallel_parts(PARTS, fail_from, &first, &err), STATUS_USAGE, expected);
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
        assert_fails(parallel_parts(2, fail_both, &begun, &err), STATUS_FAILED, "part 0");
    }
}

/* ---- base/clock: it never runs backwards, can be replaced, and writes ISO 8601. */

static void never_backwards(void **state) {
    int64_t last = clock_ns();
    for (int i = 0; i < 10000; i++) {
        int64_t now = clock_ns();
        assert_true(now >= last);
        last = now;
    }
}

static void sleeping_lasts_at_least_as_asked(void **state) {
    int64_t start = clock_ns();
    clock_sleep_ns(2000000); /* mood: longer is right, too */
    /* The sleep is on another clock than the reading; they may drift apart by some parts per
     * million. */
    assert_true(clock_ns() - start >= 1990000);
    clock_sleep_ns(0);
    clock_sleep_ns(-5);
}

static int64_t stepping(void *context) {
    int64_t *now = context;
    return *now += 10;
}

static void another_clock_takes_its_place(void **state) {
    int64_t now = 100;
    clock_inject(stepping, &now);
    assert_int_equal(clock_ns(), 110);
    assert_int_equal(clock_ns(), 120);
    clock_sleep_ns(INT64_MAX); /* would not come back */
    assert_int_equal(now, 120);
    clock_inject(NULL, NULL);
    assert_int_not_equal(clock_ns(), 130);
    assert_int_equal(now, 120);
}

static void timestamps_are_iso_8601(void **state) {
    static const struct {
        const char *zone, *offset;
    } rows[] = {{"UTC0", "+00:00"}, {"XXX-5:30", "+05:30"}, {"XXX+9:45", "-09:45"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        setenv("TZ", rows[i].zone, 1);
        tzset();
        char text[32];
        assert_ptr_equal(clock_timestamp(text), text);
        assert_int_equal(strlen(text), strlen("2026-11-20T23:54:46+00:00"));
        assert_string_equal(text + 19, rows[i].offset);
        struct tm parsed;
        memset(&parsed, 0, sizeof parsed);
        assert_non_null(strptime(text, "%Y-%m-%dT%H:%M:%S", &parsed));
        parsed.tm_isdst = -1;
        assert_true(llabs((long long)(time(NULL) - mktime(&parsed))) < 60);
    }
}

#include "run_tests.h"
