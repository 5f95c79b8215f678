/* What charts are made of: which series stand for a side, in which order, from which cases. */
#include "checks.h"
#include "planted_plot.h"

#define FIXTURES "tests/fixtures/plot/"

static void series_are_contenders_in_a_fixed_order(void **state) {
    world_t *world = load(*state, "Some GPU", NULL);
    static const char *const KEYS[] = {"cuda/01_study",
                                       "cuda/02_fast",
                                       "cuda/02_fast/copy=pinned",
                                       "pytorch-cuda/eager",
                                       "mine-cuda/jit",
                                       "cpu/omp",
                                       "cpu/ref",
                                       "pytorch-cpu/eager"};
    assert_int_equal(world->data->n_series, 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(world->data->series[i].key, KEYS[i]);
    assert_string_equal(world->data->series[2].title, "CUDA 02_fast + pinned");
    assert_false(world->data->series[2].is_default);
    assert_string_equal(world->data->series[4].title, "mine jit");
    assert_string_equal(world->data->series[4].side, "mine");
    assert_string_equal(world->data->series[7].side, "PyTorch on the CPU");
    assert_int_equal(world->data->n_sizes, 4);
    assert_string_equal(world->data->shape, "mlp_infer, f32");
}

/* By `total`, pinned is left out: it is faster still, but was tried at one batch of four. At batch
 * 8, where 02_fast failed, 01_study is the fastest that is left. */
static void fastest_is_the_fastest_of_each_batch(void **state) {
    world_t *world = load(*state, "Some GPU", NULL);
    const series_t *best = plot_fastest_series(world->data, "cuda", "total");
    assert_true(series_is_mixed(best));
    assert_string_equal(best->title, "CUDA, the fastest at each batch size");
    assert_string_equal(series_at(best, 1)->spec.id, "mlp_infer/cuda/02_fast/batch=1");
    assert_string_equal(series_at(best, 8)->spec.id, "mlp_infer/cuda/01_study/batch=8");
    best = plot_fastest_series(world->data, "cuda", "host_to_host");
    assert_string_equal(series_at(best, 1)->spec.id, "mlp_infer/cuda/02_fast/batch=1/copy=pinned");
    assert_string_equal(series_at(best, 2)->spec.id, "mlp_infer/cuda/02_fast/batch=2");
    assert_null(plot_fastest_series(world->data, "cuda", "no such phase"));
    best = plot_fastest_series(world->data, "pytorch-cuda", "total");
    assert_string_equal(best->key, "pytorch-cuda/eager");
    best = plot_fastest_series(world->data, "cpu", "total");
    assert_string_equal(best->key, "cpu/ref");
    assert_string_equal(plot_default_series(world->data, "cuda")->key, "cuda/01_study");
    assert_string_equal(plot_default_series(world->data, "cpu")->key, "cpu/omp");
}

static void footer_names_the_device_and_the_date(void **state) {
    world_t *world = load(*state, "Some GPU", NULL);
    assert_string_equal(world->source.footer, "Some GPU  ·  Some CPU  ·  2026-03-02  ·  run run");
}

static void footer_of_a_run_without_a_gpu_says_so(void **state) {
    world_t *world = load(*state, NULL, "cpu");
    assert_has(world->source.footer, "no GPU, Some CPU");
}

/* A cold start is no point on a line of steady times. */
static void cold_starts_are_in_no_chart(void **state) {
    world_t *world = *state;
    write_run(world->run, "Some GPU", "cpu");
    AUTO(case_free)
    case_t spec = planted_case(&(planted_t){.engine = "cuda", .variant = "01_study", .size = 64});
    AUTO(result_free) case_result_t result;
    result_init(&result, &spec);
    add_phase(&result, "cold_first_answer", 5e8);
    append_result(world->run, &result);
    load_run(world);
    assert_int_equal(world->data->n_series, 3);
    assert_int_equal(world->data->n_sizes, 1);
}

static void study_csvs_give_the_study_charts(void **state) {
    world_t *world = *state;
    const char *paths[] = {FIXTURES "study_pytorch.csv", FIXTURES "study_cuda.csv"};
    assert_ok(plot_source_from_csvs(paths, 2, &world->source, &err));
    AUTO(chart_free) chart_t chart = {0};
    assert_drawn(chart_difference(&world->source.shapes[0], &chart));
    assert_has(table_of(&chart), "2 \"4\" -140 1 0 \"CUDA\" \"140 µs\" \"1.5×\" \"\" 1\n");
    assert_has(table_of(&chart), "\"crossover: PyTorch is faster from batch 16\"");
}

static void two_csvs_of_one_kind_are_refused(void **state) {
    world_t *world = *state;
    const char *paths[] = {FIXTURES "study_pytorch.csv", FIXTURES "study_pytorch_bom.csv"};
    assert_fails_with(plot_source_from_csvs(paths, 2, &world->source, &err), STATUS_USAGE,
                      "study_pytorch_bom.csv: has the same columns as " FIXTURES
                      "study_pytorch.csv");
}

static const planted_t OF_SEVERAL_SHAPES[] = {
    {"cpu", "cpu", "omp", NULL, 5000, 4e3, 4e3, CASE_OK, .workload = "linreg_train", .epochs = 1},
    {"cpu", "cpu", "omp", NULL, 1, 9e3, 9e3, CASE_OK, .limit_ns = 0},
    {"cpu", "cpu", "omp", NULL, 5000, 8e5, 8e5, CASE_OK, .workload = "linreg_train", .epochs = 200},
    {"cpu", "cpu", "omp", NULL, 7000, 9e5, 9e5, CASE_OK, .workload = "linreg_train", .epochs = 200},
    {"null", "cpu", "01_empty", NULL, 1, 1, 1, CASE_OK, .limit_ns = 0},
};

/* Workloads in the order of the run; of each the shape with the most cases first. What the null
 * engine times is in none. */
static void each_shape_stands_by_itself(void **state) {
    static const struct {
        const char *shape, *size_param;
        size_t n_sizes;
    } EXPECTED[] = {{"linreg_train, epochs 200, f32", "points", 2},
                    {"linreg_train, epochs 1, f32", "points", 1},
                    {"mlp_infer, f32", "batch", 1}};
    world_t *world = load_cases(*state, OF_SEVERAL_SHAPES, COUNT_OF(OF_SEVERAL_SHAPES));
    assert_int_equal(world->source.n_shapes, 3);
    for (size_t i = 0; i < 3; i++) {
        const plot_data_t *data = &world->source.shapes[i];
        assert_string_equal(data->shape, EXPECTED[i].shape);
        assert_string_equal(data->workload->size_param, EXPECTED[i].size_param);
        assert_int_equal(data->n_sizes, EXPECTED[i].n_sizes);
        assert_int_equal(data->n_series, 1);
    }
}

/* Its time is the least, but it does not do what the others do. */
static void another_algorithm_is_never_the_fastest(void **state) {
    static const planted_t CASES[] = {
        {"cuda", "cuda", "06_persistent", NULL, 5000, 7e5, 6e5, CASE_OK,
         .workload = "linreg_train"},
        {"cuda", "cuda", "07_sums", NULL, 5000, 8e3, 6e3, CASE_OK, .workload = "linreg_train",
         .algorithmic = true},
    };
    world_t *world = load_cases(*state, CASES, 2);
    const series_t *best = plot_fastest_series(world->data, "cuda", "host_to_host");
    assert_string_equal(best->variant, "06_persistent");
    assert_false(best->algorithmic);
    assert_true(world->data->series[1].algorithmic);
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
