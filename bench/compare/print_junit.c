/* A comparison as JUnit XML, which CI systems show as test results. */
#include "compare/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* XML 1.0 cannot express most control characters, U+FFFE and U+FFFF: they become spaces. */
static const char *xml(arena_t *texts, const char *text) {
    static const struct {
        const char *from, *to;
    } ESCAPES[] = {{"<", "&lt;"},    {">", "&gt;"},         {"&", "&amp;"},
                   {"\"", "&quot;"}, {"\xEF\xBF\xBE", " "}, {"\xEF\xBF\xBF", " "}};
    enum { N_ESCAPES = sizeof ESCAPES / sizeof *ESCAPES };
    char *valid = text_utf8(text), *safe;
    size_t size;
    FILE *out = open_memstream(&safe, &size);
    for (const char *c = valid; *c != '\0';) {
        size_t e = 0;
        while (e < N_ESCAPES && !text_starts(c, ESCAPES[e].from))
            e++;
        if (e < N_ESCAPES)
            fputs(ESCAPES[e].to, out);
        else
            fputc((unsigned char)*c < ' ' || *c == 0x7f ? ' ' : *c, out);
        c += e < N_ESCAPES ? strlen(ESCAPES[e].from) : 1;
    }
    fclose(out);
    free(valid);
    return arena_keep(texts, safe);
}

static void put_cells(FILE *out, const pair_t *pair, arena_t *texts) {
    for (size_t i = 0; i < pair->n_cells; i++) {
        const cell_t *cell = &pair->cells[i];
        const gate_cell_t *gate = &cell->gate;
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

static size_t count_regressed_groups(const comparison_t *comparison) {
    size_t n = 0;
    for (size_t g = 0; g < comparison->n_groups; g++)
        n += comparison->groups[g].test.verdict == GATE_REGRESSED;
    return n;
}

void compare_print_junit(const comparison_t *comparison, FILE *out) {
    const size_t *counts = comparison->counts;
    const size_t groups = count_regressed_groups(comparison);
    size_t failures = groups + counts[PAIR_REGRESSED] + counts[PAIR_BROKEN];
    size_t skipped = counts[PAIR_UNDECIDED] + counts[PAIR_MISSING] + counts[PAIR_INCOMPARABLE];
    arena_t texts = {0};
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
    arena_free(&texts);
}
