/* The CSV reader, and the study's logs read through it. What tests/fixtures/invalid_csv.txt holds
 * must be refused. */
#include "io/csv.h"
#include "near.h"
#include "refusals.h"
#include "results/study_csv.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIXTURES "tests/fixtures/plot/"

static void parse(const char *text, csv_table_t *table) {
    error_t err = ERROR_INIT;
    if (csv_parse("x.csv", text, strlen(text), table, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void same_table_whatever_the_line_ends(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        "a,b\n1,2\n3,4\n",
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\n1,2\n3,4",
        "a,b\r1,2\r3,4\r",
        "\n\na,b\n\n1,2\n \n3,4\n\n",
        "\357\273\277a,b\n1,2\n3,4\n",
        "\"a\",\"b\"\n\"1\",2\n3 ,\t\"4\" \n",
        " a , b\n+1,2.0\n3e0,4.\n",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        csv_table_t table;
        parse(TEXTS[i], &table);
        assert_true(csv_has_header(&table, (const char *const[]){"a", "b"}, 2));
        assert_int_equal(table.n_rows, 2);
        for (size_t j = 0; j < 4; j++)
            assert_near(csv_value(&table, j / 2, j % 2), (double)j + 1, 0);
        csv_free(&table);
    }
}

static void quoted_names_keep_commas_quotes_and_lines(void **state) {
    (void)state;
    csv_table_t table;
    parse("\"a, b\",\"say \"\"x\"\"\",\"two\nlines\"\n1,2,3\n", &table);
    assert_int_equal(table.columns.n, 3);
    assert_string_equal(table.columns.items[0], "a, b");
    assert_string_equal(table.columns.items[1], "say \"x\"");
    assert_string_equal(table.columns.items[2], "two\nlines");
    assert_int_equal(table.lines[0], 3);
    csv_free(&table);
}

static void many_rows_keep_their_values_and_lines(void **state) {
    (void)state;
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    fputs("n,square\n", stream);
    for (int i = 0; i < 1000; i++)
        fprintf(stream, "%d,%d\n", i, i * i);
    fclose(stream);
    csv_table_t table;
    parse(text, &table);
    assert_int_equal(table.n_rows, 1000);
    assert_near(csv_value(&table, 999, 1), 998001, 0);
    assert_int_equal(table.lines[999], 1001);
    csv_free(&table);
    free(text);
}

static void header_is_compared_exactly(void **state) {
    (void)state;
    csv_table_t table;
    parse("a,b\n", &table);
    assert_int_equal(table.n_rows, 0);
    assert_false(csv_has_header(&table, (const char *const[]){"a"}, 1));
    assert_false(csv_has_header(&table, (const char *const[]){"b", "a"}, 2));
    assert_false(csv_has_header(&table, (const char *const[]){"a", "B"}, 2));
    csv_free(&table);
}

static status_t load_invalid(const char *path, error_t *err) {
    study_log_t log;
    return study_csv_load(workload_study(), path, &log, err);
}

static void invalid_files_are_refused_with_file_line_and_column(void **state) {
    (void)state;
    check_refusals("tests/fixtures/invalid_csv.txt", load_invalid);
}

static void a_missing_file_is_named(void **state) {
    (void)state;
    study_log_t log;
    error_t err = ERROR_INIT;
    assert_int_equal(study_csv_load(workload_study(), FIXTURES "absent.csv", &log, &err),
                     STATUS_USAGE);
    assert_non_null(strstr(err.text, "absent.csv"));
}

static void load(const char *path, study_log_t *log) {
    error_t err = ERROR_INIT;
    if (study_csv_load(workload_study(), path, log, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* Rows stand in any order; three rows of batch 4, one of them far off, give their median. */
static void study_log_is_sorted_and_takes_medians(void **state) {
    (void)state;
    study_log_t log;
    load(FIXTURES "study_cuda.csv", &log);
    assert_int_equal(log.side, 0);
    static const int64_t BATCHES[] = {1, 2, 4, 8, 16, 32, 64};
    assert_int_equal(log.n_cases, 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(case_param_int(&log.cases[i].spec, "batch", 0), BATCHES[i]);
    const case_result_t *four = &log.cases[2];
    assert_string_equal(four->spec.id, "mlp_infer/cuda/01_study/batch=4");
    assert_int_equal(result_phase(four, "total")->summary.n, 3);
    assert_near(result_median(four, "total"), 0.28e6, 1e-6);
    assert_near(result_median(four, "malloc"), 0.13e6, 1e-6);
    assert_near(result_median(four, "kernel"), 0.0062e6, 1e-6);
    assert_near(result_median(four, "residual"), 0.0118e6, 1e-6);
    assert_true(isnan(result_phase(four, "total")->summary.ci95[0]));
    assert_near(result_median(&log.cases[1], "total"), 0.274e6, 1e-6);
    study_log_free(&log);
}

static void study_log_is_recognised_by_its_header(void **state) {
    (void)state;
    study_log_t log;
    load(FIXTURES "study_pytorch.csv", &log);
    assert_int_equal(log.side, 1);
    assert_string_equal(log.cases[0].spec.engine, "pytorch");
    assert_string_equal(log.cases[0].spec.device, "cuda");
    assert_near(result_median(&log.cases[6], "forward"), 0.086e6, 1e-6);
    study_log_free(&log);
    load(FIXTURES "study_pytorch_bom.csv", &log);
    assert_int_equal(log.side, 1);
    assert_int_equal(log.n_cases, 1);
    assert_near(result_median(&log.cases[0], "total"), 0.422e6, 1e-6);
    study_log_free(&log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_table_whatever_the_line_ends),
        cmocka_unit_test(quoted_names_keep_commas_quotes_and_lines),
        cmocka_unit_test(many_rows_keep_their_values_and_lines),
        cmocka_unit_test(header_is_compared_exactly),
        cmocka_unit_test(invalid_files_are_refused_with_file_line_and_column),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(study_log_is_sorted_and_takes_medians),
        cmocka_unit_test(study_log_is_recognised_by_its_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
