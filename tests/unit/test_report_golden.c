/* The report against golden files. UPDATE_GOLDEN=1 in the environment writes them anew instead of
 * comparing (read the difference before it is committed). */
#include "report/report.h"
#include "report_text.h"

#include "base/memory.h"
#include "io/fs.h"
#include "results/record.h"

#include <stdlib.h>

#define FIXTURES "tests/fixtures/report/"

static void assert_golden(const char *path, const char *text) {
    error_t err = ERROR_INIT;
    if (getenv("UPDATE_GOLDEN") != NULL) {
        succeed(fs_write_atomic(path, text, strlen(text), &err), &err);
        return;
    }
    char *golden;
    size_t size;
    succeed(fs_read(path, &golden, &size, &err), &err);
    assert_string_equal(text, golden);
    free(golden);
}

/* The folder of the report is fixed, so that its links are the same wherever the test runs. */
static void check_report(const char *golden, const char *run, const char *saved) {
    error_t err = ERROR_INIT;
    char *out = mem_format("%s.new", golden);
    const char *runs[] = {run, saved};
    report_options_t options = {runs, saved != NULL ? 2 : 1, out, "."};
    char *text;
    size_t size;
    succeed(report_write(&options, &err), &err);
    succeed(fs_read(out, &text, &size, &err), &err);
    succeed(fs_remove_tree(out, &err), &err);
    assert_tables_are_whole(text);
    assert_golden(golden, text);
    free(text);
    free(out);
}

static void test_golden_reports(void **state) {
    (void)state;
    check_report(FIXTURES "gpu.md", FIXTURES "gpu", NULL);
    check_report(FIXTURES "cpu_and_saved.md", FIXTURES "cpu", FIXTURES "gpu");
    check_report(FIXTURES "training.md", FIXTURES "training", NULL);
    check_report(FIXTURES "mnist.md", FIXTURES "mnist", NULL);
    check_report(FIXTURES "epochs.md", FIXTURES "epochs", NULL);
}

static void test_golden_headline(void **state) {
    (void)state;
    error_t err = ERROR_INIT;
    record_t run;
    char *text;
    succeed(record_load(FIXTURES "gpu", &run, &err), &err);
    text = report_workload_tables(&run, NULL);
    assert_golden(FIXTURES "gpu_headline.txt", text);
    free(text);
    record_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_reports),
        cmocka_unit_test(test_golden_headline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
