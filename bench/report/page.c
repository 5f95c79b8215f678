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

void report_heading(const report_t *report, unsigned level, const char *text) {
    print(report, "%.*s %s\n\n", (int)level, "######", text);
}

/* ---- texts ----------------------------------------------------------------------------------- */

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

void *report_array(const report_t *report, size_t count, size_t bytes) {
    return arena_buffer(report->texts, (count + 1) * bytes);
}

const char *report_join(const report_t *report, text_list_t *list, const char *separator) {
    const char *text = list->n > 0 ? report_keep(report, text_list_join(list, separator)) : NULL;
    text_list_free(list);
    return text;
}

const char *report_first_few(const report_t *report, text_list_t *list) {
    enum { SHOWN = 3 };
    const size_t more = list->n > SHOWN ? list->n - SHOWN : 0;
    for (; list->n > SHOWN; list->n--)
        free(list->items[list->n - 1]);
    const char *text = report_join(report, list, ", ");
    return more > 0 ? report_text(report, "%s and %zu more", text, more) : text;
}

/* ---- links ----------------------------------------------------------------------------------- */

/* The absolute path's components, with ".", ".." and "//" resolved. realpath() cannot be used: the
 * report's folder may not exist yet. */
static text_list_t parts_of(const char *path) {
    char here[4096] = "";
    if (path[0] != '/' && realpath(".", here) == NULL)
        here[0] = '\0';
    AUTO_FREE char *whole = mem_format("%s/%s", here, path);
    AUTO(text_list_free) text_list_t split = text_split(whole, '/');
    text_list_t parts = {0};
    for (size_t i = 0; i < split.n; i++) {
        const char *part = split.items[i];
        if (strcmp(part, "..") == 0 && parts.n > 0)
            free(parts.items[--parts.n]);
        else if (*part != '\0' && strcmp(part, ".") != 0 && strcmp(part, "..") != 0)
            text_list_add(&parts, part);
    }
    return parts;
}

char *report_link(const report_t *report, const char *path) {
    AUTO(text_list_free) text_list_t from = parts_of(report->folder), to = parts_of(path);
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
    return link;
}

const char *doc_link(const report_t *report, const char *page, const char *heading,
                     const char *text) {
    const char *path = report_keep(report, fs_join(report->root, page));
    return fs_exists(path) ? report_text(report, "[%s](%s%s)", text,
                                         report_keep(report, report_link(report, path)), heading)
                           : text;
}

enum { HREF_DIGITS = 10 };

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

/* ---- tables ---------------------------------------------------------------------------------- */

const char **rows_add(rows_t *rows) {
    const size_t n = rows->n_columns;
    rows->cells = mem_resize(rows->cells, (rows->n + 1) * n, sizeof *rows->cells);
    const char **row = rows->cells + rows->n++ * n;
    memset(row, 0, n * sizeof *row);
    return row;
}

static bool has_cells(const rows_t *rows, size_t column) {
    for (size_t r = 0; r < rows->n; r++) {
        const char *cell = rows->cells[r * rows->n_columns + column];
        if (cell != NULL && *cell != '\0' && strcmp(cell, "–") != 0)
            return true;
    }
    return false;
}

void rows_end(const report_t *report, rows_t *rows, const column_t *columns, const char *heading,
              const char *text) {
    AUTO_FREE const char **headings = mem_zeroed(rows->n_columns, sizeof *headings);
    AUTO_FREE char *align = mem_zeroed(rows->n_columns + 1, 1);
    AUTO_FREE size_t *shown = mem_zeroed(rows->n_columns, sizeof *shown);
    size_t n = 0;
    for (size_t c = 0; c < rows->n_columns; c++)
        if (has_cells(rows, c)) {
            headings[n] = columns[c].heading;
            align[n] = columns[c].align;
            shown[n++] = c;
        }
    if (rows->n > 0) {
        table_t table = table_make(align, headings);
        for (size_t r = 0; r < rows->n; r++)
            for (size_t i = 0; i < n; i++)
                table_add(&table, rows->cells[r * rows->n_columns + shown[i]]);
        if (heading != NULL)
            report_heading(report, 3, heading);
        print(report, "%s%s%s\n", text, *text != '\0' ? "\n\n" : "",
              report_keep(report, table_text(&table, TABLE_MARKDOWN)));
        table_free(&table);
    }
    free(rows->cells);
}

/* ---- cells ----------------------------------------------------------------------------------- */

const char *time_text(const report_t *report, double ns) {
    return units_time(report_buffer(report), ns);
}

const char *percent_text(const report_t *report, double frac) {
    return units_percent(report_buffer(report), frac);
}

const char *bytes_text(const report_t *report, double bytes) {
    return units_bytes(report_buffer(report), bytes);
}

/* " ‡" for a phase with two values, else "". */
static const char *bimodal_mark(const phase_t *phase) {
    return phase->bimodal.found ? " ‡" : "";
}

/* That of the phase of its limit. */
static const char *limit_mark(const case_result_t *result) {
    const char *name = result->limit.phase;
    const phase_t *phase = name != NULL ? result_phase(result, name) : NULL;
    return phase != NULL ? bimodal_mark(phase) : "";
}

const char *median_text(const report_t *report, const phase_t *phase) {
    const summary_t *s = &phase->summary;
    return report_text(report, "%s%s",
                       units_median(report_buffer(report), s->median, s->ci95[0], s->ci95[1]),
                       bimodal_mark(phase));
}

const char *time_cell(const report_t *report, const case_result_t *result, const char *phase) {
    if (result != NULL && !result_has_times(result))
        return case_link(report, result, case_status_name(result->status));
    const char *mark = result == NULL                     ? ""
                       : result->status == CASE_THROTTLED ? " †"
                       : result_is_busy(result)           ? " §"
                                                          : "";
    const phase_t *timed = result != NULL ? result_phase(result, phase) : NULL;
    return timed != NULL ? case_link(report, result,
                                     report_text(report, "%s%s", median_text(report, timed), mark))
                         : "–";
}

const char *ratio_cell(const report_t *report, const speedup_t *speedup) {
    const stats_interval_t *ratio = &speedup->ratio;
    if (speedup->verdict == VERDICT_NONE)
        return "–";
    return report_text(report, "%s%s%s",
                       units_ratio(report_buffer(report), ratio->centre, ratio->low, ratio->high),
                       bimodal_mark(speedup->ours),
                       speedup->ours->bimodal.found ? "" : bimodal_mark(speedup->theirs));
}

const char *versus_cell(const report_t *report, const case_result_t *ours,
                        const case_result_t *theirs, const char *phase) {
    const speedup_t speedup = speedup_make(ours, phase, theirs, phase);
    return ratio_cell(report, &speedup);
}

const char *trust_mark(const case_result_t *result) {
    return result != NULL && is_self_reported(result) ? " *(self-reported)*" : "";
}

const char *algorithmic_mark(const case_result_t *result) {
    return result_is_algorithmic(result) ? " *(algorithmic)*" : "";
}

const char *name_cell(const report_t *report, const case_result_t *result) {
    if (result == NULL)
        return "–";
    const char *name = report_safe(report, report_keep(report, contender_name(&result->spec)));
    return report_text(report, "%s%s", name, trust_mark(result));
}

const char *standing_cell(const report_t *report, const standing_t *standing, const char *phase,
                          bool bold) {
    const case_result_t *shown = standing_shown(standing);
    const exclusion_t why = shown != NULL ? exclusion_of(shown, phase) : EXCLUDED_NOT;
    const char *mark = bold ? "**" : "", *reason = "";
    if (shown == NULL)
        return "–";
    if (why == EXCLUDED_ALGORITHMIC || why == EXCLUDED_ROUGHER) /* others are marked by both */
        reason = report_text(report, " *(%s)*", report_keep(report, exclusion_text(shown, phase)));
    return report_text(report, "%s%s%s %s%s", mark, time_cell(report, shown, phase), mark,
                       name_cell(report, shown), reason);
}

const char *limit_cell(const report_t *report, const case_result_t *result) {
    const bool known = result != NULL && result_has_times(result) && isfinite(result->limit.frac);
    return known ? case_link(report, result,
                             report_text(report, "%s%s", percent_text(report, result->limit.frac),
                                         limit_mark(result)))
                 : "–";
}

const char *interval_cell(const report_t *report, const phase_t *phase) {
    const summary_t *s = &phase->summary;
    return units_interval(report_buffer(report), s->median, s->ci95[0], s->ci95[1]);
}
