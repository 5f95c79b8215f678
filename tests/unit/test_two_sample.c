/* stats/two_sample, stats/student and compare/decision: known values and edge cases. (How often the
 * gate is wrong: `make gate-truth`.) */
#include "base/memory.h"
#include "base/rng.h"
#include "checks.h"
#include "gate/decision.h"
#include "stats/passes.h"

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
    for (size_t i = 0; i < COUNT_OF(KNOWN); i++) {
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

/* `n_passes` passes of `rounds` rounds of one sample each. */
static stats_side_t side_of(const double *values, size_t n_passes, size_t rounds) {
    size_t starts[300], pass_starts[300];
    for (size_t r = 0; r <= n_passes * rounds; r++)
        starts[r] = r;
    for (size_t p = 0; p <= n_passes; p++)
        pass_starts[p] = p * rounds;
    static const bimodal_t ONE_VALUE = {.found = false};
    return stats_side_of(&(stats_rounds_t){values, starts, n_passes * rounds}, pass_starts,
                         n_passes, &ONE_VALUE);
}

static void sides(void **state) {
    static const double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    stats_side_t side = side_of(values, 6, 2);
    assert_true(side.are_passes);
    assert_int_equal(side.n, 6);
    assert_true(near(exp(side.units[5].log_value), 11.5, 1e-12));
    side = side_of(values, 4, 3); /* too few passes: the rounds */
    assert_false(side.are_passes);
    assert_int_equal(side.n, 12);
    assert_true(near(exp(side.units[11].log_value), 12, 1e-12));
    assert_int_equal(side_of(values, 0, 0).n, 0);
    double many[250];
    for (size_t i = 0; i < 250; i++)
        many[i] = (double)i + 1;
    side = side_of(many, 1, 250); /* more than there is room for: neighbours are joined */
    assert_int_equal(side.n, STATS_MOST_PASSES);
    assert_true(near(exp(side.units[STATS_MOST_PASSES - 1].log_value), 248.5, 1e-12));
}

/* Runs one after the other: between the ends of both intervals; Welch and Satterthwaite. */
static void change_of_runs(void **state) {
    static const double slow[] = {100, 101, 102, 103, 104, 105}, fast[] = {50, 51, 50, 51, 50, 51};
    const stats_side_t base = side_of(slow, 6, 1), candidate = side_of(fast, 6, 1);
    const stats_interval_t a = stats_interval_of(base.units, 6),
                           b = stats_interval_of(candidate.units, 6);
    const stats_change_t change = stats_change(&base, &candidate);
    assert_true(near(exp(change.log_ratio), b.centre / a.centre, 1e-12));
    const double drift = exp((a.range_log + b.range_log) / 4);
    assert_true(near(change.low, b.low / a.high / drift, 1e-12));
    assert_true(near(change.high, b.high / a.low * drift, 1e-12));
    assert_true(near(change.se, hypot(a.se_log, b.se_log), 1e-12));
    assert_true(change.df > 5 && change.df < 10);
    assert_true(near(change.range_log, log(105.0 / 100), 1e-9));
    assert_true(near(change.chance_of_states, 1 / 4096.0, 1e-12));
    assert_true(change.are_passes);
}

/* A drift that both sides share cancels if they were measured in turns, and only then. */
static void change_in_turns(void **state) {
    double values[2][8];
    uint64_t position = 0;
    for (size_t p = 0; p < 8; p++)
        for (int k = 0; k < 2; k++)
            values[k][p] = (k == 1 ? 1.03 : 1) * (100 + (double)p + 0.1 * normal(3, &position));
    const stats_side_t base = side_of(values[0], 8, 1), candidate = side_of(values[1], 8, 1);
    const stats_change_t apart = stats_change(&base, &candidate),
                         together = stats_change_paired(&base, &candidate);
    assert_true(near(together.log_ratio, log(1.03), 0.1));
    assert_true(together.se < apart.se / 5 && together.df == 7);
    assert_true(together.high - together.low < (apart.high - apart.low) / 5);
    assert_true(near(together.chance_of_states, 1 / 65536.0, 1e-12));
    const stats_side_t shorter = side_of(values[1], 7, 1); /* no pairs */
    assert_true(stats_change_paired(&base, &shorter).df != 6);
    assert_true(stats_change_paired(&base, &shorter).se == stats_change(&base, &shorter).se);
}

/* The interval covers the ratios of either value. */
static void change_of_two_values(void **state) {
    static const double values[] = {100, 101, 100, 101, 100, 101};
    stats_side_t base = side_of(values, 6, 1), candidate = base;
    base.bimodal = (bimodal_t){true, 100, 170, 0.3};
    stats_change_t change = stats_change(&base, &candidate);
    assert_true(near(change.low, 100.5 / 170, 1e-3) && change.high < 1.02);
    candidate.bimodal = base.bimodal;
    change = stats_change_paired(&base, &candidate);
    assert_true(near(change.low, 1 / 1.7, 1e-9) && near(change.high, 1.7, 1e-9));
}

static void edges(void **state) {
    static const double values[] = {5, 5, 5, 5, 5, 5}, negative[] = {-1, -2, -3, -4, -5, -6};
    const stats_side_t none = side_of(values, 0, 0), few = side_of(values, 4, 1),
                       equal = side_of(values, 6, 1), odd = side_of(negative, 6, 1);
    const stats_change_t unknown = stats_change(&equal, &few), same = stats_change(&equal, &equal);
    assert_true(isnan(unknown.low) && isnan(unknown.high) && !unknown.are_passes);
    assert_true(stats_change_above(&unknown, 1) == 1 && unknown.log_ratio == 0);
    assert_true(same.low == 1 && same.high == 1);
    assert_true(stats_change_above(&same, 1) == 1 && stats_change_below(&same, 1) == 1);
    assert_true(stats_change_above(&same, 0.9) == 0);
    const stats_side_t *const without[] = {&none, &odd};
    for (size_t i = 0; i < 2; i++) {
        const stats_change_t nothing = stats_change(without[i], &equal);
        assert_true(isnan(nothing.log_ratio) && stats_change_above(&nothing, 1) == 1);
    }
}

static gate_cell_t cell_of(double ratio, double se, double floor_frac) {
    return (gate_cell_t){.change = {.log_ratio = log(ratio),
                                    .low = ratio * (1 - 2 * se),
                                    .high = ratio * (1 + 2 * se),
                                    .se = se,
                                    .df = 20,
                                    .are_passes = true},
                         .floor_frac = floor_frac};
}

static void decide(gate_cell_t *cells, size_t n) {
    AUTO_FREE gate_cell_t **each = mem_alloc((n + 1) * sizeof *each);
    for (size_t i = 0; i < n; i++)
        each[i] = &cells[i];
    gate_decide(each, n, GATE_THRESHOLD, GATE_ALARM_RATE);
}

static void verdicts(void **state) {
    gate_cell_t cells[] = {cell_of(1.20, 0.01, 0),
                           cell_of(0.80, 0.01, 0),
                           cell_of(1.00, 0.01, 0),
                           cell_of(1.04, 0.01, 0),
                           cell_of(1.08, 0.03, 0),
                           cell_of(1.20, 0.01, 0.25),
                           {.change = {NAN, NAN, NAN, NAN, NAN, 0, 0, true}}};
    static const gate_verdict_t expected[] = {GATE_REGRESSED, GATE_IMPROVED,  GATE_UNCHANGED,
                                              GATE_UNDECIDED, GATE_UNDECIDED, GATE_UNCHANGED,
                                              GATE_UNDECIDED};
    decide(cells, 7);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(gate_verdict_name(cells[i].verdict), gate_verdict_name(expected[i]));
    assert_true(cells[5].threshold_frac == 0.25 && cells[0].threshold_frac == 0.05);
    decide(cells, 0);
}

/* What is beyond chance by itself is not, as one of thousands. */
static void many_cells(void **state) {
    enum { N = 5000 };
    static gate_cell_t cells[N];
    for (size_t i = 0; i < N; i++)
        cells[i] = cell_of(i == 0 ? 1.085 : 1, 0.01, 0);
    decide(cells, 1);
    assert_int_equal(cells[0].verdict, GATE_REGRESSED);
    decide(cells, N);
    assert_int_equal(cells[0].verdict, GATE_UNDECIDED);
}

/* Significant is not enough: the interval has to lie beyond the threshold, both ways. */
static void whole_interval(void **state) {
    gate_cell_t cells[] = {cell_of(1.2, 0.01, 0), cell_of(1 / 1.2, 0.01, 0)};
    cells[0].change.low = 1.04;
    cells[1].change.high = 1 / 1.04;
    decide(cells, 2);
    assert_true(cells[0].p_slower < 0.01 && cells[1].p_faster < 0.01);
    assert_int_equal(cells[0].verdict, GATE_UNDECIDED);
    assert_int_equal(cells[1].verdict, GATE_UNDECIDED);
}

/* Rounds of too few passes claim nothing, not even that nothing changed; nor with a noise floor. */
static void few_passes_claim_nothing(void **state) {
    gate_cell_t cells[] = {cell_of(1.2, 0.01, 0), cell_of(1, 0.01, 0), cell_of(1.2, 0.01, 0.03),
                           cell_of(1, 0.01, 0.03)};
    for (size_t i = 0; i < 4; i++)
        cells[i].change.are_passes = false;
    decide(cells, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cells[i].verdict, GATE_UNDECIDED);
    assert_true(isnan(cells[0].low) && isnan(cells[0].high));
}

/* In a sweep of which many cells differ from process to process, one that does not may be in one
 * state by chance. */
static void restless_sweep(void **state) {
    enum { N = 50 };
    static const struct {
        size_t restless;
        gate_verdict_t slower, faster;
    } ROWS[] = {{0, GATE_REGRESSED, GATE_IMPROVED},
                {40, GATE_REGRESSED, GATE_IMPROVED},
                {41, GATE_UNDECIDED, GATE_UNDECIDED}};
    for (size_t r = 0; r < COUNT_OF(ROWS); r++) {
        gate_cell_t cells[N];
        for (size_t i = 0; i < N; i++) {
            cells[i] = cell_of(i == 0 ? 1.2 : i == 1 ? 1 / 1.2 : 1, 0.01, 0);
            cells[i].change.chance_of_states = 1 / 4096.0;
            cells[i].change.range_log = i >= N - ROWS[r].restless ? 0.05 : 0.04;
        }
        decide(cells, N);
        assert_int_equal(cells[0].verdict, ROWS[r].slower);
        assert_int_equal(cells[1].verdict, ROWS[r].faster);
    }
}

static void floors(void **state) {
    static const double a[] = {100, 101, 100, 101, 100}, b[] = {102, 103, 102, 103, 102},
                        c[] = {101, 102, 101, 102, 101};
    const stats_side_t runs[] = {side_of(a, 5, 1), side_of(b, 5, 1), side_of(c, 5, 1),
                                 side_of(a, 1, 1)};
    const stats_change_t widest = stats_change(&runs[0], &runs[1]);
    assert_true(near(gate_floor_of_runs(runs, 3), widest.high - 1, 1e-9));
    assert_true(gate_floor_of_runs(runs, 4) == gate_floor_of_runs(runs, 3));
    assert_true(gate_floor_of_runs(runs, 1) == 0);
}

/* ---- Faster is decided as slower is: by the same evidence, over the same number of cells. */

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
    decide(cells, n);
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

#include "run_tests.h"
