/* The file: head, top page, a section for each workload with its page and every case. */
#include "report/html/html.h"

#include "base/memory.h"
#include "html_parts.h"

#include <stdlib.h>
#include <string.h>

/* Nothing is loaded from anywhere, and nothing runs but this script; the icon is empty, as browsers ask
 * for one otherwise. */
static void print_head(html_t *html, const char *top) {
    const char *title = top + strspn(top, "# ");
    char *text = html_plain(html, title, strcspn(title, "\n"));
    fputs(HTML_BEGIN "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "img-src data:; style-src '" HTML_STYLE_HASH "'; script-src '" HTML_SCRIPT_HASH
                     "'; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<title>",
          html->out);
    fputs(text, html->out);
    free(text);
    fputs("</title>\n<style>" HTML_STYLE "</style>\n</head>\n", html->out);
}

/* The page's first heading is that of the section. */
static const char *without_title(const char *page) {
    const size_t length = strcspn(page, "\n");
    return text_starts(page, REPORT_TITLE) ? page + length : page;
}

static void print_part(html_t *html, const html_source_t *source, const shown_run_t *shown,
                       size_t part, size_t number) {
    fprintf(html->out, "<details class=\"workload\" id=\"w%zu\"><summary><h2>", number + 1);
    html_text(html, shown->parts[part].workload);
    fputs("</h2> <span>run ", html->out);
    html_text(html, shown->whole.name);
    fputs("</span></summary>\n", html->out);
    html_blocks(html, without_title(source->pages[number]), true);
    html_cases(html, shown, part, source->top);
    fputs("</details>\n", html->out);
}

static void print_parts(html_t *html, const html_source_t *source) {
    size_t number = 0;
    for (size_t r = 0; r < source->runs->n; r++)
        for (size_t p = 0; p < source->runs->items[r].n_parts; p++) {
            char *anchor = mem_format("w%zu", number + 1);
            html_add_target(html, source->hrefs[number], anchor);
            free(anchor);
            print_part(html, source, &source->runs->items[r], p, number);
            number++;
        }
}

char *html_document(const html_source_t *source) {
    html_t html = {.root = source->root, .program = source->program};
    char *parts, *document;
    size_t size;
    /* First, as the top page links to the charts in them. */
    html.out = open_memstream(&parts, &size);
    print_parts(&html, source);
    fclose(html.out);
    html.out = open_memstream(&document, &size);
    print_head(&html, source->top);
    fputs("<body>\n<main>\n", html.out);
    html_blocks(&html, source->top, false);
    fputs(parts, html.out);
    fputs("</main>\n<script>" HTML_SCRIPT "</script>\n</body>\n</html>\n", html.out);
    fclose(html.out);
    free(parts);
    html_free(&html);
    return document;
}
