/* Tables of the charts, and that nothing in a results file reaches gnuplot as more than text.
 * tests/cli/test_plot.py draws for real. */
#include "checks.h"
#include "planted_plot.h"
#include "planted_training.h"
#include "plot/plot.h"

#define FIXTURES "tests/fixtures/plot/"

static char *phases_of_cuda(const plot_data_t *data, chart_t *chart) {
    return chart_phases(data, "cuda", chart);
}

static void wrong_and_failed_cases_have_no_time(void **state) {
    world_t *world = load(*state, "Some GPU", NULL);
    const char *table = drawn(world, phases_of_cuda);
    assert_has(table, "0 \"1\" 5 100 0 \"\"\n");
    assert_has(table, "1 \"2\" 6 300 1 \"\"\n");
    assert_has(table, "2 \"4\" NaN NaN 0 \"wrong\"\n");
    table = drawn(world, chart_total);
    assert_has(table, "\"CUDA, the fastest at each batch size\"");
    assert_has(table, "\"PyTorch eager (the study's, fastest PyTorch)\"");
    assert_has(table, "\"mine jit (fastest mine)\"");
    assert_has(table, "2 300 297.966587 302.04729 1 \"throttled\"\n");
    assert_lacks(table, "654321");
}

static void difference_finds_leads_and_the_crossover(void **state) {
    world_t *world = load(*state, "Some GPU", NULL);
    const char *table = drawn(world, chart_difference);
    assert_has(table, "0 \"1\" -100 1 0 \"CUDA\" \"100 µs\" \"2.00×\" \"\" 1\n");
    assert_has(table, "1 \"2\" -1 3 1 \"undecided\" \"\" \"\" \"\" 1\n");
    assert_has(table, "2 \"4\" NaN 0 0 \"\" \"\" \"\" \"wrong\" 1\n");
    assert_has(table, "3 \"8\" 250 2 0 \"PyTorch\" \"250 µs\" \"2.00×\" \"\" 9\n");
    assert_has(table, "3 \"8\" \"crossover: PyTorch is faster from batch 8\"\n");
    assert_true(text_list_has(&world->chart.numbers, "n_crossovers=1"));
    assert_has(table, "\n1 \"↑ PyTorch is faster\"\n0 \"↓ CUDA is faster\"\n");
    assert_has(world->chart.note, "  ·  CUDA 01_study − PyTorch eager  ·  ");
    assert_has(world->chart.note, "phase total");
    assert_has(world->chart.note, "hollow: throttled");
}

/* Two intervals that overlap are no evidence of anything: ratios are paired by pass. */
static void difference_is_decided_by_the_ratio_of_passes(void **state) {
    static const planted_t CASES[] = {
        {"cuda", "cuda", "01_study", NULL, 1, 100e3, 2e3, CASE_OK, .limit_ns = 0},
        {"pytorch", "cuda", "eager", NULL, 1, 100.8e3, 2e3, CASE_OK, .limit_ns = 0},
    };
    world_t *world = load_cases(*state, CASES, 2);
    const char *table = drawn(world, chart_difference);
    assert_has(table, "0 \"1\" -0.8 1 0 \"CUDA\" \"800 ns\" \"1.01×\" \"\" 1\n");
}

static void without_cuda_the_difference_is_that_of_the_cpu(void **state) {
    world_t *world = load(*state, NULL, "cpu");
    const char *table = drawn(world, chart_difference);
    assert_has(world->chart.note, "  ·  C on the CPU, omp − PyTorch on the CPU, eager  ·  ");
    assert_has(table, "\n1 \"↑ PyTorch on the CPU is faster\"\n0 \"↓ C on the CPU is faster\"\n");
    assert_has(table, "0 \"1\" 6 2 0 \"PyTorch\" \"6.00 µs\" \"3.00×\" \"\" 17\n");
    not_drawn(world, phases_of_cuda, "no case of CUDA has times");
}

/* One size of eager is no picture of PyTorch; then our fastest is compared, too. */
static void without_the_study_s_rival_the_fastest_are_compared(void **state) {
    static const planted_t CASES[] = {
        {"cuda", "cuda", "01_study", NULL, 1, 100e3, 2e3, CASE_OK, .limit_ns = 0},
        {"cuda", "cuda", "01_study", NULL, 2, 100e3, 2e3, CASE_OK, .limit_ns = 0},
        {"cuda", "cuda", "01_study", NULL, 4, 100e3, 2e3, CASE_OK, .limit_ns = 0},
        {"cuda", "cuda", "02_fast", NULL, 1, 50e3, 2e3, CASE_OK, .limit_ns = 0},
        {"cuda", "cuda", "02_fast", NULL, 2, 50e3, 2e3, CASE_OK, .limit_ns = 0},
        {"cuda", "cuda", "02_fast", NULL, 4, 50e3, 2e3, CASE_OK, .limit_ns = 0},
        {"pytorch", "cuda", "eager", NULL, 4, 900e3, 2e3, CASE_OK, .limit_ns = 0},
        {"pytorch", "cuda", "inference", NULL, 1, 80e3, 2e3, CASE_OK, .limit_ns = 0},
        {"pytorch", "cuda", "inference", NULL, 2, 80e3, 2e3, CASE_OK, .limit_ns = 0},
        {"pytorch", "cuda", "inference", NULL, 4, 80e3, 2e3, CASE_OK, .limit_ns = 0},
    };
    world_t *world = load_cases(*state, CASES, sizeof CASES / sizeof *CASES);
    const char *table = drawn(world, chart_difference);
    assert_has(world->chart.note, "  ·  CUDA 02_fast − PyTorch inference  ·  ");
    for (int bar = 0; bar < 3; bar++) {
        AUTO_FREE char *row = mem_format("%d \"%d\" -30 1 0 \"CUDA\"", bar, 1 << bar);
        assert_has(table, row);
    }
}

static void ladder_has_standard_rungs_and_the_limit(void **state) {
    world_t *world = load(*state, "Some GPU", NULL);
    const char *table = drawn(world, chart_ladder);
    assert_has(table, "size \"CUDA 02_fast\" low");
    assert_has(table, "8 NaN NaN NaN 0 \"failed\"\n");
    assert_lacks(table, "pinned");
    assert_lacks(table, "PyTorch");
    assert_has(table, "size \"hardware limit (dram)\"\n1 0.01\n2 0.02\n");
    assert_true(text_list_has(&world->chart.numbers, "n_limits=1"));
}

/* Twelve samples, and a thirteenth a thousand times as late. */
static void samples_beyond_the_axis_are_counted(void **state) {
    AUTO(case_free) case_t spec = {.id = mem_text("w/e/v"), .engine = mem_text("cuda")};
    AUTO(result_free) case_result_t result;
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
}

/* 40 rounds that change between 10 µs and 17 µs, in four passes: too few for an interval. */
static void both_values_are_drawn_with_their_shares(void **state) {
    AUTO(case_free) case_t spec = {.id = mem_text("w/e/v"), .engine = mem_text("cuda")};
    AUTO(result_free) case_result_t result;
    result_init(&result, &spec);
    phase_t *phase = result_add_phase(&result, "host_to_host", CLOCK_HOST);
    for (size_t r = 0; r < 40; r++) {
        if (r % 10 == 0)
            phase_start_pass(phase);
        phase_add_round(phase, (double[]){(r % 10 < 6 ? 10e3 : 17e3) + (double)(r % 3)}, 1);
    }
    phase_summarise(phase);
    AUTO(chart_free) chart_t chart = {0};
    assert_drawn(chart_samples(&result, NULL, &chart));
    assert_has(table_of(&chart), "10.001 \"10.0 µs in 60 % of the rounds\"\n"
                                 "17.001 \"17.0 µs in 40 % of the rounds\"\n");
    assert_true(text_list_has(&chart.numbers, "bimodal=1"));
    assert_true(text_list_has(&chart.numbers, "n_passes=4"));
    for (size_t i = 0; i < chart.numbers.n; i++) /* gnuplot has no NaN in an option */
        assert_lacks(chart.numbers.items[i], "nan");
    assert_lacks(chart.note, "µs (");
}

static void table_text_cannot_leave_its_quotes(void **state) {
    AUTO(chart_free) chart_t chart;
    chart_init(&chart, "lines");
    assert_string_equal(chart_quote(&chart, "a\"b\\c\nd`id`"), "\"a'b\\\\c d`id`\"");
}

static void plot_fails(const plot_options_t *options, const char *message) {
    AUTO(chart_list_free) chart_list_t charts;
    assert_fails_with(plot_charts(options, &charts, &err), STATUS_USAGE, message);
}

static void missing_gnuplot_says_how_to_install_it(void **state) {
    world_t *world = *state;
    AUTO_FREE char *path = mem_text(getenv("PATH"));
    setenv("PATH", world->folder, 1);
    const char *inputs[] = {FIXTURES "study_cuda.csv"};
    plot_fails(&(plot_options_t){.inputs = inputs, .n_inputs = 1, .out = world->run, .root = "."},
               "apt-get install gnuplot-nox");
    setenv("PATH", path, 1);
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

/* ---- The roofline: roofs of a planted device, points of planted cases. */

static const planted_t CASES[] = {
    {"cuda", "cuda", "01_study", NULL, 1, 90e3, 2e3, CASE_OK, .limit_ns = 10},
    {"cuda", "cuda", "01_study", NULL, 8, 90e3, 4e3, CASE_OK, .limit_ns = 10},
    {"pytorch", "cuda", "eager", NULL, 8, 90e3, 8e3, CASE_OK, .limit_ns = 10},
    {"pytorch", "cpu", "eager", NULL, 8, 90e3, 8e3, CASE_OK, .limit_ns = 10},
};

/* 1000 operations on 500 bytes each. */
static void load_with_costs(world_t *world) {
    load_cases(world, CASES, COUNT_OF(CASES));
    record_t *run = &world->source.run;
    for (size_t i = 0; i < run->n_cases; i++) {
        limit_t *limit = &run->cases[i].limit;
        limit->flops = 1000;
        limit->bytes = 500;
        limit->frac = limit->limit_ns / result_median(&run->cases[i], COMPUTATION);
    }
}

static void points_lie_under_the_roofs(void **state) {
    world_t *world = *state;
    load_with_costs(world);
    environment_t *facts = &world->source.run.environment;
    environment_set_number(facts, "measured.copy_bytes_per_s", 1e12);
    environment_set_number(facts, "measured.l2_read_bytes_per_s", 4e12);
    environment_set_number(facts, "measured.matmul_f32_flops_per_s", 4e13);
    const char *table = drawn(world, chart_roofline);
    assert_has(table, "intensity \"L2, 4.00 TB/s read\"\n0.1 400\n10 40000\n");
    assert_has(table, "intensity \"memory, 1.00 TB/s copied\"\n0.1 100\n40 40000\n");
    /* By one call, as PyTorch has no other: 1000 operations in 2 µs are 0.5 GFLOP/s. */
    assert_has(table,
               "intensity \"CUDA 01_study\" left right\n2 0.5 \"1\" \"\"\n2 0.25 \"\" \"8\"\n");
    assert_has(table, "intensity \"PyTorch eager\" left right\n2 0.125 \"\" \"\"\n");
    assert_lacks(table, "CPU");
}

static void sizes_stand_beside_the_line(void **state) {
    world_t *world = *state;
    load_with_costs(world);
    environment_set_number(&world->source.run.environment, "measured.copy_bytes_per_s", 1e12);
    world->source.run.cases[1].limit.bytes = 2000; /* the line goes to the left */
    const char *table = drawn(world, chart_roofline);
    assert_has(table, "\n2 0.5 \"\" \"1\"\n0.5 0.25 \"8\" \"\"\n");
}

static void without_rates_or_costs_there_is_no_roofline(void **state) {
    world_t *world = *state;
    load_with_costs(world);
    not_drawn(world, chart_roofline, "the run has no rate of memory");
    for (size_t i = 0; i < world->source.run.n_cases; i++)
        world->source.run.cases[i].limit.frac = NAN;
    not_drawn(world, chart_roofline, "no case on a GPU has a limit and operations");
}

/* ---- Operations of an epoch side by side: who has which bars, what they add up to, and on which axis. */

#define ONE_BY_ONE(ns)                                                                             \
    {                                                                                              \
        {"forward", (ns)}, {"loss", 2 * (ns)}, {"backward", 4 * (ns)}, {"update", (ns)},           \
            {"train", 9 * (ns)},                                                                   \
    }
#define FUSED(ns)                                                                                  \
    {                                                                                              \
        {"fused", (ns)}, {                                                                         \
            "train", (ns)                                                                          \
        }                                                                                          \
    }

static const training_t TRAININGS[] = {
    {"cuda", "cuda", "01_not_fused", 5000000, 1, CASE_OK, NULL, ONE_BY_ONE(10e3)},
    {"cuda", "cuda", "02_fused", 5000000, 1, CASE_OK, NULL, FUSED(12.5e3)},
    {"cuda", "cuda", "04_failed", 5000000, 1, CASE_FAILED, NULL, FUSED(77e3)},
    {"cuda", "cuda", "07_sums", 5000000, 1, CASE_OK, "{\"algorithmic\":true}", FUSED(55e3)},
    {"cuda", "cuda", "02_fused", 50000000, 1, CASE_OK, NULL, FUSED(123e3)},
    {"pytorch", "cuda", "eager", 5000000, 1, CASE_OK, NULL, ONE_BY_ONE(20e3)},
    {"cpu", "cpu", "omp", 5000000, 1, CASE_OK, NULL, FUSED(999e3)},
};
enum { N_TRAININGS = COUNT_OF(TRAININGS) };

static void bars_stand_in_groups_of_contenders(void **state) {
    world_t *world = *state;
    load_trainings(world, TRAININGS, N_TRAININGS);
    const char *table = drawn(world, chart_operations);
    /* PyTorch first; x, time, interval, text, operation. */
    assert_has(table, "\n0.85 20 19.8644391 20.136486 \"20.0\" 1 0\n1.85 40 39.7288782 40.272972 "
                      "\"40.0\" 2 0\n");
    assert_has(table, "\"80.0\" 3 0\n3.85 20 ");
    assert_has(table, " \"PyTorch\" \"eager\" 0.35 4.35 160 \"Σ 160\" 0\n");
    assert_has(table, " \"CUDA\" \"01_not_fused\" 5.05 9.05 80 \"Σ 80.0\" 0\n");
    /* One bar, and no sum of parts that nobody timed. */
    assert_has(table, " 12.5 12.4152744 12.5853038 \"12.5\" 5 0\n");
    assert_has(table, " \"CUDA\" \"02_fused\" 10.75 10.75 NaN \"\" 0\n");
    assert_lacks(table, "failed");
    assert_lacks(table, "07_sums");
    assert_lacks(table, "123"); /* another size, with fewer contenders */
    assert_has(world->chart.note, "points 5 M");
    assert_true(text_list_has(&world->chart.numbers, "n_panels=1"));
}

/* 16,000 µs against 80: bars of the GPU would be lines. */
static void a_much_slower_cpu_has_a_panel_of_its_own(void **state) {
    world_t *world = *state;
    load_trainings(world, TRAININGS, N_TRAININGS);
    append_training(world->run, &(training_t){"pytorch", "cpu", "eager", 5000000, 1, CASE_OK, NULL,
                                              ONE_BY_ONE(4e6)});
    plot_source_free(&world->source);
    load_run(world);
    const char *table = drawn(world, chart_operations);
    assert_true(text_list_has(&world->chart.numbers, "n_panels=2"));
    assert_true(text_list_has(&world->chart.numbers, "logarithmic='0 0'"));
    assert_has(world->chart.note, "right: on the CPU");
    assert_has(table, "\"PyTorch on the CPU\" \"eager\" 0.35 4.35 32000 \"Σ 32000\"");
}

static void bars_of_very_different_heights_stand_on_a_logarithmic_axis(void **state) {
    world_t *world = LOAD_TRAININGS(*state, {"cuda",
                                             "cuda",
                                             "01_not_fused",
                                             5000,
                                             1,
                                             CASE_OK,
                                             NULL,
                                             {{"backward", 500e3}, {"update", 2e3}}});
    const char *table = drawn(world, chart_operations);
    assert_true(text_list_has(&world->chart.numbers, "logarithmic='1'"));
    assert_true(text_list_has(&world->chart.numbers, "lows='1.000000000'"));
    assert_has(table, " 502 \"Σ 502\" 1\n"); /* makes room for the bar's own text */
}

/* In the order of its launches, of which none is all of them together; a rival's calls have none. */
static void parts_of_a_call_have_the_names_of_kernels(void **state) {
    world_t *world =
        LOAD_TRAININGS(*state,
                       {"cuda",
                        "cuda",
                        "01_two_kernels",
                        5000,
                        1,
                        CASE_OK,
                        NULL,
                        {{"part_sum", 20e3}, {"part_fused", 10e3}, {"kernel_graph", 25e3}}},
                       {"pytorch", "cuda", "eager", 5000, 1, CASE_OK, NULL, {{"forward", 30e3}}});
    const char *table = drawn(world, chart_operations);
    assert_has(table, "\n1.35 20 19.8644391 20.136486 \"20.0\" 0 0\n2.35 10 ");
    assert_has(table, " \"10.00\" 1 0\n\n\n");
    assert_has(table, " 30 \"Σ 30.0\" 0\n");
    assert_has(table, "\n\n\n# legend\n\"sum\"\nNaN\n\n\n# legend\n\"fused\"\nNaN\n");
    assert_lacks(table, "PyTorch");
    assert_lacks(world->chart.note, "fused");
    assert_true(text_list_has(&world->chart.numbers, "used='0 1'"));
}

static void epochs_as_a_whole_are_no_chart_of_operations(void **state) {
    world_t *world = LOAD_TRAININGS(
        *state, {"cuda", "cuda", "02_fused", 5000, 200, CASE_OK, NULL, {{"train", 1e6}}});
    not_drawn(world, chart_operations, "no case has separately timed parts");
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
