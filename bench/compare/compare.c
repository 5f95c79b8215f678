#include "compare/compare.h"

#include "base/memory.h"
#include "base/units.h"
#include "compare/comparison.h"
#include "io/json.h"
#include "io/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ==== tables ================================================================================== */

/* A comparison as a table: on a terminal, and as markdown for a pull request. */

/* A pull request's comment holds 65,536 characters (GitHub). */
enum { MOST_MARKDOWN_ROWS = 200, MOST_MARKDOWN_BYTES = 60000 };

/* How texts and ids are escaped. */
typedef struct style {
    char *(*text)(const char *), *(*code)(const char *);
} style_t;

static const style_t TERMINAL = {text_plain, text_plain}, MARKDOWN = {markdown_text, markdown_code};

/* "+10.2 % (+9.8 to +10.6 %)" */
static char *change_text(double log_ratio, double low, double high) {
    if (isnan(log_ratio))
        return mem_text("–");
    const double change = expm1(log_ratio) * 100;
    if (isnan(low))
        return mem_format("%+.1f %%", change);
    return mem_format("%+.1f %% (%+.1f to %+.1f %%)", change, (low - 1) * 100, (high - 1) * 100);
}

static char *cell_change(const gate_cell_t *gate) {
    return change_text(gate->change.log_ratio, gate->low, gate->high);
}

/* "5 %", "9.2 % (noise floor)" */
static char *threshold_text(const gate_cell_t *gate, double asked_frac) {
    char text[UNITS_TEXT];
    units_percent(text, gate->threshold_frac);
    return mem_format("%s%s", text, gate->threshold_frac > asked_frac ? " (noise floor)" : "");
}

static void start_row(table_t *table, const pair_t *pair, bool first, const style_t *style) {
    table_add(table, first ? pair_verdict_name(pair->verdict) : "");
    table_take(table, first ? style->code(pair->id) : mem_text(""));
}

/* The cells that decide the pair, or `all`; without cells, the reason. */
static void add_pair(table_t *table, const comparison_t *comparison, const pair_t *pair, bool all,
                     const style_t *style) {
    bool first = true;
    for (size_t i = 0; i < pair->n_cells; i++) {
        const cell_t *cell = &pair->cells[i];
        char text[UNITS_TEXT];
        if (!all && !pair_is_decided_by(pair, cell))
            continue;
        start_row(table, pair, first, style);
        table_take(table, style->text(cell->base->name));
        table_add(table, units_time(text, cell->base->summary.median));
        table_add(table, units_time(text, cell->candidate->summary.median));
        table_take(table, cell_change(&cell->test->gate));
        table_take(table, threshold_text(&cell->test->gate, comparison->threshold_frac));
        AUTO_FREE char *why = first ? pair_why(pair) : NULL;
        table_take(table, style->text(why != NULL ? why : ""));
        first = false;
    }
    if (pair->n_cells > 0)
        return;
    start_row(table, pair, true, style);
    for (int i = 0; i < 5; i++)
        table_add(table, "");
    table_take(table, style->text(pair->reason != NULL ? pair->reason : ""));
}

/* Returns the number of cases left out after `most` rows. */
static size_t fill_table(table_t *table, const comparison_t *comparison, bool all, size_t most,
                         const style_t *style) {
    static const char *const HEADINGS[] = {"verdict",   "case",   "phase",     "BASE",
                                           "CANDIDATE", "change", "threshold", "cause or reason"};
    *table = table_make("lllrrrrl", HEADINGS);
    size_t left_out = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++) {
        const pair_t *pair = &comparison->pairs[i];
        if (!all && pair->verdict == PAIR_UNCHANGED)
            continue;
        if (table_rows(table) >= most) {
            left_out++;
            continue;
        }
        add_pair(table, comparison, pair, all, style);
    }
    return left_out;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* "10.0 % (9.7 to 10.3 %)" slower, or faster: by how much of BASE's time. */
static char *size_text(const sweep_group_t *test) {
    const double sign = test->log_ratio < 0 ? -1 : 1;
    const double near = sign > 0 ? test->low : test->high, far = sign > 0 ? test->high : test->low;
    return mem_format("%.1f %% (%.1f to %.1f %%)", sign * expm1(test->log_ratio) * 100,
                      sign * (near - 1) * 100, sign * (far - 1) * 100);
}

static char *group_name(const cell_group_t *group) {
    return mem_format("%s %s", group->engine, group->phase);
}

/* The regressed one that is surest, and how many more there are; NULL: none is. */
static char *regressed_groups(const comparison_t *comparison) {
    const cell_group_t *worst = NULL;
    const size_t n = comparison->n_regressed_groups;
    for (size_t g = 0; g < comparison->n_groups; g++) {
        const cell_group_t *group = &comparison->groups[g];
        if (group->test.verdict == GATE_REGRESSED &&
            (worst == NULL || group->test.p_slower < worst->test.p_slower))
            worst = group;
    }
    if (worst == NULL)
        return NULL;
    AUTO_FREE char *size = size_text(&worst->test), *others = NULL;
    if (n > 1)
        others = mem_format(", and %zu more group%s", n - 1, n > 2 ? "s" : "");
    AUTO_FREE char *name = group_name(worst);
    return mem_format("%s slower by %s, %zu of %zu cells%s", name, size, worst->test.n_moved,
                      worst->test.n_cells, others != NULL ? others : "");
}

static const char *group_verdict(const sweep_group_t *test) {
    return isnan(test->low)                  ? "too few"
           : test->verdict == GATE_UNDECIDED ? "no change found"
                                             : gate_verdict_name(test->verdict);
}

/* "2.9 %"; changes that large are found nine times in ten. */
static char *detectable_text(double frac) {
    return isfinite(frac) ? mem_format("%.1f %%", frac * 100) : mem_text("–");
}

static void fill_groups(table_t *table, const comparison_t *comparison, const style_t *style) {
    static const char *const HEADINGS[] = {"all cells of", "cells",      "change",
                                           "verdict",      "all: finds", "one: finds"};
    *table = table_make("lrrlrr", HEADINGS);
    for (size_t g = 0; g < comparison->n_groups; g++) {
        const cell_group_t *group = &comparison->groups[g];
        const sweep_group_t *test = &group->test;
        if (test->n_cells == 0)
            continue;
        AUTO_FREE char *name = group_name(group);
        table_take(table, style->text(name));
        table_add_format(table, "%zu", test->n_cells);
        table_take(table, change_text(test->log_ratio, test->low, test->high));
        table_add(table, group_verdict(test));
        table_take(table, detectable_text(test->detectable_frac));
        table_take(table, detectable_text(test->cell_detectable_frac));
        table_end_row(table);
    }
}

static const char FINDS[] =
    "Finds: the slowdown of all cells, or of one (in half of the cells), that these runs show nine "
    "times in ten.\n";

/* ---- the verdict ----------------------------------------------------------------------------- */

static bool any_undecided(const comparison_t *comparison) {
    for (size_t i = 0; i < comparison->n_pairs; i++)
        if (pair_has_undecided(&comparison->pairs[i]))
            return true;
    return false;
}

/* "REGRESSED (50 cases: 1 regressed, 49 unchanged)"; the caller frees it. */
static char *comparison_headline(const comparison_t *comparison) {
    const size_t *counts = comparison->counts;
    AUTO(text_list_free) text_list_t parts = {0};
    for (size_t v = 0; v < PAIR_VERDICTS; v++)
        if (counts[v] > 0)
            text_list_add_format(&parts, "%zu %s", counts[v], pair_verdict_name((pair_verdict_t)v));
    AUTO_FREE char *list = text_list_join(&parts, ", "), *groups = regressed_groups(comparison);
    const char *verdict = counts[PAIR_REGRESSED] > 0 || groups != NULL ? "REGRESSED"
                          : counts[PAIR_BROKEN] > 0                    ? "BROKEN"
                          : any_undecided(comparison) ? "no regression found, some undecided"
                          : comparison->n_cells == 0  ? "not comparable"
                                                      : "no regression";
    return mem_format("%s%s%s (%zu case%s: %s)", verdict, groups != NULL ? ": " : "",
                      groups != NULL ? groups : "", comparison->n_pairs,
                      comparison->n_pairs == 1 ? "" : "s", list);
}

static void print_list(const text_list_t *list, const char *title, const char *bullet,
                       char *(*safe)(const char *), FILE *out) {
    if (list->n == 0)
        return;
    fprintf(out, "%s\n", title);
    for (size_t i = 0; i < list->n; i++) {
        AUTO_FREE char *text = safe(list->items[i]);
        fprintf(out, "%s%s\n", bullet, text);
    }
    fputc('\n', out);
}

/* Floors from short or noisy runs can be so wide that they hide nearly any regression. */
static void print_wide_floors(const comparison_t *comparison, FILE *out) {
    static const double WIDE_FRAC = 0.2;
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_pairs; i++)
        for (size_t c = 0; c < comparison->pairs[i].n_cells; c++)
            n += comparison->pairs[i].cells[c].test->gate.floor_frac > WIDE_FRAC;
    if (n > 0)
        fprintf(out,
                "Noise floors over %.0f %%: %zu of %zu cells; smaller slowdowns are not found "
                "there.\n",
                WIDE_FRAC * 100, n, comparison->n_cells);
}

static void print_method(const comparison_t *comparison, FILE *out) {
    char threshold[UNITS_TEXT];
    fprintf(out, "Change: ratio of medians with its 95 %% interval (over passes%s). Threshold: %s",
            comparison->paired ? ", paired by pass" : "",
            units_percent(threshold, comparison->threshold_frac));
    if (comparison->n_floor_runs > 0)
        fprintf(out, ", or the cell's noise floor, if larger (from %zu runs of one build).\n",
                comparison->n_floor_runs);
    else
        fputs("; no noise floors (--floor).\n", out);
    if (comparison->n_passes[0] < STATS_FEWEST_PASSES ||
        comparison->n_passes[1] < STATS_FEWEST_PASSES)
        fprintf(out,
                "Fewer than %d passes: the spread between processes is unknown, and every case is "
                "undecided.\n",
                STATS_FEWEST_PASSES);
    else
        fprintf(
            out,
            "If nothing changed, the chance of any regression in %zu cells is at most %.0f %%%s.\n",
            comparison->n_cells, GATE_ALARM_RATE * 100,
            comparison->n_floor_runs > 0 || comparison->paired
                ? ""
                : ", provided that runs differ as they do between starts of an H200 (--floor: as "
                  "they do here)");
    print_wide_floors(comparison, out);
}

static void print_table(const comparison_t *comparison, bool all, FILE *out) {
    table_t table;
    AUTO_FREE char *base = text_plain(comparison->base->folder),
                   *candidate = text_plain(comparison->candidate->folder);
    fprintf(out, "BASE       %s (passes: %zu)\nCANDIDATE  %s (passes: %zu)\n\n", base,
            comparison->n_passes[0], candidate, comparison->n_passes[1]);
    fill_table(&table, comparison, all, SIZE_MAX, &TERMINAL);
    table_print(&table, "\n", out);
    fill_groups(&table, comparison, &TERMINAL);
    if (table_rows(&table) > 0) {
        table_print(&table, FINDS, out);
        fputc('\n', out);
    } else {
        table_free(&table);
    }
    print_list(&comparison->allowed, "Allowed to differ:", "  ", text_plain, out);
    print_list(&comparison->changes, "The runs differ in:", "  ", text_plain, out);
    if (comparison->n_cells > 0)
        print_method(comparison, out);
    AUTO_FREE char *headline = comparison_headline(comparison), *plain = text_plain(headline);
    fprintf(out, "%s%s\n", comparison->n_cells > 0 ? "\n" : "", plain);
}

/* As many cases as fit, and the number left out. NULL if there are none. */
static char *markdown_table(const comparison_t *comparison, size_t *left_out) {
    char *lines = NULL;
    for (size_t most = MOST_MARKDOWN_ROWS;; most /= 2) {
        AUTO(table_free) table_t table = {0};
        *left_out = fill_table(&table, comparison, false, most, &MARKDOWN);
        if (table_rows(&table) > 0)
            lines = table_text(&table, TABLE_MARKDOWN);
        if (lines == NULL || strlen(lines) <= MOST_MARKDOWN_BYTES || most == 0)
            return lines;
        free(lines);
        lines = NULL;
    }
}

static void print_markdown(const comparison_t *comparison, FILE *out) {
    size_t left_out;
    AUTO_FREE char *plain = comparison_headline(comparison), *headline = markdown_text(plain);
    AUTO_FREE char *base = markdown_code(comparison->base->folder);
    AUTO_FREE char *candidate = markdown_code(comparison->candidate->folder);
    fprintf(out, "### bench compare: %s\n\n%s → %s (passes: %zu, %zu)\n\n", headline, base,
            candidate, comparison->n_passes[0], comparison->n_passes[1]);
    char *lines = markdown_table(comparison, &left_out);
    if (lines != NULL)
        fprintf(out, "%s\n", lines);
    free(lines);
    if (left_out > 0)
        fprintf(out, "%zu more case%s not shown.\n\n", left_out, left_out == 1 ? " is" : "s are");
    AUTO(table_free) table_t groups = {0};
    fill_groups(&groups, comparison, &MARKDOWN);
    if (table_rows(&groups) > 0) {
        lines = table_text(&groups, TABLE_MARKDOWN);
        fprintf(out, "%s\n%s\n", lines, FINDS);
        free(lines);
    }
    print_list(&comparison->allowed, "Allowed to differ:\n", "- ", markdown_text, out);
    print_list(&comparison->changes, "The runs differ in:\n", "- ", markdown_text, out);
    print_method(comparison, out);
}

/* ==== JSON ==================================================================================== */

/* A comparison as JSON: docs/compare.md lists the keys. */

static json_t *cell_to_json(const cell_t *cell) {
    const gate_cell_t *gate = &cell->test->gate;
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:[o, o], s:o, s:o, s:o, s:o, s:o, s:o}", "phase",
                     json_text(cell->base->name), "verdict", gate_verdict_name(gate->verdict),
                     "base_ns", json_finite(cell->base->summary.median), "candidate_ns",
                     json_finite(cell->candidate->summary.median), "ratio",
                     json_finite(exp(gate->change.log_ratio)), "ci95", json_finite(gate->low),
                     json_finite(gate->high), "threshold_frac", json_finite(gate->threshold_frac),
                     "floor_frac",
                     gate->floor_frac > 0 ? json_finite(gate->floor_frac) : json_null(), "p_slower",
                     json_finite(gate->p_slower), "p_faster", json_finite(gate->p_faster),
                     "detectable_frac", json_finite(cell->test->detectable_frac), "more_passes",
                     json_finite(cell->test->more_passes));
}

static json_t *group_to_json(const cell_group_t *group) {
    const sweep_group_t *test = &group->test;
    return json_pack("{s:o, s:o, s:s, s:o, s:[o, o], s:o, s:o, s:o, s:I, s:I, s:o, s:o}", "engine",
                     json_text(group->engine), "phase", json_text(group->phase), "verdict",
                     gate_verdict_name(test->verdict), "ratio", json_finite(exp(test->log_ratio)),
                     "ci95", json_finite(test->low), json_finite(test->high), "threshold_frac",
                     json_finite(test->threshold_frac), "p_slower", json_finite(test->p_slower),
                     "p_faster", json_finite(test->p_faster), "n_cells", (json_int_t)test->n_cells,
                     "n_moved", (json_int_t)test->n_moved, "detectable_frac",
                     json_finite(test->detectable_frac), "cell_detectable_frac",
                     json_finite(test->cell_detectable_frac));
}

static json_t *pair_to_json(const pair_t *pair) {
    json_t *cells = json_array();
    for (size_t i = 0; i < pair->n_cells; i++)
        json_array_append_new(cells, cell_to_json(&pair->cells[i]));
    return json_pack("{s:o, s:s, s:o, s:o, s:o}", "id", json_text(pair->id), "verdict",
                     pair_verdict_name(pair->verdict), "reason", json_text(pair->reason), "cause",
                     json_text(pair->cause), "cells", cells);
}

static void print_json(const comparison_t *comparison, FILE *out) {
    json_t *cases = json_array(), *groups = json_array(), *counts = json_object();
    for (size_t i = 0; i < comparison->n_groups; i++)
        json_array_append_new(groups, group_to_json(&comparison->groups[i]));
    for (size_t i = 0; i < comparison->n_pairs; i++)
        json_array_append_new(cases, pair_to_json(&comparison->pairs[i]));
    for (size_t v = 0; v < PAIR_VERDICTS; v++)
        json_object_set_new(counts, pair_verdict_name((pair_verdict_t)v),
                            json_integer((json_int_t)comparison->counts[v]));
    AUTO_FREE char *headline = comparison_headline(comparison);
    json_t *json =
        json_pack("{s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:b, s:[I, I], s:I, s:I, s:o, s:o, s:o, "
                  "s:o}",
                  "schema", 1, "base", json_text(comparison->base->folder), "candidate",
                  json_text(comparison->candidate->folder), "headline", headline, "counts", counts,
                  "threshold_frac", json_finite(comparison->threshold_frac), "alarm_rate_frac",
                  json_finite(GATE_ALARM_RATE), "paired", comparison->paired, "passes",
                  (json_int_t)comparison->n_passes[0], (json_int_t)comparison->n_passes[1],
                  "n_cells", (json_int_t)comparison->n_cells, "n_floor_runs",
                  (json_int_t)comparison->n_floor_runs, "allowed", json_texts(&comparison->allowed),
                  "changes", json_texts(&comparison->changes), "groups", groups, "cases", cases);
    json_print(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
}

/* ==== JUnit =================================================================================== */

/* A comparison as JUnit XML, which CI systems show as test results. */

static const char *xml(arena_t *texts, const char *text) {
    return arena_keep(texts, xml_text(text));
}

static void put_cells(FILE *out, const pair_t *pair, arena_t *texts) {
    for (size_t i = 0; i < pair->n_cells; i++) {
        const cell_t *cell = &pair->cells[i];
        const gate_cell_t *gate = &cell->test->gate;
        fprintf(out, "%s: %.0f ns -&gt; %.0f ns, ratio %.4f (%.4f to %.4f), threshold %.4f: %s\n",
                xml(texts, cell->base->name), cell->base->summary.median,
                cell->candidate->summary.median, exp(gate->change.log_ratio), gate->low, gate->high,
                1 + gate->threshold_frac, gate_verdict_name(gate->verdict));
    }
}

/* Regressed and broken cases fail; cases without a verdict are skipped, with the reason. */
static void put_case(FILE *out, const pair_t *pair, arena_t *texts) {
    const char *verdict = pair_verdict_name(pair->verdict);
    const case_result_t *result = pair->base != NULL ? pair->base : pair->candidate;
    const char *known = arena_keep(texts, pair_why(pair));
    const char *why = xml(texts, known != NULL ? known : "");
    bool fails = pair->verdict == PAIR_REGRESSED || pair->verdict == PAIR_BROKEN;
    bool passes = pair->verdict == PAIR_UNCHANGED || pair->verdict == PAIR_IMPROVED ||
                  pair->verdict == PAIR_NEW;
    fprintf(out, "  <testcase classname=\"%s\" name=\"%s\">\n", xml(texts, result->spec.workload),
            xml(texts, pair->id));
    if (fails) {
        fprintf(out, "    <failure message=\"%s: %s\" type=\"%s\">", verdict, why, verdict);
        put_cells(out, pair, texts);
        fputs("</failure>\n", out);
    } else if (!passes) {
        fprintf(out, "    <skipped message=\"%s: %s\"/>\n", verdict, why);
    }
    if (!fails && pair->n_cells > 0) {
        fputs("    <system-out>", out);
        put_cells(out, pair, texts);
        fputs("</system-out>\n", out);
    }
    fputs("  </testcase>\n", out);
}

static void put_property(FILE *out, const char *name, const char *value, arena_t *texts) {
    fprintf(out, "    <property name=\"%s\" value=\"%s\"/>\n", name, xml(texts, value));
}

/* A group that regressed fails, whatever its cases are. */
static void put_group(FILE *out, const cell_group_t *group, arena_t *texts) {
    const sweep_group_t *test = &group->test;
    fprintf(
        out,
        "  <testcase classname=\"sweep\" name=\"%s %s\">\n"
        "    <failure message=\"regressed: all cells together\" type=\"regressed\">"
        "ratio %.4f (%.4f to %.4f), threshold %.4f, %zu of %zu cells</failure>\n  </testcase>\n",
        xml(texts, group->engine), xml(texts, group->phase), exp(test->log_ratio), test->low,
        test->high, 1 + test->threshold_frac, test->n_moved, test->n_cells);
}

static void print_junit(const comparison_t *comparison, FILE *out) {
    const size_t *counts = comparison->counts;
    const size_t groups = comparison->n_regressed_groups;
    size_t failures = groups + counts[PAIR_REGRESSED] + counts[PAIR_BROKEN];
    size_t skipped = counts[PAIR_UNDECIDED] + counts[PAIR_MISSING] + counts[PAIR_INCOMPARABLE];
    AUTO(arena_free) arena_t texts = {0};
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"bench compare\" "
            "tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n  <properties>\n",
            groups + comparison->n_pairs, failures, skipped);
    put_property(out, "base", comparison->base->folder, &texts);
    put_property(out, "candidate", comparison->candidate->folder, &texts);
    put_property(out, "verdict", arena_keep(&texts, comparison_headline(comparison)), &texts);
    for (size_t i = 0; i < comparison->allowed.n; i++)
        put_property(out, "allowed", comparison->allowed.items[i], &texts);
    fputs("  </properties>\n", out);
    for (size_t g = 0; g < comparison->n_groups; g++)
        if (comparison->groups[g].test.verdict == GATE_REGRESSED)
            put_group(out, &comparison->groups[g], &texts);
    for (size_t i = 0; i < comparison->n_pairs; i++)
        put_case(out, &comparison->pairs[i], &texts);
    fputs("</testsuite>\n", out);
}

/* ==== comparing =============================================================================== */

/* A different schema is not a broken file, but a run that cannot be compared. */
static status_t check_schema(const char *folder, error_t *err) {
    long long schema;
    TRY(record_read_schema(folder, &schema, err));
    if (schema >= RESULT_OLDEST_SCHEMA && schema <= RESULT_SCHEMA)
        return STATUS_OK;
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s/run.json: found schema %lld, expected %d to %d: made by a different "
                     "version",
                     folder, schema, RESULT_OLDEST_SCHEMA, RESULT_SCHEMA);
}

typedef void (*print_t)(const comparison_t *comparison, FILE *out);

static status_t write_file(const char *path, print_t print, const comparison_t *comparison,
                           error_t *err) {
    if (path == NULL)
        return STATUS_OK;
    AUTO_FREE char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    print(comparison, out);
    fclose(out);
    return output_write_file(path, text, size, err);
}

static status_t learn_floor(const compare_options_t *options, const comparison_t *comparison,
                            error_t *err) {
    AUTO(floors_free) floors_t floors = floors_of_pair(comparison);
    return floors_save(&floors, options->candidate, err);
}

static status_t report(const compare_options_t *options, const comparison_t *comparison,
                       error_t *err) {
    if (options->json)
        print_json(comparison, stdout);
    else
        print_table(comparison, options->all || options->learn_floor, stdout);
    if (options->learn_floor)
        TRY(learn_floor(options, comparison, err));
    TRY(write_file(options->markdown, print_markdown, comparison, err));
    TRY(write_file(options->junit, print_junit, comparison, err));
    return comparison_status(comparison, options->strict);
}

/* Runs are BASE, CANDIDATE, then those for noise floors. */
static const char *folder_of(const compare_options_t *options, size_t i) {
    return i == 0 ? options->base : i == 1 ? options->candidate : options->floors.items[i - 2];
}

static bool is_same_folder(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Noise floors from CANDIDATE itself would hide any regression. */
static status_t check_floors(const compare_options_t *options, error_t *err) {
    for (size_t i = 0; i < options->floors.n; i++)
        for (size_t k = 0; k < i + 2; k++)
            if (is_same_folder(options->floors.items[i], folder_of(options, k)))
                return error_set(err, STATUS_USAGE, "--floor %s: expected a run other than %s",
                                 options->floors.items[i],
                                 k == 0   ? "BASE"
                                 : k == 1 ? "CANDIDATE"
                                          : "the ones before it");
    return STATUS_OK;
}

static status_t check_files(const compare_options_t *options, error_t *err) {
    const char *const files[] = {options->markdown, options->junit};
    for (size_t i = 0; i < 2; i++)
        if (files[i] != NULL)
            TRY(record_refuse_own_file(files[i], err));
    return check_floors(options, err);
}

static void print_all(const comparison_t *comparison, FILE *out) {
    print_table(comparison, true, out);
}

/* From the runs after the first two. One without a case in common teaches nothing. */
static status_t learn_floors(const compare_options_t *options, const record_t *runs,
                             floors_t *floors, error_t *err) {
    TRY(floors_learn(&runs[0], runs + 2, options->floors.n, floors, err));
    for (size_t i = 0; i < options->floors.n; i++) {
        AUTO(comparison_free) comparison_t comparison = {0};
        const comparison_options_t as_compared = {.phases = &options->phases,
                                                  .threshold_frac = options->threshold_frac};
        if (comparison_make(&runs[0], &runs[2 + i], &as_compared, &comparison, NULL) == STATUS_OK)
            floors_add_groups(floors, &comparison);
    }
    return STATUS_OK;
}

static status_t compare_loaded(const compare_options_t *options, const record_t *runs,
                               error_t *err) {
    AUTO(comparison_free) comparison_t comparison = {0};
    AUTO(floors_free) floors_t floors = {0};
    TRY(options->floors.n > 0 ? learn_floors(options, runs, &floors, err)
                              : floors_load(runs[0].folder, &floors, err));
    if (options->save_floor)
        TRY(floors_save(&floors, options->base, err));
    const comparison_options_t as_asked = {&floors, &options->phases, &options->allow,
                                           options->threshold_frac};
    const status_t status = comparison_make(&runs[0], &runs[1], &as_asked, &comparison, err);
    if (status == STATUS_OK)
        return report(options, &comparison, err);
    if (comparison.n_pairs > 0) /* no case can be compared: each with its reason */
        (options->json ? print_json : print_all)(&comparison, stdout);
    return status;
}

status_t compare_runs(const compare_options_t *options, error_t *err) {
    TRY(check_files(options, err));
    AUTO(text_list_free) text_list_t folders = {0};
    AUTO(records_free) record_list_t runs = {0};
    for (size_t i = 0; i < 2 + options->floors.n; i++)
        text_list_add(&folders, folder_of(options, i));
    for (size_t i = 0; i < folders.n; i++)
        TRY(check_schema(folders.items[i], err));
    TRY(records_load((const char *const *)folders.items, folders.n, &runs, err));
    return compare_loaded(options, runs.items, err);
}
