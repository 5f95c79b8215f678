/* Passes of a case become one result: samples, medians, interval, and the worse of two statuses. */
#include "checks.h"
#include "made_case.h"
#include "model/result.h"

static void add_rounds(phase_t *phase, double first) {
    phase_add_round(phase, (double[]){first, first + 1}, 2);
    phase_add_round(phase, (double[]){first + 2, first + 3}, 2);
}

/* One pass: two rounds of two samples each from `first` on, whose median is first + 1.5. */
static case_result_t make(double first) {
    case_t spec = made_case("null", "null", "cpu", "steady");
    spec.id = mem_text("c");
    case_result_t result;
    result_init(&result, &spec);
    case_free((case_t *)&spec);
    phase_t *phase = result_add_phase(&result, "total", CLOCK_HOST);
    add_rounds(phase, first);
    phase_summarise(phase);
    result.pass = 1;
    result.rounds = 2;
    result.warmup_ns = 10;
    result.worker_ns = 30;
    result.cpu_taken_frac = first < 50 ? (double)NAN : first / 1000;
    result.stop = STOP_PRECISE;
    result.before = result.after = (check_t){.done = true, .ok = true, .rel_l2 = first};
    return result;
}

static case_result_t join(const double *firsts, size_t n) {
    case_result_t whole = make(firsts[0]);
    for (size_t i = 1; i < n; i++) {
        AUTO(result_free) case_result_t more = make(firsts[i]);
        result_add_passes(&whole, &more);
    }
    result_summarise(&whole);
    return whole;
}

static void rounds_of_passes(void **state) {
    AUTO(result_free) case_result_t whole = join((double[]){100, 200, 300}, 3);
    const phase_t *phase = &whole.phases[0];
    assert_int_equal(whole.pass, 0);
    assert_int_equal(whole.rounds, 6);
    assert_int_equal(phase->n_samples, 12);
    assert_int_equal(phase->n_rounds, 6);
    assert_int_equal(phase->n_passes, 3);
    for (size_t p = 0; p < 3; p++) {
        const double first = 100 * (double)(p + 1);
        const stats_rounds_t rounds = phase_rounds(phase, p);
        assert_int_equal(phase->pass_starts[p], 2 * p);
        assert_int_equal(rounds.n_rounds, 2);
        assert_true(rounds.values[rounds.starts[1]] == first + 2);
        assert_near(exp(phase_pass(phase, p).log_value), first + 1.5, 1e-9);
    }
    assert_int_equal(phase->pass_starts[3], 6);
    assert_true(phase->summary.n == 12 && phase->summary.min == 100 && phase->summary.max == 303);
}

static void one_pass_has_its_median_and_no_interval(void **state) {
    AUTO(result_free) case_result_t one = make(100);
    result_summarise(&one);
    const summary_t *s = &one.phases[0].summary; /* of 100, 101, 102 and 103 */
    const double found[] = {s->p5, s->q25, s->median, s->q75, s->p95, s->p99};
    static const double PARTS[] = {0.05, 0.25, 0.5, 0.75, 0.95, 0.99};
    for (size_t i = 0; i < COUNT_OF(PARTS); i++)
        assert_near(found[i], 100 + 3 * PARTS[i], 1e-9);
    assert_true(isnan(one.phases[0].summary.ci95[0]) && isnan(one.phases[0].summary.ci95[1]));
    assert_int_equal(one.phases[0].n_passes, 1);
}

/* The centre is that of the passes' medians, not the median of all samples. */
static void interval_needs_five_passes(void **state) {
    const double firsts[] = {98.5, 98.5, 98.5, 98.5, 158.5};
    AUTO(result_free) case_result_t four = join(firsts, 4), five = join(firsts, 5);
    const summary_t *few = &four.phases[0].summary, *enough = &five.phases[0].summary;
    assert_near(few->median, 100, 1e-9);
    assert_true(isnan(few->ci95[0]) && isnan(few->ci95[1]));
    assert_near(enough->median, 100, 1e-9); /* the 8th of 15 averages */
    assert_true(enough->ci95[0] < 100);
    assert_true(enough->ci95[1] > 160); /* the host drives `total`: passes share variance */
    set_text(&five.phases[0].name, "kernel_graph");
    result_summarise(&five);
    assert_near(enough->ci95[1], 160, 1e-9);
    const double spread[] = {98.5, 98.5, 158.5};
    case_result_t centre = join(spread, 3); /* averages: 100 100 100 √(100 · 160) twice, 160 */
    assert_near(centre.phases[0].summary.median, sqrt(100 * sqrt(100 * 160.0)), 1e-9);
    result_free(&centre);
}

/* No logarithm of 0: the median of all samples stays. */
static void median_of_zero(void **state) {
    AUTO(result_free) case_result_t whole = join((double[]){-1.5, -1.5, -1.5, -1.5, -1.5}, 5);
    assert_true(whole.phases[0].summary.median == 0);
    assert_true(isnan(whole.phases[0].summary.ci95[0]));
}

static void two_values(void **state) {
    phase_t *phase;
    AUTO(result_free) case_result_t result = make(1);
    phase = result_add_phase(&result, "kernel", CLOCK_DEVICE);
    for (size_t r = 0; r < 48; r++) {
        const double ns = r % 3 == 0 ? 17000 : 9000;
        if (r % 8 == 0)
            phase_start_pass(phase);
        phase_add_round(phase, (double[]){ns + (double)r, ns + 50, ns + 60}, 3);
    }
    phase_summarise(phase);
    assert_true(phase->bimodal.found);
    assert_near(phase->bimodal.low, 9050, 1e-9);
    assert_near(phase->bimodal.high, 17050, 1e-9);
    assert_near(phase->bimodal.share_high, 1 / 3.0, 1e-12);
}

/* A phase that only later passes have counts the passes that have it. */
static void phases_of_some_passes(void **state) {
    AUTO(result_free) case_result_t whole = make(1), more = make(101);
    add_rounds(result_add_phase(&more, "kernel", CLOCK_DEVICE), 7);
    result_add_passes(&whole, &more);
    result_summarise(&whole);
    const phase_t *kernel = result_phase(&whole, "kernel");
    assert_int_equal(kernel->clock, CLOCK_DEVICE);
    assert_int_equal(kernel->n_passes, 1);
    assert_true(kernel->summary.median == 8.5);
}

static void what_passes_share(void **state) {
    AUTO(result_free) case_result_t whole = make(1), more = make(101);
    whole.device.sm_mhz[0] = whole.device.sm_mhz[1] = 1500;
    more.device.sm_mhz[0] = 1400;
    more.device.sm_mhz[1] = 1450;
    more.device.power_w[0] = more.device.power_w[1] = 300;
    flag_list_add_text(&whole.flags, "same");
    flag_list_add_text(&more.flags, "same");
    flag_list_add_text(&more.flags, "other");
    text_list_add(&whole.device.throttle, "HW slowdown");
    text_list_add(&more.device.throttle, "HW slowdown");
    text_list_add(&more.device.throttle, "SW power cap");
    whole.phases[0].n_throttled = 4;
    more.phases[0].n_throttled = 5;
    more.stop = STOP_TIME_LIMIT;
    result_add_once(&whole, "context", 5);
    result_add_once(&more, "context", 6);
    whole.limit = (limit_t){.limit_ns = 25.75, .frac = 0.5, .phase = mem_text("total")};
    result_add_passes(&whole, &more);
    result_summarise(&whole);
    assert_int_equal(whole.phases[0].n_throttled, 9);
    assert_true(whole.warmup_ns == 20);
    assert_true(whole.worker_ns == 60);
    assert_true(whole.cpu_taken_frac == 101.0 / 1000); /* older passes do not know it */
    assert_int_equal(whole.stop, STOP_TIME_LIMIT);
    assert_int_equal(whole.status, CASE_OK);
    assert_true(whole.before.rel_l2 == 101 && whole.after.rel_l2 == 101);
    assert_true(whole.device.sm_mhz[0] == 1400 && whole.device.sm_mhz[1] == 1500);
    assert_true(whole.device.power_w[0] == 300 && isnan(whole.device.temperature_c[0]));
    assert_int_equal(whole.device.throttle.n, 2);
    assert_int_equal(whole.flags.n, 2);
    assert_int_equal(whole.n_once, 1);
    assert_true(whole.once[0].ns == 5);
    assert_near(whole.limit.frac, 25.75 / whole.phases[0].summary.median, 1e-12);
}

/* The pass without times decides, in either order; its reason goes with its status. */
static void worse_status_stays(void **state) {
    static const case_status_t ASCENDING[] = {CASE_OK,          CASE_THROTTLED, CASE_SKIPPED,
                                              CASE_IMPLAUSIBLE, CASE_FAILED,    CASE_WRONG};
    for (size_t a = 0; a < 6; a++)
        for (size_t b = 0; b < 6; b++) {
            AUTO(result_free) case_result_t whole = make(1), more = make(101);
            whole.status = ASCENDING[a];
            more.status = ASCENDING[b];
            whole.reason = mem_text("first");
            more.reason = mem_text("second");
            result_add_passes(&whole, &more);
            assert_int_equal(whole.status, ASCENDING[a > b ? a : b]);
            assert_string_equal(whole.reason, a >= b ? "first" : "second");
        }
}

/* The largest error of each kind may be of different passes. */
static void largest_errors_stay(void **state) {
    AUTO(result_free) case_result_t whole = make(2), more = make(1);
    whole.before.row_rel_l2 = 3;
    whole.before.column_rel_l2 = 4;
    more.before.row_rel_l2 = 5;
    more.before.column_rel_l2 = 3;
    result_add_passes(&whole, &more);
    assert_true(whole.before.rel_l2 == 2);
    assert_true(whole.before.row_rel_l2 == 5 && whole.before.column_rel_l2 == 4);
}

static void one_pass_that_differs_is_enough(void **state) {
    for (int first = 0; first < 2; first++) {
        AUTO(result_free) case_result_t whole = make(1), more = make(1);
        whole.determinism = first ? NONDETERMINISTIC : DETERMINISTIC;
        more.determinism = first ? DETERMINISTIC : NONDETERMINISTIC;
        result_add_passes(&whole, &more);
        assert_int_equal(whole.determinism, NONDETERMINISTIC);
    }
}

static void other_errors_are_noted(void **state) {
    AUTO(result_free) case_result_t whole = join((double[]){1, 1, 1}, 3);
    assert_false(whole.before.varies);
    result_free(&whole);
    whole = join((double[]){1, 2, 1, 1}, 4);
    assert_true(whole.before.varies && whole.after.varies);
    result_free(&whole);
    whole = join((double[]){2, 1, 2, 2}, 4); /* the kept error is the first pass's */
    assert_true(whole.before.varies);
    result_free(&whole);
    AUTO(result_free) case_result_t more = make(1);
    whole = make(1);
    more.before.max_abs = 7;
    whole.after.done = false; /* the other pass's is the only one */
    result_add_passes(&whole, &more);
    assert_true(whole.before.varies && !whole.after.varies);
}

static void failed_check_stays(void **state) {
    AUTO(result_free) case_result_t whole = make(1), bad = make(0.5), undone = make(9);
    bad.before.ok = false;
    undone.before.done = undone.after.done = false;
    result_add_passes(&whole, &bad);
    result_add_passes(&whole, &undone);
    assert_true(whole.before.done && !whole.before.ok && whole.before.rel_l2 == 0.5);
    assert_true(whole.after.ok && whole.after.rel_l2 == 1);
    AUTO(result_free) case_result_t good = make(99);
    result_add_passes(&whole, &good);
    assert_true(!whole.before.ok && whole.after.rel_l2 == 99);
}

#include "run_tests.h"
