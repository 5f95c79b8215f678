/* The file: head, contents, top page, a section for each workload with its page and every case. */
#include "report/html/html.h"

#include "base/memory.h"
#include "base/units.h"
#include "html_parts.h"

#include <math.h>
#include <string.h>

/* ---- every case as a row, and below it, once it is chosen, all that is known of it ------------- */

enum { N_COLUMNS = 11, HASH_SHOWN = 12 };
/* style.css aligns those of numbers. */
static const char *const COLUMNS[N_COLUMNS] = {
    "case", "status",  "phase", "median",       "95 % interval", "p5",
    "p95",  "samples", "error", "of the limit", "code",
};

static void print_cell(const html_t *html, const char *text) {
    fputs("<td>", html->out);
    html_text(html, text);
    fputs("</td>", html->out);
}

/* The larger of the relative L2 errors before and after timing. */
static const char *error_text(const case_result_t *result, char text[UNITS_TEXT]) {
    const double before = result->before.done ? result->before.rel_l2 : NAN;
    const double worst = fmax(before, result->after.done ? result->after.rel_l2 : NAN);
    snprintf(text, UNITS_TEXT, "%.2g", worst);
    return isnan(worst) ? "–" : text;
}

static void print_times(const html_t *html, const phase_t *phase) {
    const summary_t none = {0, NAN, {NAN, NAN}, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const summary_t *s = phase != NULL ? &phase->summary : &none;
    char text[UNITS_TEXT];
    print_cell(html, phase != NULL ? phase->name : "–");
    print_cell(html, units_median(text, s->median, s->ci95[0], s->ci95[1]));
    print_cell(html, units_interval(text, s->median, s->ci95[0], s->ci95[1]));
    print_cell(html, units_time(text, s->p5));
    print_cell(html, units_time(text, s->p95));
    snprintf(text, sizeof text, "%zu", s->n);
    print_cell(html, text);
}

/* The id without the workload's name, which all rows share; it may wrap after a slash. */
static void print_id(const html_t *html, const case_result_t *result) {
    const size_t length = strlen(result->spec.workload);
    const char *id = result->spec.id;
    const bool shared = strncmp(id, result->spec.workload, length) == 0 && id[length] == '/';
    AUTO(text_list_free) text_list_t parts = text_split(shared ? id + length + 1 : id, '/');
    for (size_t i = 0; i < parts.n; i++) {
        fputs(i > 0 ? "/<wbr>" : "", html->out);
        html_text(html, parts.items[i]);
    }
}

static void print_row(const html_t *html, const case_result_t *result, const char *anchor) {
    char text[UNITS_TEXT];
    AUTO_FREE char *hash = mem_text(result->resources.code_hash);
    fprintf(html->out, "<tr><th scope=\"row\" class=\"case\"><a href=\"#%s\">", anchor);
    print_id(html, result);
    fputs("</a></th>", html->out);
    print_cell(html, case_status_name(result->status));
    print_times(html, result_has_times(result) ? compared_phase(result) : NULL);
    print_cell(html, error_text(result, text));
    print_cell(html, units_percent(text, result->limit.frac));
    if (hash != NULL && strlen(hash) > HASH_SHOWN)
        hash[HASH_SHOWN] = '\0';
    print_cell(html, hash != NULL ? hash : "–");
    fputs("</tr>\n", html->out);
}

/* ---- details --------------------------------------------------------------------------------- */

static void print_repeat(const html_t *html, const record_t *run, const case_t *spec) {
    if (is_calibration(spec))
        return;
    AUTO_FREE char *command = command_of_case(html->program, run, spec);
    fputs("\n  repeat       ", html->out);
    html_text(html, command);
}

/* Without the lines between headings and rows, which take a tenth of the file, and without the last, empty line. */
static void print_without_rules(const html_t *html, const char *text) {
    static const char RULE[] = "─";
    for (const char *before = ""; *text != '\0';
         text += strcspn(text, "\n"), text += *text == '\n') {
        if (text_starts(text, RULE) || *text == '\n')
            continue;
        fputs(before, html->out);
        html_text_n(html, text, strcspn(text, "\n"));
        before = "\n";
    }
}

static void print_details(const html_t *html, const record_t *run, const case_result_t *result,
                          size_t table) {
    AUTO_FREE char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    case_text_print(out, result);
    fclose(out);
    fprintf(html->out, "<tr class=\"more\"><td colspan=\"%d\"><div><pre>", N_COLUMNS);
    print_without_rules(html, text);
    print_repeat(html, run, &result->spec);
    fprintf(html->out, "</pre><a href=\"#cases-%zu\">close</a></div></td></tr>\n", table);
}

/* Of the part's workload, also cold starts; the first part of a run has the device's own cases, too. */
static bool is_of_part(const shown_part_t *part, bool is_first, const case_result_t *result) {
    return strcmp(result->spec.workload, part->workload) == 0 ||
           (is_first && is_calibration(&result->spec));
}

static void print_headings(const html_t *html, size_t table) {
    fprintf(html->out,
            "<details class=\"section\" id=\"cases-%zu\"><summary><h3 id=\"h-cases-%zu\">Every case"
            "</h3></summary>\n<p>A case opens its details: every phase, checks, trust, program. "
            "<em>Error</em>: the larger relative L2 error, before or after timing. <em>Code</em>: "
            "hash of the machine code.</p>\n<div class=\"table\" role=\"region\" tabindex=\"0\" "
            "aria-labelledby=\"h-cases-%zu\"><table class=\"cases\"><thead><tr>",
            table, table, table);
    for (size_t i = 0; i < N_COLUMNS; i++)
        fprintf(html->out, "<th scope=\"col\">%s</th>", COLUMNS[i]);
    fputs("</tr></thead>\n", html->out);
}

static void print_cases(html_t *html, const shown_part_t *part, bool is_first) {
    const size_t table = ++html->n_tables;
    print_headings(html, table);
    for (const case_result_t *result = NULL; (result = record_next(part->whole, result)) != NULL;) {
        if (!is_of_part(part, is_first, result))
            continue;
        AUTO_FREE char *link = case_href(part->whole, result);
        fprintf(html->out, "<tbody id=\"%s\">", link + 1);
        print_row(html, result, link + 1);
        print_details(html, part->whole, result, table);
        fputs("</tbody>\n", html->out);
    }
    fputs("</table></div></details>\n", html->out);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Nothing is loaded from anywhere, and nothing runs but this script; the icon is empty, as browsers ask
 * for one otherwise. */
static void print_head(html_t *html, const char *top) {
    const char *title = top + strspn(top, "# ");
    AUTO_FREE char *line = mem_text_n(title, strcspn(title, "\n")), *text = html_plain(html, line);
    fputs(HTML_BEGIN "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "img-src data:; style-src '" HTML_STYLE_HASH "'; script-src '" HTML_SCRIPT_HASH
                     "'; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n<title>",
          html->out);
    fputs(text, html->out);
    fputs("</title>\n<style>" HTML_STYLE "</style>\n</head>\n", html->out);
}

/* The page's first heading is that of the section. */
static const char *without_title(const char *page) {
    const size_t length = strcspn(page, "\n");
    return text_starts(page, REPORT_TITLE) ? page + length : page;
}

static void print_contents(const html_t *html, const shown_list_t *runs) {
    fputs("<nav><ul>\n<li><a href=\"#top\">All workloads</a></li>\n", html->out);
    for (size_t p = 0; p < runs->n_parts; p++) {
        fprintf(html->out, "<li><a href=\"#" HTML_PART "\">", runs->parts[p]->number);
        html_text(html, runs->parts[p]->workload);
        fputs("</a></li>\n", html->out);
    }
    fputs("</ul></nav>\n", html->out);
}

static void print_part(html_t *html, const html_source_t *source, size_t p) {
    const shown_part_t *part = source->runs->parts[p];
    fprintf(html->out, "<details class=\"workload\" id=\"" HTML_PART "\"><summary><h2>",
            part->number);
    html_text(html, part->workload);
    fputs("</h2> <span>run ", html->out);
    html_text(html, part->whole->name);
    fputs("</span></summary>\n", html->out);
    html_blocks(html, without_title(source->pages[p]), true);
    print_cases(html, part, p == 0 || source->runs->parts[p - 1]->whole != part->whole);
    fputs("</details>\n", html->out);
}

char *html_document(const html_source_t *source) {
    html_t html = {.root = source->root,
                   .program = source->program,
                   .picture = source->picture,
                   .hrefs = source->hrefs,
                   .n_hrefs = source->runs->n_parts};
    char *document;
    size_t size;
    html.out = open_memstream(&document, &size);
    print_head(&html, source->top);
    fputs("<body>\n", html.out);
    print_contents(&html, source->runs);
    fputs("<main id=\"top\">\n", html.out);
    html_blocks(&html, source->top, false);
    for (size_t p = 0; p < source->runs->n_parts; p++)
        print_part(&html, source, p);
    fputs("</main>\n<script>" HTML_SCRIPT "</script>\n</body>\n</html>\n", html.out);
    fclose(html.out);
    return document;
}
