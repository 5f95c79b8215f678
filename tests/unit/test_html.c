/* Pages and charts as HTML: their marks become tags, and nothing else does. */
#include "checks.h"
#include "io/fs.h"
#include "report/html/html.h"

#define HREF "#c0123456789"

/* One link, "results/a.md", leads into the file. */
static char *rendered(const char *markdown, bool is_page) {
    html_t html = {
        .root = "tests/fixtures/report", .hrefs = (const char *[]){"results/a.md"}, .n_hrefs = 1};
    char *text;
    size_t size;
    html.out = open_memstream(&text, &size);
    html_blocks(&html, markdown, is_page);
    fclose(html.out);
    return text;
}

static void assert_rendered(const char *markdown, const char *expected) {
    AUTO_FREE char *text = rendered(markdown, false);
    assert_string_equal(text, expected);
}

static void test_marks(void **state) {
    assert_rendered("a **b `*c*` d** *e* f\n",
                    "<p>a <strong>b <code>*c*</code> d</strong> <em>e</em> f\n</p>\n");
    assert_rendered("*a \\* b `*`*\n", "<p><em>a * b <code>*</code></em>\n</p>\n");
    assert_rendered("`` a`b `` ` c\n", "<p><code>a`b</code> ` c\n</p>\n");
    assert_rendered("03_vectorized, a\\_b, \\*c\\*, 2 ** 3, \\\n",
                    "<p>03_vectorized, a_b, *c*, 2 ** 3, \\\n</p>\n");
    assert_rendered("x &lt; y &amp; z & &copy;\n", "<p>x &lt; y &amp; z &amp; &amp;copy;\n</p>\n");
}

static void test_links_lead_into_the_file_or_nowhere(void **state) {
    assert_rendered("[**a** b](results/a.md), [1.2](" HREF ")\n",
                    "<p><a href=\"#w1\"><strong>a</strong> b</a>, "
                    "<a href=\"" HREF "\">1.2</a>\n</p>\n");
    assert_rendered("[a](javascript:x) [docs/a.md](docs/a.md)\n",
                    "<p>a (<code>javascript:x</code>) docs/a.md\n</p>\n");
    assert_rendered("[a](#c012\" onclick=\"x) [b](#c0123456789a) [c] [d](\n",
                    "<p>a (<code>#c012&quot; onclick=&quot;x</code>) b "
                    "(<code>#c0123456789a</code>) [c] [d](\n</p>\n");
    assert_rendered("[a] [b] [c]\n\n[a]: results/a.md\n[b]: x\n",
                    "<p><a href=\"#w1\">a</a> b (<code>x</code>) [c]\n</p>\n");
}

static void test_text_stays_text(void **state) {
    assert_rendered("<script>x</script> \"'\x01\xff\n",
                    "<p>&lt;script&gt;x&lt;/script&gt; &quot;&#39;??\n</p>\n");
    assert_rendered("`</code><b>`\n", "<p><code>&lt;/code&gt;&lt;b&gt;</code>\n</p>\n");
    assert_rendered("    run '<b>' **a**\n    b\n",
                    "<pre tabindex=\"0\">run &#39;&lt;b&gt;&#39; **a**\nb\n</pre>\n");
    assert_rendered("![a\\_<b>](no.svg)\n",
                    "<p>a_&lt;b&gt;: the chart cannot be shown, see <code>no.svg</code></p>\n");
}

static void test_what_reports_escape_comes_back(void **state) {
    static const char TEXT[] = "# <b>&amp; `a` **c** [d](e) | \\ ~ $ - +";
    AUTO_FREE char *safe = markdown_text(TEXT), *code = markdown_code(TEXT), *shown;
    AUTO_FREE char *page = mem_format("| a | b |\n| - | - |\n| %s | %s |\n", safe, "`x\\|y`");
    static const char HTML[] = "# &lt;b&gt;&amp;amp; `a` **c** [d](e) | \\ ~ $ - +";
    shown = rendered(page, false);
    assert_has(shown, HTML);
    assert_has(shown, "<td><code>x|y</code></td></tr>");
    free(shown);
    shown = rendered(code, false);
    assert_has(shown, HTML);
}

static void test_lists(void **state) {
    assert_rendered("- a\n  - b\n  - c\n- d\n\ntext\n",
                    "<ul>\n<li>a<ul>\n<li>b</li>\n<li>c</li></ul>\n</li>\n<li>d</li></ul>\n"
                    "<p>text\n</p>\n");
}

static void test_tables(void **state) {
    AUTO_FREE char *text =
        rendered("# t\n\n| a | b |\n| --- | --: |\n| x\\|y |  |\n| z | 1 |\n", false);
    assert_has(text, "<h1 id=\"h1\">t</h1>\n<div class=\"table\" role=\"region\" tabindex=\"0\" "
                     "aria-labelledby=\"h1\"><table><thead><tr><th scope=\"col\">a</th><th "
                     "scope=\"col\" class=\"r\">b</th></tr>\n</thead><tbody>\n");
    assert_has(text, "<tr><th scope=\"row\">x|y</th><td class=\"r\"></td></tr>\n<tr><th "
                     "scope=\"row\">z</th><td class=\"r\">1</td></tr>\n</tbody></table></div>\n");
}

/* Whether a cell may wrap is decided by what is shown of it. */
static void test_only_long_cells_wrap(void **state) {
    AUTO_FREE char *text = rendered("| a | b | c |\n| - | - | - |\n"
                                    "| a | [12 µs](" HREF ") and [15 µs](" HREF ") | "
                                    "a sentence that is too long for a cell on a narrow screen |\n",
                                    false);
    assert_has(text, "<td><a href=\"" HREF "\">12 µs</a> and ");
    assert_has(text, "<td class=\"w\">a sentence");
}

static void test_sections_of_a_page_open(void **state) {
    AUTO_FREE char *text = rendered("## A\n\n### B\n\n## C\n\ntext\n", true);
    assert_string_equal(text,
                        "<details class=\"section\" open><summary><h3 id=\"h1\">A</h3></summary>\n"
                        "<h4 id=\"h2\">B</h4>\n</details>\n<details class=\"section\"><summary>"
                        "<h3 id=\"h3\">C</h3></summary>\n<p>text\n</p>\n</details>\n");
}

/* ---- charts ---------------------------------------------------------------------------------- */

/* As an image of its own, in which no script runs. */
static void test_charts_are_images(void **state) {
    static const char SVG[] = "<?xml version=\"1.0\"?>\n<svg a='#1'>50%\n</svg>\n";
    static const char *const OTHERS[] = {"text", "<svg>", "<html></html>"};
    assert_ok(fs_make_folders("build/tests/charts", &err));
    const char *path = "build/tests/charts/a b.svg",
               *link = "![n](../../../build/tests/charts/a%20b.svg)\n";
    assert_ok(fs_write_atomic(path, SVG, sizeof SVG - 1, &err));
    assert_rendered(link, "<figure><img class=\"chart\" alt=\"n\" "
                          "src=\"data:image/svg+xml,<?xml version=%221.0%22?><svg a='%231'>50%25 "
                          "</svg>\"></figure>\n");
    for (size_t i = 0; i < COUNT_OF(OTHERS); i++) {
        assert_ok(fs_write_atomic(path, OTHERS[i], strlen(OTHERS[i]), &err));
        AUTO_FREE char *text = rendered(link, false);
        assert_has(text, "n: the chart cannot be shown");
    }
}

/* ---- links to cases -------------------------------------------------------------------------- */

static void test_numbers_link_to_their_case(void **state) {
    record_t run = {.folder = mem_text("results/a")}, other = {.folder = mem_text("results/b")};
    case_result_t result = {.spec = {.id = mem_text("null/null/steady")}};
    page_t page;
    page_open(&page);
    page.report.run = &run;
    assert_string_equal(case_link(&page.report, &result, "1 µs"), "1 µs");
    page.report.links_cases = true;
    AUTO_FREE char *href = case_href(&run, &result), *elsewhere = case_href(&other, &result);
    assert_true(is_case_href(href));
    assert_string_not_equal(href, elsewhere);
    assert_string_equal(case_link(&page.report, &result, "1 µs"),
                        report_text(&page.report, "[1 µs](%s)", href));
    assert_string_equal(case_link(&page.report, NULL, "–"), "–");
    const report_t on_other = report_on(&page.report, &other);
    assert_string_equal(case_link(&on_other, &result, "1"),
                        report_text(&page.report, "[1](%s)", elsewhere));
    free(page_close(&page));
    free(result.spec.id);
    free(other.folder);
    free(run.folder);
}

#include "run_tests.h"
