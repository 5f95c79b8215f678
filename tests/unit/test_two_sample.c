/* stats/two_sample and compare/decision: known values, edge cases, and error rates of seeded
 * simulations. (The rates of the whole gate over thousands of sweeps: `make gate-truth`.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "compare/decision.h"
#include "stats/two_sample.h"

#include <math.h>

static stats_draws_t *draws;

static int make_draws(void **state) {
    (void)state;
    draws = stats_draws_new(GATE_SEED);
    return 0;
}

static int free_draws(void **state) {
    (void)state;
    stats_draws_free(draws);
    return 0;
}

static double normal(uint32_t stream, uint64_t *position) {
    static const double PI = 3.14159265358979323846;
    double a = (rng_word(11, stream, (*position)++) + 0.5) / 4294967296.0;
    double b = (rng_word(11, stream, (*position)++) + 0.5) / 4294967296.0;
    return sqrt(-2 * log(a)) * cos(2 * PI * b);
}

static bool near(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance * fmax(1e-300, fabs(b));
}

static void student(void **state) {
    (void)state;
    static const struct { /* scipy.stats.t.sf(t, df) */
        double t, df, tail;
    } KNOWN[] = {{0, 3, 0.5},
                 {1, 1, 0.25},
                 {12.706204736432095, 1, 0.025},
                 {2.7764451051977987, 4, 0.025},
                 {2.228138851964939, 10, 0.025},
                 {1.9599639845400545, 1e7, 0.025},
                 {-2.228138851964939, 10, 0.975},
                 {10, 8, 4.2442581569e-06},
                 {5, 30.5, 1.1138e-05}};
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        double tail = stats_student_tail(KNOWN[i].t, KNOWN[i].df);
        assert_true(near(tail, KNOWN[i].tail, i < 7 ? 1e-5 : 2e-2));
    }
    for (double df = 1; df < 200; df *= 1.7)
        for (double p = 0.4; p > 1e-9; p /= 3)
            assert_true(near(stats_student_tail(stats_student_quantile(p, df), df), p, 1e-6));
    assert_true(isnan(stats_student_tail(NAN, 3)));
}

/* R: p.adjust(c(0.01, 0.04, 0.03, 0.005, 1), "holm") */
static void holm(void **state) {
    (void)state;
    static const double p[] = {0.01, 0.04, 0.03, 0.005, 1};
    static const double expected[] = {0.04, 0.09, 0.09, 0.025, 1};
    double adjusted[5];
    stats_holm(p, 5, adjusted);
    for (size_t i = 0; i < 5; i++)
        assert_true(near(adjusted[i], expected[i], 1e-12));
    stats_holm(p, 0, adjusted);
    stats_holm(p, 1, adjusted);
    assert_true(adjusted[0] == p[0]);
}

static stats_location_t locate(const double *values, size_t n_rounds, size_t a_round) {
    size_t starts[300];
    for (size_t r = 0; r <= n_rounds; r++)
        starts[r] = r * a_round;
    return stats_locate(&(stats_rounds_t){values, starts, n_rounds}, draws, NULL);
}

static void locations(void **state) {
    (void)state;
    static const double values[] = {3, 1, 2, 6, 5, 4, 9, 7, 8};
    stats_location_t at = locate(values, 3, 3);
    assert_true(at.median == 5);
    assert_int_equal(at.n_rounds, 3);
    assert_int_equal(at.n_samples, 9);
    assert_true(at.df == 2);
    /* The medians of the 27 resamples of three rounds, each as likely, have the deviation
     * sqrt(8 / 3); times sqrt(3 / 2), over 5. 200 draws know that to some 10 %. */
    assert_true(near(at.se_log, 2.0 / 5, 0.15));
    /* An even number of samples: between the middle two. */
    assert_true(locate(values, 2, 4).median == 4.5);
}

static void edges(void **state) {
    (void)state;
    static const double values[] = {5, 5, 5, 5, 5, 5, 5, 5}, negative[] = {-1, -2, -3, -4};
    stats_location_t none = locate(values, 0, 0), one = locate(values, 1, 1),
                     single = locate(values, 1, 8), equal = locate(values, 4, 2);
    assert_true(isnan(none.median) && isnan(none.se_log));
    assert_true(one.median == 5 && isnan(one.se_log));
    assert_true(single.median == 5 && isnan(single.se_log));
    assert_true(equal.median == 5 && equal.se_log == 0);
    assert_true(isnan(locate(negative, 2, 2).se_log));
    double low, high;
    stats_change_t unknown = stats_change(&equal, &single), same = stats_change(&equal, &equal);
    stats_change_interval(&unknown, &low, &high);
    assert_true(isnan(low) && isnan(high));
    assert_true(stats_change_above(&unknown, 1) == 1);
    assert_true(unknown.log_ratio == 0);
    stats_change_interval(&same, &low, &high);
    assert_true(low == 1 && high == 1);
    assert_true(stats_change_above(&same, 1) == 1 && stats_change_below(&same, 1) == 1);
    assert_true(stats_change_above(&same, 0.9) == 0);
    stats_change_t nothing = stats_change(&none, &equal);
    assert_true(isnan(nothing.log_ratio) && stats_change_above(&nothing, 1) == 1);
}

/* Of a clock's ticks an error is known; of equal samples and a late one it is not: nothing hides a
 * slowdown without noise. */
static void ticks(void **state) {
    (void)state;
    enum { ROUNDS = 8, A_ROUND = 4, N = ROUNDS * A_ROUND };
    double base[N], candidate[N], ticking[N];
    for (size_t i = 0; i < N; i++) {
        base[i] = i == 9 ? 4096 : 2048;
        candidate[i] = i == 20 ? 9000 : 2048 * 1.1;
        ticking[i] = i % A_ROUND == 0 ? 2080 : 2048;
    }
    stats_location_t late = locate(base, ROUNDS, A_ROUND),
                     slower = locate(candidate, ROUNDS, A_ROUND),
                     rounded = locate(ticking, ROUNDS, A_ROUND);
    gate_cell_t cell = {.change = stats_change(&late, &slower)};
    const gate_options_t options = {GATE_THRESHOLD, GATE_ALARM_RATE};
    gate_decide(&cell, 1, &options);
    assert_int_equal(cell.verdict, GATE_REGRESSED);
    assert_true(near(rounded.se_log, 32 / sqrt(12) / 2048, 1e-9));
}

/* Empty rounds are none; very many are joined. */
static void odd_rounds(void **state) {
    (void)state;
    static const double values[] = {1, 2, 3, 4};
    static const size_t starts[] = {0, 0, 2, 2, 4, 4};
    stats_location_t at = stats_locate(&(stats_rounds_t){values, starts, 5}, draws, NULL);
    assert_int_equal(at.n_rounds, 2);
    assert_true(at.median == 2.5);
    double many[250];
    uint64_t position = 0;
    for (size_t i = 0; i < 250; i++)
        many[i] = 100 + normal(1, &position);
    at = locate(many, 250, 1);
    assert_int_equal(at.n_rounds, STATS_MOST_BLOCKS);
    /* Of independent normal samples: 1.2533 · deviation / sqrt(n). */
    assert_true(near(at.se_log, 1.2533 / sqrt(250) / 100, 0.4));
}

/* 95 % intervals of A/A pairs hold 1 as often as they say. */
static void coverage(void **state) {
    (void)state;
    enum { TRIALS = 1000, A_ROUND = 8, MOST_ROUNDS = 20 };
    static const size_t ROUNDS[] = {5, 10, 20};
    for (uint32_t k = 0; k < 3; k++) {
        unsigned held = 0;
        uint64_t position = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double values[2][MOST_ROUNDS * A_ROUND], low, high;
            for (int side = 0; side < 2; side++)
                for (size_t r = 0; r < ROUNDS[k]; r++) {
                    double round = normal(k, &position);
                    for (size_t i = 0; i < A_ROUND; i++)
                        values[side][r * A_ROUND + i] = 100 + round + normal(k, &position);
                }
            stats_location_t base = locate(values[0], ROUNDS[k], A_ROUND),
                             candidate = locate(values[1], ROUNDS[k], A_ROUND);
            stats_change_t change = stats_change(&base, &candidate);
            stats_change_interval(&change, &low, &high);
            held += low <= 1 && high >= 1;
        }
        print_message("%zu rounds: %.1f %% of the intervals hold 1\n", ROUNDS[k], held / 10.0);
        assert_true(held >= 935 && held <= 985);
    }
}

/* A drift that both sides share cancels where rounds were taken in turns, and only there. */
static void paired(void **state) {
    (void)state;
    enum { ROUNDS = 12, A_ROUND = 6 };
    double values[2][ROUNDS * A_ROUND];
    stats_pairing_t pairings[2];
    size_t starts[ROUNDS + 1];
    stats_location_t at[2];
    uint64_t position = 0;
    for (size_t r = 0; r <= ROUNDS; r++)
        starts[r] = r * A_ROUND;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < ROUNDS * A_ROUND; i++)
            values[side][i] =
                (side == 1 ? 1.03 : 1) * (100 + (double)(i / A_ROUND) + 0.1 * normal(3, &position));
        at[side] =
            stats_locate(&(stats_rounds_t){values[side], starts, ROUNDS}, draws, &pairings[side]);
    }
    stats_change_t apart = stats_change(&at[0], &at[1]);
    stats_change_t together = stats_change_paired(&at[0], &pairings[0], &at[1], &pairings[1]);
    assert_true(near(together.log_ratio, log(1.03), 0.1));
    assert_true(together.se < apart.se / 5);
    assert_true(together.df == ROUNDS - 1);
}

/* What only one side drifted by widens the interval, as it does apart. Samples on two ticks of the
 * clock are no surer in turns than apart. */
static void paired_apart(void **state) {
    (void)state;
    enum { ROUNDS = 16, A_ROUND = 4, N = ROUNDS * A_ROUND };
    double still[N], drifting[N], restless[N], ticking[N];
    size_t starts[ROUNDS + 1];
    for (size_t r = 0; r <= ROUNDS; r++)
        starts[r] = r * A_ROUND;
    for (size_t i = 0; i < N; i++) {
        size_t r = i / A_ROUND;
        still[i] = 100 + 0.01 * (double)(i % A_ROUND);
        drifting[i] = still[i] + (double)r;
        restless[i] = still[i] + (double)(r * 5 % ROUNDS); /* as far apart, in no order */
        ticking[i] = i % A_ROUND == 0 ? 101 : 100;
    }
    const double *const sides[] = {still, drifting, restless, ticking};
    stats_pairing_t pairings[4];
    stats_location_t at[4];
    for (size_t k = 0; k < 4; k++)
        at[k] = stats_locate(&(stats_rounds_t){sides[k], starts, ROUNDS}, draws, &pairings[k]);
    double drift = stats_change_paired(&at[0], &pairings[0], &at[1], &pairings[1]).se;
    double noise = stats_change_paired(&at[0], &pairings[0], &at[2], &pairings[2]).se;
    assert_true(drift > 1.2 * noise);
    assert_true(stats_change_paired(&at[3], &pairings[3], &at[3], &pairings[3]).se > 0.002);
}

static gate_cell_t cell_of(double ratio, double se, double floor_frac) {
    return (gate_cell_t){.change = {log(ratio), se, 20}, .floor_frac = floor_frac};
}

static void verdicts(void **state) {
    (void)state;
    const gate_options_t options = {GATE_THRESHOLD, GATE_ALARM_RATE};
    gate_cell_t cells[] = {cell_of(1.20, 0.01, 0),     cell_of(0.80, 0.01, 0),
                           cell_of(1.00, 0.01, 0),     cell_of(1.04, 0.01, 0),
                           cell_of(1.08, 0.03, 0),     cell_of(1.20, 0.01, 0.25),
                           {.change = {NAN, NAN, NAN}}};
    static const gate_verdict_t expected[] = {GATE_REGRESSED, GATE_IMPROVED,  GATE_UNCHANGED,
                                              GATE_UNDECIDED, GATE_UNDECIDED, GATE_UNCHANGED,
                                              GATE_UNDECIDED};
    gate_decide(cells, 7, &options);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(gate_verdict_name(cells[i].verdict), gate_verdict_name(expected[i]));
    assert_true(cells[5].threshold_frac == 0.25 && cells[0].threshold_frac == 0.05);
    gate_decide(cells, 0, &options);
}

/* What is beyond chance by itself is not, as one of thousands. */
static void many_cells(void **state) {
    (void)state;
    enum { N = 5000 };
    static gate_cell_t cells[N];
    const gate_options_t options = {GATE_THRESHOLD, GATE_ALARM_RATE};
    for (size_t i = 0; i < N; i++)
        cells[i] = cell_of(i == 0 ? 1.085 : 1, 0.01, 0);
    gate_decide(cells, 1, &options);
    assert_int_equal(cells[0].verdict, GATE_REGRESSED);
    gate_decide(cells, N, &options);
    assert_int_equal(cells[0].verdict, GATE_UNDECIDED);
}

static void floors(void **state) {
    (void)state;
    const stats_location_t runs[] = {{100, 0.01, 20, 50, 10},
                                     {102, 0.01, 20, 50, 10},
                                     {101, 0.01, 20, 50, 10},
                                     {100, NAN, NAN, 1, 1}};
    double low, high;
    stats_change_t widest = stats_change(&runs[0], &runs[1]);
    stats_change_interval(&widest, &low, &high);
    assert_true(near(gate_floor_of_runs(runs, 3), high - 1, 1e-9));
    assert_true(gate_floor_of_runs(runs, 4) == gate_floor_of_runs(runs, 3));
    assert_true(gate_floor_of_runs(runs, 1) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student), cmocka_unit_test(holm),       cmocka_unit_test(locations),
        cmocka_unit_test(edges),   cmocka_unit_test(odd_rounds), cmocka_unit_test(coverage),
        cmocka_unit_test(paired),  cmocka_unit_test(verdicts),   cmocka_unit_test(many_cells),
        cmocka_unit_test(floors),  cmocka_unit_test(ticks),      cmocka_unit_test(paired_apart),
    };
    return cmocka_run_group_tests(tests, make_draws, free_draws);
}
