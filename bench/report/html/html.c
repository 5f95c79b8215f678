/* Text, and what links mean. */
#include "report/html/html.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- text, and what links mean ---------------------------------------------------------------- */

void html_text_n(const html_t *html, const char *text, size_t length) {
    char *plain = mem_text_n(text, length);
    text_make_plain(plain);
    for (const char *c = plain; *c != '\0'; c++)
        switch (*c) {
        case '&':
            fputs("&amp;", html->out);
            break;
        case '<':
            fputs("&lt;", html->out);
            break;
        case '>':
            fputs("&gt;", html->out);
            break;
        case '"':
            fputs("&quot;", html->out);
            break;
        case '\'':
            fputs("&#39;", html->out);
            break;
        default:
            fputc(*c, html->out);
        }
    free(plain);
}

void html_text(const html_t *html, const char *text) {
    html_text_n(html, text, strlen(text));
}

const char *html_anchor(const html_t *html, const char *href) {
    if (is_case_href(href))
        return href + 1;
    for (size_t i = 0; i < html->n_targets; i++)
        if (strcmp(html->targets[i].href, href) == 0)
            return html->targets[i].anchor;
    return NULL;
}
