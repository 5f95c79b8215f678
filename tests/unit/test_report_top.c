/* The top page of a report, on runs whose truth is planted. */
#include "near.h"
#include "planted_run.h"
#include "report/top/top.h"
#include "report_text.h"

#include "base/memory.h"
#include "limits/limits.h"

#include <math.h>
#include <stdlib.h>

/* One part of the top page, on which every workload is mlp_infer; takes the run. */
static char *printed_unfinished(record_t run,
                                void (*section)(const report_t *report, const top_t *top)) {
    shown_run_t shown = {.whole = run};
    shown.whole.folder = mem_text("results/planted");
    shown_select(&shown, NULL);
    const shown_list_t runs = {.items = &shown, .n = 1};
    top_part_t part = {.shown = &shown,
                       .part = shown.parts,
                       .link = "[mlp_infer](x.md)",
                       .headline = shown_headline_part(shown.parts)};
    const top_t top = {.runs = &runs, .parts = &part, .n_parts = shown.n_parts};
    page_t page;
    page_open(&page);
    page.report.run = page.report.whole = &shown.whole;
    page.report.root = page.report.folder = ".";
    section(&page.report, &top);
    shown_free_parts(&shown);
    record_free(&shown.whole);
    return page_close(&page);
}

static char *printed_top(record_t run, void (*section)(const report_t *report, const top_t *top)) {
    run.finished = mem_text("2026-03-02T10:16:00Z");
    return printed_unfinished(run, section);
}

static void assert_printed(record_t run, void (*section)(const report_t *report, const top_t *top),
                           const char *part) {
    char *text = printed_top(run, section);
    assert_has(text, part);
    free(text);
}

static record_t with_case(record_t run, planted_t what) {
    plant(&run, what, 77);
    return run;
}

static void sentences_say_where_the_lead_changes(void **state) {
    (void)state;
    assert_printed(plant_ratios((double[]){3, 2, 1.5}, 3), top_leads,
                   "- **[mlp_infer](x.md)**, batched inference of a small multilayer perceptron "
                   "(f32, on the GPU): CUDA is **1.5");
    assert_printed(plant_ratios((double[]){3, 2, 1.5}, 3), top_leads,
                   " as fast as PyTorch eager at batch 4; CUDA is faster at all 3 batch sizes.\n");
    assert_printed(plant_ratios((double[]){0.5, 0.5, 2, 2}, 4), top_leads,
                   "; CUDA is faster at 2 of 4 batch sizes, a rival at 2 batch sizes (1–2).\n");
    assert_printed(plant_ratios((double[]){2, 0.5}, 2), top_leads, ": PyTorch eager is **2.0");
    assert_printed(plant_ratios((double[]){1}, 1), top_leads,
                   ": no difference found between CUDA and PyTorch eager, 1.00");
}

static void a_run_that_did_not_finish_says_so(void **state) {
    (void)state;
    char *text = printed_unfinished(plant_ratios((double[]){3, 2}, 2), top_leads);
    assert_has(text,
               "CUDA is faster at both batch sizes. **The run did not finish:** it may lack sizes, "
               "contenders or passes.\n");
    free(text);
}

/* PyTorch's times are its own worker's claims. */
static record_t plant_claimed(void) {
    record_t run = plant_ratios((double[]){2}, 1);
    for (size_t i = 0; i < run.n_cases; i++)
        if (strcmp(run.cases[i].spec.engine, "pytorch") == 0)
            run.cases[i].trust = TRUST_SELF_REPORTED;
    return run;
}

static void sentences_without_a_comparison(void **state) {
    (void)state;
    record_t alone = {.name = mem_text("")};
    plant(&alone, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, 1);
    assert_printed(
        alone, top_leads,
        ": not compared at batch 1: CUDA 01_study takes 1.00 µs, and no rival has a valid "
        "time.\n");
    record_t theirs = {.name = mem_text("")};
    plant(&theirs, (planted_t){"cuda", "cuda", "01_study", 1, 1, CASE_WRONG, "planted"}, 1);
    plant(&theirs, (planted_t){"pytorch", "cuda", "eager", 1, 1000, CASE_OK, NULL}, 1);
    assert_printed(theirs, top_leads,
                   ": not compared at batch 1: PyTorch eager takes 1.00 µs, and ours has no valid "
                   "time.\n");
    assert_printed(plant_claimed(), top_leads, "the time of PyTorch eager is self-reported.\n");
}

static void losses_are_never_left_out(void **state) {
    (void)state;
    const char *at = "- [mlp_infer](x.md) f32, on the GPU: ";
    assert_printed(plant_ratios((double[]){2, 0.5, 0.25, 0.5}, 4), top_losses, at);
    assert_printed(
        plant_ratios((double[]){2, 0.5, 0.25, 0.5}, 4), top_losses,
        "a rival is faster at 3 batch sizes (2–8), most at batch 4, where PyTorch eager is "
        "**4.0");
    assert_printed(plant_ratios((double[]){2, 0.5}, 2), top_losses,
                   "on the GPU: at batch 2 PyTorch eager is **2.0");
    assert_printed(plant_ratios((double[]){2, 1, 1}, 3), top_losses,
                   "on the GPU: no difference found at 2 batch sizes (2–4).\n");
    assert_printed(with_case(plant_ratios((double[]){2}, 1),
                             (planted_t){"pytorch", "cuda", "eager", 64, 1, CASE_OK, NULL}),
                   top_losses, "on the GPU: no valid time of ours at batch 64.\n");
    assert_printed(
        with_case(plant_ratios((double[]){2}, 1),
                  (planted_t){"cpu", "cpu", "omp", 1, 1, CASE_OK, NULL}),
        top_losses,
        "- Not compared, as no size has valid times of both sides: [mlp_infer](x.md) f32, on the "
        "CPU.\n");
    assert_printed(plant_claimed(), top_losses,
                   "on the GPU: not compared at batch 1, where a time is self-reported.\n");
    assert_printed(
        plant_ratios((double[]){3, 2}, 2), top_losses,
        "- Nowhere in these runs: at all 2 sizes compared ours is faster. The smallest lead: "
        "[mlp_infer](x.md) f32, on the GPU, batch 2: 2.0");
}

/* One of ours that is slower than a rival, too. */
static void the_cpu_is_named_where_it_takes_less(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2, 2, 0.5}, 3);
    const int64_t batches[] = {1, 4};
    for (size_t i = 0; i < 2; i++)
        plant(&run, (planted_t){"cpu", "cpu", "omp", batches[i], 10, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"cpu", "cpu", "omp", 2, 1e9, CASE_OK, NULL}, 1);
    char *text = printed_top(run, top_losses);
    assert_has(text, "f32, on the GPU at 2 batch sizes (1, 4) (C "
                     "omp 10.0 ns at batch 1, ");
    assert_has(text, " on the GPU).\n");
    free(text);
}

/* On a GPU a loss with copies is a further one; the CPU has no copies, and its loss is told already. */
static void losses_with_copies_are_of_gpus(void **state) {
    (void)state;
    workload_search_operators(".", NULL);
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
        char *text = printed_top(run, top_losses);
        assert_has(text, cpu ? "f32, on the CPU: at cols 1 PyTorch eager is **2.0"
                             : "f32, on the GPU: at cols 1 PyTorch eager is **2.0");
        (cpu ? assert_has_not : assert_has)(text, "\n- With copies, a rival is faster: ");
        free(text);
    }
}

static void a_lower_self_reported_time_is_told(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2, 2}, 2);
    plant(&run, (planted_t){"pytorch", "cuda", "compile", 2, 100, CASE_OK, NULL}, 1);
    result_add_claim(&run.cases[run.n_cases - 1], 20);
    assert_printed(
        run, top_losses,
        "on the GPU: a rival with a lower time is not compared at batch 2 (PyTorch compile 100 ns "
        "is self-reported).");
}

/* Six precisions, of which each is a comparison of its own; in the fifth the rival leads most. */
static void many_losses_share_a_line_and_the_worst_come_first(void **state) {
    (void)state;
    record_t run = {.name = mem_text("")};
    for (int i = 0; i < 6; i++) {
        plant(&run, (planted_t){"cuda", "cuda", "01_study", 1, 2000, CASE_OK, NULL}, 1);
        plant(&run, (planted_t){"pytorch", "cuda", "eager", 1, i == 4 ? 500 : 1000, CASE_OK, NULL},
              2);
        for (size_t k = run.n_cases - 2; k < run.n_cases; k++) {
            free(run.cases[k].spec.dtype);
            run.cases[k].spec.dtype = mem_format("f%d", i);
        }
    }
    char *text = printed_top(run, top_losses);
    assert_ptr_equal(
        strstr(text, "- [mlp_infer]"),
        strstr(text, "- [mlp_infer](x.md) f4, on the GPU: at batch 1 PyTorch eager is **4.0"));
    assert_has(text, "- [mlp_infer](x.md) f1, on the GPU: at batch 1 PyTorch eager is **2.0");
    assert_has_not(text, "f2, on the GPU: ");
    assert_has(text, "- Also in: [mlp_infer](x.md) f2, on the GPU, at batch 1; [mlp_infer](x.md) "
                     "f3, on the GPU, at batch 1; [mlp_infer](x.md) f5, on the GPU, at batch 1.\n");
    free(text);
}

static void cases_are_counted(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2, 2}, 2);
    plant(&run, (planted_t){"cuda", "cuda", "02_bad", 1, 1, CASE_WRONG, "planted"}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "03_hot", 1, 9, CASE_THROTTLED, "planted"}, 1);
    for (size_t i = 1; i < run.n_cases; i++)
        run.cases[i].before.done = true;
    run.cases[0].trust = TRUST_SEALED;
    run.cases[1].trust = TRUST_SELF_REPORTED;
    run.cases[1].phases[0].bimodal.found = true;
    char *text = printed_top(run, top_facts);
    assert_has(text,
               "| 6: 4 agree with a float64 reference, 1 without an output to check, 1 wrong; 1 "
               "throttled, 1 with two values ");
    assert_has(text, "| Rivals         | PyTorch eager ");
    assert_has(text,
               "| 1 sealed, 1 self-reported, 3 not recorded (an older run); median interval ±");
    assert_has(text, "| unknown date, 6 passes ");
    assert_has(text, "| git not recorded ");
    free(text);
}

static void each_rival_has_a_column(void **state) {
    (void)state;
    record_t run = {.name = mem_text("")};
    plant(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"triton", "cuda", "fused", 1, 4000, CASE_OK, NULL}, 2);
    plant(&run, (planted_t){"jax", "cuda", "jit", 1, 2000, CASE_OK, NULL}, 3);
    plant(&run, (planted_t){"cuda", "cuda", "05_f16", 1, 1000, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"pytorch", "cuda", "graph", 1, 3000, CASE_OK, NULL}, 4);
    for (size_t i = 3; i < run.n_cases; i++) { /* a comparison of its own */
        free(run.cases[i].spec.dtype);
        run.cases[i].spec.dtype = mem_text("f16");
    }
    char *text = printed_top(run, top_table);
    assert_has(text, "| PyTorch's best    | JAX's best      | triton's best |");
    assert_has(text, "| –                 | **2.00 µs** jit | 3.99 µs fused |");
    assert_has(text, "| **3.00 µs** graph | –               | –             |");
    assert_has(text, "| mlp_infer f16 | batch 1 | 3.00× ");
    free(text);
}

static void modes_of_rivals_are_listed(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2, 2}, 2);
    plant(&run, (planted_t){"pytorch", "cuda", "graph", 1, 3000, CASE_OK, NULL}, 4);
    plant(&run, (planted_t){"pytorch", "cuda", "compile", 1, 1, CASE_FAILED, "planted"}, 1);
    plant(&run, (planted_t){"jax", "cuda", "jit", 1, 2000, CASE_OK, NULL}, 3);
    plant(&run, (planted_t){"pytorch", "cuda", "overlap", 1, 3000, CASE_OK, NULL}, 4);
    assert_printed(run, top_facts, "| PyTorch eager, graph, overlap; JAX jit ");
}

/* Both sides have a time and a limit in their first phase; that of ours has two values. */
static void two_values_mark_the_share_of_the_limit(void **state) {
    (void)state;
    record_t run = plant_ratios((double[]){2}, 1);
    for (size_t i = 0; i < run.n_cases; i++) {
        case_result_t *result = &run.cases[i];
        const bool ours = strcmp(result->spec.engine, "cuda") == 0;
        result->limit.limit_ns = 10;
        result->limit.frac = ours ? 0.5 : 0.25;
        result->limit.phase = mem_text(result->phases[0].name);
        result->phases[0].bimodal.found = ours;
    }
    assert_printed(run, top_table, " 50 % ‡ |     67 % ‡ |");
}

static case_result_t limited(double limit_ns, double frac) {
    return (case_result_t){.limit = {.limit_ns = limit_ns, .frac = frac}};
}

static void the_gap_to_the_limit(void **state) {
    (void)state;
    const case_result_t ours = limited(10, 0.5), theirs = limited(10, 0.1); /* 20 and 100 ns */
    const case_result_t at_limit = limited(10, 1), unknown = limited(10, NAN);
    assert_near(limit_gap_closed_frac(&ours, &theirs), 80.0 / 90, 1e-9);
    assert_near(limit_gap_closed_frac(&theirs, &ours), -8, 1e-9);
    assert_near(limit_gap_closed_frac(&at_limit, &theirs), 1, 1e-9);
    assert_true(isnan(limit_gap_closed_frac(&ours, &at_limit)));
    const case_result_t near = limited(10, 0.95), nearer = limited(10, 0.99);
    assert_true(isnan(limit_gap_closed_frac(&nearer, &near))); /* a share of next to nothing */
    assert_true(limit_gap_closed_frac(&ours, &near) < 0);
    assert_true(isnan(limit_gap_closed_frac(&ours, &unknown)));
    assert_true(isnan(limit_gap_closed_frac(&unknown, &theirs)));
}

/* 20 ns in a graph, 100 between two events; they have only the latter, of 190 ns. */
static void the_gap_is_between_calls_of_one_kind(void **state) {
    (void)state;
    case_result_t ours = limited(10, 0.5), theirs = limited(10, 10. / 190);
    result_add_phase(&ours, "kernel_graph", CLOCK_DEVICE);
    result_add_phase(&ours, "kernel", CLOCK_DEVICE);
    result_add_phase(&theirs, "forward_device", CLOCK_DEVICE);
    ours.limit.phase = mem_text("kernel_graph");
    theirs.limit.phase = mem_text("forward_device");
    for (size_t i = 0; i < 2; i++)
        phase_add_round(&ours.phases[i], (double[]){i == 0 ? 20 : 100}, 1);
    phase_add_round(&theirs.phases[0], (double[]){190}, 1);
    for (size_t i = 0; i < 2; i++)
        phase_summarise(&ours.phases[i]);
    phase_summarise(&theirs.phases[0]);
    assert_near(limit_gap_closed_frac(&ours, &theirs), 0.5, 1e-9);
    result_free(&ours);
    result_free(&theirs);
}

static case_result_t timed_by(const char *phase, clock_domain_t clock, double ns) {
    case_result_t result = limited(NAN, NAN);
    result_add_phase(&result, phase, clock);
    phase_add_round(&result.phases[0], &ns, 1);
    phase_summarise(&result.phases[0]);
    return result;
}

/* JAX has no device clock: its training is held against ours by the host's clock, 30 and 110 ns. */
static void the_gap_without_a_device_clock(void **state) {
    (void)state;
    case_result_t ours = timed_by("train", CLOCK_HOST, 30);
    case_result_t theirs = timed_by("train", CLOCK_HOST, 110);
    case_result_t of_another_phase = timed_by("total", CLOCK_HOST, 110);
    ours.limit = (limit_t){.limit_ns = 10, .frac = 0.5, .phase = mem_text("train_device")};
    assert_near(limit_gap_closed_frac(&ours, &theirs), 0.8, 1e-9);
    assert_true(isnan(limit_gap_closed_frac(&ours, &of_another_phase)));
    strcpy(ours.limit.phase, "kernel");
    assert_true(isnan(limit_gap_closed_frac(&ours, &theirs)));
    result_free(&ours);
    result_free(&theirs);
    result_free(&of_another_phase);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_say_where_the_lead_changes),
        cmocka_unit_test(sentences_without_a_comparison),
        cmocka_unit_test(a_run_that_did_not_finish_says_so),
        cmocka_unit_test(losses_are_never_left_out),
        cmocka_unit_test(the_cpu_is_named_where_it_takes_less),
        cmocka_unit_test(losses_with_copies_are_of_gpus),
        cmocka_unit_test(a_lower_self_reported_time_is_told),
        cmocka_unit_test(many_losses_share_a_line_and_the_worst_come_first),
        cmocka_unit_test(cases_are_counted),
        cmocka_unit_test(each_rival_has_a_column),
        cmocka_unit_test(modes_of_rivals_are_listed),
        cmocka_unit_test(two_values_mark_the_share_of_the_limit),
        cmocka_unit_test(the_gap_to_the_limit),
        cmocka_unit_test(the_gap_is_between_calls_of_one_kind),
        cmocka_unit_test(the_gap_without_a_device_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
