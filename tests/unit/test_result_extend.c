/* Rounds of a case that was measured once more. */
#include "base/memory.h"
#include "model/result.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two rounds of two samples each from `first` on. */
static void make(case_result_t *result, double first) {
    const case_t spec = {.id = mem_text("c"),
                         .workload = mem_text("null"),
                         .engine = mem_text("null"),
                         .device = mem_text("cpu"),
                         .variant = mem_text("steady"),
                         .dtype = mem_text("f32")};
    result_init(result, &spec);
    case_free((case_t *)&spec);
    phase_t *phase = result_add_phase(result, "total", CLOCK_HOST);
    phase_add_round(phase, (double[]){first, first + 1}, 2);
    phase_add_round(phase, (double[]){first + 2, first + 3}, 2);
    phase_summarise(phase);
    result->rounds = 2;
    result->warmup_ns = 10;
    result->stop = STOP_PRECISE;
    result->before = result->after = (check_t){.done = true, .ok = true, .rel_l2 = first};
}

static void test_join(void **state) {
    (void)state;
    case_result_t result;
    make(&result, 1);
    result_join_rounds(&result);
    assert_int_equal(result.rounds, 1);
    assert_int_equal(result.phases[0].n_rounds, 1);
    assert_int_equal(result.phases[0].round_starts[0], 0);
    assert_int_equal(result.phases[0].round_starts[1], 4);
    assert_int_equal(result.phases[0].n_samples, 4);
    result_join_rounds(&result); /* one is one */
    assert_int_equal(result.phases[0].n_rounds, 1);
    result_free(&result);
}

static void test_extend(void **state) {
    (void)state;
    case_result_t whole, more;
    make(&whole, 1);
    make(&more, 101);
    whole.device.sm_mhz[0] = whole.device.sm_mhz[1] = 1500;
    more.device.sm_mhz[0] = 1400;
    more.device.sm_mhz[1] = 1450;
    more.device.power_w[0] = more.device.power_w[1] = 300;
    flag_list_add_text(&whole.flags, "same");
    flag_list_add_text(&more.flags, "same");
    flag_list_add_text(&more.flags, "other");
    more.phases[0].n_throttled = 5;
    result_extend(&whole, &more);
    const phase_t *phase = &whole.phases[0];
    assert_int_equal(phase->n_rounds, 4);
    assert_int_equal(phase->n_samples, 8);
    assert_int_equal(phase->round_starts[3], 6);
    assert_true(phase->samples[0] == 1 && phase->samples[4] == 101);
    assert_true(phase->summary.n == 8 && phase->summary.max == 104);
    assert_int_equal(phase->n_throttled, 5);
    assert_int_equal(whole.rounds, 4);
    assert_true(whole.warmup_ns == 20);
    assert_int_equal(whole.stop, STOP_FIXED_COUNT);
    assert_int_equal(whole.status, CASE_OK);
    assert_true(whole.before.rel_l2 == 1 && whole.after.rel_l2 == 101);
    assert_true(whole.device.sm_mhz[0] == 1400 && whole.device.sm_mhz[1] == 1500);
    assert_true(whole.device.power_w[0] == 300 && isnan(whole.device.temperature_c[0]));
    assert_int_equal(whole.flags.n, 2);
    result_free(&whole);
    result_free(&more);
}

/* What failed the second time has failed; its samples are not taken for good ones. */
static void test_failed_later(void **state) {
    (void)state;
    case_result_t whole, more;
    make(&whole, 1);
    make(&more, 101);
    more.status = CASE_WRONG;
    more.reason = mem_text("y differs");
    more.before.ok = false;
    more.after.done = false;
    result_extend(&whole, &more);
    assert_int_equal(whole.status, CASE_WRONG);
    assert_string_equal(whole.reason, "y differs");
    assert_false(whole.after.ok);
    assert_int_equal(whole.phases[0].n_samples, 4);
    result_free(&whole);
    result_free(&more);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_extend),
        cmocka_unit_test(test_failed_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
