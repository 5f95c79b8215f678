/* Times that a script claims, and the supervisor's clock does not confirm: shown with a mark, compared
 * with nothing. */
#include "planted_run.h"
#include "printed_section.h"
#include "report/headline.h"
#include "report/inference/inference.h"
#include "report/report.h"
#include "report/sections/sections.h"
#include "report_text.h"

#include <math.h>
#include <stdlib.h>

/* The claims are the lowest times. */
static const planted_t PLANTED[] = {
    {"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL},
    {"triton", "cuda", "fused", 1, 2000, CASE_OK, NULL},
    {"triton", "cuda", "claims", 1, 100, CASE_OK, NULL},
    {"cuda", "cuda", "01_study", 64, 1000, CASE_OK, NULL},
    {"triton", "cuda", "claims", 64, 100, CASE_OK, NULL},
    {"cuda", "cuda", "01_study", 4096, 1000, CASE_OK, NULL},
    {"triton", "cuda", "fused", 4096, 0, CASE_FAILED, "crashed"},
    {"tvm", "cuda", "claims", 1, 50, CASE_OK, NULL}, /* beside a confirmed one of triton's */
};

/* `only`: a variant, or NULL for all. */
static record_t planted(const char *only, double ratio) {
    record_t run = {.name = mem_text("planted")};
    for (size_t i = 0; i < sizeof PLANTED / sizeof *PLANTED; i++) {
        if (only != NULL && strcmp(PLANTED[i].engine, "cuda") != 0 &&
            strcmp(PLANTED[i].variant, only) != 0)
            continue;
        plant(&run, PLANTED[i], 100 * i);
        if (strcmp(PLANTED[i].variant, "claims") == 0)
            result_add_claim(&run.cases[run.n_cases - 1], ratio);
    }
    return run;
}

static void the_confirmed_case_is_preferred(void **state) {
    (void)state;
    record_t run = planted(NULL, 20);
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    const size_row_t *rows = sets.items[0].rows;
    assert_string_equal(rows[0].strongest->spec.variant, "fused");
    assert_null(rows[0].claimed);
    assert_null(rows[0].rivals[0].claimed);
    assert_false(rows[0].headline.self_reported);
    assert_int_equal(rows[0].headline.verdict, VERDICT_OURS);
    assert_null(rows[1].strongest);
    assert_string_equal(rows[1].claimed->spec.variant, "claims");
    assert_int_equal(rows[1].headline.verdict, VERDICT_NONE);
    assert_true(rows[1].headline.self_reported);
    assert_null(rows[2].claimed);
    assert_false(rows[2].headline.self_reported);
    comparison_set_list_free(&sets);
    record_free(&run);
}

/* Ratios to a fixed case, too: PyTorch eager is one side of the study's comparison. */
static void a_claim_has_no_ratio(void **state) {
    (void)state;
    record_t run = planted(NULL, 20);
    const case_result_t *ours = &run.cases[3], *claims = &run.cases[4];
    assert_int_equal(speedup_make(ours, "total", claims, "total").verdict, VERDICT_NONE);
    assert_int_equal(speedup_make(claims, "total", ours, "total").verdict, VERDICT_NONE);
    record_free(&run);
}

static void findings_say_why_it_is_not_compared(void **state) {
    (void)state;
    record_t run = planted(NULL, 20);
    char *text = printed_sets(inference_findings, &run, "mlp_infer");
    assert_has(text,
               "CUDA is faster at the one batch size compared (not compared at "
               "1 more: only one side has a valid time) (not compared at 1 more: one side's time "
               "is self-reported, and the supervisor's clock did not confirm it).");
    free(text);
    record_free(&run);
    run = planted("claims", 20);
    text = printed_sets(inference_findings, &run, "mlp_infer");
    assert_has(text,
               "- triton on the GPU is not compared: each of its 2 times is self-reported, and "
               "the supervisor's clock did not confirm it. See the warnings.\n");
    free(text);
    record_free(&run);
}

static void tables_show_it_with_a_mark(void **state) {
    (void)state;
    record_t run = planted(NULL, 20);
    char *text = printed_sets(inference_tables, &run, "mlp_infer");
    assert_has(text, " | claims *(self-reported)* |");
    free(text);
    text = report_workload_tables(&run, NULL);
    assert_has(text, "triton claims 100 ns (self-reported)");
    free(text);
    record_free(&run);
}

static void warnings_give_the_reason(void **state) {
    (void)state;
    static const struct {
        double ratio;
        const char *reason;
    } REASONS[] = {{20, "by the supervisor's clock its runs take longer than it claims"},
                   {0.01, "by the supervisor's clock its runs take less time than it claims"},
                   {NAN, "its worker answers no audit"}};
    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++) {
        record_t run = planted(NULL, REASONS[i].ratio);
        char *text = printed(section_warnings, &run), *row = strstr(text, "| self-reported | ");
        assert_non_null(row);
        assert_has(row, REASONS[i].reason);
        free(text);
        record_free(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_confirmed_case_is_preferred),
        cmocka_unit_test(a_claim_has_no_ratio),
        cmocka_unit_test(findings_say_why_it_is_not_compared),
        cmocka_unit_test(tables_show_it_with_a_mark),
        cmocka_unit_test(warnings_give_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
