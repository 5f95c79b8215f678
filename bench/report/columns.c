#include "report/columns.h"

#include "base/memory.h"
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

columns_t columns_begin(const report_t *report, const column_t *columns, size_t n_columns) {
    columns_t started = {.report = report, .columns = columns, .n_columns = n_columns};
    const char **headings = mem_zeroed(n_columns, sizeof *headings);
    char *align = mem_zeroed(n_columns + 1, 1);
    size_t n = 0;
    for (size_t c = 0; c < n_columns; c++)
        if (!columns[c].hidden) {
            headings[n] = columns[c].heading;
            align[n++] = columns[c].align;
        }
    table_init(&started.table, headings, n);
    table_set_align(&started.table, align);
    free(headings);
    free(align);
    return started;
}

void columns_row(columns_t *columns, const char *const *cells) {
    for (size_t c = 0; c < columns->n_columns; c++)
        if (!columns->columns[c].hidden)
            table_add(&columns->table, cells[c]);
}

void columns_end(columns_t *columns, const char *intro) {
    const report_t *report = columns->report;
    if (table_rows(&columns->table) > 0)
        print(report, "%s%s\n", intro,
              report_keep(report, table_text(&columns->table, TABLE_MARKDOWN)));
    table_free(&columns->table);
}

void columns_end_under(columns_t *columns, unsigned level, const char *heading, const char *format,
                       ...) {
    va_list args;
    va_start(args, format);
    const char *intro = report_keep(columns->report, mem_format_args(format, args));
    va_end(args);
    if (table_rows(&columns->table) > 0)
        report_heading(columns->report, level, heading);
    columns_end(columns, intro);
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

const char *trust_mark(const case_result_t *result) {
    return result != NULL && is_self_reported(result) ? " *(self-reported)*" : "";
}

const char *name_cell(const report_t *report, const case_result_t *result) {
    if (result == NULL)
        return "–";
    const char *name = report_safe(report, report_keep(report, contender_name(&result->spec)));
    return report_text(report, "%s%s", name, trust_mark(result));
}

size_t standing_cells(const report_t *report, const standing_t *standing, const char *phase,
                      const char **cells) {
    const case_result_t *shown = standing_shown(standing);
    const exclusion_t why = shown != NULL ? exclusion_of(shown, phase) : EXCLUDED_NOT;
    cells[0] = time_cell(report, shown, phase);
    cells[1] = name_cell(report, shown);
    if (why == EXCLUDED_ALGORITHMIC || why == EXCLUDED_ROUGHER) /* others are marked by both */
        cells[1] = report_text(report, "%s *(%s)*", cells[1],
                               report_keep(report, exclusion_text(shown, phase)));
    return 2;
}

const char *key_cell(const report_t *report, const case_result_t *result) {
    if (result == NULL)
        return "–";
    const case_t *spec = &result->spec;
    const bool f32 = strcmp(spec->dtype, "f32") == 0;
    const char *name = report_safe(
        report, report_text(report, "%s %s%s%s", case_engine_label(spec, report_buffer(report)),
                            spec->variant, f32 ? "" : ", ", f32 ? "" : spec->dtype));
    return report_text(report, "%s%s", name, trust_mark(result));
}

const char *share_cell(const report_t *report, double frac) {
    if (frac >= 0.9995)
        return "> 99.9 %";
    return frac >= 0.995 ? report_text(report, "%.1f %%", 100 * frac) : percent_text(report, frac);
}

const char *limit_cell(const report_t *report, const case_result_t *result) {
    const bool known = result != NULL && result_has_times(result) && isfinite(result->limit.frac);
    return known ? case_link(report, result,
                             report_text(report, "%s%s", percent_text(report, result->limit.frac),
                                         limit_mark(result)))
                 : "–";
}

const char *count_cell(const report_t *report, double count) {
    return isfinite(count) ? report_text(report, "%.0f", count) : "–";
}

const char *reason_cell(const report_t *report, const char *reason) {
    enum { MOST = 300 };
    size_t n = strlen(reason);
    if (n > MOST)
        for (n = MOST; n > 0 && reason[n] != ' '; n--)
            ;
    if (reason[n] == '\0' || n == 0)
        return report_safe(report, reason);
    return report_safe(report,
                       report_text(report, "%.*s … (the rest: cases.jsonl)", (int)n, reason));
}

const char *interval_cell(const report_t *report, const phase_t *phase) {
    const summary_t *s = &phase->summary;
    return units_interval(report_buffer(report), s->median, s->ci95[0], s->ci95[1]);
}

/* ---- names of sizes -------------------------------------------------------------------------- */

static const struct size_words {
    const char *param;
    const char *one, *many;     /* "at 3 of the 4 …" */
    const char *before, *after; /* around the number */
} WORDS[] = {
    {"batch", "batch size", "batch sizes", "batch ", ""},
    {"points", "data-set size", "data-set sizes", "", " points"},
    {"hidden", "width", "widths", "width ", ""},
    {"width", "width", "widths", "width ", ""},
    {"live", "number of blocks", "numbers of blocks", "", " in use"},
};
static const struct size_words OTHERS = {NULL, "size", "sizes", NULL, ""};

static const struct size_words *words_of(const comparison_set_t *set) {
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strcmp(WORDS[i].param, set->size_param) == 0)
            return &WORDS[i];
    return &OTHERS;
}

const char *size_cell(const report_t *report, const comparison_set_t *set, int64_t size) {
    if (strcmp(set->size_param, "batch") == 0)
        return units_count(report_buffer(report), size);
    if (words_of(set) == &OTHERS)
        return report_text(report, "%lld", (long long)size);
    if (size > 0 && size % 1000000 == 0)
        return report_text(report, "%lld M", (long long)size / 1000000);
    if (size > 0 && size % 1000 == 0)
        return report_text(report, "%lld k", (long long)size / 1000);
    return report_text(report, "%lld", (long long)size);
}

const char *size_name(const report_t *report, const comparison_set_t *set, int64_t size) {
    const struct size_words *words = words_of(set);
    const char *cell = size_cell(report, set, size);
    return words->before != NULL ? report_text(report, "%s%s%s", words->before, cell, words->after)
                                 : report_text(report, "%s %s", set->size_param, cell);
}

const char *sizes_word(const comparison_set_t *set, size_t n) {
    return n == 1 ? words_of(set)->one : words_of(set)->many;
}

const char *size_title(const report_t *report, const comparison_set_t *set) {
    return report_text(report, "%c%s", toupper((unsigned char)set->size_param[0]),
                       set->size_param + 1);
}
