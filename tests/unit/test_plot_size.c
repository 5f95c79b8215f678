/* Charts against size: what stands on their axes, and how fast who is against the strongest rival. */
#include "base/units.h"
#include "checks.h"
#include "limits/limits.h"
#include "made_case.h"
#include "model/chart_kinds.h"
#include "planted_plot.h"
#include "planted_training.h"
#include "plot/axes.h"

#define TRAINING .workload = "linreg_train", .epochs = 200

/* host_to_host, half of the total: CUDA 1 and 2 ms, the other algorithm 0.1 ms, PyTorch at its best
 * 100 and 40 ms, on the CPU 50 ms, C 200 ms. */
static const planted_t TRAININGS[] = {
    {"cuda", "cuda", "05_graph", NULL, 5000, 4e6, 4e6, CASE_OK, .limit_ns = 10e3, TRAINING},
    {"cuda", "cuda", "05_graph", NULL, 5000000, 8e6, 8e6, CASE_OK, .limit_ns = 20e3, TRAINING},
    {"cuda", "cuda", "06_persistent", NULL, 5000, 2e6, 2e6, CASE_OK, .limit_ns = 10e3, TRAINING},
    {"cuda", "cuda", "06_persistent", NULL, 5000000, 4e6, 4e6, CASE_OK, .limit_ns = 20e3, TRAINING},
    {"cuda", "cuda", "07_sums", NULL, 5000, 2e5, 2e5, CASE_OK, TRAINING, .algorithmic = true},
    {"cuda", "cuda", "07_sums", NULL, 5000000, 2e5, 2e5, CASE_OK, TRAINING, .algorithmic = true},
    {"pytorch", "cuda", "eager", NULL, 5000, 200e6, 1e6, CASE_OK, TRAINING},
    {"pytorch", "cuda", "eager", NULL, 5000000, 90e6, 1e6, CASE_OK, TRAINING},
    {"pytorch", "cuda", "graph", NULL, 5000, 300e6, 1e6, CASE_OK, TRAINING},
    {"pytorch", "cuda", "graph", NULL, 5000000, 80e6, 1e6, CASE_OK, TRAINING},
    {"pytorch", "cpu", "eager", NULL, 5000, 100e6, 1e6, CASE_OK, TRAINING},
    {"cpu", "cpu", "ref", NULL, 5000, 1e6, 1e6, CASE_OK, TRAINING},
    {"cpu", "cpu", "omp", NULL, 5000, 400e6, 1e6, CASE_OK, TRAINING},
    {"cpu", "cpu", "omp", NULL, 5000000, 400e6, 1e6, CASE_WRONG, TRAINING},
};
enum { N_TRAININGS = COUNT_OF(TRAININGS) };

static void sizes_read_as_on_an_axis(void **state) {
    static const struct {
        int64_t size;
        const char *text;
    } EXPECTED[] = {{1, "1"},          {512, "512"},     {1000, "1000"},      {1024, "2¹⁰"},
                    {1 << 28, "2²⁸"},  {4999, "4999"},   {5000, "5 k"},       {123457, "123457"},
                    {500000, "500 k"}, {5000000, "5 M"}, {1250000, "1.25 M"}, {1234000, "1234 k"},
                    {50000000, "50 M"}};
    for (size_t i = 0; i < COUNT_OF(EXPECTED); i++) {
        char text[UNITS_TEXT];
        assert_string_equal(chart_size_text(text, EXPECTED[i].size), EXPECTED[i].text);
    }
}

static void assert_ticks(int64_t *sizes, size_t n, const char *base, const char *ticks) {
    AUTO(chart_free) chart_t chart;
    chart_init(&chart, "lines");
    plot_data_t data = {.sizes = sizes, .n_sizes = n};
    chart_size_axis(&chart, &data);
    AUTO_FREE char *numbers = text_list_join(&chart.numbers, "; ");
    assert_has(numbers, base);
    assert_has(numbers, ticks);
}

#define ASSERT_TICKS(base, ticks, ...)                                                             \
    assert_ticks((int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),     \
                 base, ticks)

static void ticks_are_the_sizes_that_were_chosen_round(void **state) {
    ASSERT_TICKS("size_base=10", "size_ticks='5000.000000000 50000.000000000 500000.000000000'",
                 4999, 5000, 50000, 123457, 500000);
    ASSERT_TICKS("size_base=2", "size_ticks='1.000000000 2.000000000 4.000000000'", 1, 2, 3, 4);
    ASSERT_TICKS("size_base=10",
                 "size_ticks='1000.000000000 10000.000000000 100000.000000000 1000000.000000000'",
                 4999, 123457);
}

static void an_axis_of_times_ends_a_little_beyond_them(void **state) {
    AUTO(chart_free) chart_t chart;
    chart_init(&chart, "lines");
    chart_time_axis(&chart, &(range_t){2000, 400e3});
    assert_true(text_list_has(&chart.numbers, "y_from=1.6"));
    assert_true(text_list_has(&chart.numbers, "y_to=500"));
    assert_true(text_list_has(&chart.numbers, "y_high=3"));
}

static void a_chart_is_named_for_people(void **state) {
    static const char *const TITLES[][2] = {
        {"speed", "Speed-up by batch size"},
        {"speed_rows_2048", "Speed-up by batch size: rows 2048"},
        {"phases_cuda", "Phases of a sample: cuda"},
        {"unheard_of", "unheard_of"},
    };
    for (size_t i = 0; i < COUNT_OF(TITLES); i++) {
        AUTO_FREE char *title = chart_title(TITLES[i][0], "batch size");
        assert_string_equal(title, TITLES[i][1]);
    }
}

static void a_legend_has_two_columns_where_they_fit(void **state) {
    static const struct {
        size_t n, longest, n_bars;
        const char *numbers;
    } EXPECTED[] = {
        {6, 45, 5, "legend_columns=2; legend_spread=2; legend_height=60"},
        {15, 46, 5, "legend_columns=2; legend_spread=1; legend_height=160"},
        {15, 56, 5, "legend_columns=2; legend_spread=-9; legend_height=160"},
        {15, 57, 5, "legend_columns=1; legend_spread=2; legend_height=300"},
        {15, 58, 25, "legend_columns=2; legend_spread=-2; legend_height=160"}, /* a wider chart */
    };
    for (size_t i = 0; i < COUNT_OF(EXPECTED); i++) {
        AUTO(chart_free) chart_t chart;
        legend_t legend = {EXPECTED[i].n, EXPECTED[i].longest};
        chart_init(&chart, "lines");
        chart_legend(&chart, &legend, EXPECTED[i].n_bars);
        AUTO_FREE char *numbers = text_list_join(&chart.numbers, "; ");
        assert_string_equal(numbers, EXPECTED[i].numbers);
    }
}

static void a_legend_counts_letters(void **state) {
    legend_t legend = {0};
    legend_take(&legend, "PyTorch eager");
    legend_take(&legend, "2⁻²⁴ µs");
    assert_int_equal(legend.n, 2);
    assert_int_equal(legend.longest, 13);
    legend_take(&legend, "–––––––––––––µ");
    assert_int_equal(legend.longest, 14);
}

static void another_algorithm_is_dashed(void **state) {
    world_t *world = load_cases(*state, TRAININGS, N_TRAININGS);
    const char *table = drawn(world, chart_ladder);
    assert_has(table, "size \"CUDA 07_sums (algorithmic)");
    assert_true(text_list_has(&world->chart.numbers, "dashed='7'"));
}

static void speed_is_against_the_strongest_rival(void **state) {
    world_t *world = load_cases(*state, TRAININGS, N_TRAININGS);
    const char *table = drawn(world, chart_speed);
    assert_has(table, "size \"CUDA 06_persistent (the fastest of its side)\" text "
                      "low high\n5000 100 \"100×\" 100 100\n5000000 20 \"20.0×\" 20 20\n");
    assert_has(table, "C on the CPU, ref (the fastest of its side)\" text low high\n"
                      "5000 200 \"\" ");
    assert_has(table, "5000 2 \"\" "); /* PyTorch on the CPU */
    assert_lacks(table, "07_sums");
    assert_has(world->chart.note, "rival: PyTorch, the fastest at each data-set size");
    assert_true(text_list_has(&world->chart.numbers, "logarithmic=1"));
}

/* From 0.5 to 2 there is no need for a logarithmic axis. */
static void a_small_range_is_linear(void **state) {
    static const planted_t CASES[] = {
        {"pytorch", "cpu", "eager", NULL, 5000, 2e6, 2e6, CASE_OK, TRAINING},
        {"pytorch", "cpu", "eager", NULL, 50000, 2e6, 2e6, CASE_OK, TRAINING},
        {"cpu", "cpu", "omp", NULL, 5000, 1e6, 1e6, CASE_OK, TRAINING},
        {"cpu", "cpu", "omp", NULL, 50000, 4e6, 4e6, CASE_OK, TRAINING},
    };
    world_t *world = load_cases(*state, CASES, 4);
    const char *table = drawn(world, chart_speed);
    assert_has(table, "5000 2 \"2.00×\" 2 2\n50000 0.5 \"0.500×\" 0.5 0.5\n");
    assert_has(world->chart.note, "rival: PyTorch on the CPU, eager");
    assert_true(text_list_has(&world->chart.numbers, "logarithmic=0"));
    assert_true(text_list_has(&world->chart.numbers, "y_low=0"));
}

static void one_size_is_no_chart_against_size(void **state) {
    world_t *world = load_cases(*state, TRAININGS, 1);
    not_drawn(world, chart_ladder, "all cases have the same data-set size");
    not_drawn(world, chart_speed, "all cases have the same data-set size");
}

static void without_a_rival_there_is_no_relative_speed(void **state) {
    world_t *world = load_cases(*state, TRAININGS, 4);
    not_drawn(world, chart_speed, "no rival has a time to compare with");
}

/* ---- Charts with PyTorch, JAX and a script of a user's own: each stands for itself, and the
 * strongest of a size is the one to beat. */

/* By host_to_host, half of the total, the strongest is PyTorch at batch 1, JAX at 2, triton at 4. */
static const planted_t CASES[] = {
    {"cuda", "cuda", "01_study", NULL, 1, 100e3, 5e3, CASE_OK, .limit_ns = 0},
    {"cuda", "cuda", "01_study", NULL, 2, 100e3, 5e3, CASE_OK, .limit_ns = 0},
    {"cuda", "cuda", "01_study", NULL, 4, 100e3, 5e3, CASE_OK, .limit_ns = 0},
    {"pytorch", "cuda", "overlap", NULL, 1, 200e3, 9e3, CASE_OK, .limit_ns = 0},
    {"pytorch", "cuda", "overlap", NULL, 2, 400e3, 9e3, CASE_OK, .limit_ns = 0},
    {"pytorch", "cuda", "mapped", NULL, 4, 400e3, 9e3, CASE_OK, .limit_ns = 0},
    {"jax", "cuda", "jit", NULL, 1, 300e3, 9e3, CASE_OK, .limit_ns = 0},
    {"jax", "cuda", "jit", NULL, 2, 300e3, 9e3, CASE_OK, .limit_ns = 0},
    {"jax", "cuda", "jit", NULL, 4, 300e3, 9e3, CASE_OK, .limit_ns = 0},
    {"triton", "cuda", "fused", NULL, 1, 500e3, 9e3, CASE_OK, .limit_ns = 0},
    {"triton", "cuda", "fused", NULL, 4, 50e3, 9e3, CASE_OK, .limit_ns = 0},
    {"triton", "cuda", "wrong", NULL, 4, 1e3, 9e3, CASE_WRONG, .limit_ns = 0},
    {"jax", "cpu", "jit", NULL, 1, 3e3, 2e3, CASE_OK, .limit_ns = 0},
    {"cpu", "cpu", "omp", NULL, 1, 9e3, 9e3, CASE_OK, .limit_ns = 0},
};
enum { N_CASES = COUNT_OF(CASES) };

static const series_t *series_named(const world_t *world, const char *title) {
    for (size_t i = 0; i < world->data->n_series; i++)
        if (strcmp(world->data->series[i].title, title) == 0)
            return &world->data->series[i];
    fail_msg("no series \"%s\"", title);
    return NULL;
}

static void strongest_is_whoever_is_fastest(void **state) {
    world_t *world = load_cases(*state, CASES, N_CASES);
    const series_t *strongest = plot_strongest_rival(world->data, true, "host_to_host");
    assert_string_equal(strongest->title, "strongest rival at each batch size");
    assert_string_equal(series_at(strongest, 1)->spec.engine, "pytorch");
    assert_string_equal(series_at(strongest, 2)->spec.engine, "jax");
    assert_string_equal(series_at(strongest, 4)->spec.engine, "triton");
    assert_string_equal(series_at(strongest, 4)->spec.variant,
                        "fused"); /* the wrong one is no time */
    strongest = plot_strongest_rival(world->data, false, "host_to_host");
    assert_string_equal(strongest->title, "JAX on the CPU, jit"); /* alone: under its own name */
}

static void difference_names_the_rival_of_each_size(void **state) {
    world_t *world = load_cases(*state, CASES, N_CASES);
    const char *table = drawn(world, chart_difference); /* no eager: against the strongest */
    assert_has(world->chart.note, "CUDA 01_study − strongest rival");
    assert_has(table, "\n1 \"↑ strongest rival ");
}

static void speed_is_relative_to_the_strongest(void **state) {
    world_t *world = load_cases(*state, CASES, N_CASES);
    const char *table = drawn(world, chart_speed);
    assert_has(world->chart.note, "rival: the fastest at each batch size");
    assert_has(table, "\"CUDA 01_study (the fastest of its side)\" text low high\n1 2 ");
    assert_has(table, "\n4 0.5 ");
    assert_has(table, "\"PyTorch, the fastest at each batch size\" text low high\n1 1 ");
    assert_has(table, "\"JAX jit (the fastest of its side)\" text low high\n1 0.666667 ");
    assert_has(table, "\"triton fused (the fastest of its side)\" text low high\n1 0.4 ");
}

static void a_self_reported_time_has_no_relative_speed(void **state) {
    world_t *world = load_cases(*state, CASES, N_CASES);
    ((case_result_t *)series_at(series_named(world, "triton fused"), 1))->trust =
        TRUST_SELF_REPORTED;
    const char *table = drawn(world, chart_speed);
    assert_has(table, "\"triton fused (the fastest of its side)\" text low high\n4 1 ");
}

/* As in tables: where nothing of ours was run, its Python files are held against the rest. */
static void candidates_are_no_rivals(void **state) {
    static const planted_t OF_CANDIDATES[] = {
        {"python", "cuda", "mine", NULL, 1, 50e3, 5e3, CASE_OK, .limit_ns = 0},
        {"python", "cuda", "mine", NULL, 2, 50e3, 5e3, CASE_OK, .limit_ns = 0},
        {"pytorch", "cuda", "graph", NULL, 1, 100e3, 9e3, CASE_OK, .limit_ns = 0},
        {"pytorch", "cuda", "graph", NULL, 2, 100e3, 9e3, CASE_OK, .limit_ns = 0},
        {"jax", "cuda", "jit", NULL, 1, 300e3, 9e3, CASE_OK, .limit_ns = 0},
        {"python", "cpu", "mine", NULL, 1, 50e3, 5e3, CASE_OK, .limit_ns = 0},
    };
    world_t *world = load_cases(*state, OF_CANDIDATES, COUNT_OF(OF_CANDIDATES));
    const series_t *strongest = plot_strongest_rival(world->data, true, "host_to_host");
    assert_string_equal(series_at(strongest, 1)->spec.engine, "pytorch");
    assert_string_equal(series_at(strongest, 2)->spec.engine, "pytorch");
    assert_null(plot_strongest_rival(world->data, false, "host_to_host"));
}

static char *phases_of_jax(const plot_data_t *data, chart_t *chart) {
    return chart_phases(data, "jax", chart);
}

static char *phases_of_triton(const plot_data_t *data, chart_t *chart) {
    return chart_phases(data, "triton", chart);
}

static void every_engine_has_its_line_and_its_phases(void **state) {
    world_t *world = load_cases(*state, CASES, N_CASES);
    const char *table = drawn(world, chart_host_to_host);
    assert_has(table, "\"JAX jit (fastest JAX)\"");
    assert_has(table, "\"triton fused (fastest triton)\"");
    assert_has(table, "\"JAX on the CPU, jit\"");
    drawn(world, phases_of_jax);
    assert_has(world->chart.note, "  ·  JAX jit  ·  ");
    drawn(world, phases_of_triton);
    assert_has(world->chart.note, "  ·  triton fused  ·  ");
}

/* A colour belongs to an engine, a point to a variant: the CPU's lines differ by their dashes. */
static void contenders_have_line_types_of_their_own(void **state) {
    static const char *const TITLES[] = {"PyTorch mapped", "PyTorch overlap",     "JAX jit",
                                         "triton fused",   "JAX on the CPU, jit", "triton wrong"};
    static const int STYLES[] = {70, 71, 78, 86, 82, 87};
    world_t *world = load_cases(*state, CASES, N_CASES);
    for (size_t i = 0; i < COUNT_OF(STYLES); i++)
        assert_int_equal(series_named(world, TITLES[i])->style, STYLES[i]);
}

static void no_two_modes_look_alike(void **state) {
    world_t *world = *state;
    write_header(world->run, "Some GPU");
    for (const char *const *mode = workload_find("mlp_infer")->pytorch_variants; *mode; mode++) {
        const planted_t planted = {"pytorch", "cuda", *mode,   NULL,         1,
                                   100e3,     5e3,    CASE_OK, .limit_ns = 0};
        append(world->run, &planted);
    }
    load_run(world);
    for (size_t i = 0; i < world->data->n_series; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(world->data->series[i].style, world->data->series[k].style);
}

/* Another workload with an engine that comes first by name has it in the run: not another colour. */
static void colours_are_those_of_the_whole_run(void **state) {
    static const planted_t BEFORE = {.engine = "cupy",
                                     .device = "cuda",
                                     .variant = "raw",
                                     .size = 5000,
                                     .total_ns = 1e6,
                                     .compute_ns = 1e6,
                                     .workload = "linreg_train",
                                     .epochs = 200};
    world_t *world = *state;
    write_header(world->run, "Some GPU");
    append(world->run, &CASES[9]);
    append(world->run, &BEFORE);
    load_run(world);
    assert_int_equal(world->source.n_shapes, 2);
    assert_int_equal(world->source.shapes[1].series[0].style, 86); /* cupy: the first */
    assert_int_equal(series_named(world, "triton fused")->style, 94);
}

/* ---- What bounds a training: the arithmetic, what it needs to be known, and where the charts of
 * the ladder show it. */

/* Round figures near those of a data-centre GPU. */
static const device_rates_t RATES = {
    .dram_bytes_per_s = 4e12, .l2_bytes_per_s = 10e12, .l2_bytes = 50e6, .barrier_ns = 1000};

static case_t case_of(int points) {
    return planted_case(&(planted_t){.engine = "cuda",
                                     .device = "cuda",
                                     .variant = "05_graph",
                                     .size = points,
                                     .workload = "linreg_train",
                                     .epochs = 200});
}

static void assert_bound(int points, training_bound_t bound, double expected_ns) {
    AUTO(case_free) case_t spec = case_of(points);
    double ns = training_bound(bound, &spec, &RATES).ns;
    if (isnan(expected_ns))
        assert_true(isnan(ns));
    else
        assert_true(fabs(ns / expected_ns - 1) < 1e-12);
}

/* 4 M of 5 M points train: 32 MB, which fit into the L2; 320 MB do not; 32 KB need no second block.
 */
static void bounds_are_bytes_over_rates(void **state) {
    assert_bound(5000000, BOUND_DRAM, 200 * 32e6 / 4e12 * 1e9);
    assert_bound(5000000, BOUND_L2, 200 * 32e6 / 10e12 * 1e9);
    assert_bound(5000000, BOUND_BARRIER, 200e3);
    assert_bound(5000000, BOUND_ONCE, 32e6 / 4e12 * 1e9);
    assert_bound(50000000, BOUND_L2, NAN);
    assert_bound(50000000, BOUND_BARRIER, 200e3);
    assert_bound(5000, BOUND_BARRIER, NAN);
}

/* What its rate is not known of is no bound. */
static void bounds_need_their_rates(void **state) {
    device_rates_t copy_alone = {
        .dram_bytes_per_s = 4e12, .l2_bytes_per_s = NAN, .l2_bytes = 50e6, .barrier_ns = NAN};
    AUTO(case_free) case_t spec = case_of(5000000);
    const lower_bound_t once = training_bound(BOUND_ONCE, &spec, &copy_alone);
    assert_true(once.times == 1 && once.bytes == 32e6 && once.bytes_per_s == 4e12);
    assert_true(isnan(training_bound(BOUND_L2, &spec, &copy_alone).ns));
    assert_true(isnan(training_bound(BOUND_BARRIER, &spec, &copy_alone).ns));
}

static void add_gauge(record_t *run, const char *variant, int64_t bytes, const char *phase,
                      double ns) {
    case_t spec = {.id = mem_format("device/cuda/%s", variant),
                   .workload = mem_text("device"),
                   .engine = mem_text("cuda"),
                   .variant = mem_text(variant)};
    add_integer(&spec, "bytes", bytes);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    add_phase(&result, phase, ns);
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases++] = result;
}

/* A run's own cases have the word; its head tells the rest. */
static void rates_are_the_runs(void **state) {
    AUTO(record_free) record_t run = {0};
    environment_set_number(&run.environment, "gpu.l2_bytes", 50e6);
    environment_set_number(&run.environment, "gpu.multiprocessors", 100);
    environment_set_number(&run.environment, "gpu.clock_mhz", 1500);
    environment_set_number(&run.environment, "gpu.clock_max_mhz", 2000);
    environment_set(&run.environment, "gpu.arch", "sm_90");
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 1e12);
    environment_set_number(&run.environment, "measured.dram_read_bytes_per_s", 6e12);
    environment_set_number(&run.environment, "measured.empty_graph_node_ns", 511);
    environment_set_number(&run.environment, "measured.event_pair_ns", 1280);
    environment_set_number(&run.environment, "measured.grid_barrier_ns", 1234);
    add_gauge(&run, "copy", 1000000000, "kernel", 500e3);
    add_gauge(&run, "01_read", 10000000, "kernel", 1e3);
    add_gauge(&run, "01_read", 1000000000, "kernel", 170e3); /* an older run's: not used */
    device_rates_t rates = device_rates_of_record(&run);
    assert_true(fabs(rates.dram_bytes_per_s / 4e12 - 1) < 1e-9);
    assert_true(fabs(rates.l2_bytes_per_s / 10e12 - 1) < 1e-9);
    assert_true(fabs(rates.on_chip_bytes / (50e6 + 100 * 495616.0) - 1) < 1e-12);
    assert_true(fabs(rates.fp32_flops_per_s / (100 * 256 * 2e9) - 1) < 1e-12);
    assert_true(rates.launch_ns == 511 && rates.event_ns == 1280);
    assert_true(rates.barrier_ns == 1234);
    add_gauge(&run, "02_barrier", 1, "barrier", 980);
    assert_true(fabs(device_rates_of_record(&run).barrier_ns / 980 - 1) < 1e-9);
    environment_set(&run.environment, "gpu.arch", "sm_80");
    assert_true(fabs(device_rates_of_record(&run).fp32_flops_per_s / (100 * 128 * 2e9) - 1) <
                1e-12);
}

static case_result_t *add_training(record_t *run) {
    AUTO(case_free) case_t spec = case_of(50000000);
    case_result_t result;
    result_init(&result, &spec);
    add_phase(&result, "train_device", 20e6);
    result.limit = (limit_t){.bytes = 320e6,
                             .limit_ns = 1e6,
                             .frac = 0.05,
                             .bound = mem_text("fp32"),
                             .phase = mem_text("train_device")};
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases++] = result;
    return &run->cases[run->n_cases - 1];
}

/* A run that was stored before further passes counted: 320 MB, 100 of which stay on the chip. */
static void limits_of_a_loaded_run_are_judged_again(void **state) {
    AUTO(record_free) record_t run = {0};
    environment_set_number(&run.environment, "gpu.l2_bytes", 100e6 - 495616);
    environment_set_number(&run.environment, "gpu.multiprocessors", 1);
    environment_set_number(&run.environment, "gpu.clock_mhz", 1e6);
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 4e12);
    environment_set_number(&run.environment, "measured.l2_read_bytes_per_s", 10e12);
    case_result_t *result = add_training(&run);
    device_rates_set_limits_again(&run); /* the time of a launch is not known: nothing changes */
    assert_string_equal(result->limit.bound, "fp32");
    assert_true(result->limit.frac == 0.05);
    environment_set_number(&run.environment, "measured.empty_graph_node_ns", 500);
    device_rates_set_limits_again(&run);
    assert_string_equal(result->limit.bound, "dram");
    assert_true(fabs(result->limit.limit_ns / ((320e6 + 199 * 220e6) / 4e12 * 1e9) - 1) < 1e-9);
    assert_true(fabs(result->limit.frac / (result->limit.limit_ns / 20e6) - 1) < 1e-9);
    free(result->limit.bound);
    result->limit.bound = NULL; /* a case without a limit gets none */
    device_rates_set_limits_again(&run);
    assert_null(result->limit.bound);
}

#define RUNG(variant, points, ns)                                                                  \
    {                                                                                              \
        "cuda", "cuda", variant, points, 200, CASE_OK, NULL, {                                     \
            {"train_device", ns}, {                                                                \
                "train", 2 * (ns)                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

/* The run of a device of which only the copy rate and the barrier are known. */
static void load_ladder(world_t *world) {
    LOAD_TRAININGS(world, RUNG("02_fused", 5000, 1e6), RUNG("02_fused", 5000000, 3e6),
                   RUNG("06_persistent", 5000000, 0.5e6),
                   {"cuda",
                    "cuda",
                    "07_sums",
                    5000000,
                    200,
                    CASE_OK,
                    "{\"algorithmic\":true}",
                    {{"train_device", 20e3}}});
    environment_t *environment = &world->source.run.environment;
    environment_set_number(environment, "measured.copy_bytes_per_s", 4e12);
    environment_set_number(environment, "measured.grid_barrier_ns", 1000);
}

static void ladder_has_a_line_for_each_known_bound(void **state) {
    world_t *world = *state;
    load_ladder(world);
    const char *table = drawn(world, chart_ladder);
    assert_has(table, "\"limit: every epoch from DRAM\"\n5000 1.6\n5000000 1600\n");
    assert_has(table, "\"limit: a grid barrier per epoch\"\n5000 NaN\n5000000 200\n");
    assert_has(table, "\"limit: read once from DRAM\"\n5000 0.008\n5000000 8\n");
    assert_lacks(table, "L2");
    assert_true(text_list_has(&world->chart.numbers, "n_limits=3"));
    assert_true(text_list_has(&world->chart.numbers, "note_lines=4"));
    assert_has(world->chart.note, "phase train_device");
    assert_has(world->chart.note, "\nlimit at points 5 M, every epoch from DRAM: 200 × 32.0 MB / ");
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
