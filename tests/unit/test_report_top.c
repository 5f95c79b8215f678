/* The top page of a report, on runs whose truth is planted. */
#include "checks.h"
#include "planted_run.h"
#include "report/shown.h"
#include "report_text.h"
#include "workloads/common/workload.h"

/* The top page of a run, on which every workload is mlp_infer; takes the run. */
static char *printed_unfinished(record_t run) {
    shown_run_t shown = {.whole = &run};
    run.folder = mem_text("results/planted");
    shown_select(&shown, NULL);
    const shown_list_t runs = {.items = &shown, .n = 1};
    top_part_t part = {.part = shown.parts, .name = "mlp_infer", .href = "x.md"};
    const top_t top = {.runs = &runs, .parts = &part, .n_parts = shown.n_parts};
    shown.parts->number = 1;
    page_t page;
    page_open(&page);
    page.report.run = page.report.whole = &run;
    page.report.root = page.report.folder = ".";
    top_page(&page.report, &top);
    AUTO_FREE char *picture = top_picture(&page.report, &top, true);
    if (picture != NULL)
        print(&page.report, "%s", picture);
    shown_free_parts(&shown);
    record_free(&run);
    return page_close(&page);
}

static char *printed_top(record_t run) {
    run.finished = mem_text("2026-03-02T10:16:00Z");
    return printed_unfinished(run);
}

static void assert_printed(record_t run, const char *part) {
    AUTO_FREE char *text = printed_top(run);
    assert_has(text, part);
}

static record_t with_case(record_t run, planted_t what) {
    plant(&run, what, 77);
    return run;
}

static void a_run_that_did_not_finish_says_so(void **state) {
    AUTO_FREE char *text = printed_unfinished(plant_ratios((double[]){3, 2}, 2));
    assert_has(text,
               "- [mlp_infer], batched inference of a small multilayer perceptron: 4 ok. **The "
               "run did not finish:** it may lack sizes, contenders or passes.\n");
}

/* PyTorch's times are its own worker's claims. */
static record_t plant_claimed(void) {
    record_t run = plant_ratios((double[]){2}, 1);
    for (size_t i = 0; i < run.n_cases; i++)
        if (strcmp(run.cases[i].spec.engine, "pytorch") == 0)
            run.cases[i].trust = TRUST_SELF_REPORTED;
    return run;
}

/* A bar is a link, and its colour says who is faster. */
static void the_picture_has_a_bar_for_each_comparison(void **state) {
    static const struct {
        double ratio;
        const char *colour;
    } BARS[] = {{2, "#0072B2"}, {0.5, "#D55E00"}, {1, "#999999\"/>"}};
    for (size_t i = 0; i < COUNT_OF(BARS); i++) {
        char *text = printed_top(plant_ratios(&BARS[i].ratio, 1)), *svg = strstr(text, "<svg");
        assert_has(svg, BARS[i].colour);
        assert_has(svg, "<a href=\"#w1\"><text ");
        assert_has(svg, ">mlp_infer f32, batch 1<tspan");
        assert_has(svg, "> vs PyTorch eager</tspan>");
        free(text);
    }
    AUTO_FREE char *text = printed_top(plant_claimed());
    assert_lacks(text, "<svg");
}

static void the_table_fits_a_hundred_columns(void **state) {
    AUTO_FREE char *text = printed_top(plant_ratios((double[]){3, 2, 1.5}, 3));
    assert_has(text, "| workload        | size    | ");
    assert_has(text, "| [mlp_infer] f32 | batch 4 | ");
    assert_has(text, "\n[mlp_infer]: x.md\n");
    for (char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1)
        if (*line == '|') {
            AUTO_FREE char *row = mem_text_n(line, strcspn(line, "\n"));
            assert_true(text_width(row) <= 100);
        }
}

static void losses_are_never_left_out(void **state) {
    assert_printed(plant_ratios((double[]){2, 0.5, 0.25, 0.5}, 4),
                   "- A rival has the lower time: [mlp_infer] f32, 3 sizes (2–8), most by "
                   "PyTorch eager: **4.0");
    assert_printed(plant_ratios((double[]){2, 1, 1}, 3),
                   "- No difference: [mlp_infer] f32, 2 sizes (2–4).\n");
    assert_printed(with_case(plant_ratios((double[]){2}, 1),
                             (planted_t){"pytorch", "cuda", "eager", 64, 1, CASE_OK, NULL}),
                   "- No valid time of ours: [mlp_infer] f32, batch 64.\n");
    const planted_t ours = {"cpu", "cpu", "omp", 1, 1, CASE_OK, NULL};
    assert_printed(with_case(with_case(plant_ratios((double[]){2}, 1), ours),
                             (planted_t){"pytorch", "cpu", "eager", 1, 1, CASE_FAILED, "so"}),
                   "- Not compared, no size has valid times of both sides: [mlp_infer] f32 on the "
                   "CPU.\n");
    AUTO_FREE char *without_rivals = printed_top(with_case(plant_ratios((double[]){2}, 1), ours));
    assert_lacks(without_rivals, "Not compared");
    assert_printed(plant_claimed(),
                   "- Not compared, a time is self-reported: [mlp_infer] f32, batch 1.\n");
    assert_printed(plant_ratios((double[]){3, 2}, 2),
                   "- Nowhere in these runs: at all 2 sizes compared ours has the lower time. The "
                   "smallest lead: [mlp_infer] f32, batch 2: 2.0");
}

/* One of ours that is slower than a rival, too. */
static void the_cpu_is_named_where_it_takes_less(void **state) {
    record_t run = plant_ratios((double[]){2, 2, 0.5}, 3);
    const int64_t batches[] = {1, 4};
    for (size_t i = 0; i < 2; i++)
        plant(&run, (planted_t){"cpu", "cpu", "omp", batches[i], 10, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"cpu", "cpu", "omp", 2, 1e9, CASE_OK, NULL}, 1);
    assert_printed(run, "- The CPU alone takes less time: [mlp_infer] f32, 2 sizes (1, 4).\n");
}

/* On a GPU a loss with copies is a further one; the CPU has no copies, and its loss is told already. */
static void losses_with_copies_are_of_gpus(void **state) {
    workload_search_described(".", NULL);
    for (int cpu = 0; cpu < 2; cpu++) {
        const char *device = cpu ? "cpu" : "cuda";
        record_t run = {.name = mem_text("")};
        plant(&run, (planted_t){cpu ? "cpu" : "cuda", device, "01", 1, 2000, CASE_OK, NULL}, 1);
        plant(&run, (planted_t){"pytorch", device, "eager", 1, 1000, CASE_OK, NULL}, 2);
        for (size_t i = 0; i < run.n_cases; i++) {
            free(run.cases[i].spec.workload);
            free(run.cases[i].spec.params[0].name);
            run.cases[i].spec.workload = mem_text("softmax"); /* compared by its computation */
            run.cases[i].spec.params[0].name = mem_text("cols");
        }
        AUTO_FREE char *text = printed_top(run);
        assert_has(text, "cols 1, most by PyTorch eager: **2.0");
        (cpu ? assert_lacks : assert_has)(text, "\n- With copies, a rival has the lower time: ");
    }
}

static void a_lower_self_reported_time_is_told(void **state) {
    record_t run = plant_ratios((double[]){2, 2}, 2);
    plant(&run, (planted_t){"pytorch", "cuda", "compile", 2, 100, CASE_OK, NULL}, 1);
    result_add_claim(&run.cases[run.n_cases - 1], 20);
    assert_printed(run, "- A rival with a lower time is not compared: [mlp_infer] f32, batch 2 "
                        "(PyTorch compile 100 ns is self-reported).\n");
}

static void cases_are_counted(void **state) {
    record_t run = plant_ratios((double[]){2, 2}, 2);
    plant(&run, (planted_t){"cuda", "cuda", "02_bad", 1, 1, CASE_WRONG, "planted"}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "03_hot", 1, 9, CASE_THROTTLED, "planted"}, 1);
    for (size_t i = 1; i < run.n_cases; i++)
        run.cases[i].before.done = true;
    run.cases[0].trust = TRUST_SEALED;
    run.cases[1].trust = TRUST_SELF_REPORTED;
    run.cases[1].phases[0].bimodal.found = true;
    AUTO_FREE char *text = printed_top(run);
    assert_has(text, "- Cases: 6 (4 ok, 1 wrong, 1 throttled); 4 agree with a float64 reference, "
                     "1 have no output to check, 1 with two values.\n");
    assert_has(text,
               "- Trust: 1 sealed, 0 audited, 1 self-reported, 3 not recorded (an older run), "
               "median interval ±");
    assert_has(text, "- Measured: unknown date, 6 passes.\n");
    assert_has(text, "git not recorded.\n");
}

#include "run_tests.h"
