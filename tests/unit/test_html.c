/* Pages and charts as HTML: their marks become tags, and nothing else does. */
#include "planted_run.h"
#include "report/html/html.h"
#include "report_text.h"

#include <stdlib.h>

#define HREF "#c0123456789abcdef"

/* One link, "results/a.md", leads into the file. */
static char *rendered(const char *markdown, bool is_page) {
    html_t html = {.root = "/nowhere"};
    char *text;
    size_t size;
    html.out = open_memstream(&text, &size);
    html_add_target(&html, "results/a.md", "w1");
    html_blocks(&html, markdown, is_page);
    fclose(html.out);
    html_free(&html);
    return text;
}

static void assert_rendered(const char *markdown, const char *expected) {
    char *text = rendered(markdown, false);
    assert_string_equal(text, expected);
    free(text);
}

static void test_marks(void **state) {
    (void)state;
    assert_rendered("a **b `*c*` d** *e* f\n",
                    "<p>a <strong>b <code>*c*</code> d</strong> <em>e</em> f\n</p>\n");
    assert_rendered("*a \\* b `*`*\n", "<p><em>a * b <code>*</code></em>\n</p>\n");
    assert_rendered("`` a`b `` ` c\n", "<p><code>a`b</code> ` c\n</p>\n");
    assert_rendered("03_vectorized, a\\_b, \\*c\\*, 2 ** 3, \\\n",
                    "<p>03_vectorized, a_b, *c*, 2 ** 3, \\\n</p>\n");
    assert_rendered("x &lt; y &amp; z & &copy;\n", "<p>x &lt; y &amp; z &amp; &amp;copy;\n</p>\n");
}

static void test_links_lead_into_the_file_or_nowhere(void **state) {
    (void)state;
    assert_rendered("[**a** b](results/a.md), [1.2](" HREF ")\n",
                    "<p><a href=\"#w1\"><strong>a</strong> b</a>, "
                    "<a href=\"" HREF "\">1.2</a>\n</p>\n");
    assert_rendered("[a](javascript:x) [docs/a.md](docs/a.md) ![c](http://x/)\n",
                    "<p>a (<code>javascript:x</code>) <code>docs/a.md</code> c "
                    "(<code>http://x/</code>)\n</p>\n");
    assert_rendered("[a](#c012\" onclick=\"x) [b](#c0123456789abcdefg) [c] [d](\n",
                    "<p>a (<code>#c012&quot; onclick=&quot;x</code>) b "
                    "(<code>#c0123456789abcdefg</code>) [c] [d](\n</p>\n");
}

static void test_text_stays_text(void **state) {
    (void)state;
    assert_rendered("<script>x</script> \"'\x01\xff\n",
                    "<p>&lt;script&gt;x&lt;/script&gt; &quot;&#39;??\n</p>\n");
    assert_rendered("`</code><b>`\n", "<p><code>&lt;/code&gt;&lt;b&gt;</code>\n</p>\n");
    assert_rendered("    run '<b>' **a**\n    b\n",
                    "<pre tabindex=\"0\">run &#39;&lt;b&gt;&#39; **a**\nb\n</pre>\n");
    assert_rendered("![a\\_<b>](no.svg)\n",
                    "<p>a_&lt;b&gt;: the chart cannot be shown, see <code>no.svg</code></p>\n");
}

static void test_what_reports_escape_comes_back(void **state) {
    (void)state;
    static const char TEXT[] = "# <b>&amp; `a` **c** [d](e) | \\ ~ $ - +";
    char *safe = markdown_text(TEXT), *code = markdown_code(TEXT), *shown;
    char *page = mem_format("| a | b |\n| - | - |\n| %s | %s |\n", safe, "`x\\|y`");
    static const char HTML[] = "# &lt;b&gt;&amp;amp; `a` **c** [d](e) | \\ ~ $ - +";
    shown = rendered(page, false);
    assert_has(shown, HTML);
    assert_has(shown, "<td><code>x|y</code></td></tr>");
    free(shown);
    shown = rendered(code, false);
    assert_has(shown, HTML);
    free(shown);
    free(page);
    free(code);
    free(safe);
}

static void test_lists(void **state) {
    (void)state;
    assert_rendered("- a\n  - b\n  - c\n- [x] d\n- [ ] e\n\ntext\n",
                    "<ul>\n<li>a<ul>\n<li>b</li>\n<li>c</li></ul>\n</li>\n<li>✓ d</li>\n<li>✗ "
                    "e</li></ul>\n<p>text\n</p>\n");
}

static void test_tables(void **state) {
    (void)state;
    char *text = rendered("# t\n\n| a | b |\n| --- | --: |\n| x\\|y |  |\n| z | 1 |\n", false);
    assert_has(text, "<h1 id=\"h1\">t</h1>\n<div class=\"table\" role=\"region\" tabindex=\"0\" "
                     "aria-labelledby=\"h1\"><table><thead><tr><th scope=\"col\">a</th><th "
                     "scope=\"col\" class=\"r\">b</th></tr>\n</thead><tbody>\n");
    assert_has(text, "<tr><th scope=\"row\">x|y</th><td class=\"r\"></td></tr>\n<tr><th "
                     "scope=\"row\">z</th><td class=\"r\">1</td></tr>\n</tbody></table></div>\n");
    free(text);
}

/* Whether a cell may wrap is decided by what is shown of it. */
static void test_only_long_cells_wrap(void **state) {
    (void)state;
    char *text = rendered("| a | b | c |\n| - | - | - |\n"
                          "| a | [12 µs](" HREF ") and [15 µs](" HREF ") | "
                          "a sentence that is too long for a cell on a narrow screen |\n",
                          false);
    assert_has(text, "<td><a href=\"" HREF "\">12 µs</a> and ");
    assert_has(text, "<td class=\"w\">a sentence");
    free(text);
}

static void test_sections_of_a_page_open(void **state) {
    (void)state;
    char *text = rendered("## A\n\n### B\n\n## C\n\ntext\n", true);
    assert_string_equal(text,
                        "<details class=\"section\" open><summary><h3 id=\"h1\">A</h3></summary>\n"
                        "<h4 id=\"h2\">B</h4>\n</details>\n<details class=\"section\"><summary>"
                        "<h3 id=\"h3\">C</h3></summary>\n<p>text\n</p>\n</details>\n");
    free(text);
}

/* ---- charts ---------------------------------------------------------------------------------- */

#define ROOT                                                                                       \
    "<svg class=\"chart\" role=\"img\" aria-label=\"L\" color=\"black\" font-family=\"DejaVu "     \
    "Sans\""

static void assert_drawn(const char *svg, const char *expected) {
    char *drawn = svg_inline(svg, "p7-", "L");
    if (expected == NULL || drawn == NULL)
        assert_ptr_equal(drawn, expected);
    else
        assert_string_equal(drawn, expected);
    free(drawn);
}

static void test_ids_of_charts_cannot_clash(void **state) {
    (void)state;
    assert_drawn("<?xml version=\"1.0\"?>\n<!-- c --><svg id='x' viewBox=\"0 0 9 9\" width=\"9\">\n"
                 "<defs><circle id='a' r='1'/></defs>"
                 "<use xlink:href='#a' x='1'/><text style='filter:url(#textbox)'>1 &lt; 2</text>"
                 "<path d=\"M0,0\n1\" clip-path=\"url(#a)\"/></svg>\n",
                 ROOT " viewBox=\"0 0 9 9\"><defs><circle id=\"p7-a\" r=\"1\"/></defs>"
                      "<use href=\"#p7-a\" x=\"1\"/><text filter=\"url(#p7-textbox)\">1 &lt; 2"
                      "</text><path d=\"M0,0 1\" clip-path=\"url(#p7-a)\"/></svg>");
}

static void test_empty_groups_and_titles_are_left_out(void **state) {
    (void)state;
    assert_drawn("<svg><title>Gnuplot</title><desc>d</desc><g color=\"red\">\n</g>"
                 "<g><title>plot_1</title><g><rect x=\"1\"/></g></g></svg>",
                 ROOT "><g><g><rect x=\"1\"/></g></g></svg>");
}

static void test_what_is_inherited_is_not_repeated(void **state) {
    (void)state;
    assert_drawn("<svg><defs><path color='black'/></defs><g stroke-width='1.00' color=\"red\">"
                 "<g color='red' stroke-linecap='round'><rect color='black' "
                 "stroke-linecap='butt'/></g><text font-family='DejaVu Sans'>t</text></g></svg>",
                 ROOT "><defs><path color=\"black\"/></defs><g color=\"red\">"
                      "<g stroke-linecap=\"round\"><rect color=\"black\" "
                      "stroke-linecap=\"butt\"/></g><text>t</text></g></svg>");
}

static void test_charts_do_nothing(void **state) {
    (void)state;
    static const char *const NOTHING[] = {
        "<script>alert(1)</script>",
        "<g><foreignObject><rect x='1'/></foreignObject></g>",
        "<a href=\"javascript:x\"><rect x='1'/></a>",
        "<style>* { fill: url(http://x/) }</style>",
        "<image href=\"http://x/\"/>",
        "<svg><rect x='1'/></svg>",
        "<animate attributeName=\"href\" values=\"javascript:x\"/>",
    };
    for (size_t i = 0; i < sizeof NOTHING / sizeof *NOTHING; i++) {
        char *svg = mem_format("<svg><rect/>%s</svg>", NOTHING[i]);
        assert_drawn(svg, ROOT "><rect/></svg>");
        free(svg);
    }
    static const char *const HARMFUL[] = {
        "onload=\"x\"",
        "href=\"http://x/\"",
        "href=\"&#35;a\"",
        "xlink:href=\"javascript:x\"",
        "fill=\"url(http://x/)\"",
        "fill=\"url(  #a)\"",
        "fill=\"\\75rl(#a)\"",
        "fill=\"image(a)\"",
        "fill=\"curl(#a)\"",
        "style=\"fill:red\"",
        "class=\"w\"",
        "d='\"'",
        "d=\"a<b\"",
        "width=\"&quot;\"",
    };
    for (size_t i = 0; i < sizeof HARMFUL / sizeof *HARMFUL; i++) {
        char *svg = mem_format("<svg><rect %s x='1'/></svg>", HARMFUL[i]);
        assert_drawn(svg, ROOT "><rect x=\"1\"/></svg>");
        free(svg);
    }
    assert_drawn("<svg><path fill=\"rgb(1, 2, 3)\" transform='rotate(9)'/></svg>",
                 ROOT "><path fill=\"rgb(1, 2, 3)\" transform=\"rotate(9)\"/></svg>");
}

static void test_what_is_no_svg_is_not_shown(void **state) {
    (void)state;
    static const char *const BROKEN[] = {
        "",
        "text",
        "<svg",
        "<svg>",
        "<svg/>",
        "<svg><g></svg>",
        "<svg><g></svg></g>",
        "<svg></svg></svg>",
        "<svg></svg><svg></svg>",
        "<html></html>",
        "<!DOCTYPE svg><svg></svg>",
        "<svg><![CDATA[<script>]]></svg>",
        "<svg><rect x></svg>",
        "<svg><rect x=1/></svg>",
        "<svg><rect x=\"1/></svg>",
        "<svg><!-- </svg>",
        "<svg><? </svg>",
        "<svg><text></text",
    };
    for (size_t i = 0; i < sizeof BROKEN / sizeof *BROKEN; i++)
        assert_drawn(BROKEN[i], NULL);
    char deep[] = "<g><g><g><g><g><g><g><g><g><g><g><g><g><g><g><g>";
    char *svg = mem_format("<svg>%s%s%s%s", deep, deep, deep, deep);
    assert_drawn(svg, NULL);
    free(svg);
}

/* ---- samples --------------------------------------------------------------------------------- */

static size_t count_of(const char *text, const char *part) {
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        n++;
    return n;
}

static char *drawn_samples(size_t n_passes) {
    record_t run = {.name = mem_text("planted")};
    plant_case(&run, (planted_t){"cuda", "cuda", "01_study", 1, 1000, CASE_OK, NULL}, n_passes, 1);
    html_t html = {0};
    char *text;
    size_t size;
    html.out = open_memstream(&text, &size);
    html_samples(&html, result_phase(&run.cases[0], "host_to_host"));
    fclose(html.out);
    result_free(&run.cases[0]);
    free(run.cases);
    free(run.name);
    return text;
}

static void test_samples_are_thinned(void **state) {
    (void)state;
    char *one = drawn_samples(1);
    assert_int_equal(count_of(one, "h0"), PASS_ROUNDS * ROUND_SAMPLES);
    assert_has(one, "host_to_host: its 32 samples in the order taken");
    assert_has_not(one, "interval");
    free(one);
    char *many = drawn_samples(20); /* 640 samples, at most 400 points */
    assert_int_equal(count_of(many, "h0"), 320);
    assert_has(many, "host_to_host: 1 of every 2 of its 640 samples in the order taken");
    assert_has(many, "band: its interval, upright lines: passes");
    assert_has(many, "<rect class=\"interval\"");
    assert_int_equal(count_of(many, "V120"), 19);
    free(many);
}

/* ---- links to cases -------------------------------------------------------------------------- */

static void test_numbers_link_to_their_case(void **state) {
    (void)state;
    record_t run = {.folder = mem_text("results/a")}, other = {.folder = mem_text("results/b")};
    case_result_t result = {.spec = {.id = mem_text("null/null/steady")}};
    page_t page;
    page_open(&page);
    page.report.run = &run;
    assert_string_equal(case_link(&page.report, &result, "1 µs"), "1 µs");
    page.report.links_cases = true;
    char *href = case_href(&run, &result), *elsewhere = case_href(&other, &result);
    assert_true(is_case_href(href));
    assert_string_not_equal(href, elsewhere);
    assert_string_equal(case_link(&page.report, &result, "1 µs"),
                        report_text(&page.report, "[1 µs](%s)", href));
    assert_string_equal(case_link(&page.report, NULL, "–"), "–");
    const report_t on_other = report_on(&page.report, &other);
    assert_string_equal(case_link(&on_other, &result, "1"),
                        report_text(&page.report, "[1](%s)", elsewhere));
    free(page_close(&page));
    free(elsewhere);
    free(href);
    free(result.spec.id);
    free(other.folder);
    free(run.folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_links_lead_into_the_file_or_nowhere),
        cmocka_unit_test(test_text_stays_text),
        cmocka_unit_test(test_what_reports_escape_comes_back),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_only_long_cells_wrap),
        cmocka_unit_test(test_sections_of_a_page_open),
        cmocka_unit_test(test_ids_of_charts_cannot_clash),
        cmocka_unit_test(test_empty_groups_and_titles_are_left_out),
        cmocka_unit_test(test_what_is_inherited_is_not_repeated),
        cmocka_unit_test(test_charts_do_nothing),
        cmocka_unit_test(test_what_is_no_svg_is_not_shown),
        cmocka_unit_test(test_samples_are_thinned),
        cmocka_unit_test(test_numbers_link_to_their_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
