/* What the report decides, against runs whose truth is planted. */
#include "analysis/speedup.h"
#include "checks.h"
#include "made_case.h"
#include "planted_run.h"
#include "timed_result.h"
#include "workloads/described/described.h"

static bool any_row(const size_row_t *row) {
    return row->size > 0;
}

/* The interval is to hold the truth about 95 times in 100. */
static void test_interval_holds_the_planted_ratio(void **state) {
    enum { RUNS = 200 };
    size_t held = 0, decided = 0, equal_called_different = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        AUTO(record_free) record_t run = {.name = mem_text("planted")};
        plant(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, 100 * seed);
        plant(&run, (planted_t){"pytorch", "cuda", "eager", 1, 1100, CASE_OK, NULL},
              100 * seed + 50);
        plant(&run, (planted_t){"pytorch", "cuda", "graph", 1, 1000, CASE_OK, NULL},
              100 * seed + 70);
        speedup_t slower = speedup_make(&run.cases[0], "total", &run.cases[1], "total");
        speedup_t equal = speedup_make(&run.cases[0], "total", &run.cases[2], "total");
        held += slower.ratio.low <= 1.1 && 1.1 <= slower.ratio.high;
        decided += slower.verdict == VERDICT_OURS;
        equal_called_different += equal.verdict != VERDICT_NO_DIFFERENCE;
    }
    print_message("planted 1.1: held %zu, decided %zu of %d; equal ones called different %zu\n",
                  held, decided, RUNS, equal_called_different);
    assert_true(held >= RUNS * 93 / 100);
    assert_int_equal(decided, RUNS);
    assert_true(equal_called_different <= RUNS * 7 / 100);
}

static void test_only_ok_cases_compete(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    plant(&run, (planted_t){"cuda", "cuda", "01_study", 1, 5000, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "02_a", 1, 10, CASE_WRONG, "off"}, 2);
    plant(&run, (planted_t){"cuda", "cuda", "03_b", 1, 20, CASE_THROTTLED, "hot"}, 3);
    plant(&run, (planted_t){"cpu", "cpu", "omp", 1, 30, CASE_OK, NULL}, 4);
    plant(&run, (planted_t){"cpu", "cpu", "ref", 1, 1, CASE_OK, NULL}, 4);
    plant(&run, (planted_t){"pytorch", "cuda", "eager", 1, 7000, CASE_OK, NULL}, 5);
    plant(&run, (planted_t){"pytorch", "cuda", "graph", 1, 6000, CASE_OK, NULL}, 6);
    plant(&run, (planted_t){"pytorch", "cpu", "eager", 1, 40, CASE_OK, NULL}, 7);
    plant(&run, (planted_t){"mine", "cuda", "jit", 1, 50, CASE_OK, NULL}, 8);
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    assert_int_equal(sets.n, 2);
    const size_row_t *gpu = &sets.items[0].rows[0], *cpu = &sets.items[1].rows[0];
    assert_string_equal(gpu->best->spec.variant, "01_study");
    assert_string_equal(gpu->rivals[0].standing.fastest->spec.variant, "graph");
    assert_string_equal(gpu->eager->spec.variant, "eager");
    assert_string_equal(gpu->eager->spec.device, "cuda");
    assert_string_equal(gpu->rivals[1].engine, "mine");
    assert_int_equal(gpu->rivals[1].speedup.verdict, VERDICT_THEIRS);
    assert_ptr_equal(gpu->strongest, gpu->rivals[1].standing.fastest);
    assert_int_equal(sets.items[1].n_rivals, 1);
    assert_string_equal(cpu->best->spec.variant, "ref"); /* the oracle is a contender too */
    assert_string_equal(cpu->strongest->spec.device, "cpu");
    assert_ptr_equal(gpu->host, cpu->best);
    assert_ptr_equal(gpu->host_rival, cpu->strongest);
    assert_null(cpu->study);
}

/* With four passes or without any there is a ratio but no interval, and nobody is called faster. */
static void test_with_few_passes_nobody_wins(void **state) {
    enum { FEW = STATS_FEWEST_PASSES - 1 };
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    plant_case(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, FEW, 1);
    plant_case(&run, (planted_t){"pytorch", "cuda", "eager", 1, 2000, CASE_OK, NULL}, FEW, 2);
    plant(&run, (planted_t){"pytorch", "cuda", "graph", 1, 2000, CASE_OK, NULL}, 3);
    speedup_t speedup = speedup_make(&run.cases[0], "total", &run.cases[1], "total");
    assert_int_equal(speedup.verdict, VERDICT_UNDECIDED);
    assert_true(fabs(speedup.ratio.centre - 2) < 0.1);
    assert_true(isnan(speedup.ratio.low) && isnan(speedup.ratio.high));
    assert_int_equal(speedup.ratio.n_passes, FEW);
    speedup = speedup_make(&run.cases[0], "total", &run.cases[2], "total");
    assert_int_equal(speedup.ratio.n_passes, FEW); /* pairs: the side with fewer decides */
    assert_int_equal(speedup.verdict, VERDICT_UNDECIDED);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < run.cases[c].n_phases; i++)
            run.cases[c].phases[i].n_passes = 0; /* as in a CSV of the study */
    speedup = speedup_make(&run.cases[0], "total", &run.cases[1], "total");
    assert_int_equal(speedup.verdict, VERDICT_UNDECIDED);
    assert_true(fabs(speedup.ratio.centre - 2) < 0.1);
    assert_int_equal(speedup_make(&run.cases[0], "total", NULL, "total").verdict, VERDICT_NONE);
    assert_int_equal(speedup_make(&run.cases[0], "none", &run.cases[1], "none").verdict,
                     VERDICT_NONE);
}

/* A phase of six passes, of which pass p takes `ns` times slow[p]. */
static void plant_passes_of(case_result_t *result, const char *name, double ns,
                            const double slow[6]) {
    phase_t *phase = result_add_phase(result, name, CLOCK_HOST);
    for (size_t p = 0; p < 6; p++) {
        phase_start_pass(phase);
        for (size_t r = 0; r < 4; r++)
            phase_add_round(phase, (double[]){ns * slow[p] * (1 + 0.001 * (double)r)}, 1);
    }
    phase_summarise(phase);
}

/* Both sides drift by 50 % from pass to pass, together: their ratio does not. */
static void test_ratios_are_paired_by_pass(void **state) {
    static const double DRIFT[] = {1, 1.1, 1.2, 1.3, 1.4, 1.5},
                        BACK[] = {1.5, 1.4, 1.3, 1.2, 1.1, 1};
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    plant_passes_of(&run.cases[0], "x", 1000, DRIFT);
    plant_passes_of(&run.cases[1], "x", 1050, DRIFT);
    plant_passes_of(&run.cases[1], "y", 1050, BACK);
    const speedup_t paired = speedup_make(&run.cases[0], "x", &run.cases[1], "x");
    assert_int_equal(paired.verdict, VERDICT_OURS);
    assert_true(fabs(paired.ratio.centre - 1.05) < 1e-6);
    assert_true(paired.ratio.high / paired.ratio.low < 1.01);
    const speedup_t crossed = speedup_make(&run.cases[0], "x", &run.cases[1], "y");
    assert_int_equal(crossed.verdict, VERDICT_NO_DIFFERENCE);
}

/* No side wins by which of two values came up. */
static void test_two_values_widen_the_interval(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){1.5}, 1);
    phase_t *ours = &run.cases[0].phases[0], *theirs = &run.cases[1].phases[0];
    assert_int_equal(speedup_make(&run.cases[0], "total", &run.cases[1], "total").verdict,
                     VERDICT_OURS);
    ours->bimodal = (bimodal_t){true, 900, 1700, 0.4};
    speedup_t speedup = speedup_make(&run.cases[0], "total", &run.cases[1], "total");
    assert_int_equal(speedup.verdict, VERDICT_NO_DIFFERENCE);
    assert_true(fabs(speedup.ratio.low - theirs->summary.median / 1700) < 1e-9);
    assert_true(fabs(speedup.ratio.high - theirs->summary.median / 900) < 1e-9);
    theirs->bimodal = (bimodal_t){true, 1800, 2000, 0.5};
    speedup = speedup_make(&run.cases[0], "total", &run.cases[1], "total");
    assert_int_equal(speedup.verdict, VERDICT_OURS); /* the least of theirs against our most */
    assert_true(fabs(speedup.ratio.low - 1800.0 / 1700) < 1e-9);
    assert_true(fabs(speedup.ratio.high - 2000.0 / 900) < 1e-9);
}

/* The passes load the code of a compilation; its own process was faster than any of them. */
static void test_a_compilation_that_no_pass_reaches_widens_the_interval(void **state) {
    static const struct {
        double drawn_ns, low_at_most, low_at_least;
    } CASES[] = {{1400, 1.41, 1.39}, {1980, 2, 1.9}, {NAN, 2, 1.9}, {2600, 2, 1.9}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(record_free) record_t run = {.name = mem_text("planted")};
        plant(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, 1);
        plant(&run, (planted_t){"pytorch", "cuda", "graph", 1, 2000, CASE_OK, NULL}, 2);
        plant_draw(&run.cases[1], "total", CASES[i].drawn_ns);
        const speedup_t speedup = speedup_make(&run.cases[0], "total", &run.cases[1], "total");
        assert_true(fabs(speedup.ratio.centre - 2) < 0.1);
        assert_true(speedup.ratio.low < CASES[i].low_at_most);
        assert_true(speedup.ratio.low > CASES[i].low_at_least);
        assert_true(speedup.ratio.high < 2.1);
    }
}

static void test_a_tally_counts_lower_times_apart(void **state) {
    static const double RATIOS[] = {3, 2, 0.5};
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    tally_t tally = {0};
    for (size_t i = 0; i < 3; i++) {
        plant_case(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, 1, 2 * i);
        plant_case(&run,
                   (planted_t){"pytorch", "cuda", "eager", 1, 1000 * RATIOS[i], CASE_OK, NULL}, 1,
                   2 * i + 1);
        const speedup_t speedup =
            speedup_make(&run.cases[2 * i], "total", &run.cases[2 * i + 1], "total");
        tally_add(&tally, &speedup);
    }
    assert_int_equal(tally.n, 3);
    assert_int_equal(tally.of[VERDICT_UNDECIDED], 3);
    assert_int_equal(tally.n_lower, 2);
}

/* The middle one is batch 64 where that is among them. */
static void test_key_rows(void **state) {
    static const struct {
        size_t n, n_keys;
        int64_t keys[3];
    } CASES[] = {{1, 1, {1}}, {2, 2, {1, 2}}, {5, 3, {1, 4, 16}}, {10, 3, {1, 64, 512}}};
    double ratios[10];
    for (size_t i = 0; i < 10; i++)
        ratios[i] = 2;
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(record_free) record_t run = plant_ratios(ratios, CASES[i].n);
        AUTO(comparison_set_list_free)
        comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
        const size_row_t *rows[3];
        assert_int_equal(key_rows(&sets.items[0], any_row, rows), CASES[i].n_keys);
        for (size_t k = 0; k < CASES[i].n_keys; k++)
            assert_int_equal(rows[k]->size, CASES[i].keys[k]);
    }
}

static void test_contender_names(void **state) {
    static const struct {
        const char *id, *name;
    } CASES[] = {
        {"w/cuda/03_v/batch=1", "03_v"},
        {"w/cuda/03_v/batch=1/copy=pinned", "03_v + pinned"},
        {"w/cuda/03_v/batch=1/alloc=arena/copy=pinned", "03_v + arena, pinned"},
        {"w/cuda/03_v/batch=1/copy=pinned_more", "03_v"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(case_free) case_t spec = {.id = mem_text(CASES[i].id), .variant = mem_text("03_v")};
        case_add_technique(&spec, "alloc", "arena");
        case_add_technique(&spec, "copy", "pinned");
        AUTO_FREE char *name = contender_name(&spec);
        assert_string_equal(name, CASES[i].name);
    }
}

/* A launch by Python takes longer than by C: that says nothing about a kernel. */
static void test_operators_are_compared_by_like_calls(void **state) {
    const description_t *softmax;
    assert_ok(described_add("kernels/softmax", NULL, &softmax, &err));
    timed_t ours[] = {{"host_to_host", 9000}, {"kernel", 3000}, {"kernel_graph", 1000}, {NULL, 0}};
    timed_t theirs[] = {
        {"host_to_host", 9100}, {"forward_device", 12000}, {"forward_graph", 2000}, {NULL, 0}};
    for (int in_graph = 1; in_graph >= 0; in_graph--) {
        if (!in_graph)
            theirs[2] = (timed_t){NULL, 0};
        case_result_t results[] = {make_result("softmax", "cuda", 8, ours),
                                   make_result("softmax", "pytorch", 8, theirs)};
        for (size_t i = 0; i < 2; i++) {
            set_text(&results[i].spec.device, "cuda");
        }
        const record_t run = {.cases = results, .n_cases = 2};
        AUTO(comparison_set_list_free)
        comparison_set_list_t sets = comparison_sets_of(&run, "softmax");
        assert_int_equal(sets.n, 1);
        assert_string_equal(sets.items[0].phase, in_graph ? "call_in_graph" : "one_call");
        const size_row_t *row = &sets.items[0].rows[0];
        assert_near(row->headline.ratio.centre, in_graph ? 2 : 4, 1e-9);
        result_free(&results[0]);
        result_free(&results[1]);
    }
}

static void expect_call(case_result_t *results, size_t n, const char *phase, double ratio) {
    for (size_t i = 0; i < n; i++) {
        set_text(&results[i].spec.device, "cuda");
    }
    const record_t run = {.cases = results, .n_cases = n};
    AUTO(comparison_set_list_free) comparison_set_list_t sets = comparison_sets_of(&run, "softmax");
    assert_int_equal(sets.n, 1);
    assert_string_equal(sets.items[0].phase, phase);
    assert_near(sets.items[0].rows[0].headline.ratio.centre, ratio, 1e-9);
    const case_result_t *plain =
        sets.items[0].rows[0].plain; /* of a file that captures itself: none */
    assert_true(plain == NULL || isfinite(result_median(plain, EAGER_CALL)));
    assert_true((plain != NULL) == (timed_phase(&results[0], EAGER_CALL) != NULL));
    for (size_t i = 0; i < n; i++)
        result_free(&results[i]);
}

/* A Triton kernel that takes as long as the compiler's took twice as long beside it, as one was
 * launched by Python and the other by a graph. */
static void test_a_candidate_is_compared_by_what_it_was_given(void **state) {
    const description_t *softmax;
    assert_ok(described_add("kernels/softmax", NULL, &softmax, &err));
    timed_t eager[] = {{"forward_device", 132}, {NULL, 0}},
            mode[] = {{"forward_device", 105}, {NULL, 0}},
            graph[] = {{"forward_device", 64}, {"forward_graph", 48}, {NULL, 0}},
            in_place[] = {{"forward_device", 64}, {NULL, 0}};
    case_result_t uncaptured[] = {make_result("softmax", "python", 8, eager),
                                  make_result("softmax", "pytorch", 8, mode),
                                  make_result("softmax", "pytorch", 8, graph)};
    expect_call(uncaptured, 3, "eager_call", 105.0 / 132);
    case_result_t captured[] = {
        make_result("softmax", "python", 8, eager), make_result("softmax", "python", 8, graph),
        make_result("softmax", "pytorch", 8, mode), make_result("softmax", "pytorch", 8, graph)};
    expect_call(captured, 4, "call_in_graph", 1);
    /* Arrays in place have no graph of many calls. */
    for (int both = 0; both < 2; both++) {
        case_result_t results[] = {make_result("softmax", "python", 8, both ? in_place : eager),
                                   make_result("softmax", "pytorch", 8, mode),
                                   make_result("softmax", "pytorch", 8, in_place)};
        result_add_once(&results[2], "capture", 1e6);
        if (both)
            result_add_once(&results[0], "capture", 1e6);
        expect_call(results, 3, both ? "one_call" : "eager_call", both ? 1 : 105.0 / 132);
    }
    case_result_t compiled[] = {make_result("softmax", "python", 8, eager),
                                make_result("softmax", "pytorch", 8, mode),
                                make_result("softmax", "pytorch", 8, in_place)};
    result_add_once(&compiled[2], "compile", 1e9);
    expect_call(compiled, 3, "eager_call", 105.0 / 132);
}

/* One call on a CPU has the name that the cases and the log have. */
static void test_calls_on_a_cpu_are_named_as_the_cases_do(void **state) {
    timed_t ours[] = {{"host_to_host", 9000}, {"forward", 3000}, {NULL, 0}};
    timed_t theirs[] = {{"host_to_host", 9100}, {"forward", 12000}, {NULL, 0}};
    case_result_t results[] = {make_result("softmax", "cpu", 8, ours),
                               make_result("softmax", "pytorch", 8, theirs)};
    for (size_t i = 0; i < 2; i++) {
        set_text(&results[i].spec.device, "cpu");
    }
    const record_t run = {.cases = results, .n_cases = 2};
    AUTO(comparison_set_list_free) comparison_set_list_t sets = comparison_sets_of(&run, "softmax");
    assert_int_equal(sets.n, 1);
    assert_string_equal(sets.items[0].phase, "forward");
    assert_true(phase_is_call(sets.items[0].phase));
    assert_near(sets.items[0].rows[0].headline.ratio.centre, 4, 1e-9);
    result_free(&results[0]);
    result_free(&results[1]);
}

#include "run_tests.h"
