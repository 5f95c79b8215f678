/* A page of the HTML report: whatever it says, only known tags come of it, links lead into the
 * file, and nothing is loaded or run. */
#include "fuzz.h"

#include "report/html/html.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const TAGS[] = {
    "a", "code", "details", "div",     "em",    "h1",    "h2", "h3", "h4",    "h5", "h6", "li",
    "p", "pre",  "strong",  "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
};

static int is_tag(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof TAGS / sizeof *TAGS; i++)
        if (strlen(TAGS[i]) == length && memcmp(TAGS[i], name, length) == 0)
            return 1;
    return 0;
}

/* Past the attributes of a tag: a name, a value in quotes. Only "open" has none. */
static const char *check_attributes(const char *at) {
    while (*at == ' ') {
        const char *name = ++at;
        at += strcspn(at, " =/>");
        const size_t length = (size_t)(at - name);
        FUZZ_CHECK(length > 0 && strncmp(name, "on", 2) != 0 && strncmp(name, "style", 5) != 0 &&
                   strncmp(name, "src", 3) != 0);
        if (*at != '=') {
            FUZZ_CHECK(length == 4 && memcmp(name, "open", 4) == 0);
            continue;
        }
        FUZZ_CHECK(at[1] == '"');
        const char *value = at + 2, *end = strchr(value, '"');
        FUZZ_CHECK(end != NULL);
        FUZZ_CHECK(length != 4 || memcmp(name, "href", 4) != 0 || *value == '#');
        const char *url = memmem(value, (size_t)(end - value), "url(", 4);
        FUZZ_CHECK(url == NULL || url[4] == '#');
        at = end + 1;
    }
    return at;
}

static void check_tags(const char *text) {
    for (const char *at = text; (at = strchr(at, '<')) != NULL;) {
        at += 1 + (at[1] == '/');
        const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzCFG123456");
        FUZZ_CHECK(is_tag(at, length));
        at = check_attributes(at + length);
        at += *at == '/';
        FUZZ_CHECK(*at == '>');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *page;
    size_t length;
    static const char *const HREFS[] = {"a.md"};
    html_t html = {.root = "/nowhere", .hrefs = HREFS, .n_hrefs = 1};
    html.out = open_memstream(&page, &length);
    html_blocks(&html, text, size % 2 == 0);
    fclose(html.out);
    check_tags(page);
    free(page);
    free(text);
    return 0;
}
