/* Faster is decided as slower is: by the same evidence, over the same number of cells. */
#include "checks.h"
#include "gate/decision.h"

enum { MOST = 10 };

/* The first of `n` cells, whose ratio is beyond the threshold by `errors`; the others are at 1. */
static gate_cell_t decided(size_t n, double sign, double errors) {
    static const double SE = 0.01, DF = 1000;
    gate_cell_t cells[MOST] = {{.floor_frac = 0}};
    for (size_t i = 0; i < n; i++)
        cells[i].change = (stats_change_t){.se = SE, .df = DF, .are_passes = true};
    stats_change_t *change = &cells[0].change;
    change->log_ratio = sign * (log(1 + GATE_THRESHOLD) + errors * SE);
    change->low = exp(change->log_ratio - 2 * SE);
    change->high = exp(change->log_ratio + 2 * SE);
    gate_decide(cells, n, &(gate_options_t){GATE_THRESHOLD, GATE_ALARM_RATE});
    return cells[0];
}

static void test_faster_mirrors_slower(void **state) {
    static const struct {
        size_t n;
        double errors;
        bool told;
    } CASES[] = {
        {1, 2.6, true},     /* p = 0.005 */
        {MOST, 2.6, false}, /* of ten such cells one would be there by chance too often */
        {MOST, 4, true},    /* p = 0.00003 */
        {1, 1, false},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        gate_cell_t slower = decided(CASES[i].n, 1, CASES[i].errors);
        gate_cell_t faster = decided(CASES[i].n, -1, CASES[i].errors);
        assert_int_equal(slower.verdict, CASES[i].told ? GATE_REGRESSED : GATE_UNDECIDED);
        assert_int_equal(faster.verdict, CASES[i].told ? GATE_IMPROVED : GATE_UNDECIDED);
        assert_true(fabs(slower.p_slower - faster.p_faster) < 1e-9);
        assert_true(fabs(slower.p_faster - faster.p_slower) < 1e-9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faster_mirrors_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
