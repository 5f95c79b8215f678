/* The line that renews itself on a terminal. */
#include "base/clock.h"
#include "checks.h"
#include "measure/progress.h"
#include "planted_run.h"
#include "stats/spent.h"

#include <stdio.h>

static const int64_t SECOND_NS = 1000000000;

static int64_t now_ns;

static int64_t now(void *context) {
    return now_ns;
}

static int set_clock(void **state) {
    now_ns = 1000 * SECOND_NS;
    clock_inject(now, NULL);
    return 0;
}

static int reset_clock(void **state) {
    clock_inject(NULL, NULL);
    return 0;
}

/* What the function prints; the caller frees it. */
static char *printed(void (*print)(progress_t *progress), progress_t *progress) {
    char *text = NULL;
    size_t size = 0;
    FILE *real = stderr, *kept = open_memstream(&text, &size);
    assert_non_null(kept);
    stderr = kept;
    print(progress);
    stderr = real;
    fclose(kept);
    return text;
}

static void expect_printed(void (*print)(progress_t *progress), progress_t *progress,
                           const char *expected) {
    char *text = printed(print, progress);
    assert_string_equal(text, expected);
    free(text);
}

static progress_t make(bool terminal, size_t done, size_t total) {
    return (progress_t){.terminal = terminal,
                        .done = done,
                        .total = total,
                        .since_ns = now_ns,
                        .printed_ns = now_ns - 3600 * SECOND_NS};
}

static void expect_text(const progress_t *progress, const char *starting, int columns,
                        const char *expected) {
    char *text = progress_text(progress, starting, now_ns, columns);
    assert_string_equal(text, expected);
    free(text);
}

static void done(progress_t *progress, const char *workload, size_t n) {
    case_result_t result = {
        .status = CASE_SKIPPED,
        .spec = {.id = (char *)"id", .engine = (char *)"cuda", .workload = (char *)workload}};
    for (size_t i = 0; i < n; i++)
        progress_case(progress, &result);
}

static void test_the_line_says_what_takes_how_long(void **state) {
    AUTO(progress_free) progress_t progress = make(false, 3, 84);
    progress.quiet = true; /* only its text is looked at */
    progress_step(&progress, "opening 1 of 4: pytorch-cpu eager");
    expect_text(&progress, NULL, 100, "[3/84] opening 1 of 4: pytorch-cpu eager");
    now_ns += 10 * SECOND_NS;
    expect_text(&progress, "pytorch-cpu", 100,
                "[3/84] starting pytorch-cpu, opening 1 of 4: pytorch-cpu eager · 10 s");
    progress_pass(&progress);
    progress_step(&progress, "größer");
    now_ns += 2 * SECOND_NS;
    expect_text(&progress, NULL, 100,
                "[3/84] größer · 2.0 s"); /* nothing says how long a case takes */
    done(&progress, "device", 1);         /* nor does the calibration */
    expect_text(&progress, NULL, 100, "[4/84] größer · 2.0 s");
    done(&progress, "softmax", 40);
    expect_text(&progress, NULL, 100, "[44/84] größer · 2.0 s · about 2.0 s left");
    progress_pass(&progress); /* as long as in the pass before, until one is done */
    progress.is_open = true;
    now_ns += 7 * SECOND_NS;
    expect_text(&progress, NULL, 100, "[44/84] größer · 9.0 s · over 2.0 s left");
    done(&progress, "softmax", 20);
    expect_text(&progress, NULL, 100, "[64/84] größer · 9.0 s · over 7.0 s left");
    /* The time left is what must be read. */
    expect_text(&progress, NULL, 37, "[64/84] grö · 9.0 s · over 7.0 s left");
    progress.total = progress.done = 0;
    expect_text(&progress, NULL, 28, "größer · 9.0 s");
}

static void begin(progress_t *progress) {
    progress_step(progress, "what");
}

static void tick(progress_t *progress) {
    progress_tick(progress);
}

static void test_a_terminal_has_one_line_that_is_renewed(void **state) {
    AUTO(progress_free) progress_t progress = make(true, 0, 4);
    expect_printed(begin, &progress, "\r\033[K[0/4] what");
    expect_printed(begin, &progress, ""); /* faster than anybody reads */
    expect_printed(tick, &progress, "");
    now_ns += SECOND_NS;
    expect_printed(tick, &progress, "\r\033[K[0/4] what · 1.0 s");
    now_ns += SECOND_NS / 10;
    expect_printed(tick, &progress, "");
    now_ns += SECOND_NS;
    expect_printed(tick, &progress, "\r\033[K[0/4] what · 2.1 s");
}

static void test_a_log_has_a_line_for_what_takes_long(void **state) {
    AUTO(progress_free) progress_t progress = make(false, 1, 4);
    expect_printed(begin, &progress, "");
    for (int s = 1; s <= 100; s++) {
        now_ns += SECOND_NS;
        AUTO_FREE char *text = printed(tick, &progress);
        const bool expected = s == 5 || s == 15 || s == 30 || s == 60;
        assert_int_equal(text[0] != '\0', expected);
        if (s == 30)
            assert_string_equal(text, "[1/4] what · 30 s\n");
    }
    expect_printed(begin, &progress, "");
    now_ns += 5 * SECOND_NS; /* 45 s after the last line */
    expect_printed(tick, &progress, "[1/4] what · 5.0 s\n");
    expect_printed(begin, &progress, "");
    now_ns += 6 * SECOND_NS; /* only 6 */
    expect_printed(tick, &progress, "");
}

static void test_quiet_is_quiet(void **state) {
    AUTO(progress_free) progress_t progress = make(false, 1, 4);
    progress.quiet = true;
    expect_printed(begin, &progress, "");
    now_ns += 1000 * SECOND_NS;
    expect_printed(tick, &progress, "");
}

static void say_round(progress_t *progress, void *context) {
    snprintf(progress->what, sizeof progress->what, "round %d", ++*(int *)context);
}

static void test_rounds_are_described_when_a_line_is_due(void **state) {
    int rounds = 0;
    AUTO(progress_free) progress_t progress = make(true, 1, 4);
    expect_printed(begin, &progress, "\r\033[K[1/4] what");
    progress.describe = say_round;
    progress.context = &rounds;
    now_ns += SECOND_NS / 2;
    expect_printed(tick, &progress, "");
    now_ns += SECOND_NS / 2;
    expect_printed(tick, &progress, "\r\033[K[1/4] round 1 · 1.0 s");
    now_ns += SECOND_NS;
    expect_printed(begin, &progress, "\r\033[K[1/4] what"); /* another step */
}

static void compile_3_of_22(progress_t *progress) {
    progress_compiled(progress, 3, 22);
}

static void test_programs_that_are_compiled_are_counted(void **state) {
    AUTO(progress_free) progress_t progress = make(true, 0, 4);
    expect_printed(begin, &progress, "\r\033[K[0/4] what");
    now_ns += 12 * SECOND_NS;
    expect_printed(compile_3_of_22, &progress, "\r\033[K[0/4] compile 3 of 22 programs · 12 s");
}

/* Whoever reads the log must not take a time for one that can win. */
static void test_a_claim_is_marked_in_the_log(void **state) {
    AUTO(record_free) record_t run = {.name = mem_text("")};
    plant(&run, (planted_t){"pytorch", "cpu", "eager", 1, 1000, CASE_OK, NULL}, 1);
    for (int claims = 0; claims < 2; claims++) {
        progress_t progress = {.total = 1};
        AUTO_FREE char *text = NULL;
        size_t size = 0;
        FILE *real = stderr, *kept = open_memstream(&text, &size);
        assert_non_null(kept);
        stderr = kept;
        progress_case(&progress, &run.cases[0]);
        stderr = real;
        fclose(kept);
        assert_non_null(
            strstr(text, claims ? " host_to_host, self-reported\n" : " host_to_host\n"));
        result_add_claim(&run.cases[0], 20);
    }
}

/* ---- What the time of a run is spent on, on a clock of our own. */

static int64_t spent_now_ns = 1;

static int64_t made_up_now(void *context) {
    return spent_now_ns;
}

static spent_t spend(void) {
    spent_t spent = {0};
    clock_inject(made_up_now, NULL);
    assert_int_equal(spent_switch(&spent, SPENT_OPEN),
                     SPENT_OTHER); /* nothing was counted before */
    spent_now_ns += 4000000000;
    assert_int_equal(spent_switch(&spent, SPENT_START), SPENT_OPEN);
    spent_now_ns += 3000000000;
    assert_int_equal(spent_switch(&spent, SPENT_OPEN), SPENT_START);
    spent_now_ns += 1000000000;
    assert_int_equal(spent_switch(&spent, SPENT_SAMPLES), SPENT_OPEN);
    spent_now_ns += 2000000000;
    spent_switch(&spent, SPENT_OTHER);
    clock_inject(NULL, NULL);
    return spent;
}

static void each_moment_counts_once(void **state) {
    spent_t spent = spend();
    assert_true(spent.ns[SPENT_OPEN] == 5e9 && spent.ns[SPENT_START] == 3e9);
    assert_true(spent_total_ns(&spent) == 1e10 && spent_measured_frac(&spent) == 0.2);
}

static void what_moves_is_not_lost(void **state) {
    spent_t spent = spend();
    spent_move(&spent, SPENT_OPEN, SPENT_COMPILE, 1.5e9);
    spent_move(&spent, SPENT_START, SPENT_CONTEXT, 9e9); /* a worker may say what it likes */
    spent_move(&spent, SPENT_SAMPLES, SPENT_CONTEXT, NAN);
    spent_move(&spent, SPENT_SAMPLES, SPENT_CONTEXT, -1);
    assert_true(spent.ns[SPENT_OPEN] == 3.5e9 && spent.ns[SPENT_COMPILE] == 1.5e9);
    assert_true(spent.ns[SPENT_START] == 0 && spent.ns[SPENT_CONTEXT] == 3e9);
    assert_true(spent_total_ns(&spent) == 1e10);
    AUTO_FREE char *text = spent_text(&spent);
    assert_string_equal(text, "10.0 s, of these 20 % in samples and warm-up; open 3.50 s, context "
                              "3.00 s, compile 1.50 s");
}

static void nobody_needs_to_count(void **state) {
    assert_int_equal(spent_switch(NULL, SPENT_CHECK), SPENT_OTHER);
    spent_move(NULL, SPENT_CHECK, SPENT_OPEN, 1);
    assert_true(isnan(spent_measured_frac(&(spent_t){0})));
}

#define SET_UP set_clock
#define TEAR_DOWN reset_clock
#include "run_tests.h"
