/* stats/bimodal: the five conditions, and false alarms on noise with one value. */
#include "../tools/noise.h"
#include "checks.h"
#include "stats/passes.h"

#include <stdio.h>

enum { PASSES = 6, ROUNDS = 8, N = PASSES * ROUNDS };
static const size_t STARTS[] = {0, 8, 16, 24, 32, 40, 48};

/* The first `n_high` of each pass's rounds are at `high`, the others at `low`; 1 % apart at most.
 */
static bimodal_t of_groups(const size_t n_high[PASSES], double low, double high) {
    double medians[N];
    for (size_t p = 0; p < PASSES; p++)
        for (size_t r = 0; r < ROUNDS; r++)
            medians[p * ROUNDS + r] =
                (r < n_high[p] ? high : low) * (1 + 0.001 * (double)((p + 3 * r) % 7));
    return bimodal_of(medians, STARTS, PASSES, 0);
}

static void two_groups(void **state) {
    const size_t n_high[PASSES] = {2, 4, 0, 8, 3, 1};
    bimodal_t found = of_groups(n_high, 9, 17);
    assert_true(found.found);
    assert_true(found.low >= 9 && found.low < 9.1);
    assert_true(found.high >= 17 && found.high < 17.2);
    assert_true(fabs(found.share_high - 18.0 / 48) < 1e-9);
}

static void conditions(void **state) {
    const size_t rare[PASSES] = {2, 1, 1, 1, 2, 2}; /* 9 of 48 are under 20 % */
    assert_false(of_groups(rare, 9, 17).found);
    const size_t enough[PASSES] = {2, 2, 1, 1, 2, 2};
    assert_true(of_groups(enough, 9, 17).found);
    assert_false(of_groups(enough, 9, 9.4).found);          /* under 5 % apart */
    const size_t of_processes[PASSES] = {8, 8, 0, 0, 0, 3}; /* both in one pass alone */
    assert_false(of_groups(of_processes, 9, 17).found);
    const size_t in_two[PASSES] = {8, 8, 0, 0, 3, 3};
    assert_true(of_groups(in_two, 9, 17).found);
    double few[BIMODAL_FEWEST_ROUNDS];
    for (size_t i = 0; i < BIMODAL_FEWEST_ROUNDS; i++)
        few[i] = i % 2 == 0 ? 9 : 17;
    const size_t starts[] = {0, 20, 39}, all[] = {0, 20, 40};
    assert_false(bimodal_of(few, starts, 2, 0).found);
    assert_true(bimodal_of(few, all, 2, 0).found);
    assert_false(bimodal_of(few, all, 0, 0).found);
}

/* Two values of a clock that has only few are no two states. */
static void ticks_apart(void **state) {
    double medians[N];
    for (size_t i = 0; i < N; i++)
        medians[i] = i % 2 == 0 ? 10 : 16;
    assert_true(bimodal_of(medians, STARTS, PASSES, 1.99).found);
    assert_false(bimodal_of(medians, STARTS, PASSES, 2.01).found);
}

static void something_between(void **state) {
    double medians[N];
    for (size_t i = 0; i < N; i++)
        medians[i] = i % 2 == 0 ? 9 : 17;
    assert_true(bimodal_of(medians, STARTS, PASSES, 0).found);
    for (size_t i = 0; i < 3; i++)
        medians[i * 11] = 12.4; /* 3 of 48 are over 5 % */
    assert_false(bimodal_of(medians, STARTS, PASSES, 0).found);
}

typedef double draw_t(source_t *source);

static double exponential(source_t *source) {
    return -log(uniform(source));
}
static double student3(source_t *source) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        const double x = normal(source);
        sum += x * x;
    }
    return normal(source) / sqrt(sum / 3);
}
static double cauchy(source_t *source) {
    return tan(PI * (uniform(source) - 0.5));
}

/* At most 1 % of runs whose rounds have one value are called bimodal. */
static void false_alarms(void **state) {
    static const struct {
        const char *name;
        draw_t *draw;
    } KINDS[] = {{"normal", normal},
                 {"t with 3 df", student3},
                 {"Cauchy", cauchy},
                 {"exponential", exponential},
                 {"uniform", uniform}};
    enum { RUNS = 2000 };
    for (size_t k = 0; k < COUNT_OF(KINDS); k++) {
        source_t source = source_of(k + 1);
        size_t alarms = 0;
        for (size_t run = 0; run < RUNS; run++) {
            double medians[N];
            for (size_t p = 0; p < PASSES; p++) {
                const double process = 0.03 * normal(&source);
                for (size_t r = 0; r < ROUNDS; r++)
                    medians[p * ROUNDS + r] = exp(process + 0.05 * KINDS[k].draw(&source));
            }
            alarms += bimodal_of(medians, STARTS, PASSES, 0).found;
        }
        printf("%s: %.2f %% called bimodal\n", KINDS[k].name, 100.0 * (double)alarms / RUNS);
        assert_true(alarms <= RUNS / 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_groups),   cmocka_unit_test(conditions),
        cmocka_unit_test(ticks_apart),  cmocka_unit_test(something_between),
        cmocka_unit_test(false_alarms),
    };
    return cmocka_run_group_tests_name("bimodal", tests, NULL, NULL);
}
