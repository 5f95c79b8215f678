/* One line of the Markdown that reports are made of. */
#include "report/html/html.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 6 }; /* marks inside marks */

static void print_tag(const html_t *html, const char *tag) {
    if (!html->plain)
        fputs(tag, html->out);
}

/* ---- where a mark ends ----------------------------------------------------------------------- */

static size_t run_of(const char *c, const char *end, char mark) {
    size_t n = 0;
    while (c + n < end && c[n] == mark)
        n++;
    return n;
}

/* The closing backticks of the code span at `c`; NULL: none. */
static const char *code_end(const char *c, const char *end) {
    const size_t ticks = run_of(c, end, '`');
    for (const char *at = c + ticks; at < end;) {
        const size_t n = run_of(at, end, '`');
        if (n == ticks)
            return at;
        at += n > 0 ? n : 1;
    }
    return NULL;
}

/* Past the code span, escape or letter at `c`. */
static const char *past(const char *c, const char *end) {
    if (*c == '`') {
        const size_t ticks = run_of(c, end, '`');
        const char *close = code_end(c, end);
        return (close != NULL ? close : c) + ticks;
    }
    return *c == '\\' && c + 1 < end ? c + 2 : c + 1;
}

/* The first run of exactly `n` marks that is no code. */
static const char *find_mark(const char *c, const char *end, char mark, size_t n) {
    while (c < end) {
        const size_t found = run_of(c, end, mark);
        if (found == n)
            return c;
        c = found > 0 ? c + found : past(c, end);
    }
    return NULL;
}

/* ---- marks: each prints what begins at `c` and returns where to go on; NULL: it is none -------- */

static void print_span(html_t *html, const char *c, const char *end, unsigned depth);

/* A space at both ends only keeps backticks apart. */
static const char *print_code(html_t *html, const char *c, const char *end) {
    const size_t ticks = run_of(c, end, '`');
    const char *close = code_end(c, end);
    if (close == NULL)
        return NULL;
    const char *from = c + ticks, *to = close;
    if (to - from >= 2 && *from == ' ' && to[-1] == ' ') {
        from++;
        to--;
    }
    print_tag(html, "<code>");
    html_text_n(html, from, (size_t)(to - from));
    print_tag(html, "</code>");
    return close + ticks;
}

static const char *print_emphasis(html_t *html, const char *c, const char *end, unsigned depth) {
    const size_t n = run_of(c, end, '*');
    const char *close = n <= 2 ? find_mark(c + n, end, '*', n) : NULL;
    if (close == NULL || close == c + n)
        return NULL;
    print_tag(html, n == 2 ? "<strong>" : "<em>");
    print_span(html, c + n, close, depth + 1);
    print_tag(html, n == 2 ? "</strong>" : "</em>");
    return close + n;
}

/* A link out of the file is only named: the file may be anywhere, and asks for nothing. */
static const char *print_link(html_t *html, const char *c, const char *end, unsigned depth) {
    const char *text = c + 1 + (*c == '!'), *close = find_mark(text, end, ']', 1);
    if (text > end || text[-1] != '[' || close == NULL || close + 1 >= end || close[1] != '(')
        return NULL;
    const char *from = close + 2, *to = memchr(from, ')', (size_t)(end - from));
    if (to == NULL)
        return NULL;
    char *href = mem_text_n(from, (size_t)(to - from));
    const char *anchor = html_anchor(html, href);
    const bool named =
        (size_t)(close - text) == strlen(href) && memcmp(text, href, strlen(href)) == 0;
    if (anchor != NULL && !html->plain)
        fprintf(html->out, "<a href=\"#%s\">", anchor);
    if (anchor == NULL && named)
        print_tag(html, "<code>");
    print_span(html, text, close, depth + 1);
    if (anchor == NULL && !named && !html->plain) {
        fputs(" (<code>", html->out);
        html_text(html, href);
        fputs("</code>)", html->out);
    }
    print_tag(html, anchor != NULL ? "</a>" : named ? "</code>" : "");
    free(href);
    return to + 1;
}

static const char *print_mark(html_t *html, const char *c, const char *end, unsigned depth) {
    switch (*c) {
    case '`':
        return print_code(html, c, end);
    case '*':
        return print_emphasis(html, c, end, depth);
    case '!':
    case '[':
        return print_link(html, c, end, depth);
    default:
        return NULL;
    }
}

/* ---- plain ----------------------------------------------------------------------------------- */

/* An escape, a named character, a mark that is none, or all up to the next of these. */
static const char *print_plain(const html_t *html, const char *c, const char *end) {
    static const char *const NAMED[] = {"&lt;", "&gt;", "&amp;"};
    if (*c == '\\' && c + 1 < end && ispunct((unsigned char)c[1])) {
        html_text_n(html, c + 1, 1);
        return c + 2;
    }
    for (size_t i = 0; i < sizeof NAMED / sizeof *NAMED; i++) {
        const size_t length = strlen(NAMED[i]);
        if ((size_t)(end - c) >= length && memcmp(c, NAMED[i], length) == 0) {
            fputs(NAMED[i], html->out);
            return c + length;
        }
    }
    size_t n = *c == '*' || *c == '`' ? run_of(c, end, *c) : 1;
    while (c + n < end && strchr("\\&`*![", c[n]) == NULL)
        n++;
    html_text_n(html, c, n);
    return c + n;
}

static void print_span(html_t *html, const char *c, const char *end, unsigned depth) {
    while (c < end) {
        const char *next = depth < DEEPEST ? print_mark(html, c, end, depth) : NULL;
        c = next != NULL ? next : print_plain(html, c, end);
    }
}

void html_inline(html_t *html, const char *text, size_t length) {
    print_span(html, text, text + length, 0);
}

char *html_plain(const html_t *html, const char *text, size_t length) {
    html_t plain = *html;
    char *shown;
    size_t size;
    plain.plain = true;
    plain.out = open_memstream(&shown, &size);
    html_inline(&plain, text, length);
    fclose(plain.out);
    return shown;
}
