/* Charts against size: what stands on their axes, and how fast who is against the strongest rival. */
#include "base/units.h"
#include "checks.h"
#include "model/chart_kinds.h"
#include "planted_plot.h"

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
    chart_t chart;
    chart_init(&chart, "lines");
    plot_data_t data = {.sizes = sizes, .n_sizes = n};
    chart_size_axis(&chart, &data);
    char *numbers = text_list_join(&chart.numbers, "; ");
    assert_has(numbers, base);
    assert_has(numbers, ticks);
    free(numbers);
    chart_free(&chart);
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
    chart_t chart;
    chart_init(&chart, "lines");
    chart_time_axis(&chart, &(range_t){2000, 400e3});
    assert_true(text_list_has(&chart.numbers, "y_from=1.6"));
    assert_true(text_list_has(&chart.numbers, "y_to=500"));
    assert_true(text_list_has(&chart.numbers, "y_high=3"));
    chart_free(&chart);
}

static void a_chart_is_named_for_people(void **state) {
    static const char *const TITLES[][2] = {
        {"speed", "Speed-up by batch size"},
        {"size_rows_2048", "Time by batch size: rows 2048"},
        {"phases_cuda", "Phases of a sample: cuda"},
        {"unheard_of", "unheard_of"},
    };
    for (size_t i = 0; i < COUNT_OF(TITLES); i++) {
        char *title = chart_title(TITLES[i][0], "batch size");
        assert_string_equal(title, TITLES[i][1]);
        free(title);
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
        chart_t chart;
        legend_t legend = {EXPECTED[i].n, EXPECTED[i].longest};
        chart_init(&chart, "lines");
        chart_legend(&chart, &legend, EXPECTED[i].n_bars);
        char *numbers = text_list_join(&chart.numbers, "; ");
        assert_string_equal(numbers, EXPECTED[i].numbers);
        free(numbers);
        chart_free(&chart);
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

static void every_contender_has_a_line_against_size(void **state) {
    world_t *world = *state;
    load_cases(world, TRAININGS, N_TRAININGS);
    chart_t chart = {0};
    assert_drawn(chart_times(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(table, "size \"CUDA 05_graph\" low");
    assert_has(table, "size \"CUDA 07_sums (algorithmic)\" low");
    assert_has(table, "size \"PyTorch, the fastest at each data-set size\" low");
    assert_has(table, "\n5000 100000 ");
    assert_has(table, "\n5000000 40000 ");
    assert_has(table, "size \"C on the CPU, ref\" low"); /* the oracle is a contender too */
    assert_has(table, "hardware limit (dram)");
    char *numbers = text_list_join(&chart.numbers, "; ");
    assert_has(numbers, "thin='9 12'");
    assert_has(numbers, "thick='118'");
    assert_has(numbers, "dashed='7'");
    free(numbers);
    chart_free(&chart);
}

static void speed_is_against_the_strongest_rival(void **state) {
    world_t *world = *state;
    load_cases(world, TRAININGS, N_TRAININGS);
    chart_t chart = {0};
    assert_drawn(chart_speed(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(table, "size \"CUDA 06_persistent (the fastest of its side)\" text place "
                      "low high\n5000 100 \"100×\" 1 100 100\n5000000 20 \"20.0×\" 1 20 20\n");
    assert_has(table, "C on the CPU, ref (the fastest of its side)\" text place low high\n"
                      "5000 200 \"200×\" ");
    assert_has(table, "5000 2 \"2.00×\" "); /* PyTorch on the CPU */
    assert_lacks(table, "07_sums");
    assert_has(chart.note, "rival: PyTorch, the fastest at each data-set size");
    assert_true(text_list_has(&chart.numbers, "logarithmic=1"));
    chart_free(&chart);
}

/* From 0.5 to 2 there is no need for a logarithmic axis. */
static void a_small_range_is_linear(void **state) {
    static const planted_t CASES[] = {
        {"pytorch", "cpu", "eager", NULL, 5000, 2e6, 2e6, CASE_OK, TRAINING},
        {"pytorch", "cpu", "eager", NULL, 50000, 2e6, 2e6, CASE_OK, TRAINING},
        {"cpu", "cpu", "omp", NULL, 5000, 1e6, 1e6, CASE_OK, TRAINING},
        {"cpu", "cpu", "omp", NULL, 50000, 4e6, 4e6, CASE_OK, TRAINING},
    };
    world_t *world = *state;
    load_cases(world, CASES, 4);
    chart_t chart = {0};
    assert_drawn(chart_speed(world->data, &chart));
    assert_has(table_of(&chart), "5000 2 \"2.00×\" 1 2 2\n50000 0.5 \"0.500×\" 1 0.5 0.5\n");
    assert_has(chart.note, "rival: PyTorch on the CPU, eager");
    assert_true(text_list_has(&chart.numbers, "logarithmic=0"));
    assert_true(text_list_has(&chart.numbers, "y_low=0"));
    chart_free(&chart);
}

static void one_size_is_no_chart_against_size(void **state) {
    world_t *world = *state;
    chart_t chart = {0};
    load_cases(world, TRAININGS, 1);
    not_drawn(chart_times(world->data, &chart), "all cases have the same data-set size");
    not_drawn(chart_speed(world->data, &chart), "all cases have the same data-set size");
}

static void without_a_rival_there_is_no_relative_speed(void **state) {
    world_t *world = *state;
    chart_t chart = {0};
    load_cases(world, TRAININGS, 4);
    not_drawn(chart_speed(world->data, &chart), "no rival has a time to compare with");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_read_as_on_an_axis),
        cmocka_unit_test(ticks_are_the_sizes_that_were_chosen_round),
        cmocka_unit_test(an_axis_of_times_ends_a_little_beyond_them),
        cmocka_unit_test(a_chart_is_named_for_people),
        cmocka_unit_test(a_legend_has_two_columns_where_they_fit),
        cmocka_unit_test(a_legend_counts_letters),
        WITH_FOLDER(every_contender_has_a_line_against_size),
        WITH_FOLDER(speed_is_against_the_strongest_rival),
        WITH_FOLDER(a_small_range_is_linear),
        WITH_FOLDER(one_size_is_no_chart_against_size),
        WITH_FOLDER(without_a_rival_there_is_no_relative_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
