/* The Markdown that reports are made of. A library for all of Markdown would not shorten this much, and no distribution has one
 * for bench-portable to be linked with. */
#include "report/html/html.h"

#include "base/memory.h"
#include "io/fs.h"
#include "io/output.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEEPEST = 6,
    MOST_COLUMNS = 64,
    WIDE = 48
}; /* marks inside marks; letters of a cell that may wrap */

/* ---- text, and what links mean ---------------------------------------------------------------- */

void html_text_n(const html_t *html, const char *text, size_t length) {
    AUTO_FREE char *part = mem_text_n(text, length), *safe = xml_text(part);
    fputs(safe, html->out);
}

void html_text(const html_t *html, const char *text) {
    html_text_n(html, text, strlen(text));
}

/* The id of the case or of the page that a link leads to, for the caller to free; NULL: it leads out of the file. */
static char *anchor_of(const html_t *html, const char *href) {
    if (is_case_href(href))
        return mem_text(href + 1);
    for (size_t i = 0; i < html->n_hrefs; i++)
        if (strcmp(html->hrefs[i], href) == 0)
            return mem_format(HTML_PART, i + 1);
    return NULL;
}

/* ---- where a mark of a line ends --------------------------------------------------------------- */

static size_t run_of(const char *c, const char *end, char mark) {
    size_t n = 0;
    while (c + n < end && c[n] == mark)
        n++;
    return n;
}

/* The next run of exactly so many backticks; NULL: none. */
static const char *find_ticks(const char *c, const char *end, size_t ticks) {
    while (c < end) {
        const size_t n = run_of(c, end, '`');
        if (n == ticks)
            return c;
        c += n > 0 ? n : 1;
    }
    return NULL;
}

/* Past the code span, escape or letter at `c`. */
static const char *past(const char *c, const char *end) {
    if (*c == '`') {
        const size_t ticks = run_of(c, end, '`');
        const char *close = find_ticks(c + ticks, end, ticks);
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

static void print_tag(const html_t *html, const char *tag) {
    if (!html->plain)
        fputs(tag, html->out);
}

/* A space at both ends only keeps backticks apart. */
static const char *print_code_span(html_t *html, const char *c, const char *end) {
    const size_t ticks = run_of(c, end, '`');
    const char *close = find_ticks(c + ticks, end, ticks);
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

/* Where "[name]" leads to by the page's line "[name]: href"; NULL: nowhere. The caller frees it. */
static char *href_named(const html_t *html, const char *name, size_t length) {
    AUTO_FREE char *line = mem_format("\n[%.*s]: ", (int)length, name);
    const char *found = html->markdown != NULL ? strstr(html->markdown, line) : NULL;
    return found != NULL ? mem_text_n(found + strlen(line), strcspn(found + strlen(line), "\n"))
                         : NULL;
}

/* A link out of the file is only named: the file may be anywhere, and asks for nothing. */
static const char *print_link(html_t *html, const char *c, const char *end, unsigned depth) {
    const char *text = c + 1, *close = find_mark(text, end, ']', 1);
    if (close == NULL)
        return NULL;
    const bool direct = close + 1 < end && close[1] == '(';
    const char *to = direct ? memchr(close, ')', (size_t)(end - close)) : close;
    AUTO_FREE char *href = to == NULL ? NULL
                           : direct   ? mem_text_n(close + 2, (size_t)(to - close - 2))
                                      : href_named(html, text, (size_t)(close - text));
    if (href == NULL)
        return NULL;
    AUTO_FREE char *anchor = anchor_of(html, href);
    const bool named =
        (size_t)(close - text) == strlen(href) && memcmp(text, href, strlen(href)) == 0;
    if (anchor != NULL && !html->plain)
        fprintf(html->out, "<a href=\"#%s\">", anchor);
    print_span(html, text, close, depth + 1);
    if (anchor == NULL && !named && !html->plain) {
        fputs(" (<code>", html->out);
        html_text(html, href);
        fputs("</code>)", html->out);
    }
    print_tag(html, anchor != NULL ? "</a>" : "");
    return to + 1;
}

static const char *print_mark(html_t *html, const char *c, const char *end, unsigned depth) {
    return *c == '`'   ? print_code_span(html, c, end)
           : *c == '*' ? print_emphasis(html, c, end, depth)
           : *c == '[' ? print_link(html, c, end, depth)
                       : NULL;
}

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
    while (c + n < end && strchr("\\&`*[", c[n]) == NULL)
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

static void print_inline(html_t *html, const char *text) {
    print_span(html, text, text + strlen(text), 0);
}

char *html_plain(const html_t *html, const char *line) {
    html_t plain = *html;
    char *shown;
    size_t size;
    plain.plain = true;
    plain.out = open_memstream(&shown, &size);
    print_inline(&plain, line);
    fclose(plain.out);
    return shown;
}

/* ---- charts ---------------------------------------------------------------------------------- */

/* "%20" becomes a blank, in place. */
static void decode(char *path) {
    char *to = path;
    for (const char *c = path; *c != '\0'; c++)
        if (*c == '%' && isxdigit((unsigned char)c[1]) && isxdigit((unsigned char)c[2])) {
            *to++ = (char)strtol((char[]){c[1], c[2], '\0'}, NULL, 16);
            c += 2;
        } else {
            *to++ = *c;
        }
    *to = '\0';
}

/* What gnuplot defines for points in every chart: their end if nothing refers to one, else NULL. */
static const char *end_of_unused(const char *definitions) {
    static const char END[] = "</defs>";
    const char *end = definitions != NULL ? strstr(definitions, END) : NULL;
    return end != NULL && strstr(end, "href='#") == NULL && strstr(end, "url(#") == NULL
               ? end + strlen(END)
               : NULL;
}

/* As the address of an image, in which no script runs and nothing is loaded. */
static void print_address(const html_t *html, const char *svg) {
    const char *definitions = strstr(svg, "<defs>"), *unused = end_of_unused(definitions);
    fputs("data:image/svg+xml,", html->out);
    for (; *svg != '\0'; svg++) {
        if (svg == definitions && unused != NULL)
            svg = unused;
        if (strchr("%#\"&", *svg) != NULL)
            fprintf(html->out, "%%%02X", (unsigned char)*svg);
        else
            fputc(isspace((unsigned char)*svg) ? ' ' : *svg, html->out);
        const size_t blanks = *svg == '>' ? strspn(svg + 1, " \n") : 0;
        if (svg[blanks + 1] == '<')
            svg += blanks;
    }
}

/* NULL: it cannot be read, or is no SVG. */
static char *read_chart(const html_t *html, const char *href) {
    error_t none = ERROR_INIT;
    AUTO_FREE char *name = mem_text(href), *text = NULL;
    size_t size;
    decode(name);
    AUTO_FREE char *path = fs_join(html->root, name);
    if (fs_read(path, &text, &size, &none) != STATUS_OK)
        return NULL;
    text_make_plain(text);
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        text[--size] = '\0';
    const bool is_svg = strstr(text, "<svg") != NULL && text_ends(text, "</svg>");
    return is_svg ? mem_text(text) : NULL;
}

static void print_chart(html_t *html, const char *name, const char *href) {
    AUTO_FREE char *label = html_plain(html, name), *svg = read_chart(html, href);
    if (svg != NULL) {
        fprintf(html->out, "<figure><img class=\"chart\" alt=\"%s\" src=\"", label);
        print_address(html, svg);
        fputs("\"></figure>\n", html->out);
    } else {
        fprintf(html->out, "<p>%s: the chart cannot be shown, see <code>", label);
        html_text(html, href);
        fputs("</code></p>\n", html->out);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

typedef struct blocks {
    html_t *html;
    text_list_t lines; /* with an empty one at the end */
    size_t at;         /* of the next */
    bool is_page, in_section;
    size_t n_sections;
} blocks_t;

static const char *line_at(const blocks_t *blocks) {
    return blocks->lines.items[blocks->at];
}

static const char *take_line(blocks_t *blocks) {
    const char *line = line_at(blocks);
    blocks->at += blocks->at + 1 < blocks->lines.n;
    return line;
}

static bool is_left(const blocks_t *blocks) {
    return blocks->at + 1 < blocks->lines.n;
}

/* 0: it is none */
static unsigned heading_level(const char *line) {
    const size_t level = strspn(line, "#");
    return level <= 5 && line[level] == ' ' ? (unsigned)level : 0;
}

static void end_section(blocks_t *blocks) {
    if (blocks->in_section)
        fputs("</details>\n", blocks->html->out);
    blocks->in_section = false;
}

static void print_heading(blocks_t *blocks) {
    const char *line = take_line(blocks);
    FILE *out = blocks->html->out;
    const unsigned level = heading_level(line), shown = level + blocks->is_page;
    const bool opens = blocks->is_page && level == 2;
    if (opens) {
        end_section(blocks);
        fprintf(out, "<details class=\"section\"%s><summary>",
                blocks->n_sections++ == 0 ? " open" : "");
        blocks->in_section = true;
    }
    fprintf(out, "<h%u id=\"h%zu\">", shown, ++blocks->html->n_headings);
    print_inline(blocks->html, line + level + 1);
    fprintf(out, "</h%u>%s\n", shown, opens ? "</summary>" : "");
}

/* Blanks before an item; SIZE_MAX: it is none. An item is a line, two blanks more for each level. */
static size_t item_indent(const char *line) {
    const size_t blanks = strspn(line, " ");
    return blanks % 2 == 0 && text_starts(line + blanks, "- ") ? blanks : SIZE_MAX;
}

static void print_list(blocks_t *blocks) {
    FILE *out = blocks->html->out;
    size_t depth = 0; /* lists that are open */
    for (size_t indent; (indent = item_indent(line_at(blocks))) != SIZE_MAX;) {
        const size_t wanted = indent / 2 + 1 > depth + 1 ? depth + 1 : indent / 2 + 1;
        if (wanted > depth)
            fputs("<ul>\n", out);
        for (size_t d = depth; d > wanted; d--)
            fputs("</li></ul>\n", out);
        if (wanted <= depth)
            fputs("</li>\n", out);
        depth = wanted;
        fputs("<li>", out);
        print_inline(blocks->html, take_line(blocks) + indent + 2);
    }
    for (; depth > 0; depth--)
        fputs("</li></ul>\n", out);
}

/* The cells of a row, without the blanks around them. A pipe after a backslash ends none. */
static text_list_t cells_of(const char *line) {
    text_list_t cells = {0};
    const char *end = line + strlen(line);
    for (const char *c = line + 1; c < end;) {
        char *cell = mem_zeroed((size_t)(end - c) + 1, 1);
        size_t n = 0;
        for (; c < end && *c != '|'; c++) {
            c += *c == '\\' && c + 1 < end && c[1] == '|';
            if (n > 0 || *c != ' ')
                cell[n++] = *c;
            if (*c == '\\' && c + 1 < end)
                cell[n++] = *++c;
        }
        c++;
        while (n > 0 && cell[n - 1] == ' ')
            n--;
        cell[n] = '\0';
        text_list_take(&cells, cell);
    }
    return cells;
}

/* Without tags and the places that links lead to. */
static bool is_wide(const html_t *html, const char *cell) {
    AUTO_FREE char *text = html_plain(html, cell);
    return text_width(text) > WIDE;
}

static void print_row(const blocks_t *blocks, const char *line, const bool *right, bool heads) {
    html_t *html = blocks->html;
    AUTO(text_list_free) text_list_t cells = cells_of(line);
    fputs("<tr>", html->out);
    for (size_t i = 0; i < cells.n && i < MOST_COLUMNS; i++) {
        const bool wide = !heads && !right[i] && is_wide(html, cells.items[i]);
        const char *name = heads ? "th scope=\"col\"" : i == 0 ? "th scope=\"row\"" : "td";
        fprintf(html->out, "<%s%s>", name, right[i] ? " class=\"r\"" : wide ? " class=\"w\"" : "");
        print_inline(html, cells.items[i]);
        fprintf(html->out, "</%.2s>", name);
    }
    fputs("</tr>\n", html->out);
}

/* A row of headings, one of dashes with a colon where a column is aligned to the right, the rows. */
static void print_table(blocks_t *blocks) {
    FILE *out = blocks->html->out;
    bool right[MOST_COLUMNS] = {false};
    const char *headings = take_line(blocks);
    AUTO(text_list_free) text_list_t rules = cells_of(take_line(blocks));
    for (size_t i = 0; i < rules.n && i < MOST_COLUMNS; i++)
        right[i] = text_ends(rules.items[i], ":");
    fprintf(out,
            "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-labelledby=\"h%zu\"><table>"
            "<thead>",
            blocks->html->n_headings);
    print_row(blocks, headings, right, true);
    fputs("</thead><tbody>\n", out);
    while (*line_at(blocks) == '|')
        print_row(blocks, take_line(blocks), right, false);
    fputs("</tbody></table></div>\n", out);
}

static void print_code(blocks_t *blocks) {
    fputs("<pre tabindex=\"0\">", blocks->html->out);
    while (text_starts(line_at(blocks), "    ")) {
        html_text(blocks->html, take_line(blocks) + 4);
        fputc('\n', blocks->html->out);
    }
    fputs("</pre>\n", blocks->html->out);
}

/* "![name](path)", and nothing else. */
static void print_image(blocks_t *blocks) {
    AUTO_FREE char *name = mem_text(take_line(blocks) + 2);
    char *path = strstr(name, "](");
    if (path != NULL && text_ends(name, ")")) {
        *path = name[strlen(name) - 1] = '\0';
        print_chart(blocks->html, name, path + 2);
    }
}

static void print_paragraph(blocks_t *blocks) {
    fputs("<p>", blocks->html->out);
    do {
        print_inline(blocks->html, take_line(blocks));
        fputc('\n', blocks->html->out);
    } while (strchr("#|!-", *line_at(blocks)) == NULL); /* nor of an empty one */
    fputs("</p>\n", blocks->html->out);
}

static void print_block(blocks_t *blocks) {
    const char *line = line_at(blocks);
    if (*line == '\0' || (*line == '[' && strstr(line, "]: ") != NULL))
        take_line(blocks); /* or where a [name] leads to */
    else if (heading_level(line) > 0)
        print_heading(blocks);
    else if (item_indent(line) != SIZE_MAX)
        print_list(blocks);
    else if (text_starts(line, "|"))
        print_table(blocks);
    else if (text_starts(line, "    "))
        print_code(blocks);
    else if (text_starts(line, "!["))
        print_image(blocks);
    else if (text_starts(line, "[![") && blocks->html->picture != NULL)
        fprintf(blocks->html->out, "<figure>%s</figure>\n",
                (take_line(blocks), blocks->html->picture));
    else
        print_paragraph(blocks);
}

void html_blocks(html_t *html, const char *markdown, bool is_page) {
    blocks_t blocks = {.html = html, .lines = text_split(markdown, '\n'), .is_page = is_page};
    text_list_add(&blocks.lines, "");
    html->markdown = markdown;
    while (is_left(&blocks))
        print_block(&blocks);
    end_section(&blocks);
    text_list_free(&blocks.lines);
}
