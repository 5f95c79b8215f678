/* The report against golden files. UPDATE_GOLDEN=1 in the environment writes them anew instead of
 * comparing (read the difference before it is committed). */
#include "checks.h"
#include "io/fs.h"
#include "report/report.h"
#include "report_text.h"
#include "results/record.h"

#define FIXTURES "tests/fixtures/report/"

static void assert_golden(const char *path, const char *text) {
    if (getenv("UPDATE_GOLDEN") != NULL) {
        AUTO_FREE char *folder = mem_text_n(path, (size_t)(strrchr(path, '/') - path));
        assert_ok(fs_make_folders(folder, &err));
        assert_ok(fs_write_atomic(path, text, strlen(text), &err));
        return;
    }
    AUTO_FREE char *golden;
    size_t size;
    assert_ok(fs_read(path, &golden, &size, &err));
    assert_string_equal(text, golden);
}

/* Every file of a report is a golden file. */
static void check_report(const char *golden, const char *run, const char *saved) {
    const char *runs[] = {run, saved};
    const report_options_t options = {.runs = runs,
                                      .n_runs = saved != NULL ? 2 : 1,
                                      .out = golden,
                                      .pages = FIXTURES "pages",
                                      .root = "."};
    AUTO(report_files_free) report_files_t files;
    assert_ok(report_render(&options, &files, &err));
    assert_true(files.n >= 2);
    for (size_t i = 0; i < files.n; i++) {
        assert_tables_are_whole(files.items[i].text);
        assert_golden(files.items[i].path, files.items[i].text);
    }
}

static void test_golden_reports(void **state) {
    check_report(FIXTURES "gpu.md", FIXTURES "gpu", NULL);
    check_report(FIXTURES "cpu_and_saved.md", FIXTURES "cpu", FIXTURES "gpu");
    check_report(FIXTURES "training.md", FIXTURES "training", NULL);
    check_report(FIXTURES "mnist.md", FIXTURES "mnist", NULL);
    check_report(FIXTURES "epochs.md", FIXTURES "epochs", NULL);
}

static void test_golden_headline(void **state) {
    AUTO(record_free) record_t run;
    AUTO_FREE char *text;
    assert_ok(record_load(FIXTURES "gpu", &run, &err));
    text = report_workload_tables(&run, NULL);
    assert_golden(FIXTURES "gpu_headline.txt", text);
}

#include "run_tests.h"
