/* base/text: lists, splitting, names, and "did you mean". */
#include "base/text.h"
#include "checks.h"

static void lists(void **state) {
    text_list_t list = {0};
    char *joined = text_list_join(&list, ", ");
    assert_string_equal(joined, "");
    free(joined);
    char original[] = "pinned";
    text_list_add(&list, original);
    original[0] = 'X';
    text_list_add_format(&list, "batch=%d", 64);
    text_list_add(&list, "Batch");
    text_list_sort(&list);
    joined = text_list_join(&list, ", ");
    assert_string_equal(joined, "Batch, batch=64, pinned");
    free(joined);
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
        text_list_t list = text_split(rows[i].text, ',');
        assert_int_equal(list.n, rows[i].n);
        char *joined = text_list_join(&list, "|");
        assert_string_equal(joined, rows[i].joined);
        free(joined);
        text_list_free(&list);
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
    char *hint = text_hint("nvc", names, 2), *none = text_hint("clang", names, 2);
    assert_string_equal(hint, "; did you mean \"nvcc\"?");
    assert_string_equal(none, "");
    free(hint);
    free(none);
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
        char *text = text_utf8(pairs[i][0]);
        assert_string_equal(text, pairs[i][1]);
        free(text);
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
        char *text = text_shell(pairs[i][0]);
        assert_string_equal(text, pairs[i][1]);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(splitting),
        cmocka_unit_test(nearest),
        cmocka_unit_test(nearest_may_be_a_part),
        cmocka_unit_test(hints),
        cmocka_unit_test(nearest_prefers_the_closer_and_then_the_first),
        cmocka_unit_test(prefixes_and_suffixes),
        cmocka_unit_test(names),
        cmocka_unit_test(utf8),
        cmocka_unit_test(shell),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
