/* The report on a workload that trains, from runs whose truth is planted. */
#include "planted_run.h"
#include "printed_section.h"
#include "report/training/training.h"

#include "io/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEED = 11 };

typedef struct trained {
    const char *engine, *device, *variant;
    int64_t points, epochs;
    double median_ns;
    const char *results; /* JSON, or NULL */
} trained_t;

static case_result_t *plant_training(record_t *run, trained_t what) {
    char label[32];
    case_t spec = {.workload = mem_text("linreg_train"),
                   .engine = mem_text(what.engine),
                   .device = mem_text(what.device),
                   .variant = mem_text(what.variant),
                   .dtype = mem_text("f32")};
    case_add_param(&spec, "points", &(value_t){.kind = VALUE_INT, .integer = what.points});
    case_add_param(&spec, "epochs", &(value_t){.kind = VALUE_INT, .integer = what.epochs});
    spec.id = mem_format("linreg_train/%s/%s/points=%lld", case_engine_label(&spec, label),
                         what.variant, (long long)what.points);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    result.status = CASE_OK;
    result.results_json = mem_text(what.results);
    plant_phase(&result, "host_to_host", what.median_ns, SEED + run->n_cases);
    plant_phase(&result, strcmp(what.device, "cuda") == 0 ? "train_device" : "train",
                what.median_ns / 2, SEED + run->n_cases);
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases] = result;
    return &run->cases[run->n_cases++];
}

static const char FIT[] = "{\"w\":2.5,\"b\":1.0,\"test_loss\":0.25}";
static const char NEAR_FIT[] = "{\"w\":2.5000001,\"b\":1.0,\"test_loss\":0.25}";
static const char OTHER_ALGORITHM[] =
    "{\"algorithmic\":true,\"w\":2.5,\"b\":1.0,\"test_loss\":0.25}";

/* Fast on the GPU from 1000 points on; the other algorithm is faster still. */
static record_t planted(void) {
    record_t run = {.name = mem_text("planted")};
    static const int64_t POINTS[] = {1000, 5000000};
    for (size_t i = 0; i < 2; i++) {
        const int64_t n = POINTS[i];
        const double scale = i == 0 ? 1 : 20;
        plant_training(&run, (trained_t){"cuda", "cuda", "01_not_fused", n, 200, 800e3, FIT});
        plant_training(&run, (trained_t){"cuda", "cuda", "06_persistent", n, 200, 200e3, NEAR_FIT});
        plant_training(&run, (trained_t){"cuda", "cuda", "07_sums", n, 200, 10e3, OTHER_ALGORITHM});
        plant_training(&run, (trained_t){"pytorch", "cuda", "eager", n, 200, 1000e3, FIT});
        plant_training(&run, (trained_t){"cpu", "cpu", "ref", n, 200, i == 0 ? 50e3 : 1e8, FIT});
        plant_training(&run, (trained_t){"cpu", "cpu", "omp", n, 200, 100e3 * scale, FIT});
    }
    return run;
}

static char *section_text(comparison_sets_section_t *section, const record_t *run) {
    return printed_sets(section, run, "linreg_train");
}

static void sizes_are_those_of_the_workload(void **state) {
    (void)state;
    record_t run = planted();
    comparison_set_list_t sets = comparison_sets_of(&run, "linreg_train");
    assert_int_equal(sets.n, 2);
    const comparison_set_t *gpu = &sets.items[0];
    assert_string_equal(gpu->size_param, "points");
    assert_string_equal(gpu->key, "epochs=200, f32");
    assert_int_equal(gpu->n_rows, 2);
    assert_int_equal(gpu->rows[1].size, 5000000);
    comparison_set_list_free(&sets);
    char *text = section_text(training_findings, &run);
    assert_has(text, "  - 1 k points: CUDA is **5.0");
    assert_has(text, "  - 5 M points: CUDA is **4.99×");
    assert_has(text, "at both data-set sizes compared");
    assert_has_not(text, "atch");
    free(text);
    record_free(&run);
}

static void another_algorithm_wins_nothing(void **state) {
    (void)state;
    record_t run = planted();
    comparison_set_list_t sets = comparison_sets_of(&run, "linreg_train");
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(sets.items[0].rows[i].best->spec.variant, "06_persistent");
        assert_string_equal(sets.items[1].rows[i].best->spec.variant, i == 0 ? "ref" : "omp");
    }
    comparison_set_list_free(&sets);
    char *text = section_text(training_findings, &run);
    assert_has(text, "**Another algorithm with the same result**");
    assert_has(text, "07_sums (one pass over the points, then all epochs on five sums) takes");
    char *ladder = strstr(text, "**What each rung gains**");
    assert_non_null(ladder);
    *strstr(ladder, "\n- **") = '\0';
    assert_has(ladder, "at 5 M points, `train_device` per epoch:\n  - 01_not_fused 2.00 µs.\n  - "
                       "06_persistent 501 ns, **4.00× (3.95–4.04)** as fast");
    assert_has_not(ladder, "07");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "| 07_sums *(algorithmic)*");
    assert_has(text, " in total |");
    assert_has_not(text, "| 07_sums |"); /* unmarked, as a best would be */
    free(text);
    record_free(&run);
}

static void two_values_are_marked_in_the_ladder(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_tables, &run);
    assert_has_not(text, "‡");
    free(text);
    assert_string_equal(run.cases[0].phases[1].name, "train_device");
    run.cases[0].phases[1].bimodal = (bimodal_t){true, 300e3, 500e3, 0.5};
    text = section_text(training_tables, &run);
    assert_has(strstr(text, "#### The ladder"), "| 01_not_fused            |        2.00 µs ‡ |");
    free(text);
    record_free(&run);
}

static void the_cpu_is_compared_with_and_named(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_findings, &run);
    assert_has(text, "**Against the CPU**, the fastest CUDA case against the fastest C case:\n  - "
                     "CUDA is faster at 1 of the 2 data-set sizes compared, C at 1.");
    assert_has(text, "between 1 k points (C faster) and 5 M points (CUDA faster).");
    assert_has(text, "µs (ref): C is **4.0"); /* the reference is a contender too */
    assert_has(text, "CUDA is **10.0×");
    free(text);
    record_free(&run);
}

static void fits_are_held_against_the_oracle(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_findings, &run);
    assert_has(text, "over the 10 cases with a float64 reference of the same size");
    assert_has(text, "|w − w64| is at most 1.0e-07 (cuda 06_persistent, 1 k points)");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "| cpu ref (reference)");
    assert_has(text, "| 2.500000100 |     1.0e-07 |     1.0e-07 | 1.000000000 |     0.0e+00 |");
    free(text);
    record_free(&run);
}

/* 4 M training points at 8 bytes, at 4 TB/s and at 32 TB/s. */
static void floor_is_told_with_its_arithmetic(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_findings, &run);
    assert_has_not(text, "Lower bound"); /* of a run that measured no rate */
    free(text);
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 4e12);
    environment_set_number(&run.environment, "measured.l2_read_bytes_per_s", 32e12);
    environment_set_number(&run.environment, "gpu.l2_bytes", 60e6);
    text = section_text(training_findings, &run);
    assert_has(text, "At 5 M points: 4000000 training points × 8 B = 32.0 MB; 32.0 MB / 4.00 TB/s");
    assert_has(text, "= 8.00 µs; they fit into the L2 (60.0 MB)");
    assert_has(text, "= 1.00 µs.\n  - The closest above it is 01_not_fused with 2.00 µs");
    assert_has(text, "  - Rungs below it do not read all data again: 06_persistent");
    free(text);
    environment_set_number(&run.environment, "gpu.l2_bytes", 30e6);
    text = section_text(training_findings, &run);
    assert_has_not(text, "they fit");
    free(text);
    record_free(&run);
}

static void plant_operation(case_result_t *result, const char *name, double ns) {
    phase_t *phase = result_add_phase(result, name, CLOCK_DEVICE);
    phase_add_round(phase, &ns, 1);
    phase_summarise(phase);
}

/* All of them in one go are no part of their sum. */
static void operations_have_a_table_of_their_own(void **state) {
    (void)state;
    record_t run = {.name = mem_text("planted")};
    static const struct {
        const char *name;
        double ns;
    } PARTS[] = {{"forward", 10e3}, {"loss", 20e3}, {"backward", 30e3}, {"update", 40e3}};
    case_result_t *parts =
        plant_training(&run, (trained_t){"cuda", "cuda", "01_not_fused", 5000000, 1, 100e3, FIT});
    for (size_t i = 0; i < 4; i++)
        plant_operation(parts, PARTS[i].name, PARTS[i].ns);
    case_result_t *whole =
        plant_training(&run, (trained_t){"cuda", "cuda", "02_fused", 5000000, 1, 50e3, FIT});
    plant_operation(whole, "fused", 50e3);
    case_result_t *both =
        plant_training(&run, (trained_t){"pytorch", "cuda", "compile", 5000000, 1, 90e3, FIT});
    for (size_t i = 0; i < 4; i++)
        plant_operation(both, PARTS[i].name, PARTS[i].ns + 1e3);
    plant_operation(both, "fused", 60e3);
    case_result_t *graph =
        plant_training(&run, (trained_t){"pytorch", "cuda", "graph", 5000000, 1, 80e3, FIT});
    plant_operation(graph, "fused", 70e3);
    char *text = section_text(training_findings, &run);
    assert_has(text, "CUDA 01_not_fused: forward 10.0 µs, loss 20.0 µs, backward 30.0 µs, "
                     "update 40.0 µs, sum 100 µs.\n  - CUDA 02_fused: fused 50.0 µs.\n  - "
                     "PyTorch compile: forward 11.0 µs, loss 21.0 µs, backward 31.0 µs, update "
                     "41.0 µs, sum 104 µs, fused 60.0 µs.\n  - PyTorch graph: fused 70.0 µs.\n");
    assert_has_not(text, "each rung");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "10.0 µs | 20.0 µs |  30.0 µs | 40.0 µs | 100 µs |       – |");
    assert_has(text, "41.0 µs | 104 µs | 60.0 µs |");
    assert_has(text, "|       – |      – | 70.0 µs |");
    assert_has_not(text, "By size");
    free(text);
    record_free(&run);
}

static void one_device_alone_is_enough(void **state) {
    (void)state;
    record_t run = {.name = mem_text("planted")};
    plant_training(&run, (trained_t){"cpu", "cpu", "omp", 5000, 200, 100e3, FIT});
    plant_training(&run, (trained_t){"pytorch", "cpu", "eager", 5000, 200, 300e3, FIT});
    char *text = section_text(training_findings, &run);
    assert_has(text, "**Training on the CPU**");
    assert_has(text, "C is **3.0");
    assert_has_not(text, "GPU");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "#### By size, on the CPU");
    assert_has_not(text, "The ladder");
    free(text);
    record_free(&run);
}

/* A workload's own charts are in its section, size before ladder, and not among the others. */
static void charts_stand_with_their_workload(void **state) {
    (void)state;
    static const char *const NAMES[] = {"linreg_train_ladder.svg", "linreg_train_size.svg",
                                        "total.svg"};
    error_t err = ERROR_INIT;
    char *root;
    assert_int_equal(fs_temporary_folder(&root, &err), STATUS_OK);
    char *plots = mem_format("%s/plots/planted", root);
    assert_int_equal(fs_make_folders(plots, &err), STATUS_OK);
    for (size_t i = 0; i < 3; i++) {
        char *path = fs_join(plots, NAMES[i]);
        assert_int_equal(fs_write_atomic(path, "<svg/>", 6, &err), STATUS_OK);
        free(path);
    }
    record_t run = {.name = (char[]){"planted"}, .folder = (char[]){"planted"}};
    char *own, *others;
    size_t size;
    arena_t texts = {0};
    report_t report = {.texts = &texts, .run = &run, .whole = &run, .root = root, .folder = root};
    report.out = open_memstream(&own, &size);
    section_charts(&report, "linreg_train");
    fclose(report.out);
    report.out = open_memstream(&others, &size);
    section_charts(&report, "mlp_infer"); /* its charts have no workload in their names */
    fclose(report.out);
    arena_free(&texts);
    assert_string_equal(own, "## Charts\n\n"
                             "![linreg_train_size: every contender's time against "
                             "size](plots/planted/linreg_train_size.svg)\n\n"
                             "![linreg_train_ladder: compute time of rungs, and the "
                             "limits](plots/planted/linreg_train_ladder.svg)\n\n");
    assert_string_equal(others, "## Charts\n\n![total: each engine, as in the study and at its "
                                "best](plots/planted/total.svg)\n\n");
    free(own);
    free(others);
    free(plots);
    assert_int_equal(fs_remove_tree(root, &err), STATUS_OK);
    free(root);
}

static void another_algorithm_is_told_by_its_results(void **state) {
    (void)state;
    static const struct {
        const char *results;
        bool algorithmic;
    } CASES[] = {{OTHER_ALGORITHM, true},
                 {FIT, false},
                 {NULL, false},
                 {"{\"algorithmic\":false}", false},
                 {"{\"note\":\"algorithmic\"}", false},
                 {"{ \"algorithmic\": true }", true}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char *text = CASES[i].results != NULL ? mem_text(CASES[i].results) : NULL;
        case_result_t result = {.results_json = text};
        assert_int_equal(result_is_algorithmic(&result), CASES[i].algorithmic);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_of_the_workload),
        cmocka_unit_test(another_algorithm_wins_nothing),
        cmocka_unit_test(two_values_are_marked_in_the_ladder),
        cmocka_unit_test(the_cpu_is_compared_with_and_named),
        cmocka_unit_test(fits_are_held_against_the_oracle),
        cmocka_unit_test(floor_is_told_with_its_arithmetic),
        cmocka_unit_test(operations_have_a_table_of_their_own),
        cmocka_unit_test(one_device_alone_is_enough),
        cmocka_unit_test(charts_stand_with_their_workload),
        cmocka_unit_test(another_algorithm_is_told_by_its_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
