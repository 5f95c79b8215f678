/* Findings in sentences that any workload has: who is faster where, and what is missing. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static speedup_t headline_of(const size_row_t *row) {
    return row->headline;
}
bool has_headline(const size_row_t *row) {
    return row->headline.verdict != VERDICT_NONE;
}
static bool has_other(const size_row_t *row) {
    return row->against_other.verdict != VERDICT_NONE;
}

static size_t count_verdicts(const comparison_set_t *set, speedup_of_t speedup_of,
                             verdict_t verdict) {
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        n += speedup_of(&set->rows[i]).verdict == verdict;
    return n;
}

void print_score(FILE *out, const comparison_set_t *set, speedup_of_t speedup_of, const char *ours,
                 const char *theirs) {
    size_t wins = count_verdicts(set, speedup_of, VERDICT_OURS);
    size_t losses = count_verdicts(set, speedup_of, VERDICT_THEIRS);
    size_t draws = count_verdicts(set, speedup_of, VERDICT_NO_DIFFERENCE);
    size_t open = count_verdicts(set, speedup_of, VERDICT_UNDECIDED);
    size_t missing = count_verdicts(set, speedup_of, VERDICT_NONE);
    size_t n = set->n_rows - missing;
    fprintf(out, "%s is faster at %zu of the %zu %s compared, %s at %zu", ours, wins, n,
            sizes_word(set, n), theirs, losses);
    if (draws > 0)
        fprintf(out, ", no difference found at %zu", draws);
    if (open > 0)
        fprintf(out, ", undecided for want of rounds at %zu", open);
    if (missing > 0)
        fprintf(out, " (at %zu more, one of the two was not run or has no valid time)", missing);
    fputc('.', out);
}

/* "1, 64–256, 2^20": sizes with a verdict; a dash spans those that lie next to each other. */
static char *sizes_with(const comparison_set_t *set, speedup_of_t speedup_of, verdict_t verdict) {
    text_list_t ranges = {0};
    for (size_t i = 0; i < set->n_rows; i++) {
        size_t first = i;
        while (i < set->n_rows && speedup_of(&set->rows[i]).verdict == verdict)
            i++;
        if (i == first)
            continue;
        char low[UNITS_TEXT], high[UNITS_TEXT];
        size_text(low, set, set->rows[first].size);
        size_text(high, set, set->rows[i - 1].size);
        text_list_add_format(&ranges, i - first > 1 ? "%s–%s" : "%s", low, high);
    }
    char *list = text_list_join(&ranges, ", ");
    text_list_free(&ranges);
    return list;
}

void print_crossover(FILE *out, const comparison_set_t *set, speedup_of_t speedup_of,
                     const char *ours, const char *theirs) {
    crossover_t found = find_crossover(set, speedup_of);
    char before[UNITS_TEXT], after[UNITS_TEXT];
    if (found.n_changes == 1) {
        fprintf(out,
                " **Crossover:** the lead changes once, between %s, where %s is faster, and "
                "%s, where %s is.",
                named_size(before, set, found.last_before),
                found.before == VERDICT_OURS ? ours : theirs,
                named_size(after, set, found.first_after),
                found.after == VERDICT_OURS ? ours : theirs);
    } else if (found.n_changes > 1) {
        char *wins = sizes_with(set, speedup_of, VERDICT_OURS);
        char *losses = sizes_with(set, speedup_of, VERDICT_THEIRS);
        fprintf(out,
                " The lead changes %zu times, so there is no single crossover %s: %s is faster "
                "at %s; %s at %s.",
                found.n_changes, set->size_param, ours, wins, theirs, losses);
        free(wins);
        free(losses);
    }
}

static void print_headline_row(FILE *out, const comparison_set_t *set, const size_row_t *row) {
    const char *name = set->platform->name;
    char size[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
    char *own = shown_name(row->best), *mode = shown_name(row->fastest);
    named_size(size, set, row->size);
    size[0] = (char)toupper((unsigned char)size[0]);
    fprintf(out, "  - %s: ", size);
    print_verdict(out, &row->headline, name, "PyTorch");
    fprintf(out, ", %s (%s) against %s (%s).", units_time(a, row->headline.ours->summary.median),
            own, units_time(b, row->headline.theirs->summary.median), mode);
    if (row->against_eager.verdict != VERDICT_NONE && row->eager != row->fastest) {
        fprintf(out, " Against PyTorch eager, %s: ",
                units_time(a, row->against_eager.theirs->summary.median));
        print_verdict(out, &row->against_eager, name, "eager");
        fputc('.', out);
    }
    fputc('\n', out);
    free(own);
    free(mode);
}

/* The answer to the question that the report is about. */
void finding_headline(const report_t *report, const comparison_set_t *set, const char *subject) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_headline, rows);
    if (n == 0)
        return;
    const char *name = set->platform->name;
    fprintf(report->out, "- %s: ", subject);
    print_score(report->out, set, headline_of, name, "PyTorch");
    print_crossover(report->out, set, headline_of, name, "PyTorch");
    fputc('\n', report->out);
    for (size_t i = 0; i < n; i++)
        print_headline_row(report->out, set, rows[i]);
}

/* Contenders that a user added. */
void finding_others(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_other, rows);
    if (n == 0)
        return;
    const char *name = set->platform->name;
    fprintf(report->out,
            "- **Other contenders**, the fastest at each %s against the fastest %s "
            "case:",
            sizes_word(set, 1), name);
    for (size_t i = 0; i < n; i++) {
        const speedup_t *speedup = &rows[i]->against_other;
        char size[UNITS_TEXT], time[UNITS_TEXT];
        char *key = contender_key(&rows[i]->other->spec), *other = markdown_text(key);
        fprintf(report->out, "%s at %s %s takes %s: ", i > 0 ? ";" : "",
                named_size(size, set, rows[i]->size), other,
                units_time(time, speedup->theirs->summary.median));
        print_verdict(report->out, speedup, name, other);
        free(key);
        free(other);
    }
    fputs(".\n", report->out);
}

/* What the run cannot say, said plainly. */
void finding_missing(const report_t *report, const comparison_set_t *set) {
    for (owner_t owner = OWNER_OURS; owner <= OWNER_PYTORCH; owner++) {
        size_t n = 0, timed = 0;
        for (size_t i = 0; i < set->run->n_cases; i++)
            if (comparison_set_has(set, &set->run->cases[i], owner)) {
                n++;
                timed += set->run->cases[i].status == CASE_OK;
            }
        if (timed > 0)
            continue;
        const char *name = owner == OWNER_PYTORCH ? "PyTorch" : set->platform->name;
        if (n == 0)
            fprintf(report->out, "- %s was not measured %s in this run.\n", name,
                    set->platform->place);
        else
            fprintf(report->out,
                    "- None of the %zu cases of %s %s has a valid time: see the warnings.\n", n,
                    name, set->platform->place);
    }
}
