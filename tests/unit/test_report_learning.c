/* What the report says of trainings of a network: who is compared by which phase, what a step has
 * to move, and whether all learn the same. */
#include "planted_run.h"
#include "printed_section.h"
#include "report/report.h"
#include "report/training/training.h"
#include "report_text.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEED = 5 };

typedef struct learnt {
    const char *engine, *variant;
    int64_t hidden, seed;
    double step_ns, accuracy;
    const char *loss;    /* of step 10 */
    const char *weights; /* NULL: not recorded */
} learnt_t;

static case_result_t *plant_learnt(record_t *run, learnt_t what) {
    const bool pytorch = strcmp(what.engine, "pytorch") == 0;
    case_t spec = {.workload = mem_text("mnist_train"),
                   .engine = mem_text(what.engine),
                   .device = mem_text("cuda"),
                   .variant = mem_text(what.variant),
                   .dtype = mem_text("f16")};
    case_add_param(&spec, "hidden", &(value_t){.kind = VALUE_INT, .integer = what.hidden});
    case_add_param(&spec, "steps", &(value_t){.kind = VALUE_INT, .integer = 5000});
    case_add_param(&spec, "seed", &(value_t){.kind = VALUE_INT, .integer = what.seed});
    spec.id =
        mem_format("mnist_train/%s%s/%s/hidden=%lld/seed=%lld", what.engine, pytorch ? "-cuda" : "",
                   what.variant, (long long)what.hidden, (long long)what.seed);
    case_result_t result;
    result_init(&result, &spec);
    case_free(&spec);
    result.status = CASE_OK;
    result.results_json =
        mem_format("{\"loss\":[[0,2.5],[10,%s]],\"accuracy\":%.4f,\"dataset\":\"mnist\"%s%s%s}",
                   what.loss, what.accuracy, what.weights != NULL ? ",\"weights\":\"" : "",
                   what.weights != NULL ? what.weights : "", what.weights != NULL ? "\"" : "");
    plant_phase(&result, "step", what.step_ns, SEED + run->n_cases);
    plant_phase(&result, "step_device", what.step_ns, SEED + run->n_cases);
    plant_phase(&result, "train_device", 200 * what.step_ns, SEED + run->n_cases);
    plant_phase(&result, "total", 1e9, SEED + run->n_cases);
    result.before = (check_t){.done = true, .ok = true, .rel_l2 = 1e-3, .max_abs = 1e-3};
    result.after = result.before;
    mem_grow(&run->cases, run->n_cases, &run->cases_capacity, sizeof *run->cases);
    run->cases[run->n_cases] = result;
    return &run->cases[run->n_cases++];
}

static record_t planted(void) {
    static const learnt_t LEARNT[] = {
        {"cuda", "04_streaming", 128, 1, 15e3, 0.9, "1.501", NULL},
        {"cuda", "05_persistent", 128, 1, 8e3, 0.902, "1.5", NULL},
        {"cuda", "05_persistent", 128, 2, 8e3, 0.915, "1.5", NULL},
        {"cuda", "04_streaming", 8192, 1, 300e3, 0.95, "0.5", NULL},
        {"pytorch", "eager", 128, 1, 800e3, 0.97, "1.75", "f32"},
        {"pytorch", "graph", 128, 1, 80e3, 0.901, "1.5", "f16"},
        {"pytorch", "graph", 128, 2, 80e3, 0.912, "1.5", "f16"},
        {"pytorch", "graph", 8192, 1, 900e3, 0.951, "0.5", "f16"},
    };
    record_t run = {.name = mem_text("planted")};
    for (size_t i = 0; i < sizeof LEARNT / sizeof *LEARNT; i++)
        plant_learnt(&run, LEARNT[i]);
    return run;
}

static char *section_text(comparison_sets_section_t *section, const record_t *run) {
    char *text = printed_sets(section, run, "mnist_train");
    assert_tables_are_whole(text);
    return text;
}

static void contenders_are_compared_by_the_step(void **state) {
    (void)state;
    record_t run = planted();
    comparison_set_list_t sets = comparison_sets_of(&run, "mnist_train");
    assert_string_equal(sets.items[0].phase, "step");
    comparison_set_list_free(&sets);
    char *text = section_text(training_findings, &run);
    assert_has(text, "- Width 128: CUDA is **10.0");
    assert_has(text, "(05_persistent) against 80.2 µs (graph)");
    assert_has(text, "- Width 8192: CUDA is **2.99×");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "Medians of `step` of one step.");
    assert_has(text, "read all weights forward, read them backward and write them");
    /* A sample has 200 of the 5000 steps. */
    assert_has(text, "| 04_streaming  |   15.0 µs |     300 µs |");
    free(text);
    record_free(&run);
}

/* They are told with the first one's. */
static void other_seeds_have_no_sections(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_findings, &run);
    assert_has(text, "### mnist_train steps=5000, seed=1, f16\n");
    assert_has_not(text, "seed=2");
    free(text);
    record_free(&run);
}

static void accuracies_are_compared_among_equal_weights(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_findings, &run);
    assert_has(text, "contenders with f16 weights agree in accuracy on the test images");
    assert_has(text, "within **0.30 percentage points** at each of the 3 pairs of width and seed");
    assert_has(text, "(largest difference at width 128, seed 2: pytorch-cuda graph 91.20 %, cuda "
                     "05_persistent 91.50 %)");
    assert_has(text,
               "pytorch-cuda eager multiplies in that precision but keeps more precise weights");
    assert_has(text, "Their accuracies, 97.00 % to 97.00 %, are not compared with those above.");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "| cuda 05_persistent | f16     |    1 |     90.20 %, 0 |          – |");
    assert_has(text, "| cuda 05_persistent | f16     |    2 |     91.50 %, 0 |          – |");
    assert_has(text, "| pytorch-cuda eager | f32     |    1 |  97.00 %, 0.25 |          – |");
    assert_has(text, "| pytorch-cuda graph | f16     |    1 |        90.10 % |    95.10 % |");
    free(text);
    record_free(&run);
}

/* A worker that does not tell may keep anything. */
static void weights_that_are_not_told_are_not_compared(void **state) {
    (void)state;
    record_t run = planted();
    plant_learnt(&run, (learnt_t){"pytorch", "compile", 128, 1, 9e5, 0.2, "1.5", NULL});
    char *text = section_text(training_findings, &run);
    assert_has(text, "within **0.30 percentage points**");
    assert_has(text, "pytorch-cuda eager, pytorch-cuda compile multiply");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "| pytorch-cuda compile | not recorded |");
    free(text);
    record_free(&run);
}

static void losses_are_held_against_pytorchs_spread(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_findings, &run);
    assert_has(text, "the largest difference from pytorch-cuda graph at the same width and seed is "
                     "**0.001** (cuda 04_streaming, width 128, seed 1) among our contenders");
    assert_has(text, "  - Rivals with other weights differ from it by up to **0.25** "
                     "(pytorch-cuda eager, width 128, seed 1).");
    free(text);
    plant_learnt(&run, (learnt_t){"pytorch", "compile_graph", 128, 1, 9e5, 0.9, "1.7", "f16"});
    text = section_text(training_findings, &run);
    assert_has(text, "  - The rivals' other cases with f16 weights differ from it by up to");
    assert_has(text, "(pytorch-cuda compile_graph, width 128, seed 1): ours are inside that "
                     "spread.\n  - Rivals with other weights differ from it by up to **0.25**");
    free(text);
    plant_learnt(&run, (learnt_t){"cuda", "06_off", 128, 1, 9e5, 0.9, "1.9", NULL});
    text = section_text(training_findings, &run);
    assert_has(text, "ours are **not inside** that spread.\n");
    free(text);
    record_free(&run);
}

static void repeated_checks_are_counted(void **state) {
    (void)state;
    record_t run = planted();
    run.cases[4].after.rel_l2 *= 2; /* other inputs than before timing: nothing is to repeat */
    run.cases[5].before.varies = true;
    char *text = section_text(training_findings, &run);
    assert_has(text,
               "the check before timing, in up to 6 processes from the same weights, found exactly "
               "the same error in 4 of 4 of our cases and in 3 of 4 of the rivals'.");
    free(text);
    record_free(&run);
}

static void an_accuracy_far_from_the_others_is_told(void **state) {
    (void)state;
    record_t run = planted();
    plant_learnt(&run, (learnt_t){"jax", "scan", 128, 1, 20e3, 0.95, "1.4", "f16"});
    char *text = section_text(training_findings, &run);
    assert_has(text, "- **Not the same accuracy:** contenders with f16 weights differ in accuracy "
                     "on the test images by up to **5.00 percentage points** at the 3 pairs of "
                     "width and seed");
    assert_has_not(text, "Same accuracy");
    free(text);
    record_free(&run);
}

static void made_up_images_are_named(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_findings, &run);
    assert_has(text, "- **Data set:** dataset=mnist.\n");
    free(text);
    free(run.cases[0].results_json);
    run.cases[0].results_json = mem_text("{\"accuracy\":0.9,\"dataset\":\"synthetic\"}");
    text = section_text(training_findings, &run);
    assert_has(text, "dataset=synthetic, mnist. **Synthetic images");
    free(text);
    record_free(&run);
}

/* W is 281 MB, of which an L2 of 50 MB keeps some; 269 kB are kept whole. */
static void the_floor_is_told_with_and_without_the_l2(void **state) {
    (void)state;
    record_t run = planted();
    char *text = section_text(training_findings, &run);
    assert_has_not(text, "3·W"); /* of a run that measured no rate */
    free(text);
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 4e12);
    environment_set_number(&run.environment, "measured.l2_read_bytes_per_s", 10e12);
    environment_set_number(&run.environment, "gpu.l2_bytes", 50e6);
    text = section_text(training_findings, &run);
    assert_has(text, "At width 8192, 04_streaming takes 300 µs: 3 × 281 MB / 4.00 TB/s = 211 µs "
                     "(70 % reached); if the L2 (50.0 MB) kept as many weights as fit, 3 × (281 MB "
                     "− 50.0 MB) / 4.00 TB/s = 174 µs (58 % reached).");
    assert_has(text, "At width 128, 05_persistent takes 7.99 µs: all weights fit into the L2 "
                     "(50.0 MB), which allows 3 × 269 kB / 10.0 TB/s = 80.6 ns (1 % reached).");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "|   8192 | 281 MB |      211 µs |                 174 µs |    300 µs | "
                     "04_streaming  |           70 % |               58 % |");
    free(text);
    record_free(&run);
}

/* Float32 weights of all contenders: none is left out, and no float16 weights are beside them. */
static void float32_weights_have_a_page_of_their_own(void **state) {
    (void)state;
    static const learnt_t LEARNT[] = {
        {"cuda", "06_on_chip", 128, 1, 9e3, 0.96, "1.4", NULL},
        {"pytorch", "eager", 128, 1, 800e3, 0.97, "1.4", "f32"},
        {"pytorch", "graph", 128, 1, 90e3, 0.965, "1.4", "f32"},
    };
    record_t run = planted();
    for (size_t i = 0; i < sizeof LEARNT / sizeof *LEARNT; i++) {
        case_result_t *result = plant_learnt(&run, LEARNT[i]);
        free(result->spec.dtype);
        result->spec.dtype = mem_text("mixed");
    }
    environment_set_number(&run.environment, "measured.copy_bytes_per_s", 4e12);
    environment_set_number(&run.environment, "measured.l2_read_bytes_per_s", 10e12);
    environment_set_number(&run.environment, "gpu.l2_bytes", 50e6);
    char *text = section_text(training_findings, &run);
    assert_has(
        text,
        "contenders with f32 weights agree in accuracy on the test images within **1.00 percentage "
        "points** at the one pair of width and seed");
    assert_has(text,
               "contenders with f16 weights agree in accuracy on the test images within **0.30 ");
    assert_has(text,
               "- **Lower bound 2.5·W**, W being the bytes of all weights: a step reads half of "
               "them forward");
    assert_has(text, "- **Lower bound 3·W**, W being the bytes of all weights: a step reads them");
    free(text);
    text = section_text(training_tables, &run);
    assert_has(text, "| of 2.5·W in DRAM |");
    assert_has(text, "| of 3·W in DRAM |");
    free(text);
    record_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contenders_are_compared_by_the_step),
        cmocka_unit_test(other_seeds_have_no_sections),
        cmocka_unit_test(accuracies_are_compared_among_equal_weights),
        cmocka_unit_test(weights_that_are_not_told_are_not_compared),
        cmocka_unit_test(losses_are_held_against_pytorchs_spread),
        cmocka_unit_test(repeated_checks_are_counted),
        cmocka_unit_test(an_accuracy_far_from_the_others_is_told),
        cmocka_unit_test(made_up_images_are_named),
        cmocka_unit_test(float32_weights_have_a_page_of_their_own),
        cmocka_unit_test(the_floor_is_told_with_and_without_the_l2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
