/* What the report warns of, from runs whose truth is planted. */
#include "planted_run.h"
#include "printed_section.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void flags_are_told_once_with_the_worst(void **state) {
    (void)state;
    static const char *const FLAGS[] = {
        "implausible: slower in a graph than back to back (kernel_graph 2.00 µs, kernel_stream "
        "1.00 µs)",
        "implausible: slower in a graph than back to back (kernel_graph 9.00 µs, kernel_stream "
        "900 ns)",
        "implausible: kernel 700 ns, under the event floor of 1.28 µs",
        "implausible: kernel 600 ns, under the event floor of 1.28 µs"};
    record_t run = plant_ratios((double[]){2, 2}, 2);
    for (size_t i = 0; i < 4; i++)
        flag_list_add_text(&run.cases[i].flags, FLAGS[i]);
    char *text = printed(section_warnings, &run);
    assert_has(text, "- **implausible: slower in a graph than back to back (kernel_graph 9.00 µs, "
                     "kernel_stream 900 ns)**: at its worst, of the first (cases: 2): ");
    assert_has(text, "kernel 600 ns");
    assert_has_not(text, "2.00 µs");
    assert_has_not(text, "700 ns");
    free(text);
    record_free(&run);
}

static void widest_intervals_are_named(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2, 2}, 2);
    phase_t *phase = &run.cases[2].phases[1];
    assert_string_equal(phase->name, "host_to_host");
    phase->summary.ci95[0] = 0.9 * phase->summary.median;
    phase->summary.ci95[1] = 1.1 * phase->summary.median;
    char *text = printed(section_warnings, &run);
    assert_has(text, "- The widest intervals: `mlp_infer/cuda/01_study/batch=2` ± 10 %.");
    free(text);
    record_free(&run);
}

/* Two compilations of the rival at size 1; the passes load the second. */
static void a_compilation_that_no_pass_reaches_is_told(void **state) {
    (void)state;
    static const double SECOND_NS[] = {1000, 1990};
    for (size_t i = 0; i < 2; i++) {
        record_t run = plant_ratios((double[]){2}, 1);
        assert_string_equal(run.cases[1].spec.engine, "pytorch");
        plant_draw(&run.cases[1], "host_to_host", 2500);
        plant_draw(&run.cases[1], "host_to_host", SECOND_NS[i]);
        char *text = printed(table_of_compilations, &run);
        assert_has(text, i == 0 ? " 2.50 µs, **1.00 µs** | " : " 2.50 µs, **1.99 µs** | ");
        (i == 0 ? assert_has : assert_has_not)(text, " µs, slower | ");
        free(text);
        record_free(&run);
    }
}

/* A pass each of four stops, and three of one case that stopped for two reasons. */
static void stops_are_counted_by_pass(void **state) {
    (void)state;
    static const stop_reason_t STOPS[] = {STOP_PRECISE, STOP_NOISE_FLOOR, STOP_TIME_LIMIT,
                                          STOP_MOST_ROUNDS};
    record_t run = plant_ratios((double[]){2, 2}, 2), more = plant_ratios((double[]){2}, 1);
    for (size_t i = 0; i < 4; i++)
        run.cases[i].stop = STOPS[i];
    more.cases[0].stop = STOP_MOST_ROUNDS;
    char *text = printed(section_warnings, &run);
    assert_has(text, "- Why passes ended: 1 precise, 1 noise_floor, 1 most_rounds, 1 time_limit.");
    free(text);
    result_add_passes(&run.cases[0], &more.cases[0]);
    more.cases[0].stop = STOP_PRECISE;
    result_add_passes(&run.cases[0], &more.cases[0]);
    assert_int_equal(result_stops(&run.cases[0], STOP_PRECISE), 2);
    assert_int_equal(result_stops(&run.cases[0], STOP_MOST_ROUNDS), 1);
    text = printed(section_warnings, &run);
    assert_has(text, ": 2 precise, 1 noise_floor, 2 most_rounds, 1 time_limit.");
    free(text);
    record_free(&more);
    record_free(&run);
}

static void two_values_are_listed(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2}, 1);
    char *text = printed(section_warnings, &run);
    assert_has_not(text, "wo values");
    free(text);
    for (size_t i = 0; i < 2; i++) /* total and host_to_host */
        run.cases[1].phases[i].bimodal = (bimodal_t){true, 9600, 17000, 0.39};
    text = printed(section_warnings, &run);
    assert_has(text, "- **two values ‡**: ");
    assert_has(text, "(cases: 1): `mlp_infer/pytorch-cuda/eager/batch=1`.\n");
    free(text);
    record_free(&run);
}

static void statuses_are_told_with_their_reason(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "02_x", 1, 1, CASE_IMPLAUSIBLE, "too fast"}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "05_f16", 1, 1, CASE_SKIPPED, "for dtype f16 only"}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "07_new", 1, 1, CASE_SKIPPED, "needs sm_90"}, 1);
    char *text = printed(section_warnings, &run);
    assert_has(text, "- **implausible**: too fast (cases: 1): `mlp_infer/cuda/02_x/batch=1`.\n");
    assert_has(text, "- **not applicable by design**: for dtype f16 only (cases: 1): ");
    assert_has(text, "- **skipped**: needs sm_90 (cases: 1): ");
    free(text);
    const status_counts_t counts = count_statuses(&run); /* without those left out by design */
    assert_int_equal(counts.all, 4);
    assert_int_equal(counts.of[CASE_SKIPPED], 1);
    assert_int_equal(counts.of[CASE_IMPLAUSIBLE], 1);
    record_free(&run);
}

static void case_without_its_last_check_is_named(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2}, 1);
    for (size_t i = 0; i < run.n_cases; i++)
        run.cases[i].before = run.cases[i].after = (check_t){.done = true, .ok = true};
    char *text = printed(section_warnings, &run);
    assert_has_not(text, "not checked");
    free(text);
    run.cases[0].after = (check_t){0};
    text = printed(section_warnings, &run);
    assert_has(text,
               "- **not checked after timing**: the run was interrupted first; the check before "
               "timing passed (cases: 1): `mlp_infer/cuda/01_study/batch=1`.\n");
    free(text);
    run.cases[0].before = (check_t){0}; /* there was nothing to check it against */
    text = printed(section_warnings, &run);
    assert_has_not(text, "not checked");
    free(text);
    record_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_are_told_once_with_the_worst),
        cmocka_unit_test(widest_intervals_are_named),
        cmocka_unit_test(a_compilation_that_no_pass_reaches_is_told),
        cmocka_unit_test(stops_are_counted_by_pass),
        cmocka_unit_test(two_values_are_listed),
        cmocka_unit_test(statuses_are_told_with_their_reason),
        cmocka_unit_test(case_without_its_last_check_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
