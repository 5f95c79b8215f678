/* The report on a workload that trains, from runs whose truth is planted. */
#include "checks.h"
#include "made_case.h"
#include "planted_run.h"
#include "printed_section.h"

enum { SEED = 11 };

typedef struct trained {
    const char *engine, *device, *variant;
    int64_t points, epochs;
    double median_ns;
    const char *results; /* JSON, or NULL */
} trained_t;

static case_result_t *plant_training(record_t *run, trained_t what) {
    char label[32];
    AUTO(case_free) case_t spec = made_case("linreg_train", what.engine, what.device, what.variant);
    add_integer(&spec, "points", what.points);
    add_integer(&spec, "epochs", what.epochs);
    spec.id = mem_format("linreg_train/%s/%s/points=%lld", case_engine_label(&spec, label),
                         what.variant, (long long)what.points);
    case_result_t result;
    result_init(&result, &spec);
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

static char *page_of(const record_t *run) {
    return printed_page(run, "linreg_train");
}

static void sizes_are_those_of_the_workload(void **state) {
    AUTO(record_free) record_t run = planted();
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(&run, "linreg_train");
    assert_int_equal(sets.n, 2);
    const comparison_set_t *gpu = &sets.items[0];
    assert_string_equal(gpu->size_param, "points");
    assert_string_equal(gpu->key, "epochs=200, f32");
    assert_string_equal(gpu->label, "f32");
    assert_string_equal(sets.common, "epochs=200");
    assert_int_equal(gpu->n_rows, 2);
    assert_int_equal(gpu->rows[1].size, 5000000);
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "- All cases: epochs=200.\n");
    assert_has(text, "**CUDA 4.99× (4.94–5.05)** at 5 M points");
    assert_has(text, "faster at 2 of 2 sizes");
    assert_lacks(text, "atch");
}

static void another_algorithm_wins_nothing(void **state) {
    AUTO(record_free) record_t run = planted();
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(&run, "linreg_train");
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(sets.items[0].rows[i].best->spec.variant, "06_persistent");
        assert_string_equal(sets.items[1].rows[i].best->spec.variant, i == 0 ? "ref" : "omp");
    }
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "| CUDA 07_sums *(algorithmic)* |");
    assert_lacks(text, "07_sums |"); /* unmarked, as a best would be */
}

static void two_values_are_marked_in_the_ladder(void **state) {
    AUTO(record_free) record_t run = planted();
    AUTO_FREE char *text = page_of(&run);
    assert_lacks(text, " µs ‡ ");
    free(text);
    assert_string_equal(run.cases[0].phases[1].name, "train_device");
    run.cases[0].phases[1].bimodal = (bimodal_t){true, 300e3, 500e3, 0.5};
    text = page_of(&run);
    assert_has(strstr(text, "### The ladder"), " 400 µs ‡ |");
}

static void the_cpu_is_compared_with_and_named(void **state) {
    AUTO(record_free) record_t run = planted();
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, " C omp, 10.0");
    assert_has(text, " C ref, 0.2"); /* the reference is a contender too */
}

static void plant_operation(case_result_t *result, const char *name, double ns) {
    phase_t *phase = result_add_phase(result, name, CLOCK_DEVICE);
    phase_add_round(phase, &ns, 1);
    phase_summarise(phase);
}

/* All of them in one go are no part of their sum. */
static void operations_have_a_table_of_their_own(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
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
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "10.0 µs | 20.0 µs |  30.0 µs | 40.0 µs |       – | 100 µs |");
    assert_has(text, "41.0 µs | 60.0 µs | 104 µs |");
    assert_has(text, "|       – | 70.0 µs |      – |");
    assert_lacks(text, "By size");
    assert_lacks(text, "- **");
}

static void one_device_alone_is_enough(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    plant_training(&run, (trained_t){"cpu", "cpu", "omp", 5000, 200, 100e3, FIT});
    plant_training(&run, (trained_t){"pytorch", "cpu", "eager", 5000, 200, 300e3, FIT});
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "- **f32, on the CPU, `host_to_host`**: **C 3.0");
    assert_lacks(text, "GPU");
}

static void another_algorithm_is_told_by_its_results(void **state) {
    static const struct {
        const char *results;
        bool algorithmic;
    } CASES[] = {{OTHER_ALGORITHM, true},
                 {FIT, false},
                 {NULL, false},
                 {"{\"algorithmic\":false}", false},
                 {"{\"note\":\"algorithmic\"}", false},
                 {"{ \"algorithmic\": true }", true}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO_FREE char *text = CASES[i].results != NULL ? mem_text(CASES[i].results) : NULL;
        case_result_t result = {.results_json = text};
        assert_int_equal(result_is_algorithmic(&result), CASES[i].algorithmic);
    }
}

#include "run_tests.h"
