/* What charts are made of: which series stand for a side, what their tables say, and that nothing
 * in a results file reaches gnuplot as more than text. Runs are written by the journal into a
 * temporary folder; tests/cli/test_plot.py draws for real. */
#include "plot.h"

#include "ground/fs.h"
#include "ground/memory.h"
#include "plot_charts.h"
#include "plot_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIXTURES "tests/fixtures/plot/"

/* One case: its median is the middle of ten samples that lie within ±1 % of it. */
typedef struct planted {
    const char *engine, *device, *variant, *copy; /* copy: NULL for the default */
    int batch;
    double total_ns, compute_ns;
    case_status_t status;
    double limit_ns; /* 0 for none */
} planted_t;

static void add_phase(case_result_t *result, const char *name, double median_ns) {
    double samples[10];
    for (int i = 0; i < 10; i++)
        samples[i] = median_ns * (1 + 0.002 * (i - 4.5));
    phase_t *phase = result_add_phase(result, name, CLOCK_HOST);
    phase_add_round(phase, samples, 10);
    phase_summarise(phase);
}

static void append(journal_t *journal, const planted_t *planted) {
    bool worker = !case_engine_is_built_in(planted->engine);
    case_t spec = {
        .id = mem_format("mlp_infer/%s%s%s/%s/batch=%d%s%s", planted->engine, worker ? "-" : "",
                         worker ? planted->device : "", planted->variant, planted->batch,
                         planted->copy != NULL ? "/copy=" : "",
                         planted->copy != NULL ? planted->copy : ""),
        .workload = mem_text("mlp_infer"),
        .engine = mem_text(planted->engine),
        .device = mem_text(planted->device),
        .variant = mem_text(planted->variant),
        .dtype = mem_text("f32"),
    };
    case_add_param(&spec, "batch", &(value_t){.kind = VALUE_INT, .integer = planted->batch});
    case_add_technique(&spec, "copy", planted->copy != NULL ? planted->copy : "pageable");
    case_result_t result;
    result_init(&result, &spec);
    result.status = planted->status;
    add_phase(&result, strcmp(planted->engine, "cuda") == 0 ? "kernel" : "forward",
              planted->compute_ns);
    if (strcmp(planted->engine, "cuda") == 0)
        add_phase(&result, "kernel_graph", planted->compute_ns / 2);
    add_phase(&result, "total", planted->total_ns);
    add_phase(&result, "host_to_host", planted->total_ns / 2);
    if (planted->limit_ns > 0) {
        result.limit.limit_ns = planted->limit_ns;
        result.limit.bound = mem_text("dram");
    }
    result_add_once(&result, "context", 2e8);
    error_t err = ERROR_INIT;
    assert_int_equal(journal_append(journal, &result, &err), STATUS_OK);
    result_free(&result);
    case_free(&spec);
}

static const planted_t PLANTED[] = {
    {"cuda", "cuda", "01_study", NULL, 1, 100e3, 5e3, CASE_OK, 10},
    {"cuda", "cuda", "01_study", NULL, 2, 300e3, 6e3, CASE_THROTTLED, 20},
    {"cuda", "cuda", "01_study", NULL, 4, 777e3, 7e3, CASE_WRONG, 40},
    {"cuda", "cuda", "01_study", NULL, 8, 500e3, 8e3, CASE_OK, 80},
    {"cuda", "cuda", "02_fast", NULL, 1, 90e3, 2e3, CASE_OK, 10},
    {"cuda", "cuda", "02_fast", NULL, 2, 91e3, 2e3, CASE_OK, 20},
    {"cuda", "cuda", "02_fast", NULL, 4, 92e3, 2e3, CASE_OK, 40},
    {"cuda", "cuda", "02_fast", NULL, 8, 93e3, 2e3, CASE_FAILED, 80},
    {"cuda", "cuda", "02_fast", "pinned", 1, 50e3, 2e3, CASE_OK, 10},
    {"pytorch", "cuda", "eager", NULL, 1, 200e3, 80e3, CASE_OK, 0},
    {"pytorch", "cuda", "eager", NULL, 2, 301e3, 80e3, CASE_OK, 0},
    {"pytorch", "cuda", "eager", NULL, 4, 200e3, 80e3, CASE_OK, 0},
    {"pytorch", "cuda", "eager", NULL, 8, 250e3, 80e3, CASE_OK, 0},
    {"cpu", "cpu", "ref", NULL, 1, 1e3, 1e3, CASE_OK, 0},
    {"cpu", "cpu", "omp", NULL, 1, 9e3, 9e3, CASE_OK, 0},
    {"pytorch", "cpu", "eager", NULL, 1, 3e3, 2e3, CASE_OK, 0},
    {"mine", "cuda", "jit", NULL, 1, 70e3, 9e3, CASE_OK, 0},
};
enum { N_PLANTED = sizeof PLANTED / sizeof *PLANTED };

/* Those of PLANTED that `wanted` (an engine's device, or NULL for all) lets in. */
static void write_run(const char *folder, const char *gpu, const char *wanted) {
    error_t err = ERROR_INIT;
    run_record_t run = {.folder = mem_text(folder), .name = mem_text("t")};
    run.started = mem_text("2026-03-02T10:15:00Z");
    environment_set(&run.environment, "gpu.name", gpu);
    environment_set(&run.environment, "host.cpu", "Some CPU");
    assert_int_equal(fs_make_folders(folder, &err), STATUS_OK);
    assert_int_equal(run_write_header(&run, &err), STATUS_OK);
    journal_t journal;
    assert_int_equal(journal_open(folder, &journal, &err), STATUS_OK);
    for (size_t i = 0; i < N_PLANTED; i++)
        if (wanted == NULL || strcmp(PLANTED[i].device, wanted) == 0)
            append(&journal, &PLANTED[i]);
    journal_close(&journal);
    run_free(&run);
}

typedef struct world {
    char *folder, *run;
    plot_data_t data;
} world_t;

static void load(world_t *world, const char *gpu, const char *wanted) {
    error_t err = ERROR_INIT;
    write_run(world->run, gpu, wanted);
    if (plot_data_from_run(world->run, &world->data, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static int set_up(void **state) {
    error_t err = ERROR_INIT;
    world_t *world = mem_zeroed(1, sizeof *world);
    if (fs_temporary_folder(&world->folder, &err) != STATUS_OK)
        return -1;
    world->run = fs_join(world->folder, "run");
    *state = world;
    return 0;
}

static int tear_down(void **state) {
    world_t *world = *state;
    plot_data_free(&world->data);
    fs_remove_tree(world->folder, NULL);
    free(world->folder);
    free(world->run);
    free(world);
    return 0;
}

/* The table of a drawing, after the last write. */
static const char *table_of(drawing_t *drawing) {
    fflush(drawing->table);
    return drawing->data;
}

static void assert_has(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part) {
    if (strstr(text, part) != NULL)
        fail_msg("\"%s\" is in:\n%s", part, text);
}

static void assert_drawn(char *why) {
    if (why != NULL)
        fail_msg("not drawn: %s", why);
}

/* ---- series -------------------------------------------------------------------------------------
 */

static void series_are_contenders_in_a_fixed_order(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    static const char *const KEYS[] = {
        "cuda/01_study", "cuda/02_fast", "cuda/02_fast/copy=pinned", "pytorch-cuda/eager",
        "cpu/omp",       "cpu/ref",      "pytorch-cpu/eager",        "mine-cuda/jit"};
    assert_int_equal(world->data.n_series, 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(world->data.series[i].key, KEYS[i]);
    assert_string_equal(world->data.series[2].title, "CUDA 02_fast + pinned");
    assert_false(world->data.series[2].standard);
    assert_true(series_is_other(&world->data.series[7]));
    assert_string_equal(world->data.series[7].title, "mine-cuda jit");
    assert_int_equal(world->data.n_batches, 4);
    assert_string_equal(world->data.shape, "mlp_infer, f32");
}

/* By `total`, pinned is left out: it is faster still, but was tried at one batch of four. At batch
 * 8, where 02_fast failed, 01_study is the fastest that is left. */
static void fastest_is_the_fastest_of_each_batch(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    const series_t *best = plot_fastest_series(&world->data, "cuda", "total");
    assert_true(series_is_mixed(best));
    assert_string_equal(best->title, "CUDA, the fastest at each batch");
    assert_string_equal(series_at(best, 1)->spec.id, "mlp_infer/cuda/02_fast/batch=1");
    assert_string_equal(series_at(best, 8)->spec.id, "mlp_infer/cuda/01_study/batch=8");
    best = plot_fastest_series(&world->data, "cuda", "host_to_host");
    assert_string_equal(series_at(best, 1)->spec.id, "mlp_infer/cuda/02_fast/batch=1/copy=pinned");
    assert_string_equal(series_at(best, 2)->spec.id, "mlp_infer/cuda/02_fast/batch=2");
    assert_null(plot_fastest_series(&world->data, "cuda", "no such phase"));
    best = plot_fastest_series(&world->data, "pytorch-cuda", "total");
    assert_string_equal(best->key, "pytorch-cuda/eager");
    best = plot_fastest_series(&world->data, "cpu", "total"); /* ref is no contender */
    assert_string_equal(best->key, "cpu/omp");
    assert_string_equal(plot_usual_series(&world->data, "cuda")->key, "cuda/01_study");
    assert_string_equal(plot_usual_series(&world->data, "cpu")->key, "cpu/omp");
}

static void footer_names_the_device_and_the_date(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    assert_string_equal(world->data.footer, "Some GPU  ·  Some CPU  ·  2026-03-02  ·  run run");
}

static void footer_of_a_run_without_a_gpu_says_so(void **state) {
    world_t *world = *state;
    load(world, NULL, "cpu");
    assert_has(world->data.footer, "no GPU, Some CPU");
}

/* ---- tables -------------------------------------------------------------------------------------
 */

static void wrong_and_failed_cases_have_no_time(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    drawing_t drawing = {0};
    assert_drawn(chart_phases_cuda(&world->data, &drawing));
    const char *table = table_of(&drawing);
    assert_has(table, "0 \"1\" 5 100 0 \"\"\n");
    assert_has(table, "1 \"2\" 6 300 1 \"\"\n");
    assert_has(table, "2 \"4\" NaN NaN 0 \"wrong\"\n");
    drawing_free(&drawing);
    assert_drawn(chart_total(&world->data, &drawing));
    table = table_of(&drawing);
    assert_has(table, "\"CUDA, the fastest at each batch\"");
    assert_has(table, "\"PyTorch eager (the study's, fastest PyTorch)\"");
    assert_has(table, "\"mine-cuda jit\"");
    assert_has(table, "2 300 297.9 302.1 1 \"throttled\"\n");
    assert_lacks(table, "777");
    drawing_free(&drawing);
}

static void difference_finds_leads_and_the_crossover(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    drawing_t drawing = {0};
    assert_drawn(chart_difference(&world->data, &drawing));
    const char *table = table_of(&drawing);
    assert_has(table, "0 \"1\" -100 1 0 \"CUDA\" \"100 µs\" \"2.00×\" \"\"\n");
    assert_has(table, "1 \"2\" -1 3 1 \"equal\" \"\" \"\" \"\"\n");
    assert_has(table, "2 \"4\" NaN 0 0 \"\" \"\" \"\" \"wrong\"\n");
    assert_has(table, "3 \"8\" 250 2 0 \"PyTorch\" \"250 µs\" \"2.00×\" \"\"\n");
    assert_has(table, "3 \"8\" \"crossover: PyTorch is faster from batch 8\"\n");
    assert_true(text_list_has(&drawing.numbers, "n_crossovers=1"));
    assert_string_equal(drawing.title, "CUDA 01_study − PyTorch eager, phase total: who is faster, "
                                       "and by how much");
    drawing_free(&drawing);
}

static void without_cuda_the_difference_is_that_of_the_cpu(void **state) {
    world_t *world = *state;
    load(world, NULL, "cpu");
    drawing_t drawing = {0};
    assert_drawn(chart_difference(&world->data, &drawing));
    assert_has(drawing.title, "C on the CPU, omp − PyTorch on the CPU, eager");
    assert_has(table_of(&drawing), "0 \"1\" 6 2 0 \"PyTorch\" \"6.00 µs\" \"3.00×\" \"\"\n");
    drawing_free(&drawing);
    char *why = chart_phases_cuda(&world->data, &drawing);
    assert_string_equal(why, "no CUDA case of rung 01 with default techniques has times");
    free(why);
}

static void ladder_has_standard_rungs_and_the_limit(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    drawing_t drawing = {0};
    assert_drawn(chart_ladder(&world->data, &drawing));
    const char *table = table_of(&drawing);
    assert_has(table, "batch \"CUDA 02_fast\" low");
    assert_has(table, "8 NaN NaN NaN 0 \"failed\"\n");
    assert_lacks(table, "pinned");
    assert_lacks(table, "PyTorch");
    assert_has(table, "batch \"least that the hardware allows (dram)\"\n1 0.01\n2 0.02\n");
    assert_true(text_list_has(&drawing.numbers, "n_limits=1"));
    drawing_free(&drawing);
}

static void ladder_of_a_batch_says_how_much_of_the_limit_is_reached(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    drawing_t drawing = {0};
    assert_drawn(chart_ladder_batch(&world->data, &drawing));
    const char *table = table_of(&drawing);
    assert_has(table, "\n0 16 \"01_study\" 0\n1 16 \"02_fast\" 0\n");
    assert_has(table,
               "0 \"batch 1, limit: dram\" 0.01\n"); /* of the batches shown, the run has 1 */
    assert_has(table, "0 2.5 2.4825 2.5175 \"2.50 µs, 0.4 %\" 1 0\n");
    assert_has(table, "1 1 0.993 1.007 \"1.00 µs, 1 %\" 2 0\n");
    assert_true(text_list_has(&drawing.numbers, "n_panels=1"));
    drawing_free(&drawing);
}

static void techniques_stand_beside_the_study(void **state) {
    world_t *world = *state;
    load(world, "Some GPU", NULL);
    drawing_t drawing = {0};
    assert_drawn(chart_techniques(&world->data, &drawing));
    assert_string_equal(drawing.title, "Host techniques side by side: CUDA 02_fast");
    const char *table = table_of(&drawing);
    assert_has(table, "\"pageable\" 1\n"); /* as in the study: faded */
    assert_has(table, "\"pinned\" 0\n");
    assert_has(table, "0 \"batch 1\" 45\n"); /* the line at the study's set-up */
    assert_has(table, " \"1×\" 2 0\n");
    assert_has(table, "1 25 24.825 25.175 \"1.80× fastest\" 2 0\n");
    assert_lacks(table, "batch 2");
    drawing_free(&drawing);
}

static void one_set_up_is_no_chart_of_techniques(void **state) {
    world_t *world = *state;
    load(world, NULL, "cpu");
    drawing_t drawing = {0};
    char *why = chart_techniques(&world->data, &drawing);
    assert_string_equal(why, "no CUDA rung was run with several host techniques");
    free(why);
}

/* Ten samples, and an eleventh a thousand times as late. */
static void samples_beyond_the_axis_are_counted(void **state) {
    (void)state;
    case_t spec = {.id = mem_text("w/e/v"), .engine = mem_text("cuda")};
    case_result_t result;
    result_init(&result, &spec);
    add_phase(&result, "kernel", 5000);
    add_phase(&result, "host_to_host", 9000);
    phase_add_round(&result.phases[0], (const double[]){5e6}, 1);
    phase_summarise(&result.phases[0]);
    drawing_t drawing = {0};
    assert_drawn(chart_samples(&result, "kernel", &drawing));
    assert_has(drawing.note, "phase kernel, host clock  ·  11 samples in 2 rounds");
    assert_has(drawing.note, "1 later than the axis, up to 5.00 ms");
    assert_has(table_of(&drawing), "\n 5000 1.000000\n"); /* the last step of the shares */
    drawing_free(&drawing);
    assert_drawn(chart_samples(&result, NULL, &drawing));
    assert_has(drawing.note, "phase host_to_host");
    assert_lacks(drawing.note, "later than");
    drawing_free(&drawing);
    result_free(&result);
    case_free(&spec);
}

/* A cold start is no point on a line of steady times. */
static void cold_starts_are_in_no_chart(void **state) {
    world_t *world = *state;
    error_t err = ERROR_INIT;
    write_run(world->run, "Some GPU", "cpu");
    case_t spec = {.id = mem_text("mlp_infer/cuda/01_study/batch=64"),
                   .workload = mem_text("mlp_infer"),
                   .engine = mem_text("cuda"),
                   .device = mem_text("cuda"),
                   .variant = mem_text("01_study"),
                   .dtype = mem_text("f32")};
    case_add_param(&spec, "batch", &(value_t){.kind = VALUE_INT, .integer = 64});
    case_result_t result;
    result_init(&result, &spec);
    add_phase(&result, "cold_first_answer", 5e8);
    journal_t journal;
    assert_int_equal(journal_open(world->run, &journal, &err), STATUS_OK);
    assert_int_equal(journal_append(&journal, &result, &err), STATUS_OK);
    journal_close(&journal);
    result_free(&result);
    case_free(&spec);
    assert_int_equal(plot_data_from_run(world->run, &world->data, &err), STATUS_OK);
    assert_int_equal(world->data.n_series, 3);
    assert_int_equal(world->data.n_batches, 1);
}

static void study_csvs_give_the_study_charts(void **state) {
    world_t *world = *state;
    error_t err = ERROR_INIT;
    const char *paths[] = {FIXTURES "study_pytorch.csv", FIXTURES "study_cuda.csv"};
    assert_int_equal(plot_data_from_csvs(paths, 2, &world->data, &err), STATUS_OK);
    drawing_t drawing = {0};
    assert_drawn(chart_difference(&world->data, &drawing));
    assert_has(table_of(&drawing), "2 \"4\" -140 1 0 \"CUDA\" \"140 µs\" \"1.50×\" \"\"\n");
    assert_has(table_of(&drawing), "\"crossover: PyTorch is faster from batch 16\"");
    drawing_free(&drawing);
}

static void two_csvs_of_one_kind_are_refused(void **state) {
    world_t *world = *state;
    error_t err = ERROR_INIT;
    const char *paths[] = {FIXTURES "study_pytorch.csv", FIXTURES "study_pytorch_bom.csv"};
    assert_int_equal(plot_data_from_csvs(paths, 2, &world->data, &err), STATUS_USAGE);
    assert_has(err.text,
               "study_pytorch_bom.csv: has the same columns as " FIXTURES "study_pytorch.csv");
}

/* ---- text and gnuplot ---------------------------------------------------------------------------
 */

static void table_text_cannot_leave_its_quotes(void **state) {
    (void)state;
    drawing_t drawing;
    drawing_init(&drawing, "lines");
    drawing_text(&drawing, "a\"b\\c\nd`id`");
    assert_string_equal(table_of(&drawing), " \"a'b\\\\c d`id`\"");
    drawing_free(&drawing);
}

static void batches_read_as_on_an_axis(void **state) {
    (void)state;
    static const struct {
        int64_t batch;
        const char *text;
    } EXPECTED[] = {{1, "1"}, {512, "512"}, {1000, "1000"}, {1024, "2¹⁰"}, {1 << 28, "2²⁸"}};
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
        char text[64];
        assert_string_equal(chart_batch_text(text, EXPECTED[i].batch), EXPECTED[i].text);
    }
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

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(series_are_contenders_in_a_fixed_order),
        WITH_FOLDER(fastest_is_the_fastest_of_each_batch),
        WITH_FOLDER(footer_names_the_device_and_the_date),
        WITH_FOLDER(footer_of_a_run_without_a_gpu_says_so),
        WITH_FOLDER(wrong_and_failed_cases_have_no_time),
        WITH_FOLDER(difference_finds_leads_and_the_crossover),
        WITH_FOLDER(without_cuda_the_difference_is_that_of_the_cpu),
        WITH_FOLDER(ladder_has_standard_rungs_and_the_limit),
        WITH_FOLDER(ladder_of_a_batch_says_how_much_of_the_limit_is_reached),
        WITH_FOLDER(techniques_stand_beside_the_study),
        WITH_FOLDER(one_set_up_is_no_chart_of_techniques),
        cmocka_unit_test(samples_beyond_the_axis_are_counted),
        WITH_FOLDER(cold_starts_are_in_no_chart),
        WITH_FOLDER(study_csvs_give_the_study_charts),
        WITH_FOLDER(two_csvs_of_one_kind_are_refused),
        cmocka_unit_test(table_text_cannot_leave_its_quotes),
        cmocka_unit_test(batches_read_as_on_an_axis),
        WITH_FOLDER(missing_gnuplot_says_how_to_install_it),
        WITH_FOLDER(bad_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
