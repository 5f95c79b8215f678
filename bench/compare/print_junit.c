/* A comparison as JUnit XML: what CI systems show as test results. */
#include "compare/comparison.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* XML 1.0 has no way to write most control characters, nor U+FFFE and U+FFFF; they become spaces.
 */
static void put_text(FILE *out, const char *text) {
    char *valid = text_utf8(text);
    for (const char *c = valid; *c != '\0'; c++) {
        if (text_starts(c, "\xEF\xBF\xBE") || text_starts(c, "\xEF\xBF\xBF")) {
            fputc(' ', out);
            c += 2;
            continue;
        }
        switch (*c) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc((unsigned char)*c < ' ' || *c == 0x7f ? ' ' : *c, out);
        }
    }
    free(valid);
}

static void put_attribute(FILE *out, const char *name, const char *value) {
    fprintf(out, " %s=\"", name);
    put_text(out, value);
    fputc('"', out);
}

static void put_cells(FILE *out, const pair_t *pair) {
    for (size_t i = 0; i < pair->n_cells; i++) {
        const gate_cell_t *gate = &pair->cells[i].gate;
        char *line = mem_format("%s: %.0f ns -> %.0f ns, ratio %.4f (%.4f to %.4f), threshold "
                                "%.4f: %s",
                                pair->cells[i].base->name, pair->cells[i].base->summary.median,
                                pair->cells[i].candidate->summary.median,
                                exp(gate->change.log_ratio), gate->low, gate->high,
                                1 + gate->threshold_frac, gate_verdict_name(gate->verdict));
        put_text(out, line);
        fputc('\n', out);
        free(line);
    }
}

/* Regressed and broken fail; what could not be decided is skipped, with the reason. */
static void put_case(FILE *out, const pair_t *pair) {
    const char *verdict = pair_verdict_name(pair->verdict);
    const char *workload = (pair->base != NULL ? pair->base : pair->candidate)->spec.workload;
    const char *why = pair->cause != NULL    ? pair->cause
                      : pair->reason != NULL ? pair->reason
                                             : "the interval is wider than the threshold";
    bool fails = pair->verdict == PAIR_REGRESSED || pair->verdict == PAIR_BROKEN;
    bool passes = pair->verdict == PAIR_UNCHANGED || pair->verdict == PAIR_IMPROVED ||
                  pair->verdict == PAIR_NEW;
    fputs("  <testcase", out);
    put_attribute(out, "classname", workload);
    put_attribute(out, "name", pair->id);
    fputs(">\n", out);
    if (!passes) {
        char *message = mem_format("%s: %s", verdict, why);
        fprintf(out, "    <%s", fails ? "failure" : "skipped");
        put_attribute(out, "message", message);
        if (fails) {
            put_attribute(out, "type", verdict);
            fputs(">", out);
            put_cells(out, pair);
            fputs("</failure>\n", out);
        } else {
            fputs("/>\n", out);
        }
        free(message);
    }
    if (!fails && pair->n_cells > 0) {
        fputs("    <system-out>", out);
        put_cells(out, pair);
        fputs("</system-out>\n", out);
    }
    fputs("  </testcase>\n", out);
}

void compare_print_junit(const comparison_t *comparison, FILE *out) {
    const size_t *counts = comparison->counts;
    size_t failures = counts[PAIR_REGRESSED] + counts[PAIR_BROKEN];
    size_t skipped = counts[PAIR_UNDECIDED] + counts[PAIR_MISSING] + counts[PAIR_INCOMPARABLE];
    char *headline = comparison_headline(comparison);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"bench compare\"", out);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
            comparison->n_pairs, failures, skipped);
    fputs("  <properties>\n    <property name=\"base\"", out);
    put_attribute(out, "value", comparison->base->folder);
    fputs("/>\n    <property name=\"candidate\"", out);
    put_attribute(out, "value", comparison->candidate->folder);
    fputs("/>\n    <property name=\"verdict\"", out);
    put_attribute(out, "value", headline);
    fputs("/>\n", out);
    for (size_t i = 0; i < comparison->allowed.n; i++) {
        fputs("    <property name=\"allowed\"", out);
        put_attribute(out, "value", comparison->allowed.items[i]);
        fputs("/>\n", out);
    }
    fputs("  </properties>\n", out);
    for (size_t i = 0; i < comparison->n_pairs; i++)
        put_case(out, &comparison->pairs[i]);
    fputs("</testsuite>\n", out);
    free(headline);
}
