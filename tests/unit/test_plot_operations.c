/* Operations of an epoch side by side: who has which bars, what they add up to, and on which axis.
 */
#include "checks.h"
#include "planted_training.h"

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
    chart_t chart = {0};
    assert_drawn(chart_operations(world->data, &chart));
    const char *table = table_of(&chart);
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
    assert_has(chart.note, "points 5 M");
    assert_true(text_list_has(&chart.numbers, "n_panels=1"));
    chart_free(&chart);
}

/* 16,000 µs against 80: bars of the GPU would be lines. */
static void a_much_slower_cpu_has_a_panel_of_its_own(void **state) {
    world_t *world = *state;
    load_trainings(world, TRAININGS, N_TRAININGS);
    append_training(world->run, &(training_t){"pytorch", "cpu", "eager", 5000000, 1, CASE_OK, NULL,
                                              ONE_BY_ONE(4e6)});
    plot_source_free(&world->source);
    load_run(world);
    chart_t chart = {0};
    assert_drawn(chart_operations(world->data, &chart));
    assert_true(text_list_has(&chart.numbers, "n_panels=2"));
    assert_true(text_list_has(&chart.numbers, "logarithmic='0 0'"));
    assert_has(chart.note, "right: on the CPU");
    assert_has(table_of(&chart), "\"PyTorch on the CPU\" \"eager\" 0.35 4.35 32000 \"Σ 32000\"");
    chart_free(&chart);
}

static void bars_of_very_different_heights_stand_on_a_logarithmic_axis(void **state) {
    world_t *world = *state;
    LOAD_TRAININGS(world, {"cuda",
                           "cuda",
                           "01_not_fused",
                           5000,
                           1,
                           CASE_OK,
                           NULL,
                           {{"backward", 500e3}, {"update", 2e3}}});
    chart_t chart = {0};
    assert_drawn(chart_operations(world->data, &chart));
    assert_true(text_list_has(&chart.numbers, "logarithmic='1'"));
    assert_true(text_list_has(&chart.numbers, "lows='1.000000000'"));
    assert_has(table_of(&chart), " 502 \"Σ 502\" 1\n"); /* makes room for the bar's own text */
    chart_free(&chart);
}

static void epochs_as_a_whole_are_no_chart_of_operations(void **state) {
    world_t *world = *state;
    LOAD_TRAININGS(world, {"cuda", "cuda", "02_fused", 5000, 200, CASE_OK, NULL, {{"train", 1e6}}});
    chart_t chart = {0};
    char *why = chart_operations(world->data, &chart);
    assert_string_equal(why, "no case has separately timed operations");
    free(why);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(bars_stand_in_groups_of_contenders),
        WITH_FOLDER(a_much_slower_cpu_has_a_panel_of_its_own),
        WITH_FOLDER(bars_of_very_different_heights_stand_on_a_logarithmic_axis),
        WITH_FOLDER(epochs_as_a_whole_are_no_chart_of_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
