/* Tables of the charts, and that nothing in a results file reaches gnuplot as more than text.
 * tests/cli/test_plot.py draws for real. */
#include "checks.h"
#include "planted_plot.h"
#include "plot/plot.h"

#define FIXTURES "tests/fixtures/plot/"

static void wrong_and_failed_cases_have_no_time(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    chart_t chart = {0};
    assert_drawn(chart_phases(world->data, "cuda", &chart));
    const char *table = table_of(&chart);
    assert_has(table, "0 \"1\" 5 100 0 \"\"\n");
    assert_has(table, "1 \"2\" 6 300 1 \"\"\n");
    assert_has(table, "2 \"4\" NaN NaN 0 \"wrong\"\n");
    chart_free(&chart);
    assert_drawn(chart_total(world->data, &chart));
    table = table_of(&chart);
    assert_has(table, "\"CUDA, the fastest at each batch size\"");
    assert_has(table, "\"PyTorch eager (the study's, fastest PyTorch)\"");
    assert_has(table, "\"mine jit (fastest mine)\"");
    assert_has(table, "2 300 297.966587 302.04729 1 \"throttled\"\n");
    assert_lacks(table, "654321");
    chart_free(&chart);
}

static void difference_finds_leads_and_the_crossover(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    chart_t chart = {0};
    assert_drawn(chart_difference(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(table, "0 \"1\" -100 1 0 \"CUDA\" \"100 µs\" \"2.00×\" \"\" 1\n");
    assert_has(table, "1 \"2\" -1 3 1 \"undecided\" \"\" \"\" \"\" 1\n");
    assert_has(table, "2 \"4\" NaN 0 0 \"\" \"\" \"\" \"wrong\" 1\n");
    assert_has(table, "3 \"8\" 250 2 0 \"PyTorch\" \"250 µs\" \"2.00×\" \"\" 9\n");
    assert_has(table, "3 \"8\" \"crossover: PyTorch is faster from batch 8\"\n");
    assert_true(text_list_has(&chart.numbers, "n_crossovers=1"));
    assert_has(table, "\n1 \"↑ PyTorch is faster\"\n0 \"↓ CUDA is faster\"\n");
    assert_has(chart.note, "  ·  CUDA 01_study − PyTorch eager  ·  ");
    assert_has(chart.note, "phase total");
    assert_has(chart.note, "hollow: throttled");
    chart_free(&chart);
}

/* Two intervals that overlap are no evidence of anything: ratios are paired by pass. */
static void difference_is_decided_by_the_ratio_of_passes(void **state) {
    static const planted_t CASES[] = {
        {"cuda", "cuda", "01_study", NULL, 1, 100e3, 2e3, CASE_OK, .limit_ns = 0},
        {"pytorch", "cuda", "eager", NULL, 1, 100.8e3, 2e3, CASE_OK, .limit_ns = 0},
    };
    world_t *world = *state;
    chart_t chart = {0};
    load_cases(world, CASES, 2);
    assert_drawn(chart_difference(world->data, &chart));
    assert_has(table_of(&chart), "0 \"1\" -0.8 1 0 \"CUDA\" \"800 ns\" \"1.01×\" \"\" 1\n");
    chart_free(&chart);
}

static void without_cuda_the_difference_is_that_of_the_cpu(void **state) {
    world_t *world = *state;
    load(world, NULL, "cpu");
    chart_t chart = {0};
    assert_drawn(chart_difference(world->data, &chart));
    assert_has(chart.note, "  ·  C on the CPU, omp − PyTorch on the CPU, eager  ·  ");
    assert_has(table_of(&chart),
               "\n1 \"↑ PyTorch on the CPU is faster\"\n0 \"↓ C on the CPU is faster\"\n");
    assert_has(table_of(&chart), "0 \"1\" 6 2 0 \"PyTorch\" \"6.00 µs\" \"3.00×\" \"\" 17\n");
    chart_free(&chart);
    char *why = chart_phases(world->data, "cuda", &chart);
    assert_string_equal(why, "no case of CUDA has times");
    free(why);
}

static void ladder_has_standard_rungs_and_the_limit(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    chart_t chart = {0};
    assert_drawn(chart_ladder(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(table, "size \"CUDA 02_fast\" low");
    assert_has(table, "8 NaN NaN NaN 0 \"failed\"\n");
    assert_lacks(table, "pinned");
    assert_lacks(table, "PyTorch");
    assert_has(table, "size \"hardware limit (dram)\"\n1 0.01\n2 0.02\n");
    assert_true(text_list_has(&chart.numbers, "n_limits=1"));
    chart_free(&chart);
}

/* Twelve samples, and a thirteenth a thousand times as late. */
static void samples_beyond_the_axis_are_counted(void **state) {
    case_t spec = {.id = mem_text("w/e/v"), .engine = mem_text("cuda")};
    case_result_t result;
    result_init(&result, &spec);
    add_phase(&result, "kernel", 5000);
    add_phase(&result, "host_to_host", 9000);
    phase_add_round(&result.phases[0], (const double[]){5e6}, 1);
    phase_summarise(&result.phases[0]);
    chart_t chart = {0};
    assert_drawn(chart_samples(&result, "kernel", &chart));
    assert_has(chart.note, "phase kernel, host clock  ·  13 samples in 7 rounds, 6 passes");
    assert_has(chart.note, "1 beyond the axis, up to 5.00 ms");
    assert_has(table_of(&chart), "\n 5000 1.000000\n"); /* the last step of the shares */
    assert_has(table_of(&chart), "\n2 1\n4 1\n6 1\n8 1\n10 1\n12 0\n"); /* first of a pass? */
    assert_true(text_list_has(&chart.numbers, "bimodal=0"));
    chart_free(&chart);
    assert_drawn(chart_samples(&result, NULL, &chart));
    assert_has(chart.note, "phase host_to_host");
    assert_lacks(chart.note, "later than");
    chart_free(&chart);
    result_free(&result);
    case_free(&spec);
}

/* 40 rounds that change between 10 µs and 17 µs, in four passes: too few for an interval. */
static void both_values_are_drawn_with_their_shares(void **state) {
    case_t spec = {.id = mem_text("w/e/v"), .engine = mem_text("cuda")};
    case_result_t result;
    result_init(&result, &spec);
    phase_t *phase = result_add_phase(&result, "host_to_host", CLOCK_HOST);
    for (size_t r = 0; r < 40; r++) {
        if (r % 10 == 0)
            phase_start_pass(phase);
        phase_add_round(phase, (double[]){(r % 10 < 6 ? 10e3 : 17e3) + (double)(r % 3)}, 1);
    }
    phase_summarise(phase);
    chart_t chart = {0};
    assert_drawn(chart_samples(&result, NULL, &chart));
    assert_has(table_of(&chart), "10.001 \"10.0 µs in 60 % of the rounds\"\n"
                                 "17.001 \"17.0 µs in 40 % of the rounds\"\n");
    assert_true(text_list_has(&chart.numbers, "bimodal=1"));
    assert_true(text_list_has(&chart.numbers, "n_passes=4"));
    for (size_t i = 0; i < chart.numbers.n; i++) /* gnuplot has no NaN in an option */
        assert_lacks(chart.numbers.items[i], "nan");
    assert_lacks(chart.note, "µs (");
    chart_free(&chart);
    result_free(&result);
    case_free(&spec);
}

static void table_text_cannot_leave_its_quotes(void **state) {
    chart_t chart;
    chart_init(&chart, "lines");
    assert_string_equal(chart_quote(&chart, "a\"b\\c\nd`id`"), "\"a'b\\\\c d`id`\"");
    chart_free(&chart);
}

static void plot_fails(const plot_options_t *options, const char *message) {
    chart_list_t charts;
    error_t err = ERROR_INIT;
    assert_int_equal(plot_charts(options, &charts, &err), STATUS_USAGE);
    assert_has(err.text, message);
    chart_list_free(&charts);
}

static void missing_gnuplot_says_how_to_install_it(void **state) {
    world_t *world = *state;
    char *path = mem_text(getenv("PATH"));
    setenv("PATH", world->folder, 1);
    const char *inputs[] = {FIXTURES "study_cuda.csv"};
    plot_fails(&(plot_options_t){.inputs = inputs, .n_inputs = 1, .out = world->run, .root = "."},
               "apt-get install gnuplot-nox");
    setenv("PATH", path, 1);
    free(path);
    assert_false(fs_exists(world->run));
}

static void bad_requests_are_refused(void **state) {
    world_t *world = *state;
    const char *inputs[] = {FIXTURES "study_cuda.csv"};
    plot_options_t options = {.inputs = inputs, .n_inputs = 1, .out = world->run, .root = "."};
    options.format = "svg,pdf";
    plot_fails(&options, "--format: found \"pdf\", expected svg or png");
    options.format = "";
    plot_fails(&options, "--format: found nothing");
    options.format = NULL;
    options.phase = "kernel";
    plot_fails(&options, "--phase: expected --case with it");
    options.n_inputs = 0;
    plot_fails(&options, "nothing to plot");
}

/* A set-up without phases may be faster than all that have them: the chart of totals says so. */
static void totals_say_who_cannot_be_among_them(void **state) {
    static const planted_t CASES[] = {
        {"cuda", "cuda", "02_fast", NULL, 1, 90e3, 2e3, CASE_OK, .limit_ns = 0},
        {"cuda", "cuda", "02_fast", "graph", 1, 20e3, 2e3, CASE_OK, .without_total = true},
    };
    world_t *world = *state;
    chart_t chart = {0};
    load_cases(world, CASES, 2);
    assert_drawn(chart_total(world->data, &chart));
    assert_has(chart.note, "fastest CUDA: of set-ups with phases");
    assert_lacks(chart.note, "hollow"); /* nothing is */
    chart_free(&chart);
    assert_drawn(chart_host_to_host(world->data, &chart));
    assert_lacks(chart.note, "fastest CUDA:");
    chart_free(&chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(wrong_and_failed_cases_have_no_time),
        WITH_FOLDER(difference_finds_leads_and_the_crossover),
        WITH_FOLDER(difference_is_decided_by_the_ratio_of_passes),
        WITH_FOLDER(without_cuda_the_difference_is_that_of_the_cpu),
        WITH_FOLDER(ladder_has_standard_rungs_and_the_limit),
        cmocka_unit_test(samples_beyond_the_axis_are_counted),
        cmocka_unit_test(both_values_are_drawn_with_their_shares),
        cmocka_unit_test(table_text_cannot_leave_its_quotes),
        WITH_FOLDER(missing_gnuplot_says_how_to_install_it),
        WITH_FOLDER(bad_requests_are_refused),
        WITH_FOLDER(totals_say_who_cannot_be_among_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
