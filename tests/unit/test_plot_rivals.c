/* Charts with PyTorch, JAX and a script of a user's own: each stands for itself, and the strongest
 * of a size is the one to beat. */
#include "checks.h"
#include "planted_plot.h"

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
    world_t *world = *state;
    load_cases(world, CASES, N_CASES);
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
    world_t *world = *state;
    chart_t chart = {0};
    load_cases(world, CASES, N_CASES);
    assert_drawn(chart_difference(world->data, &chart)); /* no eager: against the strongest */
    assert_has(chart.note, "CUDA 01_study − strongest rival");
    assert_has(table_of(&chart), "\n1 \"↑ strongest rival ");
    chart_free(&chart);
}

static void speed_is_relative_to_the_strongest(void **state) {
    world_t *world = *state;
    chart_t chart = {0};
    load_cases(world, CASES, N_CASES);
    assert_drawn(chart_speed(world->data, &chart));
    const char *table = table_of(&chart);
    assert_has(chart.note, "rival: the fastest at each batch size");
    assert_has(table, "\"CUDA 01_study (the fastest of its side)\" text place low high\n1 2 ");
    assert_has(table, "\n4 0.5 ");
    assert_has(table, "\"PyTorch, the fastest at each batch size\" text place low high\n1 1 ");
    assert_has(table, "\"JAX jit (the fastest of its side)\" text place low high\n1 0.666667 ");
    assert_has(table, "\"triton fused (the fastest of its side)\" text place low high\n1 0.4 ");
    chart_free(&chart);
}

static void a_self_reported_time_has_no_relative_speed(void **state) {
    world_t *world = *state;
    chart_t chart = {0};
    load_cases(world, CASES, N_CASES);
    ((case_result_t *)series_at(series_named(world, "triton fused"), 1))->trust =
        TRUST_SELF_REPORTED;
    assert_drawn(chart_speed(world->data, &chart));
    assert_has(table_of(&chart),
               "\"triton fused (the fastest of its side)\" text place low high\n4 1 ");
    chart_free(&chart);
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
    world_t *world = *state;
    load_cases(world, OF_CANDIDATES, COUNT_OF(OF_CANDIDATES));
    const series_t *strongest = plot_strongest_rival(world->data, true, "host_to_host");
    assert_string_equal(series_at(strongest, 1)->spec.engine, "pytorch");
    assert_string_equal(series_at(strongest, 2)->spec.engine, "pytorch");
    assert_null(plot_strongest_rival(world->data, false, "host_to_host"));
}

static void every_engine_has_its_line_and_its_phases(void **state) {
    world_t *world = *state;
    chart_t chart = {0};
    load_cases(world, CASES, N_CASES);
    assert_drawn(chart_host_to_host(world->data, &chart));
    assert_has(table_of(&chart), "\"JAX jit (fastest JAX)\"");
    assert_has(table_of(&chart), "\"triton fused (fastest triton)\"");
    assert_has(table_of(&chart), "\"JAX on the CPU, jit\"");
    chart_free(&chart);
    assert_drawn(chart_phases(world->data, "jax", &chart));
    assert_has(chart.note, "  ·  JAX jit  ·  ");
    chart_free(&chart);
    assert_drawn(chart_phases(world->data, "triton", &chart));
    assert_has(chart.note, "  ·  triton fused  ·  ");
    chart_free(&chart);
}

/* A colour belongs to an engine, a point to a variant: the CPU's lines differ by their dashes. */
static void contenders_have_line_types_of_their_own(void **state) {
    static const char *const TITLES[] = {"PyTorch mapped", "PyTorch overlap",     "JAX jit",
                                         "triton fused",   "JAX on the CPU, jit", "triton wrong"};
    static const int STYLES[] = {70, 71, 78, 86, 82, 87};
    world_t *world = *state;
    load_cases(world, CASES, N_CASES);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(strongest_is_whoever_is_fastest),
        WITH_FOLDER(difference_names_the_rival_of_each_size),
        WITH_FOLDER(speed_is_relative_to_the_strongest),
        WITH_FOLDER(a_self_reported_time_has_no_relative_speed),
        WITH_FOLDER(candidates_are_no_rivals),
        WITH_FOLDER(every_engine_has_its_line_and_its_phases),
        WITH_FOLDER(contenders_have_line_types_of_their_own),
        WITH_FOLDER(no_two_modes_look_alike),
        WITH_FOLDER(colours_are_those_of_the_whole_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
