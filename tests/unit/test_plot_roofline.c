/* The roofline: roofs of a planted device, points of planted cases. */
#include "checks.h"
#include "planted_plot.h"

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
    chart_t chart = {0};
    load_with_costs(world);
    environment_t *facts = &world->source.run.environment;
    environment_set_number(facts, "measured.copy_bytes_per_s", 1e12);
    environment_set_number(facts, "measured.l2_read_bytes_per_s", 4e12);
    environment_set_number(facts, "measured.matmul_f32_flops_per_s", 4e13);
    assert_drawn(chart_roofline(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(table, "intensity \"L2, 4.00 TB/s read\"\n0.1 400\n10 40000\n");
    assert_has(table, "intensity \"memory, 1.00 TB/s copied\"\n0.1 100\n40 40000\n");
    /* By one call, as PyTorch has no other: 1000 operations in 2 µs are 0.5 GFLOP/s. */
    assert_has(table,
               "intensity \"CUDA 01_study\" left right\n2 0.5 \"1\" \"\"\n2 0.25 \"\" \"8\"\n");
    assert_has(table, "intensity \"PyTorch eager\" left right\n2 0.125 \"\" \"\"\n");
    assert_lacks(table, "CPU");
    chart_free(&chart);
}

static void sizes_stand_beside_the_line(void **state) {
    world_t *world = *state;
    chart_t chart = {0};
    load_with_costs(world);
    environment_set_number(&world->source.run.environment, "measured.copy_bytes_per_s", 1e12);
    world->source.run.cases[1].limit.bytes = 2000; /* the line goes to the left */
    assert_drawn(chart_roofline(world->data, &chart));
    assert_has(table_of(&chart), "\n2 0.5 \"\" \"1\"\n0.5 0.25 \"8\" \"\"\n");
    chart_free(&chart);
}

static void without_rates_or_costs_there_is_no_roofline(void **state) {
    world_t *world = *state;
    chart_t chart = {0};
    load_with_costs(world);
    not_drawn(chart_roofline(world->data, &chart), "the run has no rate of memory");
    chart_free(&chart);
    for (size_t i = 0; i < world->source.run.n_cases; i++)
        world->source.run.cases[i].limit.frac = NAN;
    not_drawn(chart_roofline(world->data, &chart), "no case on a GPU has a limit and operations");
    chart_free(&chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(points_lie_under_the_roofs),
        WITH_FOLDER(sizes_stand_beside_the_line),
        WITH_FOLDER(without_rates_or_costs_there_is_no_roofline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
