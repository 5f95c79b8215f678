/* A chart's file as a figure. */
#include "report/html/html.h"

#include "base/memory.h"
#include "io/fs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

/* NULL: it cannot be read, or is no SVG. */
static char *read_chart(const html_t *html, const char *href, const char *prefix,
                        const char *label) {
    error_t none = ERROR_INIT;
    char *name = mem_text(href), *text, *drawn = NULL;
    size_t size;
    decode(name);
    char *path = fs_join(html->root, name);
    if (fs_read(path, &text, &size, &none) == STATUS_OK) {
        text_make_plain(text);
        drawn = svg_inline(text, prefix, label);
        free(text);
    }
    free(path);
    free(name);
    return drawn;
}

void html_chart(html_t *html, const char *name, const char *href) {
    char *prefix = mem_format("p%zu-", html->n_charts + 1),
         *label = html_plain(html, name, strlen(name));
    char *drawn = read_chart(html, href, prefix, label);
    if (drawn != NULL) {
        char *anchor = mem_format("chart-%zu", ++html->n_charts);
        html_add_target(html, href, anchor);
        fprintf(
            html->out,
            "<figure id=\"%s\"><figcaption>%s</figcaption><div class=\"drawing\" role=\"region\" "
            "tabindex=\"0\" aria-label=\"%s\">%s</div></figure>\n",
            anchor, label, label, drawn);
        free(anchor);
    } else {
        fprintf(html->out, "<p>%s: the chart cannot be shown, see <code>", label);
        html_text(html, href);
        fputs("</code></p>\n", html->out);
    }
    free(drawn);
    free(label);
    free(prefix);
}
