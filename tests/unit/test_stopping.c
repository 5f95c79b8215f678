/* The stopping rule on made-up samples, whose precision is known. */
#include "base/rng.h"
#include "checks.h"
#include "made_case.h"
#include "measure/contender.h"
#include "run/state.h"

static const measure_options_t DEFAULTS = MEASURE_DEFAULTS;

enum { MOST_SAMPLES = 256 };

static case_result_t make_result(const char *const *phases) {
    AUTO(case_free) case_t spec = made_case("w", "cpu", "cpu", "v");
    spec.id = mem_text("w/cpu/v");
    case_result_t result;
    result_init(&result, &spec);
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
        assert_true(round < 2 * STOPPING_MOST_ROUNDS);
        add_round(&result, "total", n, spread, round);
        stop = stopping_after_round(stopping, &result, round_s);
    }
    result_free(&result);
    return stop;
}

static void test_precise_samples_need_the_least_rounds(void **state) {
    stopping_t stopping;
    assert_int_equal(run_rounds(&DEFAULTS, 30, 0.001F, 0.03, &stopping), STOP_PRECISE);
    assert_int_equal(stopping.rounds, DEFAULTS.min_rounds);
}

static void test_void_rounds_are_not_among_the_least(void **state) {
    AUTO(result_free) case_result_t result = make_result(TOTAL_ONLY);
    stopping_t stopping;
    stopping_init(&stopping, &DEFAULTS);
    stopping.spent_s = DEFAULTS.time_limit_s;
    for (unsigned i = 1; i < 2 * DEFAULTS.min_rounds; i++) {
        stopping.n_void += i % 2; /* every other */
        assert_int_equal(stopping_after_round(&stopping, &result, 0), STOP_NONE);
    }
    assert_int_equal(stopping_after_round(&stopping, &result, 0), STOP_TIME_LIMIT);
}

static void test_few_samples_a_round_need_more_rounds(void **state) {
    stopping_t stopping;
    assert_int_equal(run_rounds(&DEFAULTS, 2, 0.001F, 0.03, &stopping), STOP_PRECISE);
    assert_int_equal(stopping.rounds, DEFAULTS.min_samples / 2);
}

static void test_the_same_time_again_and_again(void **state) {
    stopping_t stopping;
    assert_int_equal(run_rounds(&DEFAULTS, 10, 0, 0.03, &stopping), STOP_PRECISE);
    assert_int_equal(stopping.rounds, DEFAULTS.min_rounds);
}

/* Rounds alternate between 1000 · e^±d, each with ten samples that differ a little. */
static void add_alternating(case_result_t *result, const char *name, double d, unsigned round) {
    double samples[10];
    for (int i = 0; i < 10; i++)
        samples[i] = 1000 * exp(round % 2 == 0 ? d : -d) + 1e-6 * (10 * round + i);
    phase_add_round((phase_t *)result_phase(result, name), samples, 10);
}

/* The standard error of such rounds' median is √(π/2) · d · √(10/81) = 0.440 d after nine of them
 * and 0.474 d after eight. */
static void test_error_shrinks_to_the_precision(void **state) {
    static const struct {
        clock_domain_t clock;
        double d;
    } TABLE[] = {{CLOCK_HOST, 0.044}, {CLOCK_DEVICE, 0.011}};
    for (size_t t = 0; t < 2; t++) {
        AUTO(result_free) case_result_t result = make_result(TOTAL_ONLY);
        result.phases[0].clock = TABLE[t].clock;
        stopping_t stopping;
        stopping_init(&stopping, &DEFAULTS);
        stop_reason_t stop = STOP_NONE;
        while (stop == STOP_NONE) {
            add_alternating(&result, "total", TABLE[t].d, stopping.rounds);
            stop = stopping_after_round(&stopping, &result, 0.001);
        }
        assert_int_equal(stop, STOP_PRECISE);
        assert_int_equal(stopping.rounds, 9);
    }
}

/* The error of a median on a clock with steps is at least step / √12. */
static void test_coarse_clock(void **state) {
    static const struct {
        double ticks;
        stop_reason_t stop;
    } TABLE[] = {{10, STOP_MOST_ROUNDS}, {20, STOP_PRECISE}};
    for (size_t t = 0; t < 2; t++) {
        AUTO(result_free) case_result_t result = make_result(TOTAL_ONLY);
        stopping_t stopping;
        stopping_init(&stopping, &DEFAULTS);
        stop_reason_t stop = STOP_NONE;
        while (stop == STOP_NONE) {
            const double n = TABLE[t].ticks;
            phase_add_round(&result.phases[0], (double[]){n, n, n, n, n, n, n + 1, n + 1, n + 1},
                            9);
            stop = stopping_after_round(&stopping, &result, 0.001);
        }
        assert_int_equal(stop, TABLE[t].stop);
    }
}

static void test_time_limit(void **state) {
    stopping_t stopping;
    measure_options_t measure = DEFAULTS;
    measure.time_limit_s = 1.5;
    assert_int_equal(run_rounds(&measure, 10, 0.5F, 0.25, &stopping), STOP_TIME_LIMIT);
    assert_int_equal(stopping.rounds, 6);
    assert_near(stopping.spent_s, 1.5, 1e-6);
}

/* A slow case gets its least rounds, but not for ever: a sample may take seconds. */
static void test_time_limit_waits_for_min_rounds(void **state) {
    stopping_t stopping;
    measure_options_t measure = DEFAULTS;
    measure.time_limit_s = 1;
    assert_int_equal(run_rounds(&measure, 10, 0.5F, 0.5, &stopping), STOP_TIME_LIMIT);
    assert_int_equal(stopping.rounds, measure.min_rounds);
    assert_int_equal(run_rounds(&measure, 10, 0.5F, 2, &stopping), STOP_TIME_LIMIT);
    assert_int_equal(stopping.rounds, STOPPING_PATIENCE / 2);
}

static void test_rounds_are_limited(void **state) {
    stopping_t stopping;
    measure_options_t measure = DEFAULTS;
    measure.min_samples = 100000;
    assert_int_equal(run_rounds(&measure, 8, 0.001F, 0.001, &stopping), STOP_MOST_ROUNDS);
    assert_int_equal(stopping.rounds, STOPPING_MOST_ROUNDS);
    measure.min_rounds = STOPPING_MOST_ROUNDS + 4;
    assert_int_equal(run_rounds(&measure, 8, 0.001F, 0.001, &stopping), STOP_MOST_ROUNDS);
    assert_int_equal(stopping.rounds, STOPPING_MOST_ROUNDS + 4);
}

/* host_to_host and the compute phase decide; a noisy phase beside them does not. */
static void test_which_phases_decide(void **state) {
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
    for (size_t t = 0; t < COUNT_OF(TABLE); t++) {
        AUTO(result_free) case_result_t result = make_result(TABLE[t].phases);
        set_text(&result.spec.engine, "cuda");
        stopping_t stopping;
        stopping_init(&stopping, &DEFAULTS);
        stop_reason_t stop = STOP_NONE;
        for (unsigned round = 0; round < DEFAULTS.min_rounds; round++) {
            for (size_t i = 0; TABLE[t].phases[i] != NULL; i++)
                add_round(&result, TABLE[t].phases[i], 10, TABLE[t].spreads[i], round);
            stop = stopping_after_round(&stopping, &result, 0.001);
        }
        assert_int_equal(stop, TABLE[t].precise ? STOP_PRECISE : STOP_NONE);
    }
}

/* A median of 0 (a clock with coarse steps) has no relative error. */
static void test_zero_median(void **state) {
    static const struct {
        double last;
        stop_reason_t stop;
    } TABLE[] = {{0, STOP_PRECISE}, {9, STOP_NONE}};
    measure_options_t measure = DEFAULTS;
    measure.min_rounds = measure.min_samples = 1;
    for (size_t t = 0; t < 2; t++) {
        AUTO(result_free) case_result_t result = make_result(TOTAL_ONLY);
        stopping_t stopping;
        stopping_init(&stopping, &measure);
        phase_add_round(&result.phases[0], (double[]){0, 0, 0, 0, TABLE[t].last}, 5);
        assert_int_equal(stopping_after_round(&stopping, &result, 0.001), TABLE[t].stop);
    }
}

/* A phase without samples so far is not precise. */
static void test_no_samples(void **state) {
    measure_options_t measure = DEFAULTS;
    measure.min_rounds = 1;
    AUTO(result_free) case_result_t result = make_result(TOTAL_ONLY);
    stopping_t stopping;
    stopping_init(&stopping, &measure);
    assert_int_equal(stopping_after_round(&stopping, &result, 0.001), STOP_NONE);
}

/* From the third pass on: what differs between passes is so large that further rounds would not help. */
static void test_the_spread_between_passes_ends_a_pass(void **state) {
    static const struct {
        double between; /* the standard deviation */
        stop_reason_t stop;
        unsigned rounds;
    } TABLE[] = {{NAN, STOP_MOST_ROUNDS, 16}, {0.01, STOP_MOST_ROUNDS, 16}, {10, STOP_SPREAD, 4}};
    for (size_t t = 0; t < COUNT_OF(TABLE); t++) {
        AUTO(result_free) case_result_t result = make_result(TOTAL_ONLY);
        stopping_t stopping;
        stopping_init(&stopping, &DEFAULTS);
        stopping.variance_between[0] = TABLE[t].between * TABLE[t].between;
        stop_reason_t stop = STOP_NONE;
        for (uint64_t round = 0; stop == STOP_NONE; round++) {
            add_round(&result, "total", 8, 0.9F, round);
            stop = stopping_after_round(&stopping, &result, 0.001);
        }
        assert_int_equal(stop, TABLE[t].stop);
        assert_int_equal(stopping.rounds, TABLE[t].rounds);
    }
}

/* Passes share the time and the samples of a case; rounds and precision are those of a pass. */
static void test_share_of_a_pass(void **state) {
    measure_options_t measure = DEFAULTS;
    measure.least_passes = 8; /* further ones have as much */
    measure.passes = 20;
    const measure_options_t share = stopping_share(&measure);
    assert_near(share.time_limit_s, 15.0 / 8, 1e-12);
    assert_int_equal(share.min_samples, 4); /* 30 / 8, rounded up */
    assert_int_equal(share.min_rounds, measure.min_rounds);
    assert_near(share.precision_frac, measure.precision_frac, 0);
    assert_near(share.device_precision_frac, measure.device_precision_frac, 0);
    measure.least_passes = 1;
    assert_int_equal(stopping_share(&measure).min_samples, 30);
}

/* ---- Which cases have passes enough, where their number is open. */

static const char SWEEP[] =
    "{\"schema\": 1, \"name\": \"x\", \"workload\": \"mlp_infer\", \"axes\": {\"batch\": [64]},"
    " \"contenders\": [{\"engine\": \"cpu\", \"variants\": [\"ref\", \"omp\"]},"
    " {\"engine\": \"pytorch\", \"device\": [\"cpu\"], \"variants\": [\"eager\", \"inference\"]}]}";
enum { REF, OMP, EAGER, INFERENCE, N_CASES };

typedef struct bench {
    run_options_t options;
    run_t run;
} bench_t;

/* Of passes that are `spread` above and below `ns` in turn. */
static void set(bench_t *b, size_t i, double ns, double spread, unsigned n_passes) {
    case_state_t *state = &b->run.states[0][i];
    state->finished = ~0ULL >> (64 - n_passes);
    state->may_lead = true;
    for (unsigned p = 0; p < n_passes; p++)
        state->compared[p] = (stats_pass_t){.log_value = log(ns) + (p % 2 == 0 ? spread : -spread)};
}

static void make(bench_t *b) {
    *b = (bench_t){.options = {.root = "."}};
    b->run = (run_t){.options = &b->options, .n_sweeps = 1};
    b->run.sweeps = calloc(1, sizeof *b->run.sweeps);
    assert_ok(sweep_parse("x", SWEEP, ".", &b->run.sweeps[0], &err));
    assert_int_equal(b->run.sweeps[0].n_cases, N_CASES);
    run_make_states(&b->run);
    for (size_t i = 0; i < N_CASES; i++)
        set(b, i, 100 + (double)i, 0, 12);
}

static const double WIDE = 0.1, REACH = 0.018; /* 7 passes do for the second, none for the first */

/* What differs from `make`: the passes of one case or two, and what else of the first. */
typedef struct leaving {
    struct {
        size_t i;
        double ns, spread;
        unsigned n_passes; /* 0: nothing is changed */
    } sets[2];
    bool may_not_lead, is_dropped;
    unsigned least_passes; /* 0: as in the sweep */
    unsigned left[N_CASES];
} leaving_t;

static const leaving_t LEAVINGS[] = {
    /* Who does not lead leaves by itself. */
    {{{INFERENCE, 103, WIDE, 12}, {OMP, 101, REACH, 12}}, .left = {5, 7, 5, 6}},
    /* Who leads waits for its rival, but not for a time that is not compared. */
    {{{EAGER, 102, REACH, 12}}, .left = {7, 5, 7, 5}},
    {{{EAGER, 102, REACH, 12}}, .may_not_lead = true, .left = {5, 5, 7, 5}},
    {{{REF, 100, WIDE, 2}}, .is_dropped = true, .left = {5, 5, 5, 5}},
    /* One case was not finished when the run was cut off in the fifth pass: nobody has left yet. */
    {{{INFERENCE, 103, 0, 4}}, .left = {0, 0, 0, 0}},
    /* An exact number ends for all. */
    {.least_passes = 12, .left = {0, 0, 0, 0}},
};

static void when_cases_leave(void **state) {
    for (size_t l = 0; l < COUNT_OF(LEAVINGS); l++) {
        const leaving_t *leaving = &LEAVINGS[l];
        bench_t b;
        make(&b);
        for (size_t k = 0; k < 2 && leaving->sets[k].n_passes > 0; k++)
            set(&b, leaving->sets[k].i, leaving->sets[k].ns, leaving->sets[k].spread,
                leaving->sets[k].n_passes);
        b.run.states[0][leaving->sets[0].i].may_lead = !leaving->may_not_lead;
        b.run.states[0][leaving->sets[0].i].dropped = leaving->is_dropped;
        if (leaving->least_passes > 0)
            b.run.sweeps[0].measure.least_passes = leaving->least_passes;
        for (unsigned pass = 1; pass <= 12; pass++) {
            run_let_leave(&b.run, pass);
            if (pass == 4) /* the least are five */
                assert_int_equal(b.run.states[0][REF].left, 0);
        }
        for (size_t i = 0; i < N_CASES; i++)
            if (b.run.states[0][i].left != leaving->left[i])
                fail_msg("row %zu: case %zu left after pass %u", l, i, b.run.states[0][i].left);
        run_free_sweeps(&b.run);
    }
}

/* ---- What a worker's answer adds to a result. */

static case_result_t samples_make(void) {
    AUTO(case_free)
    case_t spec = {.id = mem_text("null/cpu/steady"),
                   .workload = mem_text("null"),
                   .engine = mem_text("null")};
    case_result_t result;
    result_init(&result, &spec);
    result_add_phase(&result, "total", CLOCK_HOST);
    return result;
}

static void the_last_sample_is_fresh(void **state) {
    AUTO(result_free) case_result_t result = samples_make();
    json_auto_t *answer = json_pack("{s: {s: [i, i, i]}}", "phases", "total", 100, 110, 900);
    sample_claim_t claim = {
        .answer = answer, .most = 2, .fresh = true, .waited_ns = 700, .took_ns = 2000};
    assert_null(samples_add(&result, &claim));
    const phase_t *phase = &result.phases[0];
    assert_int_equal(phase->n_samples, 2);
    assert_int_equal(phase->n_fresh, 1);
    assert_true(phase->fresh[0].ns == 900);
    assert_true(phase->fresh[0].waited_ns == 700);
    claim.fresh = false; /* then it is one too many */
    AUTO_FREE char *reason = samples_add(&result, &claim);
    assert_non_null(reason);
}

/* They allow fresh samples to be longer, so a script has no say in them. */
static void rewritten_samples_are_of_our_own_worker(void **state) {
    json_auto_t *answer = json_pack("{s: {s: [i]}, s: {s: [i, i]}}", "phases", "total", 100,
                                    "rewritten", "total", 300, 200);
    const sample_claim_t claim = {.answer = answer, .most = 2, .took_ns = 2000};
    for (int is_ours = 0; is_ours < 2; is_ours++) {
        AUTO(result_free) case_result_t result = samples_make();
        set_text(&result.spec.engine, is_ours ? "cpu" : "mine");
        assert_null(samples_add(&result, &claim));
        assert_int_equal(result.phases[0].n_rewritten, is_ours ? 2 : 0);
        assert_int_equal(result.phases[0].n_samples, 1);
    }
    AUTO(result_free) case_result_t result = samples_make();
    const sample_claim_t shorter = {.answer = answer, .most = 2, .took_ns = 250};
    AUTO_FREE char *reason = samples_add(&result, &shorter);
    assert_string_equal(reason,
                        "sample 1 of phase \"total\" is 300 ns, but the request took 250 ns");
}

#include "run_tests.h"
