/* The line that renews itself on a terminal. */
#include "measure/progress.h"

#include "base/clock.h"
#include "planted_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int64_t SECOND_NS = 1000000000;

/* What progress_now() prints when `done` of `total` cases took `elapsed_s`. */
static char *line_of(bool terminal, size_t done, size_t total, int64_t elapsed_s) {
    progress_t progress = {.terminal = terminal,
                           .done = done,
                           .total = total,
                           .start_ns = clock_ns() - elapsed_s * SECOND_NS};
    char *text = NULL;
    size_t size = 0;
    FILE *real = stderr, *kept = open_memstream(&text, &size);
    assert_non_null(kept);
    stderr = kept;
    progress_now(&progress, "what");
    stderr = real;
    fclose(kept);
    return text;
}

static void test_time_left_is_that_of_what_is_missing(void **state) {
    (void)state;
    static const struct {
        size_t done, total;
        const char *line;
    } CASES[] = {
        {0, 4, "\r\033[K[0/4] what"}, /* nothing to judge by */
        {1, 4, "\r\033[K[1/4] what  10 min 00 s left"},
        {2, 4, "\r\033[K[2/4] what  3 min 20 s left"},
        {3, 4, "\r\033[K[3/4] what  1 min 07 s left"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char *line = line_of(true, CASES[i].done, CASES[i].total, 200);
        assert_string_equal(line, CASES[i].line);
        free(line);
    }
}

static void test_no_line_where_there_is_no_terminal(void **state) {
    (void)state;
    char *line = line_of(false, 1, 4, 200);
    assert_string_equal(line, "");
    free(line);
}

/* Whoever reads the log must not take a time for one that can win. */
static void test_a_claim_is_marked_in_the_log(void **state) {
    (void)state;
    record_t run = {.name = mem_text("")};
    plant(&run, (planted_t){"pytorch", "cpu", "eager", 1, 1000, CASE_OK, NULL}, 1);
    for (int claims = 0; claims < 2; claims++) {
        progress_t progress = {.total = 1};
        char *text = NULL;
        size_t size = 0;
        FILE *real = stderr, *kept = open_memstream(&text, &size);
        assert_non_null(kept);
        stderr = kept;
        progress_case(&progress, &run.cases[0]);
        stderr = real;
        fclose(kept);
        assert_non_null(
            strstr(text, claims ? " host_to_host, self-reported\n" : " host_to_host\n"));
        free(text);
        result_add_claim(&run.cases[0], 20);
    }
    record_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_left_is_that_of_what_is_missing),
        cmocka_unit_test(test_a_claim_is_marked_in_the_log),
        cmocka_unit_test(test_no_line_where_there_is_no_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
