/* Findings for any workload: which side is faster where, and what is missing. */
#include "report/rivals.h"

#include "base/memory.h"
#include "base/units.h"
#include "io/fs.h"
#include "report/shown.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

speedup_t headline_of(const size_row_t *row) {
    return row->headline;
}
bool has_headline(const size_row_t *row) {
    return row->headline.verdict != VERDICT_NONE;
}
static bool has_rival(const size_row_t *row) {
    return row->strongest != NULL;
}

const char *sizes_text(const report_t *report, const comparison_set_t *set, const bool *chosen) {
    text_list_t ranges = {0};
    for (size_t i = 0; i < set->n_rows; i++) {
        size_t first = i;
        while (i < set->n_rows && chosen[i])
            i++;
        if (i > first)
            text_list_add_format(&ranges, i - first > 1 ? "%s–%s" : "%s",
                                 size_cell(report, set, set->rows[first].size),
                                 size_cell(report, set, set->rows[i - 1].size));
    }
    const char *list = report_keep(report, text_list_join(&ranges, ", "));
    text_list_free(&ranges);
    return list;
}

static const char *sizes_with(const report_t *report, const comparison_set_t *set,
                              speedup_of_t speedup_of, verdict_t verdict) {
    bool *chosen = mem_zeroed(set->n_rows + 1, sizeof *chosen);
    for (size_t i = 0; i < set->n_rows; i++)
        chosen[i] = speedup_of(&set->rows[i]).verdict == verdict;
    const char *text = sizes_text(report, set, chosen);
    free(chosen);
    return text;
}

/* "all 29 batch sizes compared", "25 of the 29 batch sizes compared, PyTorch at 4" */
static const char *share_of_sizes(const report_t *report, const comparison_set_t *set, size_t n,
                                  const tally_t *tally, size_t n_theirs, const char *theirs) {
    const char *sizes = sizes_word(set, tally->n);
    if (n == tally->n && n > 0)
        return n == 2 ? report_text(report, "both %s compared", sizes)
                      : report_text(report, "all %zu %s compared", n, sizes);
    return report_text(report, "%zu of the %zu %s compared, %s at %zu", n, tally->n, sizes, theirs,
                       n_theirs);
}

static void print_tally_of_one(const report_t *report, const comparison_set_t *set,
                               const tally_t *tally, const char *ours, const char *theirs) {
    const char *where = report_text(report, "at the one %s compared", sizes_word(set, 1));
    if (tally->of[VERDICT_UNDECIDED] > 0)
        print(report, "%s %s the lower time %s, in %s", ours,
              tally->n_lower > 0 ? "has" : "does not have", where,
              passes_word(report, tally->last.ratio.n_passes));
    else if (tally->of[VERDICT_NO_DIFFERENCE] > 0)
        print(report, "Between %s and %s no difference was found %s", ours, theirs, where);
    else if (tally->of[VERDICT_OURS] > 0)
        print(report, "%s is faster %s", ours, where);
    else
        print(report, "%s is slower than %s %s", ours, theirs, where);
}

static void print_tally_of_many(const report_t *report, const comparison_set_t *set,
                                const tally_t *tally, const char *ours, const char *theirs) {
    const size_t undecided = tally->of[VERDICT_UNDECIDED];
    if (undecided > 0 && undecided == tally->n) {
        print(report, "%s has the lower time at %s, in %s", ours,
              share_of_sizes(report, set, tally->n_lower, tally, tally->n - tally->n_lower, theirs),
              passes_word(report, tally->last.ratio.n_passes));
        return;
    }
    print(report, "%s is faster at %s", ours,
          share_of_sizes(report, set, tally->of[VERDICT_OURS], tally, tally->of[VERDICT_THEIRS],
                         theirs));
    if (tally->of[VERDICT_NO_DIFFERENCE] > 0)
        print(report, ", no difference found at %zu", tally->of[VERDICT_NO_DIFFERENCE]);
    if (undecided > 0)
        print(report, ", undecided (fewer than %d passes) at %zu", STATS_FEWEST_PASSES, undecided);
}

/* Without an interval no side is called faster: only which time was the lower. */
void print_tally(const report_t *report, const comparison_set_t *set, const tally_t *tally,
                 const char *ours, const char *theirs) {
    if (tally->n == 1)
        print_tally_of_one(report, set, tally, ours, theirs);
    else
        print_tally_of_many(report, set, tally, ours, theirs);
    const size_t claimed = tally->n_self_reported, missing = tally->of[VERDICT_NONE] - claimed;
    if (missing > 0)
        print(report, " (not compared at %zu more: only one side has a valid time)", missing);
    if (claimed > 0)
        print(report,
              " (not compared at %zu more: one side's time is self-reported, and the "
              "supervisor's clock did not confirm it)",
              claimed);
}

void print_lead(const report_t *report, const comparison_set_t *set, speedup_of_t speedup_of,
                const char *ours, const char *theirs) {
    const crossover_t found = find_crossover(set, speedup_of);
    const tally_t tally = tally_of(set, speedup_of);
    print_tally(report, set, &tally, ours, theirs);
    print(report, tally.n > 0 && tally.of[VERDICT_UNDECIDED] == tally.n
                      ? "; the spread between processes is unknown."
                      : ".");
    if (found.n_changes == 1)
        print(
            report, " **Crossover:** between %s (%s faster) and %s (%s faster).",
            size_name(report, set, found.last_before), found.before == VERDICT_OURS ? ours : theirs,
            size_name(report, set, found.first_after), found.after == VERDICT_OURS ? ours : theirs);
    else if (found.n_changes > 1)
        print(report,
              " No single crossover: the lead changes %zu times. %s is faster at %s; %s at %s.",
              found.n_changes, ours, sizes_with(report, set, speedup_of, VERDICT_OURS), theirs,
              sizes_with(report, set, speedup_of, VERDICT_THEIRS));
}

static void print_size(const report_t *report, const comparison_set_t *set, const size_row_t *row) {
    const char *name = set->platform->name, *size = size_name(report, set, row->size);
    print(report, "  - %c%s: %s, %s (%s) against %s (%s).", toupper((unsigned char)size[0]),
          size + 1, verdict_text(report, &row->headline, name, who(report, row->strongest)),
          case_link(report, row->best, median_text(report, row->headline.ours)),
          name_cell(report, row->best),
          case_link(report, row->strongest, median_text(report, row->headline.theirs)),
          their_case(report, set, row->strongest));
    const case_result_t *faster = standing_faster(&row->theirs, set->phase);
    if (faster != NULL)
        print(report, " %s takes %s and is not compared: it %s.",
              report_safe(report, headline_contender(report, faster)),
              time_cell(report, faster, set->phase),
              report_keep(report, exclusion_text(faster, set->phase)));
    print(report, "\n");
    if (row->against_eager.verdict != VERDICT_NONE && row->eager != row->strongest)
        print(report, "  - %c%s, against PyTorch eager, %s: %s.\n", toupper((unsigned char)*size),
              size + 1,
              case_link(report, row->eager, median_text(report, row->against_eager.theirs)),
              verdict_text(report, &row->against_eager, name, "eager"));
}

/* Of several rivals: against each, and where it is the strongest. */
static void print_each_rival(const report_t *report, const comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rivals && set->n_rivals > 1; i++) {
        comparison_set_t against = comparison_set_against(set, i);
        if (report->boots != NULL)
            boots_widen_set(report->boots, &against);
        const char *name = their_name(report, &against);
        const size_t n_compared = fitting_rows(&against, has_headline, NULL);
        size_t n_strongest = 0;
        for (size_t r = 0; r < set->n_rows; r++) {
            const case_result_t *fastest = set->rows[r].rivals[i].fastest;
            n_strongest += fastest != NULL && fastest == set->rows[r].strongest;
        }
        if (n_compared > 0) {
            const size_t n = fitting_rows(set, has_rival, NULL);
            print(report, "  - Against %s, the strongest at %s: ", name,
                  n == 1 ? report_text(report, "%s %s", n_strongest == 1 ? "the one" : "no",
                                       sizes_word(set, n))
                         : report_text(report, "%zu of the %zu %s", n_strongest, n,
                                       sizes_word(set, n)));
            print_lead(report, &against, headline_of, set->platform->name, name);
            print(report, "\n");
        }
        comparison_set_free_rows(&against);
    }
}

/* Without a time of ours: how the rivals' fastest compare with each other. */
static void print_rivals_alone(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    const size_t n = key_rows(set, has_rival, rows);
    for (size_t r = 0; r < n; r++) {
        text_list_t times = {0};
        for (size_t i = 0; i < set->n_rivals; i++) {
            const case_result_t *fastest = rows[r]->rivals[i].fastest;
            if (fastest != NULL)
                text_list_add_format(&times, "%s%s %s%s", fastest == rows[r]->strongest ? "**" : "",
                                     who_and_name(report, fastest),
                                     time_cell(report, fastest, set->phase),
                                     fastest == rows[r]->strongest ? "**" : "");
        }
        print(report, "%sat %s %s",
              r == 0
                  ? report_text(report,
                                "- **Rivals alone**, by `%s`, the strongest in bold: ", set->phase)
                  : "; ",
              size_name(report, set, rows[r]->size), report_join(report, &times, ", "));
    }
    print(report, "%s", n > 0 ? ".\n" : "");
}

void finding_headline(const report_t *report, const comparison_set_t *set, const char *subject) {
    const size_row_t *rows[3];
    const size_t n = key_rows(set, has_headline, rows);
    if (n == 0) {
        print_rivals_alone(report, set);
        return;
    }
    print(report, "- %s, the fastest %s case against %s:\n  - ", subject, set->platform->name,
          their_best(report, set));
    print_lead(report, set, headline_of, set->platform->name, their_name(report, set));
    print(report, "\n");
    for (size_t i = 0; i < n; i++)
        print_size(report, set, rows[i]);
    print_each_rival(report, set);
}

/* "`boot2`, 14 cases, 6 passes, on GPUs 0,1 at once, git 1a2b3c". */
static const char *boot_text(const report_t *report, const record_t *boot) {
    const passes_t passes = passes_of(boot);
    return report_text(report, "%s, %zu cases, %s%s, %s", report_code(report, boot->name),
                       boots_shared_cases(report->run, boot, NULL), passes_counted(report, passes),
                       passes.devices != NULL ? "" : ", on one GPU at a time",
                       revision_text(report, boot));
}

void finding_boots(const report_t *report) {
    const boots_t *boots = report->boots;
    text_list_t names = {0};
    if (boots == NULL || boots->n == 0)
        return;
    for (size_t i = 0; i < boots->n; i++)
        text_list_add(&names, boot_text(report, boots->runs[i]));
    print(
        report,
        "**%zu boots**, separate starts of machines of this kind. All times are of the first; "
        "the interval of a ratio over a rival also covers what the others measured, and the table "
        "at the top has the range: %s. They differ in the machine, how many of its "
        "GPUs were in use and the revision.\n\n",
        boots->n + 1, report_join(report, &names, "; "));
}

void finding_disagreement(const report_t *report, const comparison_set_list_t *sets) {
    text_list_t rows = {0};
    for (size_t s = 0; s < sets->n && report->boots != NULL; s++)
        for (size_t i = 0; i < sets->items[s].n_rows; i++) {
            const comparison_set_t *set = &sets->items[s];
            const size_row_t *row = &set->rows[i];
            const boots_range_t range =
                boots_range(report->boots, row->best, row->strongest, set->phase);
            if (boots_disagree(&range))
                text_list_add_format(
                    &rows, "%s %s, %s, %s, %s against %s: %s", report_safe(report, set->workload),
                    report_safe(report, set->key), set->platform->place,
                    size_name(report, set, row->size), name_cell(report, row->best),
                    their_case(report, set, row->strongest),
                    units_range(report_buffer(report), range.least, range.most));
        }
    const char *list = report_join(report, &rows, "; ");
    if (list != NULL)
        print(report, "**The boots disagree** on the faster side: %s.\n\n", list);
}

/* Nothing if it has a valid time. */
static void print_missing(const report_t *report, const comparison_set_t *set, const char *whose,
                          const char *name) {
    size_t n = 0, timed = 0, claimed = 0;
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, whose, EVERY_SIZE)) != NULL) {
        n++;
        timed += result->status == CASE_OK;
        claimed += result->status == CASE_OK && is_self_reported(result);
    }
    if (n == 0)
        print(report, "- %s was not measured %s in this run.\n", name, set->platform->place);
    else if (timed == 0)
        print(report, "- None of the %zu cases of %s %s has a valid time: see the warnings.\n", n,
              name, set->platform->place);
    else if (claimed == timed)
        print(report,
              "- %s %s is not compared: each of its %zu times is self-reported, and the "
              "supervisor's clock did not confirm it. See the warnings.\n",
              name, set->platform->place, claimed);
}

void finding_missing(const report_t *report, const comparison_set_t *set) {
    print_missing(report, set, OURS, set->platform->name);
    if (set->n_rivals == 0)
        print(report, "- No rival was measured %s in this run.\n", set->platform->place);
    for (size_t i = 0; i < set->n_rivals; i++)
        print_missing(report, set, set->rivals[i],
                      report_safe(report, engine_name(set->rivals[i])));
}

/* Number of samples of the cases shown in a table by size, and its widest interval. */
typedef struct spread {
    const char *phase;
    size_t fewest, most;
    double widest_frac; /* half width of the 95 % interval over the median */
} spread_t;

static void spread_take(spread_t *spread, const case_result_t *result) {
    const bool timed = result != NULL && result_has_times(result);
    const phase_t *phase = timed ? result_phase(result, spread->phase) : NULL;
    if (phase == NULL || phase->summary.n == 0)
        return;
    const summary_t *s = &phase->summary;
    spread->fewest = s->n < spread->fewest ? s->n : spread->fewest;
    spread->most = s->n > spread->most ? s->n : spread->most;
    spread->widest_frac = fmax(spread->widest_frac, (s->ci95[1] - s->ci95[0]) / 2 / s->median);
}

void print_spread(const report_t *report, const comparison_set_t *set) {
    spread_t spread = {.phase = set->phase, .fewest = SIZE_MAX};
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        spread_take(&spread, row->best);
        spread_take(&spread, row->study);
        spread_take(&spread, row->eager);
        for (size_t k = 0; k < set->n_rivals; k++)
            spread_take(&spread, row->rivals[k].fastest);
    }
    const size_t fewest = spread.fewest, most = spread.most;
    if (most == 0)
        return;
    const char *upto = fewest < most ? report_text(report, " to %zu", most) : "";
    print(report, "Each median has %zu%s samples", fewest, upto);
    if (spread.widest_frac > 0)
        print(report, "; the widest 95 %% interval is ± %s",
              percent_text(report, spread.widest_frac));
    print(report, ".");
    const char *path = report_keep(report, fs_join(report->run->folder, "timings.csv"));
    if (fs_exists(path))
        print(report, " All medians: [timings.csv](%s).",
              report_keep(report, report_link(report, path)));
    print(report, "\n\n");
}
