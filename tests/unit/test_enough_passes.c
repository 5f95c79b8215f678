/* Which cases have passes enough, where their number is open. */
#include "checks.h"
#include "run/state.h"

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

static void expect_left(bench_t *b, unsigned first, const unsigned expected[N_CASES]) {
    for (unsigned pass = first; pass <= 12; pass++)
        run_let_leave(&b->run, pass);
    for (size_t i = 0; i < N_CASES; i++)
        assert_int_equal(b->run.states[0][i].left, expected[i]);
    run_free_sweeps(&b->run);
}

static const double WIDE = 0.1, REACH = 0.018; /* 7 passes do for the second, none for the first */

static void not_before_the_least(void **state) {
    bench_t b;
    make(&b);
    for (unsigned pass = 1; pass < 5; pass++)
        run_let_leave(&b.run, pass);
    assert_int_equal(b.run.states[0][REF].left, 0);
    expect_left(&b, 5, (unsigned[]){5, 5, 5, 5});
}

static void who_does_not_lead_leaves_by_itself(void **state) {
    bench_t b;
    make(&b);
    set(&b, OMP, 101, REACH, 12);
    set(&b, INFERENCE, 103, WIDE, 12);
    expect_left(&b, 1, (unsigned[]){5, 7, 5, 6});
}

static void who_leads_waits_for_its_rival(void **state) {
    bench_t b;
    make(&b);
    set(&b, EAGER, 102, REACH, 12);
    expect_left(&b, 1, (unsigned[]){7, 5, 7, 5});
}

/* A time that is not compared is none to wait for. */
static void who_may_not_lead(void **state) {
    bench_t b;
    make(&b);
    set(&b, EAGER, 102, REACH, 12);
    b.run.states[0][EAGER].may_lead = false;
    expect_left(&b, 1, (unsigned[]){5, 5, 7, 5});
}

static void who_is_dropped_leaves(void **state) {
    bench_t b;
    make(&b);
    set(&b, REF, 100, WIDE, 2);
    b.run.states[0][REF].dropped = true;
    expect_left(&b, 1, (unsigned[]){5, 5, 5, 5});
}

/* One case was not finished when the run was cut off in the fifth pass: nobody has left yet. */
static void a_pass_that_was_cut_off_decides_nothing(void **state) {
    bench_t b;
    make(&b);
    set(&b, INFERENCE, 103, 0, 4);
    expect_left(&b, 1, (unsigned[]){0, 0, 0, 0});
}

static void an_exact_number_ends_for_all(void **state) {
    bench_t b;
    make(&b);
    b.run.sweeps[0].measure.least_passes = 12;
    expect_left(&b, 1, (unsigned[]){0, 0, 0, 0});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_before_the_least),
        cmocka_unit_test(who_does_not_lead_leaves_by_itself),
        cmocka_unit_test(who_leads_waits_for_its_rival),
        cmocka_unit_test(who_may_not_lead),
        cmocka_unit_test(who_is_dropped_leaves),
        cmocka_unit_test(a_pass_that_was_cut_off_decides_nothing),
        cmocka_unit_test(an_exact_number_ends_for_all),
    };
    return cmocka_run_group_tests_name("enough passes", tests, NULL, NULL);
}
