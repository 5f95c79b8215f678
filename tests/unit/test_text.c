/* base/text: lists, splitting, names, and "did you mean". */
#include "base/text.h"
#include "checks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void lists(void **state) {
    text_list_t list = {0};
    assert_text(text_list_join(&list, ", "), "");
    char original[] = "pinned";
    text_list_add(&list, original);
    original[0] = 'X';
    text_list_add_format(&list, "batch=%d", 64);
    text_list_add(&list, "Batch");
    text_list_sort(&list);
    assert_text(text_list_join(&list, ", "), "Batch, batch=64, pinned");
    assert_true(text_list_has(&list, "pinned"));
    assert_false(text_list_has(&list, "pin"));
    text_list_free(&list);
    assert_int_equal(list.n, 0);
    assert_null(list.items);
    text_list_free(&list);
}

static void splitting(void **state) {
    static const struct {
        const char *text;
        size_t n;
        const char *joined;
    } rows[] = {{"", 0, ""},         {"a", 1, "a"},       {"a,b", 2, "a|b"},    {",", 2, "|"},
                {"a,,b", 3, "a||b"}, {"a,b,", 3, "a|b|"}, {"a b;c", 1, "a b;c"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(text_list_free) text_list_t list = text_split(rows[i].text, ',');
        assert_int_equal(list.n, rows[i].n);
        AUTO_FREE char *joined = text_list_join(&list, "|");
        assert_string_equal(joined, rows[i].joined);
    }
}

static void nearest(void **state) {
    static const char *const names[] = {"mlp_infer", "mlp_train", "linreg",
                                        "saxpy",     "cpu",       "batch"};
    enum { N_NAMES = COUNT_OF(names) };
    static const struct {
        const char *word, *expected;
    } rows[] = {
        {"mlp_infer", "mlp_infer"},
        {"mlp_infre", "mlp_infer"}, /* neighbours swapped: 1 */
        {"mlp-train", "mlp_train"},
        {"mlp_inference", "mlp_infer"}, /* 4 too many, a third of 13 */
        {"linerg", "linreg"},
        {"sxapy", "saxpy"},
        {"bacth", "batch"},
        {"cpi", "cpu"},
        {"gpu", "cpu"},
        {"attention", NULL},
        {"xyz", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *found = text_nearest(rows[i].word, names, N_NAMES);
        if (rows[i].expected == NULL)
            assert_null(found);
        else
            assert_string_equal(found, rows[i].expected);
    }
    assert_null(text_nearest("saxpy", NULL, 0));
}

/* A rung without its number, a chart without its workload: far by distance, and still what was meant. */
static void nearest_may_be_a_part(void **state) {
    static const char *const rungs[] = {"01_row_per_block", "02_online", "04_cluster", "12_online"};
    assert_string_equal(text_nearest("online", rungs, 4), "02_online");
    assert_string_equal(text_nearest("row_per", rungs, 4), "01_row_per_block");
    assert_null(text_nearest("on", rungs, 4)); /* of two letters, anything has a part */
    static const char *const closer[] = {"cpu_omp", "opm"};
    assert_string_equal(text_nearest("omp", closer, 2), "opm");
}

static void hints(void **state) {
    static const char *const names[] = {"nvrtc", "nvcc"};
    AUTO_FREE char *hint = text_hint("nvc", names, 2), *none = text_hint("clang", names, 2);
    assert_string_equal(hint, "; did you mean \"nvcc\"?");
    assert_string_equal(none, "");
}

static void nearest_prefers_the_closer_and_then_the_first(void **state) {
    static const char *const closer[] = {"pinnedxx", "pinned1", "pinned2"};
    assert_string_equal(text_nearest("pinned", closer, 3), "pinned1");
    char *word = mem_alloc(1000001); /* a hostile key must not cost minutes */
    memset(word, 'p', 1000000);
    word[1000000] = '\0';
    assert_null(text_nearest(word, closer, 3));
    free(word);
}

static void prefixes_and_suffixes(void **state) {
    assert_true(text_starts("case.json", "case"));
    assert_true(text_starts("case", ""));
    assert_false(text_starts("ca", "case"));
    assert_true(text_ends("case.json", ".json"));
    assert_true(text_ends("case", ""));
    assert_false(text_ends("n", ".json"));
    assert_false(text_ends("case.jsonl", ".json"));
}

static void names(void **state) {
    static const char *const good[] = {"a",      "_",   "0",   "03_vectorized",
                                       "sm_90a", "a.b", "c++", "x-1"};
    static const char *const bad[] = {"",         ".",    "..",   "/",   "a/b", "../x", "a..b",
                                      "-x",       "+x",   ".gcc", "a b", "a\n", "\x01", "a\x7f",
                                      "\xc3\xa4", "a\\b", "a*",   "a$b", "~",   "a:b",  "a,b"};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (!text_is_name(good[i]))
            fail_msg("\"%s\" was refused", good[i]);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (text_is_name(bad[i]))
            fail_msg("\"%s\" was accepted", bad[i]);
}

/* Pairs: any bytes, and what is left of them. Limits from RFC 3629. */
static void utf8(void **state) {
    static const char *const pairs[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"caf\xc3\xa9 \xe2\x80\x93 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x80\x93 \xf0\x9f\x98\x80"},
        {"caf\xc3", "caf?"},                                            /* cut */
        {"\xe2\x80", "??"},                                             /* cut */
        {"\xf0\x9f\x98", "???"},                                        /* cut */
        {"\x80x\xbf", "?x?"},                                           /* stray continuation */
        {"\xc0\x80 \xc1\xbf \xe0\x9f\xbf", "?? ?? ???"},                /* overlong */
        {"\xed\x9f\xbf \xed\xa0\x80", "\xed\x9f\xbf ???"},              /* surrogate */
        {"\xf4\x8f\xbf\xbf \xf4\x90\x80\x80", "\xf4\x8f\xbf\xbf ????"}, /* beyond U+10FFFF */
        {"\xfe\xff", "??"},
        {"\xc3(", "?("},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        assert_text(text_utf8(pairs[i][0]), pairs[i][1]);
    }
}

static void shell(void **state) {
    static const char *const pairs[][2] = {
        {"", "\"\""},
        {"--gres=gpu:1", "--gres=gpu:1"},
        {"/a/b_1.json,%@^+", "/a/b_1.json,%@^+"},
        {"a b", "\"a b\""},
        {"it's #1 ~ *", "\"it's #1 ~ *\""},
        {"a\"b\\c$d`e", "\"a\\\"b\\\\c\\$d\\`e\""},
        {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        assert_text(text_shell(pairs[i][0]), pairs[i][1]);
    }
}

/* ---- base/error: the first message wins, and context goes in front of it. */

static void first_message_wins(void **state) {
    error_t err = ERROR_INIT;
    assert_int_equal(error_set(&err, STATUS_USAGE, "file %s", "a.json"), STATUS_USAGE);
    assert_int_equal(error_set(&err, STATUS_FAILED, "a consequence"), STATUS_FAILED);
    assert_int_equal(err.status, STATUS_USAGE);
    assert_string_equal(err.text, "file a.json");
}

static void null_error_is_fine(void **state) {
    assert_int_equal(error_set(NULL, STATUS_NOISY, "nobody listens"), STATUS_NOISY);
}

static void context_goes_in_front(void **state) {
    error_t err = ERROR_INIT;
    error_set(&err, STATUS_INCOMPARABLE, "GPUs differ");
    assert_int_equal(error_within(&err, "run %d", 2), STATUS_INCOMPARABLE);
    error_within(&err, "compare");
    assert_string_equal(err.text, "compare: run 2: GPUs differ");
}

static void long_messages_are_cut(void **state) {
    error_t err = ERROR_INIT;
    char longer[2 * sizeof err.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    error_set(&err, STATUS_FAILED, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    error_within(&err, "%s", "case 1");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_memory_equal(err.text, "case 1: xxx", 11);
    error_within(&err, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

/* A message that is cut inside of a character could not be written as JSON. */
static void messages_are_plain_text(void **state) {
    error_t err = ERROR_INIT;
    error_set(&err, STATUS_USAGE, "%s",
              "a\x1b[2J\x07"
              "b\xff\xc3\xa9\xc2\x9b"
              "31m\r\n\tc\x7f");
    assert_string_equal(err.text, "a?[2J?b?\xc3\xa9??31m?\n\tc?");
    char longer[2 * sizeof err.text];
    for (size_t shift = 0; shift < 2; shift++) {
        for (size_t i = 0; i + 1 < sizeof longer; i++)
            longer[i] = (i + shift) % 2 == 0 ? '\xc3' : '\xa9';
        longer[sizeof longer - 1] = '\0';
        error_clear(&err);
        error_set(&err, STATUS_USAGE, "%s", longer + shift);
        error_within(&err, "x");
        assert_text(text_utf8(err.text), err.text);
    }
}

static void cleared_errors_can_be_set_again(void **state) {
    error_t err = ERROR_INIT;
    error_set(&err, STATUS_FAILED, "one");
    error_clear(&err);
    assert_int_equal(err.status, STATUS_OK);
    assert_string_equal(err.text, "");
    error_set(&err, STATUS_USAGE, "two");
    assert_string_equal(err.text, "two");
}

static status_t count_calls(status_t status, int *calls) {
    ++*calls;
    return status;
}

static status_t try_twice(status_t first, int *calls) {
    TRY(count_calls(first, calls));
    TRY(count_calls(STATUS_OK, calls));
    return STATUS_OK;
}

static void try_leaves_with_the_status(void **state) {
    int calls = 0;
    assert_int_equal(try_twice(STATUS_NOISY, &calls), STATUS_NOISY);
    assert_int_equal(calls, 1);
    assert_int_equal(try_twice(STATUS_OK, &calls), STATUS_OK);
    assert_int_equal(calls, 3);
}

/* ---- base/memory: copies, growth, and the end of the process where allocation is impossible. */

static void empty_blocks_are_blocks(void **state) {
    void *blocks[] = {mem_alloc(0), mem_zeroed(0, 8), mem_zeroed(8, 0), mem_resize(NULL, 0, 4)};
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        assert_non_null(blocks[i]);
        free(blocks[i]);
    }
}

static void zeroed_is_zero(void **state) {
    unsigned char *bytes = mem_zeroed(100, 10);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(bytes[i], 0);
    free(bytes);
}

static void texts_are_copied(void **state) {
    assert_null(mem_text(NULL));
    char original[] = "kernel";
    AUTO_FREE char *copy = mem_text(original), *part = mem_text_n(original, 3);
    original[0] = 'K';
    assert_string_equal(copy, "kernel");
    assert_string_equal(part, "ker");
    assert_text(mem_format("%s/%d", "batch", 64), "batch/64");
}

static void arrays_grow_and_keep_their_content(void **state) {
    AUTO_FREE int *items = NULL;
    size_t capacity = 0, resizes = 0;
    for (size_t n = 0; n < 1000; n++) {
        size_t before = capacity;
        mem_grow(&items, n, &capacity, sizeof *items);
        resizes += capacity != before;
        assert_true(capacity > n);
        items[n] = (int)n;
    }
    for (int n = 0; n < 1000; n++)
        assert_int_equal(items[n], n);
    assert_true(resizes <= 10); /* doubling, not one by one */
    mem_grow(&items, 5000, &capacity, sizeof *items);
    assert_true(capacity > 5000);
}

static void resize_overflow(void) {
    free(mem_resize(NULL, SIZE_MAX / 2, 4));
}

static void zeroed_overflow(void) {
    free(mem_zeroed(SIZE_MAX / 2, 4));
}

static void impossible_sizes_abort(void **state) {
    void (*const actions[])(void) = {resize_overflow, zeroed_overflow};
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            signal(SIGABRT, SIG_DFL); /* cmocka catches it */
            close(STDERR_FILENO);
            actions[i]();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        /* A sanitizer may report and exit before our own message; it must not go on. */
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void texts_of_an_arena(void **state) {
    arena_t arena = {0};
    const char *first = arena_format(&arena, "batch=%d", 64);
    for (int i = 0; i < 100; i++)
        arena_format(&arena, "%d", i);
    assert_string_equal(first, "batch=64"); /* texts stay where they are while the arena grows */
    assert_string_equal(arena_keep(&arena, mem_text("kept")), "kept");
    assert_null(arena_keep(&arena, NULL));
    assert_string_equal(arena_buffer(&arena, 8), "");
    assert_int_equal(arena.n, 103);
    arena_free(&arena);
    assert_int_equal(arena.n, 0);
    arena_free(&arena);
}

#include "run_tests.h"
