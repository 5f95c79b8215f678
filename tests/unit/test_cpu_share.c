/* What other programs take from a worker, and the load before a run, from made-up numbers. */
#include "checks.h"
#include "worker/cpu_use.h"

static const double MS = 1e6;

static double taken_frac(cpu_use_t use, double took_ns, size_t n_cores) {
    cpu_share_t share = {0};
    cpu_share_add(&share, &use, took_ns, n_cores);
    return cpu_share_taken_frac(&share);
}

static void what_others_take(void **state) {
    /* Two threads on two busy cores have half of them, in 25 turns each. */
    assert_near(taken_frac((cpu_use_t){100 * MS, 110 * MS, 50}, 100 * MS, 2), 0.5, 1e-9);
    /* One of eight cores is enough for one thread. */
    assert_near(taken_frac((cpu_use_t){100 * MS, 0, 1}, 100 * MS, 8), 0, 1e-9);
    /* It need not keep its core busy. */
    assert_near(taken_frac((cpu_use_t){30 * MS, 12 * MS, 10}, 100 * MS, 8), 0.25, 1e-9);
}

/* On an idle machine, threads that are woken ten thousand times wait 20 µs each time. */
static void wake_ups_are_not_taken(void **state) {
    assert_near(taken_frac((cpu_use_t){100 * MS, 200 * MS, 10000}, 300 * MS, 4), 0, 1e-9);
}

/* Sixteen threads on two cores wait for each other. */
static void own_threads_take_nothing(void **state) {
    assert_near(taken_frac((cpu_use_t){200 * MS, 1400 * MS, 100}, 100 * MS, 2), 0, 1e-9);
    assert_near(taken_frac((cpu_use_t){150 * MS, 1400 * MS, 100}, 100 * MS, 2), 0.25, 1e-9);
    assert_near(taken_frac((cpu_use_t){201 * MS, 9 * MS, 1}, 100 * MS, 2), 0, 1e-9);
}

static void rounds_add_up(void **state) {
    cpu_share_t share = {0};
    assert_true(isnan(cpu_share_taken_frac(&share)));
    cpu_share_add(&share, &(cpu_use_t){30 * MS, 0, 0}, 30 * MS, 1);
    cpu_share_add(&share, &(cpu_use_t){20 * MS, 10 * MS, 0}, 30 * MS, 1);
    cpu_share_add(&share, &(cpu_use_t){0, 0, 0}, 30 * MS, 1);
    assert_near(cpu_share_taken_frac(&share), 10.0 / 60, 1e-9);
}

static void only_a_busy_case_is_flagged(void **state) {
    static const struct {
        double ran_ns, taken_ns;
        int flagged;
    } CASES[] = {{95, 5, 0}, {94, 6, 1}, {100, 0, 0}, {0, 0, 0}};
    unsetenv("BENCH_BUSY");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        case_t spec = {0};
        case_result_t result;
        result_init(&result, &spec);
        cpu_share_settle(&(cpu_share_t){CASES[i].ran_ns, CASES[i].taken_ns}, &result);
        assert_int_equal(result_is_busy(&result), CASES[i].flagged);
        assert_int_equal(isnan(result.cpu_taken_frac), CASES[i].ran_ns == 0);
        result.status = CASE_WRONG;
        assert_false(result_is_busy(&result)); /* its times are not shown */
        result_free(&result);
    }
}

static void the_load_before(void **state) {
    static const struct {
        const char *text;
        size_t n_cores;
        int high;
    } LOADS[] = {
        {"6.90 5.11 3.02 5/312 4711\n", 2, 1},
        {"6.90 5.11 3.02 1/312 4711\n", 2, 0}, /* a build that has ended */
        {"0.10 0.11 0.02 5/312 4711\n", 2, 0}, /* for a moment */
        {"1.00 1.00 1.00 2/312 4711\n", 2, 1}, /* one of two cores */
        {"1.00 1.00 1.00 2/312 4711\n", 64, 0},
        {"", 2, 0},
        {"none", 2, 0},
    };
    for (size_t i = 0; i < COUNT_OF(LOADS); i++) {
        const load_t load = load_parse(LOADS[i].text);
        assert_int_equal(load_is_high(&load, LOADS[i].n_cores), LOADS[i].high);
    }
    const load_t load = load_parse(LOADS[0].text);
    assert_true(load.average == 6.9 && load.running == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_take),
        cmocka_unit_test(wake_ups_are_not_taken),
        cmocka_unit_test(own_threads_take_nothing),
        cmocka_unit_test(rounds_add_up),
        cmocka_unit_test(only_a_busy_case_is_flagged),
        cmocka_unit_test(the_load_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
