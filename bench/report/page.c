#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/fs.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

void report_heading(const report_t *report, unsigned level, const char *text) {
    unsigned depth = level + (report->saved ? 1 : 0);
    char *name = markdown_text(report->run->name);
    fprintf(report->out, "%.*s %s", (int)depth, "######", text);
    if (report->saved)
        fprintf(report->out, " — saved run %s", name);
    fputs("\n\n", report->out);
    free(name);
}

void report_table(const report_t *report, table_t *table) {
    char *text = table_text(table, TABLE_MARKDOWN);
    fprintf(report->out, "%s\n", text);
    free(text);
    table_free(table);
}

char *report_fact(const report_t *report, const char *key) {
    const char *value = environment_get(&report->run->environment, key);
    return value != NULL ? markdown_text(value) : NULL;
}

char *report_machine(const record_t *run) {
    const char *name = environment_get(&run->environment, "gpu.name");
    if (name == NULL)
        name = environment_get(&run->environment, "host.cpu");
    return markdown_text(name != NULL ? name : "a machine that was not recorded");
}

char *report_date(const record_t *run) {
    if (run->started == NULL || strlen(run->started) < strlen("2026-03-02"))
        return mem_text("unknown date");
    char *date = mem_text_n(run->started, strlen("2026-03-02"));
    char *safe = markdown_text(date);
    free(date);
    return safe;
}

/* `path` without "." and ".." and doubled slashes, as its parts; relative ones start at the current
 * folder. Nothing is asked of the file system, since a report's folder may not be there yet. */
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

void add_time(table_t *table, const case_result_t *result, const char *phase) {
    char text[UNITS_TEXT];
    if (result != NULL && !result_has_times(result))
        table_add(table, case_status_name(result->status));
    else
        table_add_format(table, "%s%s",
                         units_time(text, result != NULL ? result_median(result, phase) : NAN),
                         result != NULL && result->status == CASE_THROTTLED ? " †" : "");
}

const char *ratio_text(char *text, size_t size, const speedup_t *speedup) {
    char ratio[UNITS_TEXT];
    units_ratio(ratio, speedup->ratio.ratio, speedup->ratio.low, speedup->ratio.high);
    snprintf(text, size, "%s%s", ratio,
             speedup->verdict == VERDICT_UNDECIDED ? " (no interval)" : "");
    return text;
}

bool is_not_applicable(const case_result_t *result) {
    /* What kernels say of themselves (kernels/<workload>/, "#error SKIP: for dtype f16 only"). */
    return result->status == CASE_SKIPPED && result->reason != NULL &&
           text_starts(result->reason, "for ") && text_ends(result->reason, " only");
}

void add_limit_share(table_t *table, const case_result_t *result) {
    char text[UNITS_TEXT];
    bool known = result != NULL && result_has_times(result);
    table_add(table, units_percent(text, known ? result->limit.frac : NAN));
}

char *contender_key(const case_t *spec) {
    char label[32];
    const char *engine = case_engine_label(spec, label);
    return strcmp(spec->dtype, "f32") == 0
               ? mem_format("%s %s", engine, spec->variant)
               : mem_format("%s %s, %s", engine, spec->variant, spec->dtype);
}

char *shown_name(const case_result_t *result) {
    char *name = contender_name(&result->spec), *safe = markdown_text(name);
    free(name);
    return safe;
}

const char *part_text(char *text, double frac) {
    if (frac >= 0.9995)
        snprintf(text, UNITS_TEXT, "> 99.9 %%");
    else if (frac >= 0.995)
        snprintf(text, UNITS_TEXT, "%.1f %%", 100 * frac);
    else
        units_percent(text, frac);
    return text;
}

void print_verdict(FILE *out, const speedup_t *speedup, const char *ours, const char *theirs) {
    char text[UNITS_TEXT];
    const stats_ratio_t *r = &speedup->ratio;
    switch (speedup->verdict) {
    case VERDICT_OURS:
        fprintf(out, "%s is **%s** as fast", ours, units_ratio(text, r->ratio, r->low, r->high));
        break;
    case VERDICT_THEIRS:
        fprintf(out, "%s is **%s** as fast", theirs,
                units_ratio(text, 1 / r->ratio, 1 / r->high, 1 / r->low));
        break;
    case VERDICT_NO_DIFFERENCE:
        fprintf(out, "no difference found, %s", units_ratio(text, r->ratio, r->low, r->high));
        break;
    case VERDICT_UNDECIDED:
        fprintf(out, "the ratio is %s, but from too few rounds for an interval, so nobody wins",
                units_ratio(text, r->ratio, NAN, NAN));
        break;
    case VERDICT_NONE:
        break;
    }
}
