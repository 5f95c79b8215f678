/* Which comparisons a reader sees first, and how: on runs whose truth is planted. */
#include "checks.h"
#include "planted_run.h"
#include "report/headline.h"

typedef struct shown {
    comparison_set_list_t sets;
    headline_t headline;
    char *text;
} shown_t;

static shown_t show(const record_t *run, size_t most) {
    shown_t shown = {.sets = comparison_sets_of(run, "mlp_infer")};
    const headline_part_t part = {run, &shown.sets, NULL, NULL};
    shown.headline = headline_select(&part, 1, most);
    shown.text = headline_text(&shown.headline);
    return shown;
}

static void shown_free(shown_t *shown) {
    free(shown->text);
    headline_free(&shown->headline);
    comparison_set_list_free(&shown->sets);
}

static void plant_pair(record_t *run, const char *device, int64_t batch, double ratio) {
    const bool gpu = strcmp(device, "cuda") == 0;
    plant(run,
          (planted_t){gpu ? "cuda" : "cpu", device, gpu ? "01_study" : "omp", batch, 1000, CASE_OK,
                      NULL},
          (uint64_t)batch);
    plant(run, (planted_t){"pytorch", device, "eager", batch, 1000 * ratio, CASE_OK, NULL},
          (uint64_t)batch + 1);
}

static void assert_sizes(const headline_t *headline, const int64_t *sizes, size_t n) {
    assert_int_equal(headline->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(headline->rows[i].row->size, sizes[i]);
}

/* Sizes 1, 2, 4 … 1024; the study's is 64; the lead changes between 256 and 512. */
static void test_sizes_that_matter_come_first(void **state) {
    AUTO(record_free)
    record_t run = plant_ratios((double[]){2, 2, 2, 2, 2, 2, 2, 2, 2, 0.5, 0.5}, 11);
    static const int64_t MOST[][6] = {{64}, {64, 1024}, {1, 64, 1024}, {1, 64, 256, 512, 1024}};
    static const size_t N[] = {1, 2, 3, 5};
    for (size_t i = 0; i < COUNT_OF(N); i++) {
        AUTO(shown_free) shown_t shown = show(&run, N[i]);
        assert_sizes(&shown.headline, MOST[i], N[i]);
    }
    AUTO(shown_free) shown_t all = show(&run, 100);
    assert_int_equal(all.headline.n, 11);
    assert_has(all.text, "mlp_infer f32, GPU, median host_to_host\nfaster (95 % interval) ");
    assert_has(all.text, "batch 1 ");
    assert_has(all.text, "  ours: CUDA        best rival: PyTorch\n");
    assert_has(all.text, " 01_study  2.00 µs eager\n");
    assert_has(all.text, "\nCUDA 2.0");
    assert_has(all.text, "\nPyTorch 2.0");
}

/* Which of n sizes is farthest from all shown ones, as the rule says it: by looking at all of them. */
static size_t farthest(const bool *shown, size_t n) {
    size_t best = 0, best_distance = 0;
    for (size_t i = 0; i < n; i++) {
        size_t least = n;
        for (size_t k = 0; k < n; k++)
            if (shown[k] && (k > i ? k - i : i - k) < least)
                least = k > i ? k - i : i - k;
        if (least > best_distance) {
            best_distance = least;
            best = i;
        }
    }
    return best;
}

/* Sizes 1, 2, 4 …; the study's is 64, the lead changes after the ninth. */
static void test_the_size_farthest_from_all_shown_is_next(void **state) {
    enum { N = 40, REFERENCE = 6, CHANGE = 9, N_FIRST = 5 };
    double ratios[N];
    bool shown_sizes[N] = {[0] = true, [REFERENCE] = true, [N - 1] = true};
    for (size_t i = 0; i < N; i++)
        ratios[i] = i < CHANGE ? 2 : 0.5;
    shown_sizes[CHANGE - 1] = shown_sizes[CHANGE] = true;
    AUTO(record_free) record_t run = plant_ratios(ratios, N);
    for (size_t most = N_FIRST; most <= HEADLINE_ROWS; most++) {
        AUTO(shown_free) shown_t shown = show(&run, most);
        assert_int_equal(shown.headline.n, most);
        for (size_t i = 0, row = 0; i < N; i++)
            if (shown_sizes[i])
                assert_int_equal(shown.headline.rows[row++].row->size, (int64_t)1 << i);
        shown_sizes[farthest(shown_sizes, N)] = true;
    }
}

/* With one pass nobody is called faster by an interval, and the reason stands below the table. */
static void test_one_pass_has_no_interval(void **state) {
    AUTO(record_free) record_t run = plant_one_pass();
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_has(shown.text, "\nlower time ");
    assert_has(shown.text, "\nCUDA ≈ 3.4× ");
    assert_has(shown.text, "\nPyTorch ≈ 5.0× ");
    assert_has(shown.text, "\n\nOne pass: the spread between processes is unknown.\n");
    shown_free(&shown);
    record_free(&run);
    run = plant_ratios((double[]){2}, 1);
    shown = show(&run, 10);
    assert_has(shown.text, "\nfaster (95 % interval)  size ");
    assert_has(shown.text, "\n\n6 passes; 95 % intervals are over passes.\n");
}

/* In rounds of the same process the time is 1000 ns or 2000 ns. */
static void test_two_values_are_marked(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){3}, 1);
    phase_t *phase = &run.cases[0].phases[1];
    assert_string_equal(phase->name, "host_to_host");
    free(phase->samples);
    free(phase->round_starts);
    free(phase->pass_starts);
    *phase = (phase_t){.name = phase->name,
                       .clock = CLOCK_HOST,
                       .round_starts = mem_zeroed(1, sizeof(size_t)),
                       .pass_starts = mem_zeroed(1, sizeof(size_t))};
    for (size_t r = 0; r < 6 * 8; r++) {
        const double ns = (r % 2 == 0 ? 1000 : 2000) + (double)(r % 7);
        if (r % 8 == 0)
            phase_start_pass(phase);
        phase_add_round(phase, (double[]){ns, ns + 1}, 2);
    }
    phase_summarise(phase);
    assert_true(phase->bimodal.found);
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_has(shown.text, " µs ‡ 01_study");
    assert_has(shown.text, "× (1.5–3.0) ‡ "); /* 3000 over either value */
    assert_has(shown.text, "‡: it has two values; the");
}

/* The ratio is 2 in one boot, 4 in the next, and a third lacks the case of PyTorch. */
static void test_boots_have_a_range(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2, 2}, 2);
    record_t more[] = {plant_ratios((double[]){4, 0.5}, 2), plant_ratios((double[]){3, 3}, 1)};
    const boots_t boots = {.first = &run, .runs = (const record_t *[]){&more[0], &more[1]}, .n = 2};
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    const headline_part_t part = {&run, &sets, NULL, &boots};
    AUTO(headline_free) headline_t headline = headline_select(&part, 1, 10);
    AUTO_FREE char *text = headline_text(&headline);
    assert_has(text, "\nThe interval of a ratio covers that ratio over 3 boots.\n");
    const size_row_t *rows = sets.items[0].rows;
    boots_range_t range = boots_range(&boots, rows[0].best, rows[0].strongest, "host_to_host");
    assert_int_equal(range.n, 3);
    assert_true(fabs(range.least - 2) < 0.1 && fabs(range.most - 4) < 0.1);
    assert_false(boots_disagree(&range));
    range = boots_range(&boots, rows[1].best, rows[1].strongest, "host_to_host");
    assert_int_equal(range.n, 2);
    assert_true(boots_disagree(&range));
    /* Another program is another contender. */
    run.cases[0].resources.code_hash = mem_text("a");
    more[0].cases[0].resources.code_hash = mem_text("b");
    range = boots_range(&boots, rows[0].best, rows[0].strongest, "host_to_host");
    assert_int_equal(range.n, 2);
    record_free(&more[0]);
    record_free(&more[1]);
}

static void test_no_difference_is_no_win(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){1}, 1);
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_has(shown.text, "\nnone, ");
}

/* A worker of somebody's own that is faster than PyTorch is the one to beat. */
static void test_best_rival_is_whoever_is_fastest(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){4}, 1);
    plant(&run, (planted_t){"mine", "cuda", "jit", 1, 500, CASE_OK, NULL}, 9);
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_has(shown.text, "  501 ns jit\n");
    assert_int_equal(shown.headline.rows[0].row->headline.verdict, VERDICT_THEIRS);
    assert_has(shown.text, "\nmlp_infer f32, batch 1, other rivals: PyTorch eager 4.0");
    assert_has(shown.text, "\nmine 2.0");
    shown_free(&shown);
    record_free(&run);
    run = plant_ratios((double[]){4}, 1);
    shown = show(&run, 10);
    assert_lacks(shown.text, "other rivals");
}

/* Nobody asked for a comparison there. */
static void test_sizes_without_a_rival_are_left_out(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "01_study", 64, 10, CASE_OK, NULL}, 3);
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_sizes(&shown.headline, (int64_t[]){1}, 1);
}

/* Where both sides were run and there is no ratio, the reason stands in its place. */
static void test_sizes_without_a_ratio_say_why(void **state) {
    static const struct {
        case_status_t ours, theirs;
        const char *reason;
    } SIZES[] = {{CASE_OK, CASE_WRONG, "the rival is wrong "},
                 {CASE_SKIPPED, CASE_OK, "ours was skipped "},
                 {CASE_OK, CASE_THROTTLED, "the rival was throttled "},
                 {CASE_IMPLAUSIBLE, CASE_FAILED, "ours is implausible, the rival failed "}};
    enum { N = COUNT_OF(SIZES) };
    AUTO(record_free) record_t run = plant_ratios((double[]){2, 2}, 2);
    for (size_t i = 0; i < N; i++) {
        const int64_t batch = 64 << i;
        plant(&run, (planted_t){"cuda", "cuda", "01_study", batch, 10, SIZES[i].ours, "why"}, 3);
        plant(&run, (planted_t){"pytorch", "cuda", "eager", batch, 10, SIZES[i].theirs, "why"}, 4);
    }
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_int_equal(shown.headline.n, 2 + N);
    for (size_t i = 0; i < N; i++)
        assert_has(shown.text, SIZES[i].reason);
    assert_has(shown.text, "batch 128      skipped 01_study");
    shown_free(&shown);
    shown = show(&run, 3); /* those with a ratio come first */
    assert_sizes(&shown.headline, (int64_t[]){1, 2, 64}, 3);
    assert_int_equal(shown.headline.n_omitted, N - 1);
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    const headline_part_t parts[] = {{&run, &sets, "a", NULL}, {&run, &sets, "b", NULL}};
    AUTO(headline_free) headline_t both = headline_select(parts, 2, 100);
    assert_int_equal(both.n, 4);
}

/* What cannot win says why; a declared algorithm of ours is no surprise, a rival's is. */
static void test_other_work_is_named_on_the_side_of_rivals(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "02_sums", 1, 10, CASE_OK, NULL}, 3);
    run.cases[2].results_json = mem_text("{\"algorithmic\":true}");
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_lacks(shown.text, "02_sums");
    shown_free(&shown);
    plant(&run, (planted_t){"pytorch", "cuda", "sums", 1, 100, CASE_OK, NULL}, 4);
    run.cases[3].results_json = mem_text("{\"algorithmic\":true}");
    shown = show(&run, 10);
    assert_has(shown.text,
               "\nmlp_infer f32, batch 1, faster, but not compared: PyTorch sums 100 ns is "
               "another algorithm\n");
    assert_lacks(shown.text, "02_sums");
}

static void test_alone_there_is_no_rival(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    plant(&run, (planted_t){"cuda", "cuda", "01_study", 64, 10, CASE_OK, NULL}, 3);
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_sizes(&shown.headline, (int64_t[]){64}, 1);
    assert_has(shown.text, "–");
}

/* One part shows the CPU beside the GPU; of several, each shows its GPU. */
static void test_cpu_is_no_headline_where_a_gpu_is(void **state) {
    AUTO(record_free) record_t gpu = {.name = mem_text("gpu")}, cpu = {.name = mem_text("cpu")};
    plant_pair(&gpu, "cuda", 1, 2);
    plant_pair(&gpu, "cpu", 1, 3);
    plant_pair(&cpu, "cpu", 1, 3);
    AUTO(comparison_set_list_free)
    comparison_set_list_t of_gpu = comparison_sets_of(&gpu, "mlp_infer"),
                          of_cpu = comparison_sets_of(&cpu, "mlp_infer");
    const headline_part_t parts[] = {{&cpu, &of_cpu, "2026-11-22", NULL},
                                     {&gpu, &of_gpu, "saved 2026-11-21", NULL}};
    AUTO(headline_free)
    headline_t alone = headline_select(&parts[1], 1, 10), both = headline_select(parts, 2, 10);
    assert_int_equal(alone.n, 2);
    assert_int_equal(both.n, 2);
    AUTO_FREE char *text = headline_text(&both);
    assert_has(text, "mlp_infer f32, CPU, 2026-11-22, median host_to_host\nfaster");
    assert_has(text, "\nmlp_infer f32, GPU, saved 2026-11-21, median host_to_host\nfaster");
}

/* Where nothing of ours was run, as of an imported problem; elsewhere it is a rival. */
static void test_a_candidate_stands_for_ours(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("")};
    plant(&run, (planted_t){"python", "cpu", "mine", 1, 1000, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"pytorch", "cpu", "eager", 1, 2000, CASE_OK, NULL}, 2);
    plant(&run, (planted_t){"cuda", "cuda", "01_study", 1, 4000, CASE_OK, NULL}, 3);
    plant(&run, (planted_t){"python", "cuda", "mine", 1, 1000, CASE_OK, NULL}, 4);
    AUTO(shown_free) shown_t shown = show(&run, 10);
    assert_has(shown.text, "\nPython 1.99× (1.97–2.01)  batch 1  1.00 µs mine  1.99 µs eager\n");
    assert_has(shown.text, "  4.00 µs 01_study  1.00 µs mine\n");
}

/* One eager call of each; what the harness makes of a file, NAME+graph, is none. By what both can do in a graph
 * the order is the reverse. */
static void test_eager_calls_have_a_line(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("")};
    plant(&run, (planted_t){"python", "cuda", "mine", 1, 2000, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"python", "cuda", "mine+graph", 1, 1000, CASE_OK, NULL}, 2);
    plant(&run, (planted_t){"pytorch", "cuda", "eager", 1, 4000, CASE_OK, NULL}, 3);
    plant(&run, (planted_t){"pytorch", "cuda", "graph", 1, 800, CASE_OK, NULL}, 4);
    plant_device_phase(&run.cases[1], "forward_graph", 500);
    plant_device_phase(&run.cases[3], "forward_graph", 400);
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    AUTO(comparison_set_free_rows)
    comparison_set_t calls = comparison_set_by(&sets.items[0], CALL_IN_GRAPH);
    const headline_part_t part = {&run, &sets, NULL, NULL};
    const headline_row_t row = {&part, &calls, &calls.rows[0]};
    const headline_t headline = {(headline_row_t *)&row, 1, 0};
    AUTO_FREE char *text = headline_text(&headline);
    assert_string_equal(row.row->best->spec.variant, "mine+graph");
    assert_string_equal(row.row->plain->spec.variant, "mine");
    assert_has(text, "  499 ns mine+graph  399 ns graph\n");
    assert_has(text, "\nmlp_infer f32, batch 1, one eager call of each: mine 1.00 µs, PyTorch 2.00 "
                     "µs: Python 2.0");
    free(text);
    result_add_claim(&run.cases[0], 20);
    comparison_set_free_rows(&calls);
    calls = comparison_set_by(&sets.items[0], CALL_IN_GRAPH);
    const headline_row_t claimed = {&part, &calls, &calls.rows[0]};
    text = headline_text(&(headline_t){(headline_row_t *)&claimed, 1, 0});
    assert_has(text, ": mine 1.00 µs, PyTorch 2.00 µs: one is self-reported\n");
}

/* A line of its own is for where others are faster. */
static void test_eager_calls_of_the_table_have_no_line(void **state) {
    for (int others = 0; others < 2; others++) {
        AUTO(record_free) record_t run = {.name = mem_text("")};
        plant(&run, (planted_t){"python", "cpu", "mine", 1, 2000, CASE_OK, NULL}, 1);
        plant(&run, (planted_t){"pytorch", "cpu", "eager", 1, 4000, CASE_OK, NULL}, 2);
        if (others)
            plant(&run, (planted_t){"pytorch", "cpu", "inference", 1, 3000, CASE_OK, NULL}, 3);
        AUTO(comparison_set_list_free)
        comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
        AUTO(comparison_set_free_rows)
        comparison_set_t calls = comparison_set_by(&sets.items[0], ONE_CALL);
        const headline_part_t part = {&run, &sets, NULL, NULL};
        headline_row_t row = {&part, &calls, &calls.rows[0]};
        AUTO_FREE char *text = headline_text(&(headline_t){&row, 1, 0});
        assert_has(text, others ? " inference\n" : " eager\n");
        (others ? assert_has : assert_lacks)(text, "one eager call of each");
    }
}

/* Rungs are launched, not called: no column. */
static void test_a_rung_is_no_eager_call(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    plant(&run, (planted_t){"python", "cuda", "mine", 1, 2000, CASE_OK, NULL}, 1);
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    AUTO(comparison_set_free_rows)
    comparison_set_t calls = comparison_set_by(&sets.items[0], ONE_CALL);
    assert_null(calls.rows[0].plain);
    assert_null(sets.items[0].rows[0].plain);
}

#include "run_tests.h"
