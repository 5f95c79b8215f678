/* Every contender that is not ours is a rival by the same rule, whoever it is: runs with PyTorch,
 * JAX and a script of a user's own, with and without ours. */
#include "planted_run.h"
#include "printed_section.h"
#include "report/headline.h"
#include "report/report.h"
#include "report_text.h"

#include <stdlib.h>

/* The strongest is PyTorch at batch 1, JAX at batch 64 and triton at batch 4096. */
static const planted_t PLANTED[] = {
    {"pytorch", "cuda", "eager", 1, 9000, CASE_OK, NULL},
    {"pytorch", "cuda", "overlap", 1, 2000, CASE_OK, NULL},
    {"jax", "cuda", "jit", 1, 3000, CASE_OK, NULL},
    {"triton", "cuda", "fused", 1, 4000, CASE_OK, NULL},
    {"pytorch", "cuda", "overlap", 64, 4000, CASE_OK, NULL},
    {"jax", "cuda", "jit", 64, 3000, CASE_OK, NULL},
    {"triton", "cuda", "fused", 64, 5000, CASE_OK, NULL},
    {"pytorch", "cuda", "overlap", 4096, 4000, CASE_OK, NULL},
    {"jax", "cuda", "jit", 4096, 5000, CASE_OK, NULL},
    {"triton", "cuda", "fused", 4096, 500, CASE_OK, NULL},
    {"triton", "cuda", "wrong", 4096, 10, CASE_WRONG, "off"},
    {"jax", "cpu", "jit", 1, 800, CASE_OK, NULL},
};
static const planted_t OURS_TOO[] = {
    {"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL},
    {"cuda", "cuda", "01_study", 64, 1000, CASE_OK, NULL},
    {"cuda", "cuda", "01_study", 4096, 1000, CASE_OK, NULL},
    {"cpu", "cpu", "omp", 1, 900, CASE_OK, NULL},
    {"cpu", "cpu", "ref", 1, 100, CASE_OK, NULL},
    {"null", "cpu", "noop", 1, 1, CASE_OK, NULL},
};

static void plant_all(record_t *run, const planted_t *cases, size_t n, const char *left_out) {
    for (size_t i = 0; i < n; i++)
        if (left_out == NULL || strcmp(cases[i].engine, left_out) != 0)
            plant(run, cases[i], 100 * run->n_cases);
}

static record_t planted(bool with_ours, const char *left_out) {
    record_t run = {.name = mem_text("planted")};
    plant_all(&run, PLANTED, sizeof PLANTED / sizeof *PLANTED, left_out);
    if (with_ours)
        plant_all(&run, OURS_TOO, sizeof OURS_TOO / sizeof *OURS_TOO, left_out);
    return run;
}

static void who_is_ours_and_who_a_rival(void **state) {
    (void)state;
    assert_true(engine_is_ours("cuda") && engine_is_ours("cpu"));
    assert_true(!engine_is_ours("null") && !engine_is_rival("null"));
    assert_true(engine_is_rival("pytorch") && engine_is_rival("jax") && engine_is_rival("triton"));
    assert_string_equal(engine_name("cpu"), "C");
    assert_string_equal(engine_name("jax"), "JAX");
    assert_string_equal(engine_name("triton"), "triton");
    assert_true(engine_order("cuda", "pytorch") < 0);
    assert_true(engine_order("jax", "abc") < 0); /* known by name first */
    assert_true(engine_order("abc", "triton") < 0);
}

static void strongest_is_whoever_is_fastest(void **state) {
    (void)state;
    static const char *const STRONGEST[] = {"pytorch", "jax", "triton"};
    record_t run = planted(true, NULL);
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    assert_int_equal(sets.n, 2);
    assert_int_equal(sets.items[0].n_rivals, 3);
    for (size_t i = 0; i < 3; i++) {
        const size_row_t *row = &sets.items[0].rows[i];
        assert_string_equal(sets.items[0].rivals[i], STRONGEST[i]); /* in the order of names */
        assert_string_equal(row->strongest->spec.engine, STRONGEST[i]);
        assert_ptr_equal(row->rivals[i].standing.fastest, row->strongest);
    }
    assert_int_equal(sets.items[0].rows[2].headline.verdict, VERDICT_THEIRS);
    assert_false(can_be_fastest(&run.cases[10])); /* the wrong one */
    assert_true(can_be_fastest(&run.cases[9]));
    assert_string_equal(sets.items[0].rows[0].host->spec.variant, "ref");
    assert_string_equal(sets.items[0].rows[0].host_rival->spec.engine, "jax");
    comparison_set_list_free(&sets);
    record_free(&run);
}

static void a_set_by_another_phase_has_its_own_strongest(void **state) {
    (void)state;
    record_t run = planted(true, NULL);
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    comparison_set_t total = comparison_set_by(&sets.items[0], "total");
    assert_string_equal(total.phase, "total");
    assert_string_equal(total.rows[1].strongest->spec.engine, "jax");
    comparison_set_free_rows(&total);
    comparison_set_list_free(&sets);
    record_free(&run);
}

static void findings_name_the_strongest_and_tables_each(void **state) {
    (void)state;
    record_t run = planted(true, NULL);
    char *text = printed_page(&run, "mlp_infer");
    assert_has(text, "- **4-5-1, f32, on the GPU, `host_to_host`**: **CUDA 3.00× (2.97–3.03)** at "
                     "batch 64, 998 ns "
                     "(CUDA 01_study) against 2.99 µs (JAX jit)");
    assert_has(text, "; faster at 2 of 3 sizes, slower at 1 (4096).\n");
    assert_has(text, "| PyTorch             |");
    assert_has(text, "| JAX             |");
    assert_has(text, "| triton ");
    assert_has(text, "| CUDA 01_study   |"); /* phases */
    assert_has(text, "| triton fused    |");
    free(text);
    record_free(&run);
}

static void ours_is_held_against_the_bus(void **state) {
    (void)state;
    record_t run = planted(true, NULL);
    char *text = printed_page(&run, "mlp_infer");
    assert_has_not(text, "of the bus |"); /* an older run, without its rates */
    free(text);
    /* 4096 samples: 65,536 bytes in, 16,384 out */
    environment_set_number(&run.environment, "measured.bus_in_bytes_per_s", 163.84e9);
    environment_set_number(&run.environment, "measured.bus_out_bytes_per_s", 81.92e9);
    text = printed_page(&run, "mlp_infer");
    assert_has(text, "|       40 % |");
    free(text);
    record_free(&run);
}

static void without_pytorch_nothing_names_it(void **state) {
    (void)state;
    record_t run = planted(true, "pytorch");
    char *text = printed_page(&run, "mlp_infer");
    assert_has_not(text, "PyTorch");
    assert_has_not(text, "vs eager");
    free(text);
    record_free(&run);
}

static void rivals_alone_are_told(void **state) {
    (void)state;
    record_t run = planted(false, NULL);
    char *text = printed_page(&run, "mlp_infer");
    assert_has(text, " overlap "); /* in the table */
    free(text);
    text = report_workload_tables(&run, NULL);
    assert_has(text, "JAX jit ");
    assert_has(text, "triton fused ");
    assert_has_not(text, "CUDA");
    free(text);
    record_free(&run);
}

static void versions_of_rivals_are_told(void **state) {
    (void)state;
    record_t run = planted(true, NULL);
    environment_set(&run.environment, "versions.pytorch", "2.11.0");
    environment_set(&run.environment, "workers.jax-cuda.jax", "0.11.0");
    char *text = printed(section_environment, &run);
    assert_has(text, "- versions: pytorch 2.11.0\n");
    assert_has(text, "- workers.jax-cuda: jax 0.11.0\n");
    free(text);
    assert_null(rival_version(&run.environment, &run.cases[3].spec));
    environment_set(&run.environment, "workers.triton-cuda-fused.triton", "3.5.0");
    assert_string_equal(rival_version(&run.environment, &run.cases[3].spec), "3.5.0");
    record_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_ours_and_who_a_rival),
        cmocka_unit_test(strongest_is_whoever_is_fastest),
        cmocka_unit_test(a_set_by_another_phase_has_its_own_strongest),
        cmocka_unit_test(findings_name_the_strongest_and_tables_each),
        cmocka_unit_test(ours_is_held_against_the_bus),
        cmocka_unit_test(without_pytorch_nothing_names_it),
        cmocka_unit_test(rivals_alone_are_told),
        cmocka_unit_test(versions_of_rivals_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
