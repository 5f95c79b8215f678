/* Text from files, escaped for markdown: see table.h. */
#include "io/table.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_word(char c) {
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* An underscore inside a word ("03_vectorized") needs no escape on GitHub and stays readable. */
static bool needs_backslash(const char *text, const char *c) {
    if (*c == '_')
        return !(c > text && is_word(c[-1]) && is_word(c[1]));
    if (*c == '#' || *c == '-' || *c == '+')
        return c == text;
    return strchr("\\`*[]|~$", *c) != NULL;
}

char *markdown_text(const char *text) {
    char *safe;
    size_t size;
    FILE *out = open_memstream(&safe, &size);
    for (const char *c = text; *c != '\0'; c++) {
        if (iscntrl((unsigned char)*c))
            fputc(' ', out);
        else if (*c == '<')
            fputs("&lt;", out);
        else if (*c == '>')
            fputs("&gt;", out);
        else if (*c == '&')
            fputs("&amp;", out);
        else
            fprintf(out, "%s%c", needs_backslash(text, c) ? "\\" : "", *c);
    }
    fclose(out);
    return safe;
}

char *markdown_code(const char *text) {
    size_t longest = 0, run = 0;
    for (const char *c = text; *c != '\0'; c++) {
        run = *c == '`' ? run + 1 : 0;
        if (run > longest)
            longest = run;
    }
    size_t length = strlen(text);
    /* A span that is empty or starts or ends with a backtick needs a space, which markdown
     * drops. */
    bool space = length == 0 || text[0] == '`' || text[length - 1] == '`';
    char *safe;
    size_t size;
    FILE *out = open_memstream(&safe, &size);
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
    fputs(space ? " " : "", out);
    for (const char *c = text; *c != '\0'; c++)
        fputc(iscntrl((unsigned char)*c) ? ' ' : *c, out);
    fputs(space ? " " : "", out);
    for (size_t i = 0; i <= longest; i++)
        fputc('`', out);
    fclose(out);
    return safe;
}
