#include "checks.h"
#include "io/output.h"

static void test_width_counts_columns_not_bytes(void **state) {
    static const struct {
        const char *text;
        size_t columns;
    } CASES[] = {
        {"", 0},         {"12.6 ms", 7},  {"12.6 µs", 7},      {"3.4× (3.3–3.6)", 14},
        {"–", 1},        {"e\u0301", 1},  {"\u65e5\u672c", 4}, {"🔥", 2},
        {"\xff\xc3", 2}, {"\xe2\x80", 2},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        assert_int_equal(text_width(CASES[i].text), CASES[i].columns);
}

static void fill(table_t *table) {
    static const char *const HEADINGS[] = {"Case", "Time", "Ratio"};
    *table = table_make("lrl", HEADINGS);
    table_add(table, "eager");
    table_add(table, "12.6 µs");
    table_add(table, "3.4×");
    table_add(table, "a|b");
    table_add_format(table, "%d ns", 9);
    table_end_row(table);
}

static void test_terminal(void **state) {
    AUTO(table_free) table_t table;
    fill(&table);
    assert_int_equal(table_rows(&table), 2);
    assert_text(table_text(&table, TABLE_TERMINAL), "Case      Time  Ratio\n"
                                                    "─────  ───────  ─────\n"
                                                    "eager  12.6 µs  3.4×\n"
                                                    "a|b       9 ns\n");
}

static void test_markdown(void **state) {
    AUTO(table_free) table_t table;
    fill(&table);
    assert_text(table_text(&table, TABLE_MARKDOWN), "| Case  |    Time | Ratio |\n"
                                                    "| ----- | ------: | ----- |\n"
                                                    "| eager | 12.6 µs | 3.4×  |\n"
                                                    "| a\\|b  |    9 ns |       |\n");
}

static void test_no_rows(void **state) {
    static const char *const HEADINGS[] = {"a"};
    AUTO(table_free) table_t table = table_make("l", HEADINGS);
    assert_int_equal(table_rows(&table), 0);
    assert_text(table_text(&table, TABLE_MARKDOWN), "| a   |\n| --- |\n");
}

static void test_markdown_escapes(void **state) {
    static const struct {
        const char *text, *safe;
    } CASES[] = {
        {"03_vectorized", "03_vectorized"},
        {"_x_ __y", "\\_x\\_ \\_\\_y"},
        {"a|b`c", "a\\|b\\`c"},
        {"<img src=x onerror=y> & co", "&lt;img src=x onerror=y&gt; &amp; co"},
        {"line\nbreak\ttab", "line break tab"},
        {"[x](y) *z* ~~no~~ $q$ \\", "\\[x\\](y) \\*z\\* \\~\\~no\\~\\~ \\$q\\$ \\\\"},
        {"# title - 1", "\\# title - 1"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO_FREE char *safe = markdown_text(CASES[i].text);
        assert_string_equal(safe, CASES[i].safe);
    }
}

static void test_markdown_code(void **state) {
    static const struct {
        const char *text, *safe;
    } CASES[] = {
        {"sm_90", "`sm_90`"},
        {"a`b", "``a`b``"},
        {"`", "`` ` ``"},
        {"a\nb", "`a b`"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO_FREE char *safe = markdown_code(CASES[i].text);
        assert_string_equal(safe, CASES[i].safe);
    }
}

#include "run_tests.h"
