/* Findings for any workload: which side is faster where, and what is missing. */
#include "report/columns.h"

#include "base/units.h"
#include "io/fs.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>

static speedup_t headline_of(const size_row_t *row) {
    return row->headline;
}
bool has_headline(const size_row_t *row) {
    return row->headline.verdict != VERDICT_NONE;
}
static bool has_other(const size_row_t *row) {
    return row->against_other.verdict != VERDICT_NONE;
}

/* "1, 64–256, 2^20": sizes with this verdict; a dash joins adjacent ones. */
static const char *sizes_with(const report_t *report, const comparison_set_t *set,
                              speedup_of_t speedup_of, verdict_t verdict) {
    text_list_t ranges = {0};
    for (size_t i = 0; i < set->n_rows; i++) {
        size_t first = i;
        while (i < set->n_rows && speedup_of(&set->rows[i]).verdict == verdict)
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

/* Without an interval no side is called faster: only which time was the lower. */
void print_tally(const report_t *report, const comparison_set_t *set, const tally_t *tally,
                 const char *ours, const char *theirs) {
    const char *sizes = sizes_word(set, tally->n);
    const size_t undecided = tally->of[VERDICT_UNDECIDED];
    if (undecided > 0 && undecided == tally->n) {
        print(report, "%s has the lower time at %zu of the %zu %s compared, %s at %zu, in %s", ours,
              tally->n_lower, tally->n, sizes, theirs, tally->n - tally->n_lower,
              passes_word(report, tally->last.ratio.n_passes));
    } else {
        print(report, "%s is faster at %zu of the %zu %s compared, %s at %zu", ours,
              tally->of[VERDICT_OURS], tally->n, sizes, theirs, tally->of[VERDICT_THEIRS]);
        if (tally->of[VERDICT_NO_DIFFERENCE] > 0)
            print(report, ", no difference found at %zu", tally->of[VERDICT_NO_DIFFERENCE]);
        if (undecided > 0)
            print(report, ", undecided (fewer than %d passes) at %zu", STATS_FEWEST_PASSES,
                  undecided);
    }
    if (tally->of[VERDICT_NONE] > 0)
        print(report, " (not compared at %zu more: one side has no valid time)",
              tally->of[VERDICT_NONE]);
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

void finding_headline(const report_t *report, const comparison_set_t *set, const char *subject) {
    const char *name = set->platform->name;
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_headline, rows);
    if (n == 0)
        return;
    print(report, "- %s: ", subject);
    print_lead(report, set, headline_of, name, "PyTorch");
    print(report, "\n");
    for (size_t i = 0; i < n; i++) {
        const size_row_t *row = rows[i];
        const char *size = size_name(report, set, row->size);
        print(report, "  - %c%s: %s, %s (%s) against %s (%s).", toupper((unsigned char)size[0]),
              size + 1, verdict_text(report, &row->headline, name, "PyTorch"),
              median_text(report, row->headline.ours), name_cell(report, row->best),
              median_text(report, row->headline.theirs), name_cell(report, row->fastest));
        if (row->against_eager.verdict != VERDICT_NONE && row->eager != row->fastest)
            print(report, " Against PyTorch eager, %s: %s.",
                  median_text(report, row->against_eager.theirs),
                  verdict_text(report, &row->against_eager, name, "eager"));
        print(report, "\n");
    }
}

void finding_boots(const report_t *report) {
    const boots_t *boots = report->boots;
    text_list_t folders = {0};
    if (boots == NULL || boots->n == 0)
        return;
    for (size_t i = 0; i < boots->n; i++)
        text_list_add(&folders, report_code(report, boots->runs[i].folder));
    print(report,
          "**%zu boots**, separate starts of the machine. All times are of the first; the others, "
          "%s, give the ratios at the top their range.\n\n",
          boots->n + 1, report_join(report, &folders, ", "));
}

void finding_disagreement(const report_t *report, const comparison_set_list_t *sets) {
    text_list_t rows = {0};
    for (size_t s = 0; s < sets->n && report->boots != NULL; s++)
        for (size_t i = 0; i < sets->items[s].n_rows; i++) {
            const comparison_set_t *set = &sets->items[s];
            const size_row_t *row = &set->rows[i];
            const boots_range_t range =
                boots_range(report->boots, row->best, row->fastest, set->phase);
            if (boots_disagree(&range))
                text_list_add_format(&rows, "%s %s, %s, %s, %s against %s: %s",
                                     report_safe(report, set->workload),
                                     report_safe(report, set->key), set->platform->place,
                                     size_name(report, set, row->size),
                                     name_cell(report, row->best), name_cell(report, row->fastest),
                                     units_range(report_buffer(report), range.least, range.most));
        }
    const char *list = report_join(report, &rows, "; ");
    if (list != NULL)
        print(report, "**The boots disagree** on the faster side: %s.\n\n", list);
}

/* Contenders added by the user. */
void finding_others(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_other, rows);
    const char *name = set->platform->name;
    for (size_t i = 0; i < n; i++) {
        const speedup_t *speedup = &rows[i]->against_other;
        const char *other = key_cell(report, rows[i]->other);
        if (i == 0)
            print(report,
                  "- **Other contenders**, the fastest at each %s against the fastest %s case:",
                  sizes_word(set, 1), name);
        print(report, "%s at %s %s takes %s: %s", i > 0 ? ";" : "",
              size_name(report, set, rows[i]->size), other, median_text(report, speedup->theirs),
              verdict_text(report, speedup, name, other));
    }
    if (n > 0)
        print(report, ".\n");
}

/* Sides without a valid time. */
void finding_missing(const report_t *report, const comparison_set_t *set) {
    for (owner_t owner = OWNER_OURS; owner <= OWNER_PYTORCH; owner++) {
        size_t n = 0, timed = 0;
        const case_result_t *result = NULL;
        while ((result = comparison_set_next(set, result, owner, EVERY_SIZE)) != NULL) {
            n++;
            timed += result->status == CASE_OK;
        }
        const char *name = owner == OWNER_PYTORCH ? "PyTorch" : set->platform->name;
        if (n == 0)
            print(report, "- %s was not measured %s in this run.\n", name, set->platform->place);
        else if (timed == 0)
            print(report, "- None of the %zu cases of %s %s has a valid time: see the warnings.\n",
                  n, name, set->platform->place);
    }
}

void print_spread(const report_t *report, const comparison_set_t *set) {
    size_t fewest = SIZE_MAX, most = 0;
    double widest_frac = 0; /* half width of the 95 % interval over the median */
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const case_result_t *shown[] = {row->best, row->study, row->eager, row->fastest,
                                        row->other};
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
            const bool timed = shown[k] != NULL && result_has_times(shown[k]);
            const phase_t *phase = timed ? result_phase(shown[k], set->phase) : NULL;
            if (phase == NULL || phase->summary.n == 0)
                continue;
            const summary_t *s = &phase->summary;
            fewest = s->n < fewest ? s->n : fewest;
            most = s->n > most ? s->n : most;
            widest_frac = fmax(widest_frac, (s->ci95[1] - s->ci95[0]) / 2 / s->median);
        }
    }
    if (most == 0)
        return;
    const char *upto = fewest < most ? report_text(report, " to %zu", most) : "";
    print(report, "Each median has %zu%s samples", fewest, upto);
    if (widest_frac > 0)
        print(report, "; the widest 95 %% interval is ± %s", percent_text(report, widest_frac));
    print(report, ".");
    const char *path = report_keep(report, fs_join(report->run->folder, "timings.csv"));
    if (fs_exists(path))
        print(report, " All medians: [timings.csv](%s).",
              report_keep(report, report_link(report, path)));
    print(report, "\n\n");
}
