#include "report/page.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/fs.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void page_open(page_t *page) {
    *page = (page_t){.report.texts = &page->texts};
    page->report.out = open_memstream(&page->text, &page->size);
}

char *page_close(page_t *page) {
    fclose(page->report.out);
    arena_free(&page->texts);
    return page->text;
}

report_t report_on(const report_t *report, const record_t *run) {
    report_t other = *report;
    other.run = run;
    return other;
}

void print(const report_t *report, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(report->out, format, args);
    va_end(args);
}

const char *report_text(const report_t *report, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = mem_format_args(format, args);
    va_end(args);
    return arena_keep(report->texts, text);
}

const char *report_keep(const report_t *report, char *text) {
    return arena_keep(report->texts, text);
}

const char *report_safe(const report_t *report, const char *text) {
    return arena_keep(report->texts, markdown_text(text));
}

const char *report_code(const report_t *report, const char *text) {
    return arena_keep(report->texts, markdown_code(text));
}

char *report_buffer(const report_t *report) {
    return arena_buffer(report->texts, UNITS_TEXT);
}

const char *report_join(const report_t *report, text_list_t *list, const char *separator) {
    const char *text = list->n > 0 ? report_keep(report, text_list_join(list, separator)) : NULL;
    text_list_free(list);
    return text;
}

void report_heading(const report_t *report, unsigned level, const char *text) {
    print(report, "%.*s %s\n\n", (int)level, "######", text);
}

/* The absolute path's components, with ".", ".." and "//" resolved. realpath() cannot be used: the
 * report's folder may not exist yet. */
static text_list_t parts_of(const char *path) {
    char here[4096] = "";
    if (path[0] != '/' && realpath(".", here) == NULL)
        here[0] = '\0';
    char *whole = mem_format("%s/%s", here, path);
    text_list_t split = text_split(whole, '/'), parts = {0};
    for (size_t i = 0; i < split.n; i++) {
        const char *part = split.items[i];
        if (strcmp(part, "..") == 0 && parts.n > 0)
            free(parts.items[--parts.n]);
        else if (*part != '\0' && strcmp(part, ".") != 0 && strcmp(part, "..") != 0)
            text_list_add(&parts, part);
    }
    text_list_free(&split);
    free(whole);
    return parts;
}

char *report_link(const report_t *report, const char *path) {
    text_list_t from = parts_of(report->folder), to = parts_of(path);
    size_t shared = 0;
    while (shared < from.n && shared < to.n && strcmp(from.items[shared], to.items[shared]) == 0)
        shared++;
    char *link;
    size_t size;
    FILE *out = open_memstream(&link, &size);
    for (size_t i = shared; i < from.n; i++)
        fputs("../", out);
    for (size_t i = shared; i < to.n; i++) {
        for (const char *c = to.items[i]; *c != '\0'; c++)
            fprintf(out, isalnum((unsigned char)*c) || strchr("-_.~", *c) ? "%c" : "%%%02X",
                    (unsigned char)*c);
        fputs(i + 1 < to.n ? "/" : "", out);
    }
    fclose(out);
    text_list_free(&from);
    text_list_free(&to);
    return link;
}

const char *doc_link(const report_t *report, const char *page, const char *heading,
                     const char *text) {
    const char *path = report_keep(report, fs_join(report->root, page));
    return fs_exists(path) ? report_text(report, "[%s](%s%s)", text,
                                         report_keep(report, report_link(report, path)), heading)
                           : text;
}

enum { HREF_DIGITS = 16 };

char *case_href(const record_t *run, const case_result_t *result) {
    char text[HASH_TEXT];
    hash_t *hash = hash_new();
    hash_add_text(hash, run->folder != NULL ? run->folder : "");
    hash_add_text(hash, result->spec.id);
    hash_finish(hash, text);
    return mem_format("#c%.*s", HREF_DIGITS, text);
}

bool is_case_href(const char *href) {
    return text_starts(href, "#c") && strspn(href + 2, "0123456789abcdef") == HREF_DIGITS &&
           href[2 + HREF_DIGITS] == '\0';
}

const char *case_link(const report_t *report, const case_result_t *result, const char *text) {
    const bool is_empty = *text == '\0' || strcmp(text, "–") == 0;
    if (!report->links_cases || result == NULL || is_empty)
        return text;
    return report_text(report, "[%s](%s)", text,
                       report_keep(report, case_href(report->run, result)));
}

bool is_not_applicable(const case_result_t *result) {
    /* From kernel sources: "#error SKIP: for dtype f16 only". */
    return result->status == CASE_SKIPPED && result->reason != NULL &&
           text_starts(result->reason, "for ") && text_ends(result->reason, " only");
}

const char *time_text(const report_t *report, double ns) {
    return units_time(report_buffer(report), ns);
}

const char *percent_text(const report_t *report, double frac) {
    return units_percent(report_buffer(report), frac);
}

const char *bimodal_mark(const phase_t *phase) {
    return phase->bimodal.found ? " ‡" : "";
}

const char *limit_mark(const case_result_t *result) {
    const char *name = result->limit.phase;
    const phase_t *phase = name != NULL ? result_phase(result, name) : NULL;
    return phase != NULL ? bimodal_mark(phase) : "";
}

const char *passes_word(const report_t *report, size_t n) {
    return n <= 1 ? "one pass" : report_text(report, "%zu passes", n);
}

const char *median_text(const report_t *report, const phase_t *phase) {
    const summary_t *s = &phase->summary;
    return report_text(report, "%s%s",
                       units_median(report_buffer(report), s->median, s->ci95[0], s->ci95[1]),
                       bimodal_mark(phase));
}

bool theirs_leads(const speedup_t *speedup) {
    return speedup->verdict == VERDICT_THEIRS ||
           (speedup->verdict == VERDICT_UNDECIDED && speedup->ratio.centre < 1);
}

const char *lead_text(const report_t *report, const speedup_t *speedup) {
    stats_interval_t r = speedup->ratio;
    if (theirs_leads(speedup))
        r = (stats_interval_t){.centre = 1 / r.centre, .low = 1 / r.high, .high = 1 / r.low};
    const bool bimodal = speedup->ours->bimodal.found || speedup->theirs->bimodal.found;
    return report_text(report, "%s%s", units_ratio(report_buffer(report), r.centre, r.low, r.high),
                       bimodal ? " ‡" : "");
}

const char *verdict_number(const report_t *report, const speedup_t *speedup) {
    const double ratio = speedup->ratio.centre;
    if (speedup->verdict != VERDICT_UNDECIDED)
        return report_text(report, "**%s**", lead_text(report, speedup));
    return report_text(report, "about **%s times**",
                       units_two_digits(report_buffer(report), ratio < 1 ? 1 / ratio : ratio));
}

const char *verdict_text(const report_t *report, const speedup_t *speedup, const char *ours,
                         const char *theirs) {
    if (speedup->verdict == VERDICT_NONE)
        return "";
    if (speedup->verdict == VERDICT_NO_DIFFERENCE)
        return report_text(report, "no difference found, %s", lead_text(report, speedup));
    const bool undecided = speedup->verdict == VERDICT_UNDECIDED;
    return report_text(report, "%s is %s as fast%s%s", theirs_leads(speedup) ? theirs : ours,
                       verdict_number(report, speedup), undecided ? " in " : "",
                       undecided ? passes_word(report, speedup->ratio.n_passes) : "");
}
