/* Times that a script claims, and the supervisor's clock does not confirm: shown with a mark, compared
 * with nothing. */
#include "planted_run.h"
#include "printed_section.h"
#include "report/headline.h"
#include "report/report.h"
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
    assert_ptr_equal(standing_compared(&rows[0].theirs), rows[0].strongest);
    assert_false(rows[0].headline.self_reported);
    assert_int_equal(rows[0].headline.verdict, VERDICT_OURS);
    assert_null(rows[1].strongest);
    assert_string_equal(standing_compared(&rows[1].theirs)->spec.variant, "claims");
    assert_int_equal(rows[1].headline.verdict, VERDICT_NONE);
    assert_true(rows[1].headline.self_reported);
    assert_null(rows[2].theirs.claimed);
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
    char *text = printed_page(&run, "mlp_infer");
    assert_has(text, "faster at 1 of 1 sizes, 1 not compared (a side has no valid time), 1 not "
                     "compared (self-reported). tvm claims takes");
    free(text);
    record_free(&run);
    run = planted("claims", 20);
    text = printed_page(&run, "mlp_infer");
    assert_has(text, " *(self-reported)*");
    free(text);
    record_free(&run);
}

static void tables_show_it_with_a_mark(void **state) {
    (void)state;
    record_t run = planted(NULL, 20);
    char *text = printed_page(&run, "mlp_infer");
    assert_has(text, " claims *(self-reported)* |");
    assert_has(text, "| failed fused "); /* without a time its status */
    free(text);
    text = report_workload_tables(&run, NULL);
    assert_has(text, "\nthe rival is self-reported  batch 64    1.00 µs 01_study   100 ns claims "
                     "(self-reported)\n");
    assert_has(text, "tvm claims 50.0 ns is self-reported\n");
    free(text);
    record_free(&run);
}

/* Claims of ours: the size stays, with the reason, as do those where a confirmed one is slower. */
static void ours_is_not_left_out(void **state) {
    (void)state;
    record_t run = {.name = mem_text("planted")};
    for (int64_t batch = 1; batch <= 4; batch *= 2) {
        plant(&run, (planted_t){"python", "cpu", "mine", batch, 1000, CASE_OK, NULL}, 1);
        plant(&run, (planted_t){"pytorch", "cpu", "eager", batch, 2000, CASE_OK, NULL}, 2);
        if (batch > 1)
            result_add_claim(&run.cases[run.n_cases - 2], 20);
    }
    plant(&run, (planted_t){"python", "cpu", "other", 4, 3000, CASE_OK, NULL}, 3);
    char *text = report_workload_tables(&run, NULL);
    assert_has(
        text,
        "\nours is self-reported      batch 2  1.00 µs mine (self-reported)  1.99 µs eager\n");
    assert_has(text, "  batch 4  3.00 µs other  ");
    assert_has(text, "Python mine 1.00 µs is self-reported\n");
    free(text);
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    assert_true(sets.items[0].rows[1].headline.self_reported);
    const headline_part_t part = {&run, &sets, NULL, NULL};
    headline_t headline = headline_select(&part, 1, 10);
    assert_int_equal(headline.n, 3);
    headline_free(&headline);
    comparison_set_list_free(&sets);
    text = printed_page(&run, "mlp_infer");
    assert_has(text, "|     2 | 1.00 µs mine *(self-reported)* |");
    free(text);
    record_free(&run);
}

/* The lower time is named wherever a weaker rival is compared. */
static void a_weaker_rival_is_not_alone(void **state) {
    (void)state;
    record_t run = {.name = mem_text("planted")};
    plant(&run, (planted_t){"python", "cpu", "mine", 1, 500, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"pytorch", "cpu", "inference", 1, 2240, CASE_OK, NULL}, 2);
    plant(&run, (planted_t){"pytorch", "cpu", "compile", 1, 938, CASE_OK, NULL}, 3);
    result_add_claim(&run.cases[2], 20);
    char *text = report_workload_tables(&run, NULL);
    assert_has(text, "\nPython 4.47×");
    assert_has(text, " inference\n\nmlp_infer f32, CPU, batch 1, faster, but not compared: PyTorch "
                     "compile 937 ns is self-reported\n");
    free(text);
    text = printed_page(&run, "mlp_infer");
    assert_has(text, " PyTorch compile takes 937 ns and is not compared: it is self-reported.\n");
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
        char *text = printed(section_warnings, &run), *row = strstr(text, "- **self-reported**: ");
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
        cmocka_unit_test(ours_is_not_left_out),
        cmocka_unit_test(a_weaker_rival_is_not_alone),
        cmocka_unit_test(warnings_give_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
