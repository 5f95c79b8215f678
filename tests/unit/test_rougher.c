/* What gains by larger errors, or by another algorithm, is shown and never is the fastest. */
#include "analysis/speedup.h"
#include "checks.h"
#include "planted_mnist.h"

static const char PHASE[] = "step";

/* A network whose step takes `us`; the accumulator's type is one of its techniques. */
static void append_network(const char *folder, const char *variant, const char *accumulate,
                           const char *results, double us) {
    const network_t network = {.engine = "cuda",
                               .variant = variant,
                               .hidden = 128,
                               .seed = 1,
                               .steps = 5000,
                               .status = CASE_OK,
                               .results = results,
                               .phases = {{PHASE, us * 1e3}, {"total", 1e9}}};
    case_result_t result = network_result(&network);
    char *longer = mem_format("%s/accumulate=%s", result.spec.id, accumulate);
    free(result.spec.id);
    result.spec.id = longer;
    case_add_technique(&result.spec, "accumulate", accumulate);
    append_result(folder, &result);
    result_free(&result);
}

static void the_fastest_keeps_to_the_rules(void **state) {
    world_t *world = *state;
    write_header(world->run, "Some GPU");
    append_network(world->run, "04_slow", "f32", NULL, 20);
    append_network(world->run, "05_persistent", "f32", NULL, 10);
    append_network(world->run, "05_persistent", "f16", NULL, 5);
    append_network(world->run, "06_other", "f32", "{\"algorithmic\":true}", 1);
    load_run(world);
    comparison_set_list_t sets = comparison_sets_of(&world->source.run, "mnist_train");
    assert_int_equal(sets.n, 1);
    assert_int_equal(sets.items[0].n_rows, 1);
    assert_string_equal(sets.items[0].phase, PHASE);
    const case_result_t *best = sets.items[0].rows[0].best;
    assert_non_null(best);
    assert_string_equal(best->spec.variant, "05_persistent");
    assert_string_equal(case_technique(&best->spec, "accumulate"), "f32");
    assert_int_equal(world->data->n_series, 4); /* all are shown */
    const series_t *fastest = plot_fastest_series(world->data, "cuda", PHASE);
    assert_non_null(fastest);
    assert_ptr_equal(series_at(fastest, 128), best);
    comparison_set_list_free(&sets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(the_fastest_keeps_to_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
