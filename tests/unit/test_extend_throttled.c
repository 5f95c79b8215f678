/* Samples that were set apart stay counted when a case gets more rounds. */
#include "model/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static case_result_t with_apart(size_t n_throttled) {
    case_result_t result;
    result_init(&result, &(case_t){0});
    phase_t *phase = result_add_phase(&result, "total", CLOCK_HOST);
    phase_add_round(phase, (double[]){1, 2, 3}, 3);
    phase->n_throttled = n_throttled;
    phase_summarise(phase);
    return result;
}

static void test_counts_add_up(void **state) {
    (void)state;
    static const size_t COUNTS[][2] = {{0, 0}, {5, 0}, {0, 4}, {5, 4}};
    for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
        case_result_t whole = with_apart(COUNTS[i][0]), more = with_apart(COUNTS[i][1]);
        result_extend(&whole, &more);
        assert_int_equal(whole.phases[0].n_throttled, COUNTS[i][0] + COUNTS[i][1]);
        assert_int_equal(whole.phases[0].n_samples, 6);
        result_free(&whole);
        result_free(&more);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
