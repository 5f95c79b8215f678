/* Charts of trainings by whole epochs and of their allocators, and what they are read from. */
#include "analysis/learning.h"
#include "checks.h"
#include "made_case.h"
#include "planted_plot.h"

typedef struct training {
    const char *engine, *variant, *allocator; /* allocator: NULL for a worker's own */
    int width;
    double train_ns;
    case_status_t status;
    const char *results; /* JSON, or NULL */
} training_t;

static case_result_t result_of(const training_t *training) {
    const bool cuda = strcmp(training->engine, "cuda") == 0;
    const bool other = training->allocator != NULL && strcmp(training->allocator, "caching") != 0;
    AUTO(case_free)
    case_t spec = made_case("mlp_train", training->engine, "cuda", training->variant);
    spec.id = mem_format("mlp_train/%s%s/%s/width=%d%s%s", training->engine, cuda ? "" : "-cuda",
                         training->variant, training->width, other ? "/allocator=" : "",
                         other ? training->allocator : "");
    add_integer(&spec, "width", training->width);
    add_integer(&spec, "seed", 1);
    if (training->allocator != NULL)
        case_add_technique(&spec, "allocator", training->allocator);
    case_result_t result;
    result_init(&result, &spec);
    result.status = training->status;
    if (training->train_ns > 0) {
        add_phase(&result, "train", training->train_ns);
        add_phase(&result, "total", 1.25 * training->train_ns);
    }
    if (training->results != NULL)
        result.results_json = mem_text(training->results);
    return result;
}

static world_t *load_trainings(world_t *world, const training_t *trainings, size_t n) {
    write_header(world->run, "Some GPU");
    for (size_t i = 0; i < n; i++) {
        AUTO(result_free) case_result_t result = result_of(&trainings[i]);
        append_result(world->run, &result);
    }
    return load_run(world);
}

#define LOAD(world, ...)                                                                           \
    load_trainings(world, (const training_t[]){__VA_ARGS__},                                       \
                   sizeof((const training_t[]){__VA_ARGS__}) / sizeof(training_t))
#define SPLIT(kernels, driver, epoch)                                                              \
    "{\"split\":{\"kernels_ns\":" #kernels ",\"driver_ns\":" #driver ",\"epoch_ns\":" #epoch "}}"
#define EPOCHS(first, second)                                                                      \
    "{\"epochs\":[{\"epoch\":1,\"driver_calls\":" #first                                           \
    ",\"accuracy\":0.9,\"validation_loss\":0.5},{\"epoch\":2,\"driver_calls\":" #second            \
    ",\"accuracy\":0.95,\"validation_loss\":0.25}]}"

/* ---- reading --------------------------------------------------------------------------------- */

static void assert_calls(const char *results, case_status_t status, double first, double later) {
    double calls[2];
    case_result_t result =
        result_of(&(training_t){"cuda", "03_registers", "caching", 784, 1e6, status, results});
    driver_calls_of(&result, calls);
    assert_true(isnan(first) ? isnan(calls[0]) : calls[0] == first);
    assert_true(isnan(later) ? isnan(calls[1]) : calls[1] == later);
    result_free(&result);
}

static void driver_calls_are_those_of_all_epochs(void **state) {
    assert_calls(EPOCHS(7, 0), CASE_OK, 7, 0);
    assert_calls(EPOCHS(7, null), CASE_OK, 7, NAN); /* not told is not zero */
    /* The most of a later one, not their sum. */
    assert_calls("{\"epochs\":[{\"epoch\":1,\"driver_calls\":9},{\"epoch\":2,\"driver_calls\":5},"
                 "{\"epoch\":3,\"driver_calls\":4}]}",
                 CASE_OK, 9, 5);
    assert_calls("{\"epochs\":[{\"epoch\":1,\"driver_calls\":9},{\"epoch\":2},"
                 "{\"epoch\":3,\"driver_calls\":4}]}",
                 CASE_OK, 9, NAN);
    assert_calls(EPOCHS(7, 0), CASE_WRONG, NAN, NAN);
    assert_calls("{\"epochs\":7}", CASE_OK, NAN, NAN);
    assert_calls(NULL, CASE_OK, NAN, NAN);
}

static void assert_split(const char *results, bool valid, double gaps_ns) {
    time_split_t split;
    case_result_t result =
        result_of(&(training_t){"cuda", "03_registers", "caching", 784, 1e6, CASE_OK, results});
    assert_int_equal(time_split_of(&result, &split), valid);
    assert_true(!valid || split.gaps_ns == gaps_ns);
    result_free(&result);
}

static void a_split_must_add_up(void **state) {
    assert_split(SPLIT(70, 20, 100), true, 10);
    assert_split(SPLIT(80, 20, 100), true, 0);
    assert_split(SPLIT(90, 20, 100), false, 0);
    assert_split(SPLIT(0, 0, 0), false, 0);
    assert_split("{\"split\":{\"kernels_ns\":1,\"epoch_ns\":2}}", false, 0);
    assert_split("{}", false, 0);
}

/* ---- charts ---------------------------------------------------------------------------------- */

static void splits_are_stacked_and_say_how_busy(void **state) {
    world_t *world =
        LOAD(*state, {"cuda", "03_registers", "caching", 784, 40e6, CASE_OK, SPLIT(36e6, 0, 40e6)},
             {"cuda", "03_registers", "malloc", 784, 200e6, CASE_OK, SPLIT(40e6, 120e6, 200e6)},
             {"cuda", "04_graph", "caching", 784, 30e6, CASE_OK, NULL});
    const char *table = drawn(world, chart_allocators);
    assert_has(table, "0 16 \"CUDA 03_registers\"\n0 210 \"caching\"\n1 16 \"\"\n1 210 \"malloc\"");
    assert_has(table, "0 0 36 58\n0 36 40 60\n1 0 40 58\n1 40 160 59\n1 160 200 60\n");
    assert_has(table, "0 40 \"40.0 ms\"\n1 200 \"200 ms\"\n");
    assert_has(table, "0 0 90 58\n0 90 100 60\n1 0 20 58\n1 20 80 59\n1 80 100 60\n");
    assert_has(table, "\"GPU busy 90 %\"");
    assert_has(table, "\"GPU busy 20 %\"");
    assert_lacks(table, "04_graph"); /* it was not watched */
    assert_true(text_list_has(&world->chart.numbers, "logarithmic='0 0'"));
}

static void what_was_not_recorded_is_not_drawn(void **state) {
    world_t *world = LOAD(*state, {"cuda", "03_registers", "caching", 784, 40e6, CASE_OK, "{}"});
    not_drawn(world, chart_allocators, "no case recorded the time split of an epoch");
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
