/* The scanner of source_strip(): just enough of C++'s first translation phases to tell code
 * from comments and literals. */
#include "base/memory.h"
#include "compile/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct scanner {
    const char *text, *at; /* lines that end with a backslash are joined */
    const size_t *joins;   /* where, ascending */
    size_t n_joins;
    char *out; /* no longer than the text: each step writes at most what it reads */
    size_t n;
    bool line_start;
    includes_t *includes;
} scanner_t;

/* ---- lines ------------------------------------------------------------------------------------ */

/* The first reason stays. */
static void refuse(includes_t *includes, size_t line, const char *what) {
    if (includes->refused == NULL)
        includes->refused = mem_format("%zu: %s", line, what);
}

/* Compilers join a line that ends with a backslash with the next one before anything else. Where they differ, one could
 * see an #include where the other sees a comment. */
static char *join_lines(const char *text, size_t *joins, size_t *n_joins, includes_t *includes) {
    char *joined = mem_alloc(strlen(text) + 1), *to = joined;
    size_t line = 1;
    for (const char *at = text; *at != '\0'; at++) {
        const size_t blanks = *at == '\\' ? strspn(at + 1, " \t\v\f") : 0;
        const char *end = at + 1 + blanks;
        end += *end == '\r' && end[1] == '\n';
        if (*at == '\\' && *end == '\n' && blanks > 0)
            refuse(includes, line, "blanks after a backslash that ends the line: remove them");
        if (*at == '\r' && at[1] != '\n')
            refuse(includes, line, "a carriage return inside a line: remove it");
        if (*at == '\\' && *end == '\n') {
            joins[(*n_joins)++] = (size_t)(to - joined);
            at = end;
        } else {
            *to++ = *at;
        }
        line += *at == '\n';
    }
    *to = '\0';
    return joined;
}

static size_t joins_up_to(const scanner_t *scan, const char *at) {
    size_t n = 0;
    while (n < scan->n_joins && scan->joins[n] <= (size_t)(at - scan->text))
        n++;
    return n;
}

static size_t line_of(const scanner_t *scan, const char *at) {
    size_t line = 1 + joins_up_to(scan, at);
    for (const char *c = scan->text; c < at; c++)
        line += *c == '\n';
    return line;
}

/* ---- tokens ----------------------------------------------------------------------------------- */

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
    return at + strcspn(at, "\n");
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
    if (end != NULL && joins_up_to(scan, end - 1) > joins_up_to(scan, scan->at + length))
        refuse(scan->includes, line_of(scan, scan->at),
               "a raw literal with a backslash at the end of a line: write it without");
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

/* ---- directives ------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at) {
    for (;;)
        if (at[0] == '/' && at[1] == '*')
            at = block_comment_end(at);
        else if (*at != '\0' && strchr(" \t\v\f\r", *at) != NULL)
            at++;
        else
            return at;
}

static bool takes_word(const char **at, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0 || is_word((*at)[length]))
        return false;
    *at = skip_blanks(*at + length);
    return true;
}

static void note_quoted(scanner_t *scan, const char *from, const char *end) {
    char *name = mem_text_n(from, (size_t)(end - from));
    if (!text_list_has(&scan->includes->quoted, name)) {
        text_list_add(&scan->includes->quoted, name);
        text_list_add_format(&scan->includes->lines, "%zu", line_of(scan, from));
    }
    free(name);
}

/* At the '#' or "%:" that may start a directive: note the header of an #include and drop the directive; false for other
 * directives. */
static bool scan_include(scanner_t *scan, size_t mark) {
    const char *at = skip_blanks(scan->at + mark);
    if (takes_word(&at, "include_next") || takes_word(&at, "import"))
        refuse(scan->includes, line_of(scan, at), "expected #include");
    if (!takes_word(&at, "include"))
        return false;
    const bool is_quoted = *at == '"', is_bracketed = *at == '<';
    const char *end = is_quoted      ? strpbrk(at + 1, "\"\n")
                      : is_bracketed ? strpbrk(at, ">\n")
                                     : NULL;
    if (!is_quoted && !is_bracketed)
        refuse(scan->includes, line_of(scan, at), "#include of a macro: expected the file's name");
    if (end == NULL || *end == '\n')
        return false;
    if (is_quoted) {
        note_quoted(scan, at + 1, end);
    } else {
        char *name = mem_text_n(at + 1, (size_t)(end - at - 1));
        scan->includes->system = true;
        if (source_leaves_folder(name))
            refuse(scan->includes, line_of(scan, at),
                   "#include <…> of a path: expected a CUDA header");
        free(name);
    }
    blank_to(scan, end + 1);
    return true;
}

static bool is_directive(const char *at, size_t *mark) {
    *mark = at[0] == '#' ? 1 : at[0] == '%' && at[1] == ':' ? 2 : 0;
    return *mark > 0;
}

bool source_leaves_folder(const char *name) {
    text_list_t parts = text_split(name, '/');
    const bool leaves = name[0] == '/' || text_list_has(&parts, "..");
    text_list_free(&parts);
    return leaves;
}

static void scan_all(scanner_t *scan) {
    size_t mark;
    while (*scan->at != '\0') {
        const char *at = scan->at;
        bool line_start = scan->line_start;
        scan->line_start = *at == '\n' || (line_start && isspace((unsigned char)*at));
        if (at[0] == '/' && at[1] == '/') {
            blank_to(scan, line_comment_end(at));
        } else if (at[0] == '/' && at[1] == '*') {
            blank_to(scan, block_comment_end(at));
            scan->line_start = line_start;
        } else if (*at == '"' || *at == '\'') {
            blank_to(scan, literal_end(at));
        } else if (isdigit((unsigned char)*at)) {
            scan_number(scan);
        } else if (is_word(*at)) {
            scan_name(scan);
        } else if (!(line_start && is_directive(at, &mark) && scan_include(scan, mark))) {
            keep(scan, 1);
        }
    }
}

char *source_strip(const char *text, includes_t *includes) {
    size_t *joins = mem_alloc((strlen(text) + 1) * sizeof *joins);
    scanner_t scan = {.joins = joins, .line_start = true, .includes = includes};
    char *joined = join_lines(text, joins, &scan.n_joins, includes);
    scan.text = scan.at = joined;
    scan.out = mem_alloc(strlen(joined) + 1);
    scan_all(&scan);
    scan.out[scan.n] = '\0';
    free(joined);
    free(joins);
    return scan.out;
}

void includes_free(includes_t *includes) {
    text_list_free(&includes->quoted);
    text_list_free(&includes->lines);
    free(includes->refused);
    *includes = (includes_t){0};
}
