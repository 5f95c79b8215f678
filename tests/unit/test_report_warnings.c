/* What the report warns of, from runs whose truth is planted. */
#include "checks.h"
#include "planted_run.h"
#include "printed_section.h"
#include "report/headline.h"
#include "report/report.h"

static void flags_are_told_once_with_the_worst(void **state) {
    static const char *const FLAGS[] = {
        "implausible: slower in a graph than back to back (kernel_graph 2.00 µs, kernel_stream "
        "1.00 µs)",
        "implausible: slower in a graph than back to back (kernel_graph 9.00 µs, kernel_stream "
        "900 ns)",
        "implausible: kernel 700 ns, under the event floor of 1.28 µs",
        "implausible: kernel 600 ns, under the event floor of 1.28 µs"};
    AUTO(record_free) record_t run = plant_ratios((double[]){2, 2}, 2);
    for (size_t i = 0; i < 4; i++)
        flag_list_add_text(&run.cases[i].flags, FLAGS[i]);
    AUTO_FREE char *text = printed(section_warnings, &run);
    assert_has(text, "- **implausible: slower in a graph than back to back (kernel_graph 9.00 µs, "
                     "kernel_stream 900 ns)**: at its worst, of the first (cases: 2): ");
    assert_has(text, "kernel 600 ns");
    assert_lacks(text, "2.00 µs");
    assert_lacks(text, "700 ns");
}

/* Two compilations of the rival at size 1; the passes load the second. */
static void a_compilation_that_no_pass_reaches_is_told(void **state) {
    static const double SECOND_NS[] = {1000, 1990};
    for (size_t i = 0; i < 2; i++) {
        AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
        assert_string_equal(run.cases[1].spec.engine, "pytorch");
        plant_draw(&run.cases[1], "host_to_host", 2500);
        plant_draw(&run.cases[1], "host_to_host", SECOND_NS[i]);
        AUTO_FREE char *text = printed(table_of_compilations, &run);
        assert_has(text, i == 0 ? " 2.50 µs, **1.00 µs** | " : " 2.50 µs, **1.99 µs** | ");
        (i == 0 ? assert_has : assert_lacks)(text, " µs, slower | ");
    }
}

/* A pass each of four stops, and three of one case that stopped for two reasons. */
static void stops_are_counted_by_pass(void **state) {
    static const stop_reason_t STOPS[] = {STOP_PRECISE, STOP_NOISE_FLOOR, STOP_TIME_LIMIT,
                                          STOP_MOST_ROUNDS};
    AUTO(record_free)
    record_t run = plant_ratios((double[]){2, 2}, 2), more = plant_ratios((double[]){2}, 1);
    for (size_t i = 0; i < 4; i++)
        run.cases[i].stop = STOPS[i];
    more.cases[0].stop = STOP_MOST_ROUNDS;
    AUTO_FREE char *text = printed(section_warnings, &run);
    assert_has(text, "- Why passes ended: 1 precise, 1 noise_floor, 1 most_rounds, 1 time_limit.");
    free(text);
    result_add_passes(&run.cases[0], &more.cases[0]);
    more.cases[0].stop = STOP_PRECISE;
    result_add_passes(&run.cases[0], &more.cases[0]);
    assert_int_equal(result_stops(&run.cases[0], STOP_PRECISE), 2);
    assert_int_equal(result_stops(&run.cases[0], STOP_MOST_ROUNDS), 1);
    text = printed(section_warnings, &run);
    assert_has(text, ": 2 precise, 1 noise_floor, 2 most_rounds, 1 time_limit.");
}

static void two_values_are_listed(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    AUTO_FREE char *text = printed(section_warnings, &run);
    assert_lacks(text, "wo values");
    free(text);
    for (size_t i = 0; i < 2; i++) /* total and host_to_host */
        run.cases[1].phases[i].bimodal = (bimodal_t){true, 9600, 17000, 0.39};
    text = printed(section_warnings, &run);
    assert_has(text, "- **two values ‡**: ");
    assert_has(text, "(cases: 1): `mlp_infer/pytorch-cuda/eager/batch=1`.\n");
}

static void statuses_are_told_with_their_reason(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "02_x", 1, 1, CASE_IMPLAUSIBLE, "too fast"}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "05_f16", 1, 1, CASE_SKIPPED, "for dtype f16 only"}, 1);
    plant(&run, (planted_t){"cuda", "cuda", "07_new", 1, 1, CASE_SKIPPED, "needs sm_90"}, 1);
    AUTO_FREE char *text = printed(section_warnings, &run);
    assert_has(text, "- **implausible**: too fast (cases: 1): `mlp_infer/cuda/02_x/batch=1`.\n");
    assert_has(text, "- **not applicable by design**: for dtype f16 only (cases: 1): ");
    assert_has(text, "- **skipped**: needs sm_90 (cases: 1): ");
    const status_counts_t counts = count_statuses(&run); /* without those left out by design */
    assert_int_equal(counts.all, 4);
    assert_int_equal(counts.of[CASE_SKIPPED], 1);
    assert_int_equal(counts.of[CASE_IMPLAUSIBLE], 1);
}

static void case_without_its_last_check_is_named(void **state) {
    AUTO(record_free) record_t run = plant_ratios((double[]){2}, 1);
    for (size_t i = 0; i < run.n_cases; i++)
        run.cases[i].before = run.cases[i].after = (check_t){.done = true, .ok = true};
    AUTO_FREE char *text = printed(section_warnings, &run);
    assert_lacks(text, "not checked");
    free(text);
    run.cases[0].after = (check_t){0};
    text = printed(section_warnings, &run);
    assert_has(text,
               "- **not checked after timing**: the run was interrupted first; the check before "
               "timing passed (cases: 1): `mlp_infer/cuda/01_study/batch=1`.\n");
    free(text);
    run.cases[0].before = (check_t){0}; /* there was nothing to check it against */
    text = printed(section_warnings, &run);
    assert_lacks(text, "not checked");
}

/* ---- Times that a script claims, and the supervisor's clock does not confirm: shown with a mark,
 * compared with nothing. */

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
    for (size_t i = 0; i < COUNT_OF(PLANTED); i++) {
        if (only != NULL && strcmp(PLANTED[i].engine, "cuda") != 0 &&
            strcmp(PLANTED[i].variant, only) != 0)
            continue;
        plant(&run, PLANTED[i], 100 * i);
        if (strcmp(PLANTED[i].variant, "claims") == 0)
            result_add_claim(&run.cases[run.n_cases - 1], ratio);
    }
    return run;
}

/* Ratios to a fixed case, too: PyTorch eager is one side of the study's comparison. */
static void a_claim_has_no_ratio(void **state) {
    AUTO(record_free) record_t run = planted(NULL, 20);
    const case_result_t *ours = &run.cases[3], *claims = &run.cases[4];
    assert_int_equal(speedup_make(ours, "total", claims, "total").verdict, VERDICT_NONE);
    assert_int_equal(speedup_make(claims, "total", ours, "total").verdict, VERDICT_NONE);
}

static void findings_say_why_it_is_not_compared(void **state) {
    AUTO(record_free) record_t run = planted(NULL, 20);
    AUTO_FREE char *text = printed_page(&run, "mlp_infer");
    assert_has(text, "faster at 1 of 1 sizes, 1 not compared (a side has no valid time), 1 not "
                     "compared (self-reported). tvm claims takes");
    free(text);
    record_free(&run);
    run = planted("claims", 20);
    text = printed_page(&run, "mlp_infer");
    assert_has(text, " *(self-reported)*");
}

static void tables_show_it_with_a_mark(void **state) {
    AUTO(record_free) record_t run = planted(NULL, 20);
    AUTO_FREE char *text = printed_page(&run, "mlp_infer");
    assert_has(text, " claims *(self-reported)* |");
    assert_has(text, "| failed fused "); /* without a time its status */
    free(text);
    text = report_workload_tables(&run, NULL);
    assert_has(text, "\nthe rival is self-reported  batch 64    1.00 µs 01_study   100 ns claims "
                     "(self-reported)\n");
    assert_has(text, "tvm claims 50.0 ns is self-reported\n");
}

/* Claims of ours: the size stays, with the reason, as do those where a confirmed one is slower. */
static void ours_is_not_left_out(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    for (int64_t batch = 1; batch <= 4; batch *= 2) {
        plant(&run, (planted_t){"python", "cpu", "mine", batch, 1000, CASE_OK, NULL}, 1);
        plant(&run, (planted_t){"pytorch", "cpu", "eager", batch, 2000, CASE_OK, NULL}, 2);
        if (batch > 1)
            result_add_claim(&run.cases[run.n_cases - 2], 20);
    }
    plant(&run, (planted_t){"python", "cpu", "other", 4, 3000, CASE_OK, NULL}, 3);
    AUTO_FREE char *text = report_workload_tables(&run, NULL);
    assert_has(
        text,
        "\nours is self-reported      batch 2  1.00 µs mine (self-reported)  1.99 µs eager\n");
    assert_has(text, "  batch 4  3.00 µs other  ");
    assert_has(text, "Python mine 1.00 µs is self-reported\n");
    free(text);
    AUTO(comparison_set_list_free)
    comparison_set_list_t sets = comparison_sets_of(&run, "mlp_infer");
    assert_true(sets.items[0].rows[1].headline.self_reported);
    const headline_part_t part = {&run, &sets, NULL, NULL};
    AUTO(headline_free) headline_t headline = headline_select(&part, 1, 10);
    assert_int_equal(headline.n, 3);
    text = printed_page(&run, "mlp_infer");
    assert_has(text, "|     2 | 1.00 µs mine *(self-reported)* |");
}

/* The lower time is named wherever a weaker rival is compared. */
static void a_weaker_rival_is_not_alone(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("planted")};
    plant(&run, (planted_t){"python", "cpu", "mine", 1, 500, CASE_OK, NULL}, 1);
    plant(&run, (planted_t){"pytorch", "cpu", "inference", 1, 2240, CASE_OK, NULL}, 2);
    plant(&run, (planted_t){"pytorch", "cpu", "compile", 1, 938, CASE_OK, NULL}, 3);
    result_add_claim(&run.cases[2], 20);
    AUTO_FREE char *text = report_workload_tables(&run, NULL);
    assert_has(text, "\nPython 4.47×");
    assert_has(text, " inference\n\nmlp_infer f32, CPU, batch 1, faster, but not compared: PyTorch "
                     "compile 937 ns is self-reported\n");
    free(text);
    text = printed_page(&run, "mlp_infer");
    assert_has(text, " PyTorch compile takes 937 ns and is not compared: it is self-reported.\n");
}

static void warnings_give_the_reason(void **state) {
    static const struct {
        double ratio;
        const char *reason;
    } REASONS[] = {{20, "by the supervisor's clock its runs take longer than it claims"},
                   {0.01, "by the supervisor's clock its runs take less time than it claims"},
                   {NAN, "its worker answers no audit"}};
    for (size_t i = 0; i < COUNT_OF(REASONS); i++) {
        AUTO(record_free) record_t run = planted(NULL, REASONS[i].ratio);
        char *text = printed(section_warnings, &run), *row = strstr(text, "- **self-reported**: ");
        assert_non_null(row);
        assert_has(row, REASONS[i].reason);
        free(text);
    }
}

/* ---- Every contender that is not ours is a rival by the same rule, whoever it is: runs with
 * PyTorch, JAX and a script of a user's own, with and without ours. */

/* The strongest is PyTorch at batch 1, JAX at batch 64 and triton at batch 4096. */
static const planted_t PLANTED_OF_RIVALS[] = {
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

static record_t rivals_planted(bool with_ours, const char *left_out) {
    record_t run = {.name = mem_text("rivals_planted")};
    plant_all(&run, PLANTED_OF_RIVALS, COUNT_OF(PLANTED_OF_RIVALS), left_out);
    if (with_ours)
        plant_all(&run, OURS_TOO, COUNT_OF(OURS_TOO), left_out);
    return run;
}

static void who_is_ours_and_who_a_rival(void **state) {
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

static void findings_name_the_strongest_and_tables_each(void **state) {
    AUTO(record_free) record_t run = rivals_planted(true, NULL);
    AUTO_FREE char *text = printed_page(&run, "mlp_infer");
    assert_has(text, "- **f32, on the GPU, `host_to_host`**: **CUDA 3.00× (2.97–3.03)** at "
                     "batch 64, 998 ns "
                     "(CUDA 01_study) against 2.99 µs (JAX jit)");
    assert_has(text, "; faster at 2 of 3 sizes, slower at 1 (4096).\n");
    assert_has(text, "| PyTorch             |");
    assert_has(text, "| JAX             |");
    assert_has(text, "| triton ");
    assert_has(text, "| CUDA 01_study   |"); /* phases */
    assert_has(text, "| triton fused    |");
}

static void ours_is_held_against_the_bus(void **state) {
    AUTO(record_free) record_t run = rivals_planted(true, NULL);
    AUTO_FREE char *text = printed_page(&run, "mlp_infer");
    assert_lacks(text, "of the bus |"); /* an older run, without its rates */
    free(text);
    /* 4096 samples: 65,536 bytes in, 16,384 out */
    environment_set_number(&run.environment, "measured.bus_in_bytes_per_s", 163.84e9);
    environment_set_number(&run.environment, "measured.bus_out_bytes_per_s", 81.92e9);
    text = printed_page(&run, "mlp_infer");
    assert_has(text, "|       40 % |");
}

static void without_pytorch_nothing_names_it(void **state) {
    AUTO(record_free) record_t run = rivals_planted(true, "pytorch");
    AUTO_FREE char *text = printed_page(&run, "mlp_infer");
    assert_lacks(text, "PyTorch");
    assert_lacks(text, "vs eager");
}

static void rivals_alone_are_told(void **state) {
    AUTO(record_free) record_t run = rivals_planted(false, NULL);
    AUTO_FREE char *text = printed_page(&run, "mlp_infer");
    assert_has(text, " overlap "); /* in the table */
    free(text);
    text = report_workload_tables(&run, NULL);
    assert_has(text, "JAX jit ");
    assert_has(text, "triton fused ");
    assert_lacks(text, "CUDA");
}

static void versions_of_rivals_are_told(void **state) {
    AUTO(record_free) record_t run = rivals_planted(true, NULL);
    environment_set(&run.environment, "versions.pytorch", "2.11.0");
    environment_set(&run.environment, "workers.jax-cuda.jax", "0.11.0");
    AUTO_FREE char *text = printed(section_environment, &run);
    assert_has(text, "- versions: pytorch 2.11.0\n");
    assert_has(text, "- workers.jax-cuda: jax 0.11.0\n");
    assert_null(rival_version(&run.environment, &run.cases[3].spec));
    environment_set(&run.environment, "workers.triton-cuda-fused.triton", "3.5.0");
    assert_string_equal(rival_version(&run.environment, &run.cases[3].spec), "3.5.0");
}

#include "run_tests.h"
