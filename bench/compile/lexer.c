/* The scanner of source_strip(): just enough of C++'s first translation phases to tell code
 * from comments and literals. */
#include "base/memory.h"
#include "compile/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct scanner {
    const char *at;
    char *out; /* no longer than the text: each step writes at most what it reads */
    size_t n;
    bool line_start;
} scanner_t;

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static void keep(scanner_t *scan, size_t length) {
    memcpy(scan->out + scan->n, scan->at, length);
    scan->n += length;
    scan->at += length;
}

/* Replace a comment or literal by one space, which keeps its neighbours separate. */
static void blank_to(scanner_t *scan, const char *end) {
    scan->out[scan->n++] = ' ';
    scan->at = end;
}

static const char *line_comment_end(const char *at) {
    while (*at != '\0' && *at != '\n')
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1; /* a backslash joins the next line */
    return at;
}

static const char *block_comment_end(const char *at) {
    const char *end = strstr(at + 2, "*/");
    return end != NULL ? end + 2 : at + strlen(at);
}

/* An unmatched apostrophe (in the text of an #error) ends with its line. */
static const char *literal_end(const char *at) {
    char quote = *at++;
    while (*at != '\0' && *at != '\n' && *at != quote)
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* R"delimiter( … )delimiter": `at` is at the quote. NULL if it is not a raw literal. */
static const char *raw_literal_end(const char *at) {
    const char *open = strpbrk(at + 1, "(\n");
    if (open == NULL || *open != '(' || open - at > 17) /* a delimiter has at most 16 characters */
        return NULL;
    char *close = mem_format(")%.*s\"", (int)(open - at - 1), at + 1);
    const char *end = strstr(open, close);
    end = end != NULL ? end + strlen(close) : at + strlen(at);
    free(close);
    return end;
}

/* A name, or a raw literal with its prefix. */
static void scan_name(scanner_t *scan) {
    size_t length = 1;
    while (is_word(scan->at[length]))
        length++;
    const char *end = NULL;
    if (scan->at[length] == '"' && scan->at[length - 1] == 'R' && length <= 3)
        end = raw_literal_end(scan->at + length);
    if (end != NULL)
        blank_to(scan, end);
    else
        keep(scan, length);
}

/* The apostrophe in 1'000 opens no literal. */
static void scan_number(scanner_t *scan) {
    size_t length = 1;
    while (is_word(scan->at[length]) || scan->at[length] == '.' ||
           (scan->at[length] == '\'' && is_word(scan->at[length + 1])))
        length++;
    keep(scan, length);
}

/* At a '#' that starts a line: note the header of an #include and drop the directive; false for
 * other directives. */
static bool scan_include(scanner_t *scan, text_list_t *quoted, bool *system) {
    const char *at = scan->at + 1;
    at += strspn(at, " \t");
    if (strncmp(at, "include", 7) != 0 || is_word(at[7]))
        return false;
    at += 7;
    at += strspn(at, " \t");
    const char *end = *at == '"' ? strpbrk(at + 1, "\"\n") : NULL;
    if (end != NULL && *end == '"') {
        char *name = mem_text_n(at + 1, (size_t)(end - at - 1));
        text_list_add_new(quoted, name);
        free(name);
        at = end + 1;
    } else if (*at == '<') {
        *system = true;
        at += strcspn(at, ">\n"); /* a // inside is part of the name */
    } else {
        return false; /* a macro: its name counts as mentioned */
    }
    blank_to(scan, at);
    return true;
}

char *source_strip(const char *text, text_list_t *quoted, bool *system) {
    scanner_t scan = {.at = text, .out = mem_alloc(strlen(text) + 1), .line_start = true};
    while (*scan.at != '\0') {
        const char *at = scan.at;
        bool line_start = scan.line_start;
        scan.line_start = *at == '\n' || (line_start && isspace((unsigned char)*at));
        if (at[0] == '/' && at[1] == '/') {
            blank_to(&scan, line_comment_end(at));
        } else if (at[0] == '/' && at[1] == '*') {
            blank_to(&scan, block_comment_end(at));
            scan.line_start = line_start;
        } else if (*at == '"' || *at == '\'') {
            blank_to(&scan, literal_end(at));
        } else if (isdigit((unsigned char)*at)) {
            scan_number(&scan);
        } else if (is_word(*at)) {
            scan_name(&scan);
        } else if (!(*at == '#' && line_start && scan_include(&scan, quoted, system))) {
            keep(&scan, 1);
        }
    }
    scan.out[scan.n] = '\0';
    return scan.out;
}
