/* Flags: from a kind and its numbers to a sentence and back. */
#include "checks.h"
#include "model/flag.h"

static const struct {
    flag_t flag;
    const char *text, *name;
} TABLE[] = {
    {{FLAG_OVER_LIMIT, {1.11, NAN}, (char[]){"l2"}},
     "implausible: faster than the l2 limit (111 % of it)",
     "implausible: faster than the l2 limit"},
    {{FLAG_GRAPH_SLOWER, {9000, 900}, NULL},
     "implausible: slower in a graph than back to back (kernel_graph 9.00 µs, kernel_stream 900 "
     "ns)",
     "implausible: slower in a graph than back to back"},
    {{FLAG_STREAM_SLOWER, {5.25e6, 1.04e9}, NULL},
     "implausible: slower back to back than alone (kernel_stream 5.25 ms, kernel 1.04 s)",
     "implausible: slower back to back than alone"},
    {{FLAG_WARM_SLOWER, {5000, 4000}, NULL},
     "implausible: slower with a warm L2 than with a cold one (kernel_graph 5.00 µs, kernel_cold "
     "4.00 µs)",
     "implausible: slower with a warm L2 than with a cold one"},
    {{FLAG_UNDER_EVENT_FLOOR, {700, 1280}, NULL},
     "implausible: kernel 700 ns, under the event floor of 1.28 µs",
     "implausible: kernel … ns, under the event floor of … µs"},
    {{FLAG_FRESH_SLOWER, {5e5, 1e5}, (char[]){"host_to_host"}},
     "implausible: host_to_host is slower on new inputs (500 µs, else 100 µs)",
     "implausible: host_to_host is slower on new inputs"},
    {{FLAG_FRESH_INTERRUPTED, {5e5, 1e5}, (char[]){"total"}},
     "busy: total is slower on new inputs, but its threads waited for cores (500 µs, else 100 µs)",
     "busy: total is slower on new inputs, but its threads waited for cores"},
    {{FLAG_NEGATIVE_RESIDUAL, {NAN, NAN}, NULL},
     "implausible: the total is less than the sum of its phases",
     "implausible: the total is less than the sum of its phases"},
    {{FLAG_POWER_LIMIT, {1365, 1980}, NULL},
     "clock: at the board's power limit (SM 1365 to 1980 MHz)",
     "clock: at the board's power limit"},
    {{FLAG_LOW_CLOCK, {0.75, NAN}, NULL},
     "clock: under 75 % of the maximum",
     "clock: under … % of the maximum"},
    {{FLAG_COLD_START, {NAN, NAN}, NULL},
     "cold: every sample is a new process",
     "cold: every sample is a new process"},
    {{FLAG_SANITIZER, {60, NAN}, (char[]){"memcheck"}},
     "sanitizer: 60 errors (memcheck)",
     "sanitizer: … errors"},
    {{FLAG_SANITIZER, {1, NAN}, (char[]){"racecheck"}},
     "sanitizer: 1 error (racecheck)",
     "sanitizer: … error"},
    {{FLAG_RETRIED, {NAN, NAN}, (char[]){"open: worker cuda died (signal 9 (Killed)); stderr: a)"}},
     "worker: died, and the case was opened again in a new process (open: worker cuda died (signal "
     "9 (Killed)); stderr: a))",
     "worker: died, and the case was opened again in a new process"},
    {{FLAG_WEIGHTS_UNCHECKED, {NAN, NAN}, (char[]){"the reference (float64) is slow"}},
     "check: what a timed training learned was not compared (the reference (float64) is slow)",
     "check: what a timed training learned was not compared"},
    {{FLAG_BESIDE, {NAN, NAN}, (char[]){"the thread a runs beside it"}},
     "trust: something may have worked while no clock ran (the thread a runs beside it)",
     "trust: something may have worked while no clock ran"},
    {{FLAG_VOID_ROUNDS, {3, NAN}, (char[]){"another program changed the cores of bench"}},
     "void rounds: 3 (another program changed the cores of bench)",
     "void rounds: …"},
    {{FLAG_BUSY, {0.48, NAN}, NULL},
     "busy: other programs took 48 % of the CPU time that its worker could have had",
     "busy: other programs took … % of the CPU time that its worker could have had"},
    {{FLAG_OTHER, {NAN, NAN}, (char[]){"odd: 5 of (7)"}}, "odd: 5 of (7)", "odd: 5 of (7)"},
};

static void assert_value(double found, double expected) {
    if (isnan(expected))
        assert_true(isnan(found));
    else
        assert_true(fabs(found / expected - 1) < 1e-12);
}

static void test_text_and_name(void **state) {
    bool seen[FLAG_OTHER + 1] = {false};
    for (size_t i = 0; i < COUNT_OF(TABLE); i++) {
        AUTO_FREE char *text = flag_text(&TABLE[i].flag), *name = flag_name(&TABLE[i].flag);
        assert_string_equal(text, TABLE[i].text);
        assert_string_equal(name, TABLE[i].name);
        seen[TABLE[i].flag.kind] = true;
    }
    for (size_t kind = 0; kind <= FLAG_OTHER; kind++)
        if (!seen[kind])
            fail_msg("kind %zu is in no row", kind);
}

static void test_read_back(void **state) {
    AUTO(flag_list_free) flag_list_t list = {0};
    for (size_t i = 0; i < COUNT_OF(TABLE); i++) {
        flag_list_add_text(&list, TABLE[i].text);
        const flag_t *found = &list.items[i], *expected = &TABLE[i].flag;
        assert_int_equal(found->kind, expected->kind);
        assert_value(found->values[0], expected->values[0]);
        assert_value(found->values[1], expected->values[1]);
        if (expected->word == NULL)
            assert_null(found->word);
        else
            assert_string_equal(found->word, expected->word);
    }
}

/* Near to a known one, but not it: no byte of a saved text may be lost. */
static void test_other_texts_stay_as_they_are(void **state) {
    static const char *const TEXTS[] = {
        "",
        "implausible: faster than the dram limit",
        "implausible: faster than the dram limit (111 % of it) ",
        "implausible: faster than the dram limit (1.11e2 % of it)",
        "implausible: kernel 700 ns, under the event floor of 1.28 days",
        "implausible: kernel 0x10 ns, under the event floor of 1.28 µs",
        "implausible: kernel 700.04 ns, under the event floor of 1.28 µs",
        "implausible: kernel – ns, under the event floor of 1.28 µs",
        "sanitizer: 1 errors (memcheck)",
        "sanitizer: 3 errors (mem",
        "worker: died, and the case was opened again in a new process (",
        "clock: under < 0.1 % of the maximum",
        "implausible: | 5 > 4 |\n\n## Findings",
        "%w %t",
    };
    for (size_t i = 0; i < COUNT_OF(TEXTS); i++) {
        AUTO(flag_list_free) flag_list_t list = {0};
        flag_list_add_text(&list, TEXTS[i]);
        AUTO_FREE char *text = flag_text(&list.items[0]);
        assert_int_equal(list.items[0].kind, FLAG_OTHER);
        assert_string_equal(text, TEXTS[i]);
    }
}

static void test_rounded_numbers_make_the_same_text(void **state) {
    for (double ns = 0.5; ns < 5e10; ns *= 1.0173) {
        const flag_t flag = {FLAG_UNDER_EVENT_FLOOR, {ns, ns * 3.7}, NULL};
        AUTO(flag_list_free) flag_list_t list = {0};
        AUTO_FREE char *text = flag_text(&flag);
        flag_list_add_text(&list, text);
        assert_int_equal(list.items[0].kind, FLAG_UNDER_EVENT_FLOOR);
    }
}

static void test_severity(void **state) {
    assert_true(flag_severity(&(flag_t){FLAG_GRAPH_SLOWER, {9000, 900}, NULL}) == 10);
    assert_true(flag_severity(&(flag_t){FLAG_UNDER_EVENT_FLOOR, {300, 600}, NULL}) == 2);
    assert_true(flag_severity(&(flag_t){FLAG_OVER_LIMIT, {1.5, NAN}, NULL}) == 1.5);
    assert_true(flag_severity(&(flag_t){FLAG_COLD_START, {NAN, NAN}, NULL}) == 0);
}

static void test_lists(void **state) {
    AUTO(flag_list_free) flag_list_t list = {0}, more = {0};
    flag_list_add(&list, FLAG_OVER_LIMIT, "dram", 1.1, NAN);
    flag_list_add(&list, FLAG_SANITIZER, "memcheck", 3, NAN);
    flag_list_add(&list, FLAG_OVER_LIMIT, "l2", 1.2, NAN);
    flag_list_add(&more, FLAG_SANITIZER, "memcheck", 3, NAN);
    flag_list_add(&more, FLAG_OVER_LIMIT, "dram", 1.3, NAN);
    flag_list_add(&more, FLAG_OVER_LIMIT, "l2", 1.15, NAN);
    flag_list_add(&more, FLAG_SANITIZER, "racecheck", 3, NAN);
    flag_list_merge(&list, &more);
    assert_int_equal(list.n, 4);
    assert_true(list.items[0].values[0] == 1.3); /* the more severe of the two stays */
    assert_true(list.items[2].values[0] == 1.2);
    assert_string_equal(list.items[3].word, "racecheck");
    flag_list_remove(&list, FLAG_OVER_LIMIT);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.items[0].word, "memcheck");
}

#include "run_tests.h"
