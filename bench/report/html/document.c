/* The file: head, contents, top page, a section for each workload with its page and every case. */
#include "report/html/html.h"

#include "base/memory.h"
#include "html_parts.h"

#include <stdlib.h>
#include <string.h>

/* `href` in a page leads to the id `anchor`. Takes the latter. */
static void add_target(html_t *html, const char *href, char *anchor) {
    html->targets = mem_resize(html->targets, html->n_targets + 1, sizeof *html->targets);
    html->targets[html->n_targets++] = (html_target_t){mem_text(href), anchor};
}

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

const char *html_part_id(const shown_list_t *runs, const shown_part_t *part) {
    static _Thread_local char id[24];
    size_t number = 0;
    for (size_t r = 0; r < runs->n; r++)
        for (size_t p = 0; p < runs->items[r].n_parts; p++) {
            number++;
            if (&runs->items[r].parts[p] == part)
                snprintf(id, sizeof id, "w%zu", number);
        }
    return id;
}

/* A place in the file, in the contents. */
static void print_place(const html_t *html, const char *id, const char *name) {
    fprintf(html->out, "<li><a href=\"#%s\">", id);
    html_text(html, name);
    fputs("</a></li>\n", html->out);
}

static void print_contents(const html_t *html, const html_source_t *source) {
    fputs("<nav><ul>\n", html->out);
    print_place(html, "top", "All workloads");
    for (size_t r = 0; r < source->runs->n; r++)
        for (size_t p = 0; p < source->runs->items[r].n_parts; p++) {
            const shown_part_t *part = &source->runs->items[r].parts[p];
            print_place(html, html_part_id(source->runs, part), part->workload);
        }
    fputs("</ul></nav>\n", html->out);
}

static void print_part(html_t *html, const html_source_t *source, const shown_run_t *shown,
                       size_t part, const char *page) {
    fprintf(html->out, "<details class=\"workload\" id=\"%s\"><summary><h2>",
            html_part_id(source->runs, &shown->parts[part]));
    html_text(html, shown->parts[part].workload);
    fputs("</h2> <span>run ", html->out);
    html_text(html, shown->whole.name);
    fputs("</span></summary>\n", html->out);
    html_blocks(html, without_title(page), true);
    html_cases(html, shown, part, source->top);
    fputs("</details>\n", html->out);
}

char *html_document(const html_source_t *source) {
    html_t html = {.root = source->root, .program = source->program, .picture = source->picture};
    const shown_list_t *runs = source->runs;
    char *document;
    size_t size, number = 0;
    for (size_t r = 0; r < runs->n; r++)
        for (size_t p = 0; p < runs->items[r].n_parts; p++)
            add_target(&html, source->hrefs[number++],
                       mem_text(html_part_id(runs, &runs->items[r].parts[p])));
    html.out = open_memstream(&document, &size);
    print_head(&html, source->top);
    fputs("<body>\n", html.out);
    print_contents(&html, source);
    fputs("<main id=\"top\">\n", html.out);
    html_blocks(&html, source->top, false);
    number = 0;
    for (size_t r = 0; r < runs->n; r++)
        for (size_t p = 0; p < runs->items[r].n_parts; p++)
            print_part(&html, source, &runs->items[r], p, source->pages[number++]);
    fputs("</main>\n<script>" HTML_SCRIPT "</script>\n</body>\n</html>\n", html.out);
    fclose(html.out);
    for (size_t i = 0; i < html.n_targets; i++) {
        free(html.targets[i].href);
        free(html.targets[i].anchor);
    }
    free(html.targets);
    return document;
}
