/* The stopping rule on made-up samples, whose precision is known. */
#include "measure/stopping.h"

#include "base/memory.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const measure_options_t DEFAULTS = MEASURE_DEFAULTS;

enum { MOST_SAMPLES = 256 };

static case_result_t make_result(const char *const *phases) {
    case_t spec = {.id = mem_text("w/cpu/v"),
                   .workload = mem_text("w"),
                   .engine = mem_text("cpu"),
                   .device = mem_text("cpu"),
                   .variant = mem_text("v"),
                   .dtype = mem_text("f32")};
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    for (size_t i = 0; phases[i] != NULL; i++)
        result_add_phase(&result, phases[i], CLOCK_HOST);
    return result;
}

/* `n` samples uniform in 1000 · (1 ± spread). */
static void add_round(case_result_t *result, const char *name, size_t n, float spread,
                      uint64_t round) {
    float noise[MOST_SAMPLES];
    double samples[MOST_SAMPLES];
    rng_fill_uniform(noise, n, (rng_position_t){7, 1, round * MOST_SAMPLES}, -spread, spread);
    for (size_t i = 0; i < n; i++)
        samples[i] = 1000 * (1 + (double)noise[i]);
    phase_add_round((phase_t *)result_phase(result, name), samples, n);
}

static const char *const TOTAL_ONLY[] = {"total", NULL};

/* Rounds of `n` samples until the rule stops them; returns the reason. */
static stop_reason_t run_rounds(const measure_options_t *measure, size_t n, float spread,
                                double round_s, stopping_t *stopping) {
    case_result_t result = make_result(TOTAL_ONLY);
    stopping_init(stopping, measure);
    stop_reason_t stop = STOP_NONE;
    for (uint64_t round = 0; stop == STOP_NONE; round++) {
        assert_true(round < STOPPING_MOST_ROUNDS);
        add_round(&result, "total", n, spread, round);
        stop = stopping_after_round(stopping, &result, round_s);
    }
    result_free(&result);
    return stop;
}

static void test_precise_samples_need_the_least_rounds(void **state) {
    (void)state;
    stopping_t stopping;
    assert_int_equal(run_rounds(&DEFAULTS, 30, 0.001F, 0.03, &stopping), STOP_PRECISE);
    assert_int_equal(stopping.rounds, DEFAULTS.min_rounds);
}

static void test_few_samples_a_round_need_more_rounds(void **state) {
    (void)state;
    stopping_t stopping;
    assert_int_equal(run_rounds(&DEFAULTS, 2, 0.001F, 0.03, &stopping), STOP_PRECISE);
    assert_int_equal(stopping.rounds, DEFAULTS.min_samples / 2);
}

static void test_the_same_time_again_and_again(void **state) {
    (void)state;
    stopping_t stopping;
    assert_int_equal(run_rounds(&DEFAULTS, 10, 0, 0.03, &stopping), STOP_PRECISE);
    assert_int_equal(stopping.rounds, DEFAULTS.min_rounds);
}

/* The interval of independent samples shrinks by 1/√n until it is narrow enough. */
static void test_noise_is_averaged_away(void **state) {
    (void)state;
    stopping_t stopping;
    assert_int_equal(run_rounds(&DEFAULTS, 200, 0.1F, 0.001, &stopping), STOP_PRECISE);
    assert_in_range(stopping.rounds, DEFAULTS.min_rounds + 1, 40);
}

static void test_time_limit(void **state) {
    (void)state;
    stopping_t stopping;
    measure_options_t measure = DEFAULTS;
    measure.time_limit_s = 1.5;
    assert_int_equal(run_rounds(&measure, 10, 0.5F, 0.25, &stopping), STOP_TIME_LIMIT);
    assert_int_equal(stopping.rounds, 6);
    assert_float_equal(stopping.spent_s, 1.5, 1e-6);
}

/* A slow case gets its least rounds, but not for ever: a sample may take seconds. */
static void test_time_limit_waits_for_min_rounds(void **state) {
    (void)state;
    stopping_t stopping;
    measure_options_t measure = DEFAULTS;
    measure.time_limit_s = 1;
    assert_int_equal(run_rounds(&measure, 10, 0.5F, 0.5, &stopping), STOP_TIME_LIMIT);
    assert_int_equal(stopping.rounds, measure.min_rounds);
    assert_int_equal(run_rounds(&measure, 10, 0.5F, 2, &stopping), STOP_TIME_LIMIT);
    assert_int_equal(stopping.rounds, STOPPING_PATIENCE / 2);
}

static void test_rounds_are_limited(void **state) {
    (void)state;
    stopping_t stopping;
    measure_options_t measure = DEFAULTS;
    measure.min_samples = 100000;
    assert_int_equal(run_rounds(&measure, 8, 0.001F, 0.001, &stopping), STOP_TIME_LIMIT);
    assert_int_equal(stopping.rounds, STOPPING_MOST_ROUNDS);
}

/* Two clock states that alternate with growing runs: the interval spans both however many rounds
 * are added. */
static void test_noise_floor(void **state) {
    (void)state;
    case_result_t result = make_result(TOTAL_ONLY);
    stopping_t stopping;
    stopping_init(&stopping, &DEFAULTS);
    stop_reason_t stop = STOP_NONE;
    phase_t *total = (phase_t *)result_phase(&result, "total");
    while (stop == STOP_NONE) {
        double slow = stopping.rounds % 2 == 0 ? 1000 : 1100, samples[10];
        for (int i = 0; i < 10; i++)
            samples[i] = slow + i;
        phase_add_round(total, samples, 10);
        stop = stopping_after_round(&stopping, &result, 0.001);
    }
    assert_int_equal(stop, STOP_NOISE_FLOOR);
    assert_in_range(stopping.rounds, 16, STOPPING_MOST_ROUNDS);
    assert_true(stopping_half_width_frac(total) > DEFAULTS.precision_frac);
    result_free(&result);
}

/* host_to_host and the compute phase decide; a noisy phase beside them does not. */
static void test_which_phases_decide(void **state) {
    (void)state;
    static const struct {
        const char *phases[5];
        float spreads[4];
        bool precise;
    } TABLE[] = {
        {{"total", "host_to_host", "kernel", NULL}, {0.9F, 0.001F, 0.001F}, true},
        {{"total", "host_to_host", "kernel", NULL}, {0.001F, 0.9F, 0.001F}, false},
        {{"total", "host_to_host", "forward", NULL}, {0.001F, 0.001F, 0.9F}, false},
        {{"total", "kernel", "kernel_graph", NULL}, {0.001F, 0.9F, 0.001F}, true},
        {{"total", "kernel", "kernel_graph", NULL}, {0.001F, 0.001F, 0.9F}, false},
        {{"total", "malloc", "h2d", "kernel", NULL}, {0.001F, 0.9F, 0.9F, 0.001F}, true},
        {{"total", "malloc", NULL}, {0.9F, 0.001F}, false},
    };
    for (size_t t = 0; t < sizeof TABLE / sizeof *TABLE; t++) {
        case_result_t result = make_result(TABLE[t].phases);
        free(result.spec.engine);
        result.spec.engine = mem_text("cuda");
        stopping_t stopping;
        stopping_init(&stopping, &DEFAULTS);
        stop_reason_t stop = STOP_NONE;
        for (unsigned round = 0; round < DEFAULTS.min_rounds; round++) {
            for (size_t i = 0; TABLE[t].phases[i] != NULL; i++)
                add_round(&result, TABLE[t].phases[i], 10, TABLE[t].spreads[i], round);
            stop = stopping_after_round(&stopping, &result, 0.001);
        }
        assert_int_equal(stop, TABLE[t].precise ? STOP_PRECISE : STOP_NONE);
        result_free(&result);
    }
}

static void test_half_width(void **state) {
    (void)state;
    case_result_t result = make_result(TOTAL_ONLY);
    phase_t *total = (phase_t *)result_phase(&result, "total");
    phase_add_round(total, (double[]){10, 10, 10, 10, 10}, 5);
    assert_true(isinf(stopping_half_width_frac(total)));
    phase_add_round(total, (double[]){10}, 1);
    assert_true(stopping_half_width_frac(total) == 0);
    result_free(&result);
    /* Of six samples the interval is their whole range: 8 … 12 around 10. */
    result = make_result(TOTAL_ONLY);
    total = (phase_t *)result_phase(&result, "total");
    phase_add_round(total, (double[]){12, 8, 10, 10, 9, 11}, 6);
    assert_float_equal(stopping_half_width_frac(total), 0.2, 1e-6);
    result_free(&result);
}

/* A phase whose median is 0 (a clock with coarse steps) has no relative precision, unless all of it
 * is 0. */
static void test_zero_median(void **state) {
    (void)state;
    case_result_t result = make_result(TOTAL_ONLY);
    phase_t *total = (phase_t *)result_phase(&result, "total");
    phase_add_round(total, (double[]){0, 0, 0, 0, 0, 0}, 6);
    assert_true(stopping_half_width_frac(total) == 0);
    phase_add_round(total, (double[]){0, 0, 0, 0, 0, 9}, 6);
    assert_true(stopping_half_width_frac(total) == 0);
    phase_add_round(total, (double[]){9, 9, 9, 9, 9}, 5);
    assert_true(isinf(stopping_half_width_frac(total)));
    result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precise_samples_need_the_least_rounds),
        cmocka_unit_test(test_few_samples_a_round_need_more_rounds),
        cmocka_unit_test(test_the_same_time_again_and_again),
        cmocka_unit_test(test_noise_is_averaged_away),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_time_limit_waits_for_min_rounds),
        cmocka_unit_test(test_rounds_are_limited),
        cmocka_unit_test(test_noise_floor),
        cmocka_unit_test(test_which_phases_decide),
        cmocka_unit_test(test_half_width),
        cmocka_unit_test(test_zero_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
