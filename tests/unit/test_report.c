/* The report against runs whose truth is planted. */
#include "checks.h"
#include "io/fs.h"
#include "made_case.h"
#include "planted_run.h"
#include "report/report.h"
#include "report/shown.h"
#include "report_text.h"
#include "temporary_folder.h"

#include <stdio.h>

/* Write a planted run under `folder`; takes it. Returns its folder, owned by the caller. */
static char *save_run(record_t run, const char *folder, const char *name, const char *gpu) {
    set_text(&run.name, name);
    run.folder = fs_join(folder, name);
    run.started = mem_text("2026-03-02T10:15:00Z");
    run.finished = mem_text("2026-03-02T10:16:00Z");
    environment_set(&run.environment, "host.cpu", "Some CPU");
    environment_set(&run.environment, "gpu.name", gpu);
    assert_ok(fs_make_folders(run.folder, &err));
    assert_ok(record_write_header(&run, &err));
    journal_t journal;
    assert_ok(journal_open(run.folder, &journal, &err));
    for (size_t i = 0; i < run.n_cases; i++)
        assert_ok(journal_append(&journal, &run.cases[i], &err));
    journal_close(&journal);
    char *path = mem_text(run.folder);
    record_free(&run);
    return path;
}

static void add_sweep(record_t *run, const char *text) {
    run->sweeps = mem_resize(run->sweeps, run->n_sweeps + 1, sizeof *run->sweeps);
    run->sweeps[run->n_sweeps++] =
        (sweep_text_t){.path = mem_text("a.json"), .text = mem_text(text)};
}

/* The report over up to two runs. `root` may be NULL. */
static report_files_t files_of(const char *scratch, const char *root, const char *run,
                               const char *saved) {
    char *out = fs_join(scratch, "REPORT.md");
    const char *runs[] = {run, saved};
    const report_options_t options = {.runs = runs,
                                      .n_runs = saved != NULL ? 2 : 1,
                                      .out = out,
                                      .root = root != NULL ? root : scratch};
    report_files_t files;
    assert_ok(report_render(&options, &files, &err));
    free(out);
    return files;
}

/* All its files as one text; the caller frees it. */
static char *report_of(const char *scratch, const char *root, const char *run, const char *saved) {
    AUTO(report_files_free) report_files_t files = files_of(scratch, root, run, saved);
    AUTO(text_list_free) text_list_t texts = {0};
    for (size_t i = 0; i < files.n; i++)
        text_list_add(&texts, files.items[i].text);
    char *text = text_list_join(&texts, "\n");
    return text;
}

static void test_bad_cases_have_no_time_anywhere(void **state) {
    static const case_status_t BAD[] = {CASE_WRONG, CASE_FAILED, CASE_SKIPPED};
    record_t run = plant_ratios((double[]){3, 2, 1.5}, 3);
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        plant(&run, (planted_t){"cuda", "cuda", "02_bad", 1LL << i, 777e6, BAD[i], "planted"}, 1);
        plant(&run, (planted_t){"pytorch", "cuda", "bad", 1LL << i, 777, BAD[i], "planted"}, 2);
    }
    run.cases[0].status = CASE_WRONG; /* the study's own case at batch 1 */
    run.cases[0].reason = mem_text("planted");
    AUTO_FREE char *folder = save_run(run, *state, "bad", "NVIDIA H200");
    AUTO_FREE char *text = report_of(*state, NULL, folder, NULL);
    /* 777 ± 2 % of anything, and half of it, which is the planted kernel. */
    static const char *const TIMES[] = {" 76", " 77", " 78", " 79", " 38", " 39"};
    static const char *const UNITS[] = {" ns", " µs", " ms"};
    for (size_t i = 0; i < COUNT_OF(TIMES); i++)
        for (char digit = '0'; digit <= '9'; digit++)
            for (size_t u = 0; u < COUNT_OF(UNITS); u++) {
                AUTO_FREE char *time = mem_format("%s%c%s", TIMES[i], digit, UNITS[u]);
                assert_lacks(text, time);
            }
    assert_has(text, "2 skipped, 3 wrong, 2 failed");
    assert_has(text, "mlp_infer/cuda/02_bad/batch=1");
    AUTO(record_free) record_t loaded;
    AUTO_FREE char *headline;
    assert_ok(record_load(folder, &loaded, &err));
    headline = report_workload_tables(&loaded, NULL);
    assert_lacks(headline, "02_bad");
    assert_lacks(headline, "777");
}

static void test_saved_run_is_labelled_and_apart(void **state) {
    record_t mine = {.name = mem_text("")};
    plant(&mine, (planted_t){"cpu", "cpu", "omp", 1, 1000, CASE_OK, NULL}, 1);
    plant(&mine, (planted_t){"pytorch", "cpu", "eager", 1, 2000, CASE_OK, NULL}, 2);
    AUTO_FREE char *here = save_run(mine, *state, "here", NULL);
    AUTO_FREE char *there =
        save_run(plant_ratios((double[]){3, 2}, 2), *state, "there", "NVIDIA H200");
    char *text = report_of(*state, NULL, here, there);
    assert_has(text, "- **Some CPU**, Some CPU, without a GPU; ");
    assert_has(text, "- **NVIDIA H200**, ");
    assert_has(text, "[mlp_infer (there)]: there/mlp_infer.md");
    assert_has(text, "f32 CPU |");
    free(text);
    report_files_t files =
        files_of(*state, NULL, here, there); /* each page has its own run alone */
    assert_int_equal(files.n, 4);            /* with the picture */
    const char *own = files.items[2].text, *saved = files.items[3].text;
    assert_has(own, ": mlp_infer on Some CPU, 2026-03-02\n");
    assert_lacks(own, "H200");
    assert_lacks(own, "01_study");
    assert_lacks(own, "CUDA");
    assert_has(saved, ": mlp_infer on NVIDIA H200, 2026-03-02\n");
    assert_lacks(saved, " omp ");
    report_files_free(&files);
}

static void test_what_was_not_measured_is_said(void **state) {
    record_t alone = {.name = mem_text("")};
    plant(&alone, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, 1);
    AUTO_FREE char *run = save_run(alone, *state, "alone", "NVIDIA H200");
    AUTO_FREE char *text = report_of(*state, NULL, run, NULL);
    assert_has(text, "- Nothing was compared.");
    free(text);
    free(run);
    record_t failed = {.name = mem_text("")};
    plant(&failed, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, 1);
    plant(&failed, (planted_t){"pytorch", "cuda", "eager", 1, 1, CASE_FAILED, "no memory"}, 2);
    run = save_run(failed, *state, "failed", "NVIDIA H200");
    text = report_of(*state, NULL, run, NULL);
    assert_has(text, "- Not compared, no size has valid times of both sides: ");
    assert_has(text, " f32 on the GPU.\n");
    assert_has(text, "- **failed**: no memory (cases: 1): ");
    free(text);
    free(run);
    run = save_run((record_t){.name = mem_text("")}, *state, "empty", NULL);
    text = report_of(*state, NULL, run, NULL);
    assert_has(text, "- Nothing was compared.");
}

static void test_hostile_text_stays_text(void **state) {
    record_t run = plant_ratios((double[]){2}, 1);
    plant(&run,
          (planted_t){"cuda", "cuda", "x|y", 1, 10, CASE_FAILED,
                      "a | b\n# heading\n<script>alert(1)</script> `code` [link](http://x)"},
          3);
    flag_list_add_text(&run.cases[0].flags, "implausible: | 5 > 4 |\n\n## Findings");
    text_list_add(&run.argv, "bench");
    text_list_add(&run.argv, "it's\n```\n<b>");
    AUTO_FREE char *folder = save_run(run, *state, "hostile", "<img src=x> | *GPU*");
    AUTO_FREE char *text = report_of(*state, NULL, folder, NULL);
    assert_tables_are_whole(text);
    assert_lacks(text, "<script>");
    assert_lacks(text, "<img");
    assert_lacks(text, "\n# heading");
    assert_lacks(text, "\n```");
    assert_lacks(text, "[link](");
    assert_has(text, "\\[link\\](http://x)");
    char *first = strstr(text, "\n## Findings\n");
    assert_non_null(first);
    assert_lacks(first + 1, "\n## Findings\n");
}

static void test_charts_are_linked_from_the_reports_folder(void **state) {
    AUTO_FREE char *run = save_run(plant_ratios((double[]){2}, 1), *state, "own", "NVIDIA H200");
    AUTO_FREE char *plots = mem_format("%s/a root/plots/own", (char *)*state);
    AUTO_FREE char *chart = fs_join(plots, "total.svg");
    AUTO_FREE char *root = fs_join(*state, "a root");
    assert_ok(fs_make_folders(plots, &err));
    AUTO_FREE char *speed = fs_join(plots, "speed.svg");
    assert_ok(fs_write_atomic(chart, "<svg/>", 6, &err));
    assert_ok(fs_write_atomic(speed, "<svg/>", 6, &err));
    AUTO_FREE char *text = report_of(*state, root, run, NULL);
    assert_has(text, "## Charts\n\n![Total time by batch size](../a%20root/plots/own/total.svg)");
    assert_has(text,
               "\n\n![Speed-up by batch size](../a%20root/plots/own/speed.svg)\n\n## Findings");
    free(text);
    AUTO_FREE char *deep = fs_join(*state, "docs/deep");
    assert_ok(fs_make_folders(deep, &err));
    text = report_of(deep, root, run, NULL);
    assert_has(text, "![Total time by batch size](../a%20root/plots/own/total.svg)");
}

/* Runs with the same sweeps are boots of one run; other runs are saved runs. */
static void test_runs_of_one_sweep_are_boots(void **state) {
    static const double RATIOS[][2] = {{2, 2}, {4, 0.5}};
    static const char *const NAMES[] = {"first", "second"};
    char *runs[4];
    for (size_t i = 0; i < 2; i++) {
        record_t run = plant_ratios(RATIOS[i], 2);
        add_sweep(&run, "{\"name\": \"a\"}");
        environment_set(&run.environment, "versions.pytorch", "2.11");
        runs[i] = save_run(run, *state, NAMES[i], "NVIDIA H200");
    }
    char *text = report_of(*state, NULL, runs[0], runs[1]);
    assert_lacks(text, "aved run");
    assert_has(text, "- **2 starts** of machines of this kind. All times are of the first; the "
                     "interval of a ratio over a rival covers that ratio in all.");
    assert_has(text, "- **The starts disagree** on the faster side: f32, on the GPU, "
                     "`host_to_host`, batch 2: 0.50–2.00×.\n");
    assert_has(text, "`host_to_host`**: **no difference, 2.0× (0.5–2.0)** at batch 2, ");
    assert_has(text, "- No difference: [mlp_infer] f32, batch 2.\n- The starts disagree: ");
    assert_has(text, "/second\n\nRaw samples"); /* in the command that repeats the report */
    free(text);
    record_t other = plant_ratios((double[]){2, 2}, 2);
    add_sweep(&other, "{\"name\": \"a\"}");
    environment_set(&other.environment, "versions.pytorch", "2.12");
    environment_set(&other.environment, "gpu.driver", "580");
    runs[2] = save_run(other, *state, "other", "NVIDIA H200");
    AUTO_FREE char *out = fs_join(*state, "REPORT.md");
    error_t err = ERROR_INIT;
    const char *pair[] = {runs[0], runs[2]};
    assert_int_equal(
        report_write(&(report_options_t){.runs = pair, .n_runs = 2, .out = out, .root = *state},
                     &err),
        STATUS_INCOMPARABLE);
    assert_has(err.text,
               "have the same sweeps on the same device, but cannot be boots of one machine: "
               "gpu.driver: none and 580; versions.pytorch: 2.11 and 2.12");
    record_t elsewhere = plant_ratios((double[]){2, 2}, 2);
    add_sweep(&elsewhere, "{\"name\": \"a\"}");
    runs[3] = save_run(elsewhere, *state, "elsewhere", "NVIDIA A100");
    text = report_of(*state, NULL, runs[0], runs[3]);
    assert_has(text, "- **NVIDIA A100**, ");
    assert_lacks(text, "boots ");
    free(text);
    for (size_t i = 0; i < 4; i++)
        free(runs[i]);
}

static void test_unreadable_run_leaves_the_report(void **state) {
    AUTO_FREE char *out = fs_join(*state, "REPORT.md"), *missing = fs_join(*state, "missing");
    static const char OLD[] = "# Hand-written code: old";
    assert_ok(fs_write_atomic(out, OLD, strlen(OLD), &err));
    const char *runs[] = {missing};
    report_options_t options = {.runs = runs, .n_runs = 1, .out = out, .root = *state};
    assert_fails_with(report_write(&options, &err), STATUS_USAGE, "missing");
    AUTO_FREE char *text;
    size_t size;
    assert_ok(fs_read(out, &text, &size, &err));
    assert_string_equal(text, OLD);
    options.n_runs = 0;
    assert_fails_with(report_write(&options, &err), STATUS_USAGE, "no run was given");
}

/* ---- Commands that measure a run or a case again. */

/* A call, and what measures the run again, and its case. */
typedef struct example {
    const char *call, *again, *of_case;
} example_t;

#define CASE " --engine python --variant a --set=device=cpu --set=n=4"

static void commands_are_those_of_the_run(void **state) {
    static const example_t EXAMPLES[] = {
        {"/x/bench run --workload=mine --quick --out r", "bench run --workload=mine --quick",
         "bench run --workload mine" CASE},
        {"/x/bench run s.json --resume --budget 2min", "bench run s.json",
         "bench run --workload mine" CASE},
        {"/x/bench run --workload ../own --out=r --json", "bench run --workload ../own",
         "bench run --workload ../own" CASE},
        {"/x/bench run --operator ../own", "bench run --operator ../own",
         "bench run --workload ../own" CASE}, /* a former name */
        {"/x/bench run --workload=own", "bench run --workload=own",
         "bench run --workload own" CASE},
        /* Before "--" are options of import, whose --out is another folder. */
        {"/x/bench workload import p.py --candidate c.py --out kept",
         "bench workload import p.py --candidate c.py --",
         "bench workload import p.py --candidate c.py --" CASE},
        {"/x/bench operator import p.py", "bench operator import p.py --",
         "bench operator import p.py --" CASE},
        {"/x/bench workload import p.py --out=kept -- --quick --out r",
         "bench workload import p.py -- --quick", "bench workload import p.py --" CASE},
    };
    AUTO(case_free)
    case_t spec = {.id = mem_text("mine/python-cpu/a/n=4"),
                   .workload = mem_text("mine"),
                   .engine = mem_text("python"),
                   .device = mem_text("cpu"),
                   .variant = mem_text("a")};
    for (size_t i = 0; i < COUNT_OF(EXAMPLES); i++) {
        record_t run = {.name = (char *)"h", .argv = text_split(EXAMPLES[i].call, ' ')};
        AUTO(text_list_free) text_list_t words = command_again("bench", &run);
        AUTO_FREE char *again = text_list_join(&words, " "),
                       *of_case = command_of_case("bench", &run, &spec),
                       *wanted = mem_format("%s --out=results/again/h", EXAMPLES[i].again);
        assert_string_equal(again, wanted);
        assert_string_equal(of_case, EXAMPLES[i].of_case);
        text_list_free(&run.argv);
    }
}

static void a_run_without_a_command_has_none(void **state) {
    const record_t run = {.name = NULL};
    assert_int_equal(command_again("bench", &run).n, 0);
}

#define SET_UP make_folder
#define TEAR_DOWN remove_folder
#include "run_tests.h"
