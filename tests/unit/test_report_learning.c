/* What the report says of trainings of a network: who is compared by which phase, what a step has
 * to move, and whether all learn the same. */
#include "checks.h"
#include "made_case.h"
#include "planted_run.h"
#include "printed_section.h"

#include <stdio.h>

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
    AUTO(case_free) case_t spec = made_case("mnist_train", what.engine, "cuda", what.variant);
    set_text(&spec.dtype, "f16");
    add_integer(&spec, "hidden", what.hidden);
    add_integer(&spec, "steps", 5000);
    if (what.seed != 0)
        add_integer(&spec, "seed", what.seed);
    spec.id =
        mem_format("mnist_train/%s%s/%s/hidden=%lld/seed=%lld", what.engine, pytorch ? "-cuda" : "",
                   what.variant, (long long)what.hidden, (long long)what.seed);
    case_result_t result;
    result_init(&result, &spec);
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
    for (size_t i = 0; i < COUNT_OF(LEARNT); i++)
        plant_learnt(&run, LEARNT[i]);
    return run;
}

static char *page_of(const record_t *run) {
    return printed_page(run, "mnist_train");
}

static void contenders_are_compared_by_the_step(void **state) {
    AUTO(record_free) record_t run = planted();
    AUTO_FREE char *text = page_of(&run);
    assert_has(text,
               "- All cases: steps=5000.\n- **seed=1, f16, on the GPU, `step`**: **CUDA 2.99×");
    assert_has(text, "(CUDA 04_streaming) against 899 µs (PyTorch graph); faster at 2 of 2 sizes");
    assert_has(text, "| CUDA 04_streaming  |   15.0 µs |     300 µs |"); /* a step of the ladder */
}

static size_t count_of(const char *text, const char *part) {
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

/* They are told with the first one's. */
static void other_seeds_have_no_sections(void **state) {
    AUTO(record_free) record_t run = planted();
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "seed=1, f16, on the GPU, `step`");
    assert_int_equal(count_of(text, "accuracy**, f16: with f16 weights"), 1);
}

static void accuracies_are_compared_among_equal_weights(void **state) {
    AUTO(record_free) record_t run = planted();
    AUTO_FREE char *text = page_of(&run);
    assert_has(
        text, "- **Same accuracy**, f16: with f16 weights, contenders are within **0.30 percentage "
              "points** on the test data, with equal size and seed (pairs: 3); the widest "
              "at width 128, seed 2: PyTorch graph 91.20 %, CUDA 05_persistent 91.50 %.\n");
    assert_has(text, "away: PyTorch eager; their accuracies, 97.00 % to 97.00 %, are not compared");
}

static void equal_accuracies_are_those_of_two_contenders(void **state) {
    (void)state;
    AUTO(record_free) record_t run = {.name = mem_text("equal")};
    plant_learnt(&run, (learnt_t){"cuda", "04_streaming", 128, 0, 15e3, 0.9, "1.5", NULL});
    plant_learnt(&run, (learnt_t){"pytorch", "graph", 128, 0, 80e3, 0.9, "1.5", "f16"});
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "the widest at width 128: CUDA 04_streaming 90.00 %, PyTorch graph 90.00 %.");
}

/* A worker that does not tell may keep anything. */
static void weights_that_are_not_told_are_not_compared(void **state) {
    AUTO(record_free) record_t run = planted();
    plant_learnt(&run, (learnt_t){"pytorch", "compile", 128, 1, 9e5, 0.2, "1.5", NULL});
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "within **0.30 percentage points**");
    assert_has(text, "away: PyTorch eager, PyTorch compile; their");
}

static void repeated_checks_are_counted(void **state) {
    AUTO(record_free) record_t run = planted();
    run.cases[4].after.rel_l2 *= 2; /* other inputs than before timing: nothing is to repeat */
    run.cases[5].before.varies = true;
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "| processes |");
    assert_has(text, " differ "); /* of that rival */
    assert_has(text, " equal ");
}

static void an_accuracy_far_from_the_others_is_told(void **state) {
    AUTO(record_free) record_t run = planted();
    plant_learnt(&run, (learnt_t){"jax", "scan", 128, 1, 20e3, 0.95, "1.4", "f16"});
    AUTO_FREE char *text = page_of(&run);
    assert_has(text,
               "- **Not the same accuracy**, f16: with f16 weights, contenders are within **5.00 ");
    assert_lacks(text, "Same accuracy");
}

static void made_up_images_are_named(void **state) {
    AUTO(record_free) record_t run = planted();
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "- Data set: dataset=mnist.\n");
    free(text);
    set_text(&run.cases[0].results_json, "{\"accuracy\":0.9,\"dataset\":\"synthetic\"}");
    text = page_of(&run);
    assert_has(text, "dataset=synthetic, mnist. **Synthetic**: ");
}

/* Float32 weights of all contenders: none is left out, and no float16 weights are beside them. */
static void float32_weights_are_compared_apart(void **state) {
    static const learnt_t LEARNT[] = {
        {"cuda", "06_on_chip", 128, 1, 9e3, 0.96, "1.4", NULL},
        {"pytorch", "eager", 128, 1, 800e3, 0.97, "1.4", "f32"},
        {"pytorch", "graph", 128, 1, 90e3, 0.965, "1.4", "f32"},
    };
    AUTO(record_free) record_t run = planted();
    for (size_t i = 0; i < COUNT_OF(LEARNT); i++) {
        case_result_t *result = plant_learnt(&run, LEARNT[i]);
        set_text(&result->spec.dtype, "mixed");
    }
    AUTO_FREE char *text = page_of(&run);
    assert_has(text, "with f32 weights, contenders are within **1.00 percentage points**");
    assert_has(text, "with f16 weights, contenders are within **0.30 percentage points**");
}

#include "run_tests.h"
