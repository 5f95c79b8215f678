/* The blocks of the Markdown that reports are made of. */
#include "report/html/html.h"

#include "base/memory.h"
#include "io/output.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64, WIDE = 48 }; /* letters of a cell that may wrap */

typedef struct line {
    const char *text;
    size_t length;
} line_t;

typedef struct blocks {
    html_t *html;
    line_t *lines;
    size_t n, at;
    bool is_page, in_section;
    size_t n_sections;
} blocks_t;

static line_t *lines_of(const char *text, size_t *n) {
    line_t *lines = NULL;
    size_t capacity = 0;
    *n = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        mem_grow(&lines, *n, &capacity, sizeof *lines);
        lines[(*n)++] = (line_t){text, length};
        text += length + (text[length] == '\n');
    }
    return lines;
}

static bool begins(const line_t *line, const char *prefix) {
    return line->length >= strlen(prefix) && memcmp(line->text, prefix, strlen(prefix)) == 0;
}

static void print_inline(const blocks_t *blocks, const line_t *line, size_t from) {
    html_inline(blocks->html, line->text + from, line->length - from);
}

/* ---- headings -------------------------------------------------------------------------------- */

/* 0: it is none */
static unsigned heading_level(const line_t *line) {
    unsigned level = 0;
    while (level < line->length && line->text[level] == '#')
        level++;
    return level <= 5 && level < line->length && line->text[level] == ' ' ? level : 0;
}

static void end_section(blocks_t *blocks) {
    if (blocks->in_section)
        fputs("</details>\n", blocks->html->out);
    blocks->in_section = false;
}

static void print_heading(blocks_t *blocks) {
    const line_t *line = &blocks->lines[blocks->at++];
    FILE *out = blocks->html->out;
    const unsigned level = heading_level(line);
    const bool opens = blocks->is_page && level == 2;
    if (opens) {
        end_section(blocks);
        fprintf(out, "<details class=\"section\"%s><summary>",
                blocks->n_sections++ == 0 ? " open" : "");
        blocks->in_section = true;
    }
    const unsigned shown = level + blocks->is_page;
    fprintf(out, "<h%u id=\"h%zu\">", shown, ++blocks->html->n_headings);
    print_inline(blocks, line, level + 1);
    fprintf(out, "</h%u>%s\n", shown, opens ? "</summary>" : "");
}

/* ---- lists: an item is a line, two blanks more for each level ---------------------------------- */

/* Blanks before an item; SIZE_MAX: it is none. */
static size_t item_indent(const line_t *line) {
    size_t blanks = 0;
    while (blanks < line->length && line->text[blanks] == ' ')
        blanks++;
    const line_t rest = {line->text + blanks, line->length - blanks};
    return blanks % 2 == 0 && begins(&rest, "- ") ? blanks : SIZE_MAX;
}

static void print_item(const blocks_t *blocks, const line_t *line, size_t from) {
    const line_t rest = {line->text + from, line->length - from};
    const bool done = begins(&rest, "[x] "), open = begins(&rest, "[ ] ");
    fputs(done ? "<li>✓ " : open ? "<li>✗ " : "<li>", blocks->html->out);
    print_inline(blocks, &rest, done || open ? strlen("[x] ") : 0);
}

static void print_list(blocks_t *blocks) {
    FILE *out = blocks->html->out;
    size_t depth = 0, indent; /* lists that are open */
    while (blocks->at < blocks->n &&
           (indent = item_indent(&blocks->lines[blocks->at])) != SIZE_MAX) {
        size_t wanted = indent / 2 + 1;
        wanted = wanted > depth + 1 ? depth + 1 : wanted;
        if (wanted > depth)
            fputs("<ul>\n", out);
        for (size_t d = depth; d > wanted; d--)
            fputs("</li></ul>\n", out);
        if (wanted <= depth)
            fputs("</li>\n", out);
        depth = wanted;
        print_item(blocks, &blocks->lines[blocks->at++], indent + 2);
    }
    for (; depth > 0; depth--)
        fputs("</li></ul>\n", out);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The cells of a row, without the blanks around them. A pipe after a backslash ends none. */
static text_list_t cells_of(const line_t *line) {
    text_list_t cells = {0};
    const char *end = line->text + line->length;
    for (const char *c = line->text + 1; c < end;) {
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
    char *text = html_plain(html, cell, strlen(cell));
    const bool wide = text_width(text) > WIDE;
    free(text);
    return wide;
}

static void print_row(const blocks_t *blocks, const line_t *line, const bool *right, bool heads) {
    html_t *html = blocks->html;
    text_list_t cells = cells_of(line);
    fputs("<tr>", html->out);
    for (size_t i = 0; i < cells.n && i < MOST_COLUMNS; i++) {
        const bool wide = !heads && !right[i] && is_wide(html, cells.items[i]);
        const char *name = heads ? "th scope=\"col\"" : i == 0 ? "th scope=\"row\"" : "td";
        fprintf(html->out, "<%s%s>", name, right[i] ? " class=\"r\"" : wide ? " class=\"w\"" : "");
        html_inline(html, cells.items[i], strlen(cells.items[i]));
        fprintf(html->out, "</%.2s>", name);
    }
    fputs("</tr>\n", html->out);
    text_list_free(&cells);
}

static bool is_row(const blocks_t *blocks, size_t at) {
    return at < blocks->n && begins(&blocks->lines[at], "|");
}

/* A row of headings, one of dashes with a colon where a column is aligned to the right, the rows. */
static void print_table(blocks_t *blocks) {
    FILE *out = blocks->html->out;
    bool right[MOST_COLUMNS] = {false};
    const line_t *headings = &blocks->lines[blocks->at++];
    text_list_t rule = {0};
    if (is_row(blocks, blocks->at))
        rule = cells_of(&blocks->lines[blocks->at++]);
    for (size_t i = 0; i < rule.n && i < MOST_COLUMNS; i++)
        right[i] = text_ends(rule.items[i], ":");
    text_list_free(&rule);
    fprintf(out,
            "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-labelledby=\"h%zu\"><table>"
            "<thead>",
            blocks->html->n_headings);
    print_row(blocks, headings, right, true);
    fputs("</thead><tbody>\n", out);
    while (is_row(blocks, blocks->at))
        print_row(blocks, &blocks->lines[blocks->at++], right, false);
    fputs("</tbody></table></div>\n", out);
}

/* ---- code, images, paragraphs ---------------------------------------------------------------- */

static void print_code(blocks_t *blocks) {
    fputs("<pre tabindex=\"0\">", blocks->html->out);
    for (; blocks->at < blocks->n && begins(&blocks->lines[blocks->at], "    "); blocks->at++) {
        const line_t *line = &blocks->lines[blocks->at];
        html_text_n(blocks->html, line->text + 4, line->length - 4);
        fputc('\n', blocks->html->out);
    }
    fputs("</pre>\n", blocks->html->out);
}

/* "![name](path)", once or more with a blank between, and nothing else. */
static bool print_images(blocks_t *blocks) {
    char *text = mem_text_n(blocks->lines[blocks->at].text, blocks->lines[blocks->at].length);
    const bool are_images =
        text_starts(text, "![") && strstr(text, "](") != NULL && text_ends(text, ")");
    for (char *next = are_images ? text : NULL; next != NULL;) {
        char *name = next + 2, *path = strstr(name, "](");
        if (path == NULL)
            break;
        char *end = strstr(path, ") ![");
        next = end != NULL ? end + 2 : NULL;
        *path = '\0';
        path += 2;
        path[end != NULL ? (size_t)(end - path) : strlen(path) - 1] = '\0';
        html_chart(blocks->html, name, path);
    }
    blocks->at += are_images;
    free(text);
    return are_images;
}

static bool is_paragraph(const line_t *line) {
    return line->length > 0 && heading_level(line) == 0 && item_indent(line) == SIZE_MAX &&
           !begins(line, "|") && !begins(line, "    ");
}

static void print_paragraph(blocks_t *blocks) {
    fputs("<p>", blocks->html->out);
    do {
        print_inline(blocks, &blocks->lines[blocks->at++], 0);
        fputc('\n', blocks->html->out);
    } while (blocks->at < blocks->n && is_paragraph(&blocks->lines[blocks->at]));
    fputs("</p>\n", blocks->html->out);
}

static void print_block(blocks_t *blocks) {
    const line_t *line = &blocks->lines[blocks->at];
    if (line->length == 0)
        blocks->at++;
    else if (heading_level(line) > 0)
        print_heading(blocks);
    else if (item_indent(line) != SIZE_MAX)
        print_list(blocks);
    else if (begins(line, "|"))
        print_table(blocks);
    else if (begins(line, "    "))
        print_code(blocks);
    else if (!print_images(blocks))
        print_paragraph(blocks);
}

void html_blocks(html_t *html, const char *markdown, bool is_page) {
    blocks_t blocks = {.html = html, .is_page = is_page};
    blocks.lines = lines_of(markdown, &blocks.n);
    while (blocks.at < blocks.n)
        print_block(&blocks);
    end_section(&blocks);
    free(blocks.lines);
}
