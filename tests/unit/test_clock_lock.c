/* Which clock a GPU is locked to, and what is written down of it. No NVML is called here:
 * tests/cli/test_lock_clocks.py has a false one. */
#include "checks.h"
#include "limits/limits.h"
#include "measure/machine.h"
#include "results/conditions.h"

static const unsigned CLOCKS[] = {1980, 1965, 1950, 345, 360};
enum { N = COUNT_OF(CLOCKS) };

static void the_nearest_clock_is_taken(void **state) {
    static const struct {
        unsigned asked, chosen;
    } ROWS[] = {{1980, 1980}, {345, 345},  {1979, 1980}, {1966, 1965}, {1958, 1965},
                {1957, 1950}, {1000, 360}, {1155, 360},  {1156, 1950}, {350, 345}};
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        unsigned chosen = 0;
        assert_ok(lock_clocks_choose(CLOCKS, N, 1980, ROWS[i].asked, &chosen, &err));
        assert_int_equal(chosen, ROWS[i].chosen);
    }
}

static void a_clock_out_of_range_is_refused(void **state) {
    static const unsigned ASKED[] = {344, 1, 1981, 4000000000U};
    for (size_t i = 0; i < COUNT_OF(ASKED); i++) {
        unsigned chosen;
        error_t err = ERROR_INIT;
        assert_int_equal(lock_clocks_choose(CLOCKS, N, 1980, ASKED[i], &chosen, &err),
                         STATUS_USAGE);
        AUTO_FREE char *expected =
            mem_format("--lock-clocks %u: this GPU's SM clock ranges from 345 to 1980 "
                       "MHz",
                       ASKED[i]);
        assert_string_equal(err.text, expected);
    }
}

static void a_driver_without_a_list_has_the_say(void **state) {
    unsigned chosen = 0;
    assert_ok(lock_clocks_choose(NULL, 0, 1980, 1001, &chosen, &err));
    assert_int_equal(chosen, 1001);
    assert_ok(lock_clocks_choose(NULL, 0, NAN, 5000, &chosen, &err));
    assert_int_equal(chosen, 5000);
    assert_fails(lock_clocks_choose(NULL, 0, 1980, 1981, &chosen, &err), STATUS_USAGE,
                 "--lock-clocks 1981: this GPU's SM clock is at most 1980 MHz");
}

/* ---- the record ------------------------------------------------------------------------------ */

static void assert_sentence(const environment_t *env, const char *expected) {
    AUTO_FREE char *sentence = lock_clocks_sentence(env);
    if (expected == NULL)
        assert_null(sentence);
    else
        assert_string_equal(sentence, expected);
}

static void what_came_of_it_is_said(void **state) {
    AUTO(environment_free) environment_t env = {0};
    assert_sentence(&env, NULL);
    assert_true(isnan(lock_clocks_recorded_mhz(&env)));
    lock_clocks_record(&env, 1500, 0, "it takes root");
    assert_sentence(&env, "the SM clock was not locked to the 1500 MHz asked for: it takes root");
    assert_true(isnan(lock_clocks_recorded_mhz(&env)));
    lock_clocks_record(&env, 1500, 1500, NULL); /* the run is gone on with, as root */
    assert_sentence(&env, "the SM clock was locked to 1500 MHz");
    assert_true(lock_clocks_recorded_mhz(&env) == 1500);
    lock_clocks_record(&env, 1507, 1500, NULL);
    assert_sentence(&env, "the SM clock was locked to 1500 MHz, the nearest available to "
                          "the 1507 asked for");
    lock_clocks_record(&env, 0, 0, NULL); /* gone on with, without the lock */
    assert_sentence(&env, NULL);
    assert_true(isnan(lock_clocks_recorded_mhz(&env)));
}

static void the_nominal_peak_is_that_of_the_locked_clock(void **state) {
    AUTO(environment_free) environment_t env = {0};
    environment_set(&env, "gpu.arch", "sm_90");
    environment_set_number(&env, "gpu.multiprocessors", 10);
    environment_set_number(&env, "gpu.clock_max_mhz", 2000);
    device_rates_t rates = DEVICE_RATES_UNKNOWN;
    device_rates_from_facts(&env, &rates);
    assert_true(rates.fp32_flops_per_s == 10 * 128 * 2 * 2000e6);
    lock_clocks_record(&env, 1500, 0, "it takes root");
    device_rates_from_facts(&env, &rates);
    assert_true(rates.fp32_flops_per_s == 10 * 128 * 2 * 2000e6);
    lock_clocks_record(&env, 1500, 1500, NULL);
    device_rates_from_facts(&env, &rates);
    assert_true(rates.fp32_flops_per_s == 10 * 128 * 2 * 1500e6);
    assert_true(rates.f16_peak_flops_per_s == 10 * 2048 * 2 * 2000e6); /* a lock can be lost */
}

#include "run_tests.h"
