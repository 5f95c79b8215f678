/* Every case as a row, and below it, once it is chosen, all that is known of it. */
#include "report/case_text.h"
#include "report/environment.h"
#include "report/html/html.h"

#include "analysis/speedup.h"
#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_COLUMNS = 11, HASH_SHOWN = 12 };
static const struct {
    const char *heading;
    bool right;
} COLUMNS[N_COLUMNS] = {
    {"case", false},         {"status", false},      {"phase", false}, {"median", true},
    {"95 % interval", true}, {"p5", true},           {"p95", true},    {"samples", true},
    {"error", true},         {"of the limit", true}, {"code", false},
};

static void print_cell(const html_t *html, size_t column, const char *text) {
    fputs(COLUMNS[column].right ? "<td class=\"r\">" : "<td>", html->out);
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
    print_cell(html, 2, phase != NULL ? phase->name : "–");
    print_cell(html, 3, units_median(text, s->median, s->ci95[0], s->ci95[1]));
    print_cell(html, 4, units_interval(text, s->median, s->ci95[0], s->ci95[1]));
    print_cell(html, 5, units_time(text, s->p5));
    print_cell(html, 6, units_time(text, s->p95));
    snprintf(text, sizeof text, "%zu", s->n);
    print_cell(html, 7, text);
}

/* The id without the workload's name, which all rows share; it may wrap after a slash. */
static void print_id(const html_t *html, const case_result_t *result) {
    const size_t length = strlen(result->spec.workload);
    const char *id = result->spec.id;
    const bool shared = strncmp(id, result->spec.workload, length) == 0 && id[length] == '/';
    text_list_t parts = text_split(shared ? id + length + 1 : id, '/');
    for (size_t i = 0; i < parts.n; i++) {
        fputs(i > 0 ? "/<wbr>" : "", html->out);
        html_text(html, parts.items[i]);
    }
    text_list_free(&parts);
}

static void print_row(const html_t *html, const case_result_t *result, const char *anchor) {
    char text[UNITS_TEXT], *hash = mem_text(result->resources.code_hash);
    fprintf(html->out, "<tr><th scope=\"row\" class=\"case\"><a href=\"#%s\">", anchor);
    print_id(html, result);
    fputs("</a></th>", html->out);
    print_cell(html, 1, case_status_name(result->status));
    print_times(html, result_has_times(result) ? compared_phase(result) : NULL);
    print_cell(html, 8, error_text(result, text));
    print_cell(html, 9, units_percent(text, result->limit.frac));
    if (hash != NULL && strlen(hash) > HASH_SHOWN)
        hash[HASH_SHOWN] = '\0';
    print_cell(html, 10, hash != NULL ? hash : "–");
    fputs("</tr>\n", html->out);
    free(hash);
}

/* ---- a case's samples in the order taken: they show a drift, passes that differ and a second value ---- */

enum { WIDTH = 600, HEIGHT = 120, MOST_POINTS = 200 };

typedef struct axis {
    double low_ns, high_ns; /* later samples are drawn at the edge */
} axis_t;

/* A few late samples must not squeeze all others into a line. */
static axis_t axis_of(const summary_t *s) {
    const double bulk_ns = s->q75 + 5 * (s->q75 - s->q25);
    axis_t axis = {s->min, s->q75 > s->q25 ? fmin(s->max, bulk_ns) : s->max};
    if (isfinite(s->ci95[0])) {
        axis.low_ns = fmin(axis.low_ns, s->ci95[0]);
        axis.high_ns = fmax(axis.high_ns, s->ci95[1]);
    }
    return axis;
}

static double height_of(const axis_t *axis, double ns) {
    const double span = axis->high_ns - axis->low_ns;
    const double share = span > 0 ? (fmin(ns, axis->high_ns) - axis->low_ns) / span : 0.5;
    return HEIGHT - 4 - share * (HEIGHT - 8);
}

static double place_of(const phase_t *phase, size_t index) {
    return (WIDTH - 8) * ((double)index + 0.5) / (double)phase->n_samples + 4;
}

static void print_interval(const html_t *html, const summary_t *s, const axis_t *axis) {
    if (isfinite(s->ci95[0])) {
        const double top = height_of(axis, s->ci95[1]);
        fprintf(html->out, "<rect class=\"interval\" width=\"%d\" y=\"%.1f\" height=\"%.1f\"/>",
                WIDTH, top, fmax(height_of(axis, s->ci95[0]) - top, 0.5));
    }
    fprintf(html->out, "<path class=\"median\" d=\"M0 %.1fH%d\"/>", height_of(axis, s->median),
            WIDTH);
}

static void print_passes_of(const html_t *html, const phase_t *phase) {
    fputs("<path class=\"pass\" d=\"", html->out);
    for (size_t p = 1; p < phase->n_passes; p++)
        if (phase->pass_starts[p] < phase->n_rounds)
            fprintf(html->out, "M%.1f 0V%d",
                    place_of(phase, phase->round_starts[phase->pass_starts[p]]), HEIGHT);
    fputs("\"/>", html->out);
}

static void print_samples_caption(const html_t *html, const phase_t *phase, size_t step,
                                  const axis_t *axis) {
    char low[UNITS_TEXT], high[UNITS_TEXT], most[UNITS_TEXT];
    const summary_t *s = &phase->summary;
    fputs("<figcaption>", html->out);
    html_text(html, phase->name);
    if (step > 1)
        fprintf(html->out, ": 1 of every %zu of its %zu samples", step, phase->n_samples);
    else
        fprintf(html->out, ": its %zu samples", phase->n_samples);
    fprintf(html->out, " in the order taken, from %s to %s; line: median%s%s",
            units_time(low, axis->low_ns), units_time(high, axis->high_ns),
            isfinite(s->ci95[0]) ? ", band: its interval" : "",
            phase->n_passes > 1 ? ", upright lines: passes" : "");
    if (s->max > axis->high_ns)
        fprintf(html->out, "; longer ones, up to %s, are at the upper edge",
                units_time(most, s->max));
    fputs("</figcaption>", html->out);
}

static void print_samples(const html_t *html, const phase_t *phase) {
    if (phase->n_samples == 0)
        return;
    const axis_t axis = axis_of(&phase->summary);
    const size_t step = (phase->n_samples + MOST_POINTS - 1) / MOST_POINTS;
    fputs("<figure>", html->out);
    print_samples_caption(html, phase, step, &axis);
    fprintf(html->out, "<svg class=\"samples\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\">", WIDTH,
            HEIGHT);
    print_interval(html, &phase->summary, &axis);
    print_passes_of(html, phase);
    fputs("<path class=\"dots\" d=\"", html->out);
    for (size_t i = 0; i < phase->n_samples; i += step)
        fprintf(html->out, "M%.0f %.1fh0", place_of(phase, i), height_of(&axis, phase->samples[i]));
    fputs("\"/></svg></figure>", html->out);
}

/* ---- details --------------------------------------------------------------------------------- */

static void print_repeat(const html_t *html, const record_t *run, const case_t *spec) {
    if (is_calibration(spec))
        return;
    char *command = command_of_case(html->program, run, spec);
    fputs("\n  repeat       ", html->out);
    html_text(html, command);
    free(command);
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
                          bool with_samples, size_t table) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    case_text_print(out, result);
    fclose(out);
    fprintf(html->out, "<tr class=\"more\"><td colspan=\"%d\"><div><pre>", N_COLUMNS);
    print_without_rules(html, text);
    print_repeat(html, run, &result->spec);
    fputs("</pre>", html->out);
    if (with_samples && result_has_times(result) && compared_phase(result) != NULL)
        print_samples(html, compared_phase(result));
    fprintf(html->out, "<a href=\"#cases-%zu\">close</a></div></td></tr>\n", table);
    free(text);
}

/* Of the part's workload, also cold starts; the first part has the device's own cases, too. */
static bool is_of_part(const shown_run_t *shown, size_t part, const case_result_t *result) {
    return strcmp(result->spec.workload, shown->parts[part].workload) == 0 ||
           (part == 0 && is_calibration(&result->spec));
}

static void print_headings(const html_t *html, size_t table) {
    fprintf(html->out,
            "<details class=\"section\" id=\"cases-%zu\"><summary><h3 id=\"h-cases-%zu\">Every case"
            "</h3></summary>\n<p>A case opens its details: every phase, checks, trust, program. "
            "<em>Error</em>: the larger relative L2 error, before or after timing. <em>Code</em>: "
            "hash of the machine code.</p>\n<div class=\"table\" role=\"region\" tabindex=\"0\" "
            "aria-labelledby=\"h-cases-%zu\"><table><thead><tr>",
            table, table, table);
    for (size_t i = 0; i < N_COLUMNS; i++)
        fprintf(html->out, "<th scope=\"col\"%s>%s</th>", COLUMNS[i].right ? " class=\"r\"" : "",
                COLUMNS[i].heading);
    fputs("</tr></thead>\n", html->out);
}

void html_cases(html_t *html, const shown_run_t *shown, size_t part, const char *top) {
    const size_t table = ++html->n_tables;
    print_headings(html, table);
    for (const case_result_t *result = NULL;
         (result = record_next(&shown->whole, result)) != NULL;) {
        if (!is_of_part(shown, part, result))
            continue;
        char *link = case_href(&shown->whole, result);
        char *linked = mem_format("](%s)", link);
        fprintf(html->out, "<tbody id=\"%s\">", link + 1);
        print_row(html, result, link + 1);
        print_details(html, &shown->whole, result, strstr(top, linked) != NULL, table);
        fputs("</tbody>\n", html->out);
        free(linked);
        free(link);
    }
    fputs("</table></div></details>\n", html->out);
}
