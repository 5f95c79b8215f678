#include "compare/comparison.h"

#include "analysis/speedup.h"
#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *pair_verdict_name(pair_verdict_t verdict) {
    static const char *const NAMES[PAIR_VERDICTS] = {"broken",  "regressed",      "undecided",
                                                     "missing", "not comparable", "improved",
                                                     "new",     "unchanged"};
    return NAMES[verdict];
}

/* ---- which phases ---------------------------------------------------------------------------- */

static bool is_timed(const phase_t *phase) {
    return phase != NULL && phase->summary.n > 0;
}

/* The phases that the stopping rule watches: host to host, and compute; of a cold run, the first
 * answer and the total. Of each row, the first phase that the case has. */
enum { N_NAMES = 4 };
static const char *const DEFAULTS[][N_NAMES] = {{"host_to_host", "total"},
                                                {"kernel_graph", "kernel", "train", "forward"},
                                                {"cold_first_answer"},
                                                {"cold_total"}};
enum { N_DEFAULTS = sizeof DEFAULTS / sizeof *DEFAULTS };

/* Add the phase if `result` has times of it, and `other` too unless NULL. */
static bool add_phase(text_list_t *names, const case_result_t *result, const case_result_t *other,
                      const char *name) {
    if (!is_timed(result_phase(result, name)) ||
        (other != NULL && !is_timed(result_phase(other, name))))
        return false;
    text_list_add_new(names, name);
    return true;
}

text_list_t comparison_common_phases(const case_result_t *result, const case_result_t *other,
                                     const text_list_t *asked) {
    text_list_t names = {0};
    for (size_t i = 0; i < N_DEFAULTS && asked->n == 0; i++)
        for (size_t k = 0; k < N_NAMES && DEFAULTS[i][k] != NULL; k++)
            if (add_phase(&names, result, other, DEFAULTS[i][k]))
                break;
    for (size_t i = 0; i < asked->n; i++)
        if (strcmp(asked->items[i], "all") != 0)
            add_phase(&names, result, other, asked->items[i]);
    for (size_t p = 0; p < result->n_phases && text_list_has(asked, "all"); p++)
        add_phase(&names, result, other, result->phases[p].name);
    return names;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static void settle(pair_t *pair, pair_verdict_t verdict, const char *reason) {
    pair->verdict = verdict;
    pair->reason = reason;
}

/* The reason is the status of `result`, which is from `run`. */
static void settle_by_status(pair_t *pair, pair_verdict_t verdict, const case_result_t *result,
                             const char *run, arena_t *texts) {
    const char *reason = result->reason;
    settle(pair, verdict,
           arena_format(texts, "%s in %s%s%s", case_status_name(result->status), run,
                        reason != NULL ? ": " : "", reason != NULL ? reason : ""));
}

/* A case that only one run has. */
static void settle_single(pair_t *pair, arena_t *texts) {
    const case_result_t *only = pair->base != NULL ? pair->base : pair->candidate;
    const char *run = pair->base != NULL ? "BASE" : "CANDIDATE";
    if (pair->candidate != NULL && result_is_broken(pair->candidate))
        settle_by_status(pair, PAIR_BROKEN, pair->candidate, "CANDIDATE", texts);
    else if (only->status != CASE_OK)
        settle_by_status(pair, PAIR_INCOMPARABLE, only, run, texts);
    else
        settle(pair, pair->base != NULL ? PAIR_MISSING : PAIR_NEW,
               pair->base != NULL ? "only in BASE" : "only in CANDIDATE");
}

static void settle_without_times(pair_t *pair, arena_t *texts) {
    const case_result_t *base = pair->base, *candidate = pair->candidate;
    if (result_is_broken(candidate) && result_is_broken(base))
        settle_by_status(pair, PAIR_INCOMPARABLE, candidate, "CANDIDATE, and broken in BASE",
                         texts);
    else if (result_is_broken(candidate))
        settle_by_status(pair, PAIR_BROKEN, candidate, "CANDIDATE", texts);
    else if (base->status != CASE_OK && candidate->status == CASE_OK)
        settle_by_status(pair, base->status == CASE_THROTTLED ? PAIR_INCOMPARABLE : PAIR_NEW, base,
                         "BASE", texts);
    else
        settle_by_status(pair,
                         candidate->status == CASE_SKIPPED && base->status == CASE_OK
                             ? PAIR_MISSING
                             : PAIR_INCOMPARABLE,
                         candidate, "CANDIDATE", texts);
}

static void add_cells(pair_t *pair, const text_list_t *names) {
    pair->cells = mem_zeroed(names->n, sizeof *pair->cells);
    for (size_t i = 0; i < names->n; i++)
        pair->cells[pair->n_cells++] =
            (cell_t){.base = result_phase(pair->base, names->items[i]),
                     .candidate = result_phase(pair->candidate, names->items[i])};
    if (names->n == 0)
        settle(pair, PAIR_INCOMPARABLE, "no phase has times on both sides");
}

/* The cells of a pair whose times may be compared; else why not. */
static void open_timed(pair_t *pair, const text_list_t *phases, const text_list_t *allow,
                       arena_t *texts) {
    AUTO(text_list_free)
    text_list_t names = comparison_common_phases(pair->base, pair->candidate, phases);
    char *obstacle = guard_pair(pair->base, pair->candidate, &names, allow);
    if (obstacle != NULL)
        settle(pair, PAIR_INCOMPARABLE, arena_keep(texts, obstacle));
    else
        add_cells(pair, &names);
}

/* Fill in the cells of a pair, or its verdict if it has none. */
static void pair_open(pair_t *pair, const text_list_t *phases, const text_list_t *allow,
                      arena_t *texts) {
    if (pair->base == NULL || pair->candidate == NULL)
        settle_single(pair, texts);
    else if (pair->base->status != CASE_OK || pair->candidate->status != CASE_OK)
        settle_without_times(pair, texts);
    else
        open_timed(pair, phases, allow, texts);
}

/* In BASE's order, then cases that only CANDIDATE has. Calibrations measure the device, not the
 * code: verdicts.c lists their differences. */
static void make_pairs(comparison_t *comparison, const text_list_t *phases,
                       const text_list_t *allow) {
    const record_t *base = comparison->base, *candidate = comparison->candidate;
    size_t n = base->n_cases + candidate->n_cases;
    comparison->pairs = mem_zeroed(n + 1, sizeof *comparison->pairs);
    for (size_t i = 0; i < n; i++) {
        bool second = i >= base->n_cases;
        const case_result_t *own = second ? &candidate->cases[i - base->n_cases] : &base->cases[i];
        const case_result_t *other = record_find(second ? base : candidate, own->spec.id);
        if (is_calibration(&own->spec) || (second && other != NULL))
            continue;
        pair_t *pair = &comparison->pairs[comparison->n_pairs++];
        *pair = (pair_t){
            .id = own->spec.id, .base = second ? NULL : own, .candidate = second ? own : other};
        pair_open(pair, phases, allow, &comparison->texts);
    }
}

/* ---- deciding -------------------------------------------------------------------------------- */

static bool has_verdict(const pair_t *pair, gate_verdict_t verdict) {
    for (size_t i = 0; i < pair->n_cells; i++)
        if (pair->cells[i].test->gate.verdict == verdict)
            return true;
    return false;
}

bool pair_has_undecided(const pair_t *pair) {
    return has_verdict(pair, GATE_UNDECIDED);
}

/* The likely cause of a change comes first; where nothing is known to have changed, why that is so. */
char *pair_why(const pair_t *pair) {
    const bool changed = pair->verdict == PAIR_REGRESSED || pair->verdict == PAIR_IMPROVED;
    if (changed && pair->cause != NULL && pair->reason != NULL)
        return mem_format("%s; %s", pair->cause, pair->reason);
    return mem_text(pair->reason != NULL ? pair->reason : pair->cause);
}

/* By the phases that are decided. */
static pair_verdict_t verdict_of(const pair_t *pair) {
    return has_verdict(pair, GATE_REGRESSED)   ? PAIR_REGRESSED
           : has_verdict(pair, GATE_IMPROVED)  ? PAIR_IMPROVED
           : has_verdict(pair, GATE_UNCHANGED) ? PAIR_UNCHANGED
                                               : PAIR_UNDECIDED;
}

static double size_of_change(const cell_t *cell) {
    double change = fabs(cell->test->gate.change.log_ratio);
    return isnan(change) ? 0 : change;
}

bool pair_is_decided_by(const pair_t *pair, const cell_t *cell) {
    gate_verdict_t verdict = pair->verdict == PAIR_REGRESSED   ? GATE_REGRESSED
                             : pair->verdict == PAIR_UNDECIDED ? GATE_UNDECIDED
                             : pair->verdict == PAIR_IMPROVED  ? GATE_IMPROVED
                                                               : GATE_UNCHANGED;
    return cell->test->gate.verdict == verdict;
}

/* The one with the largest change among those of the case's verdict. */
static const cell_t *deciding_cell(const pair_t *pair) {
    const cell_t *deciding = NULL;
    for (size_t i = 0; i < pair->n_cells; i++)
        if (pair_is_decided_by(pair, &pair->cells[i]) &&
            (deciding == NULL || size_of_change(&pair->cells[i]) > size_of_change(deciding)))
            deciding = &pair->cells[i];
    return deciding;
}

static int worst_first(const void *a, const void *b) {
    const pair_t *x = a, *y = b;
    if (x->verdict != y->verdict)
        return (x->verdict > y->verdict) - (x->verdict < y->verdict);
    const cell_t *p = deciding_cell(x), *q = deciding_cell(y);
    double larger = (q != NULL ? size_of_change(q) : 0) - (p != NULL ? size_of_change(p) : 0);
    return larger != 0 ? (larger > 0) - (larger < 0) : strcmp(x->id, y->id);
}

/* `bench run --against` writes the same id into both of its runs. */
static bool is_interleaved(const record_t *base, const record_t *candidate) {
    const char *a = environment_get(&base->environment, "measure.pair");
    const char *b = environment_get(&candidate->environment, "measure.pair");
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Why the cell is undecided, and what would decide it. */
static const char *doubt_of(const cell_t *cell, bool paired, arena_t *texts) {
    const phase_t *const sides[] = {cell->base, cell->candidate};
    static const char *const NAMES[] = {"BASE", "CANDIDATE"};
    char low[UNITS_TEXT], high[UNITS_TEXT], share[UNITS_TEXT];
    for (size_t i = 0; i < 2; i++)
        if (sides[i]->summary.median == 0)
            return arena_format(texts, "the median in %s is 0: there is no ratio", NAMES[i]);
    if (isnan(cell->test->gate.low) && !cell->test->gate.change.are_passes)
        return arena_format(texts,
                            "%zu and %zu passes: the spread between processes is unknown with "
                            "fewer than %d",
                            sides[0]->n_passes, sides[1]->n_passes, STATS_FEWEST_PASSES);
    for (size_t i = 0; i < 2; i++)
        if (sides[i]->bimodal.found)
            return arena_format(texts, "bimodal in %s: %s, or %s in %s of the rounds", NAMES[i],
                                units_time(low, sides[i]->bimodal.low),
                                units_time(high, sides[i]->bimodal.high),
                                units_percent(share, sides[i]->bimodal.share_high));
    if (isfinite(cell->test->more_passes))
        return arena_format(texts, "%.0f more pass%s a side would decide", cell->test->more_passes,
                            cell->test->more_passes > 1 ? "es" : "");
    const double change = fmax(cell->test->gate.change.mean_log, -cell->test->gate.change.mean_log);
    if (change <= log1p(cell->test->gate.threshold_frac) || paired)
        return arena_format(texts, "more than %d passes a side would decide", STATS_MOST_PASSES);
    return "runs of one build may differ as much: measure in turns (--against)";
}

/* Of each undecided phase; once if it is the same. */
static const char *doubts_of_pair(const pair_t *pair, bool paired, arena_t *texts) {
    AUTO(text_list_free) text_list_t doubts = {0}, named = {0};
    for (size_t i = 0; i < pair->n_cells; i++) {
        const cell_t *cell = &pair->cells[i];
        if (cell->test->gate.verdict != GATE_UNDECIDED)
            continue;
        const char *doubt = doubt_of(cell, paired, texts);
        text_list_add_new(&doubts, doubt);
        text_list_add_format(&named, "%s undecided: %s", cell->base->name, doubt);
    }
    const bool same = pair->verdict == PAIR_UNDECIDED && doubts.n == 1;
    return named.n > 0 ? arena_keep(texts, text_list_join(same ? &doubts : &named, "; ")) : NULL;
}

static void count_passes(comparison_t *comparison, const pair_t *pair) {
    for (size_t i = 0; i < pair->n_cells; i++) {
        const phase_t *const sides[] = {pair->cells[i].base, pair->cells[i].candidate};
        for (size_t k = 0; k < 2; k++)
            if (sides[k]->n_passes > comparison->n_passes[k])
                comparison->n_passes[k] = sides[k]->n_passes;
    }
}

static void finish_pairs(comparison_t *comparison) {
    for (size_t i = 0; i < comparison->n_pairs; i++) {
        pair_t *pair = &comparison->pairs[i];
        count_passes(comparison, pair);
        if (pair->n_cells > 0)
            pair->verdict = verdict_of(pair);
        if (pair->n_cells > 0)
            pair->reason = doubts_of_pair(pair, comparison->paired, &comparison->texts);
        if (pair->n_cells > 0 && pair->verdict != PAIR_UNCHANGED)
            pair->cause = arena_keep(&comparison->texts,
                                     cause_of_pair(comparison, pair->base, pair->candidate));
        comparison->counts[pair->verdict]++;
    }
    if (comparison->n_pairs > 0)
        qsort(comparison->pairs, comparison->n_pairs, sizeof *comparison->pairs, worst_first);
}

static status_t check_phases(const comparison_t *comparison, const text_list_t *phases,
                             error_t *err) {
    if (comparison->n_cells > 0 || comparison->counts[PAIR_BROKEN] > 0)
        return STATUS_OK;
    AUTO_FREE char *names = text_list_join(phases, ", "), *why = NULL;
    if (comparison->n_pairs > 0)
        why = mem_format(" (%s: %s)", comparison->pairs[0].id, comparison->pairs[0].reason);
    return error_set(err, STATUS_INCOMPARABLE,
                     "%s and %s have nothing to compare%s%s: no case has times in both%s",
                     comparison->base->folder, comparison->candidate->folder,
                     phases->n > 0 ? " in " : "", names, why != NULL ? why : "");
}

status_t comparison_make(const record_t *base, const record_t *candidate,
                         const comparison_options_t *options, comparison_t *comparison,
                         error_t *err) {
    static const text_list_t NONE;
    static const floors_t NO_FLOORS;
    const floors_t *floors = options->floors != NULL ? options->floors : &NO_FLOORS;
    const text_list_t *phases = options->phases != NULL ? options->phases : &NONE;
    const text_list_t *allow = options->allow != NULL ? options->allow : &NONE;
    *comparison = (comparison_t){.base = base,
                                 .candidate = candidate,
                                 .threshold_frac = options->threshold_frac,
                                 .paired = is_interleaved(base, candidate),
                                 .n_floor_runs = floors->n_runs};
    TRY(guard_check_allow(allow, err));
    TRY(guard_runs(base, candidate, allow, &comparison->allowed, err));
    comparison->differing = conditions_changed(&base->environment, &candidate->environment);
    for (size_t i = 0; i < comparison->differing.n; i++)
        text_list_take(&comparison->changes, run_difference_text(&comparison->differing.items[i]));
    add_host_speeds(&comparison->changes, comparison);
    make_pairs(comparison, phases, allow);
    comparison_decide(comparison, floors);
    finish_pairs(comparison);
    return check_phases(comparison, phases, err);
}

void comparison_free(comparison_t *comparison) {
    for (size_t i = 0; i < comparison->n_pairs; i++)
        free(comparison->pairs[i].cells);
    free(comparison->pairs);
    free(comparison->tests);
    free(comparison->groups);
    arena_free(&comparison->texts);
    text_list_free(&comparison->allowed);
    text_list_free(&comparison->changes);
    conditions_free(&comparison->differing);
    *comparison = (comparison_t){0};
}

/* Does BASE have times of the case, but the comparison no verdict? */
static bool lacks_verdict(const pair_t *pair) {
    const case_result_t *base = pair->base;
    bool timed = base != NULL && (base->status == CASE_OK || base->status == CASE_THROTTLED);
    return pair_has_undecided(pair) || pair->verdict == PAIR_MISSING ||
           (pair->verdict == PAIR_INCOMPARABLE && timed);
}

status_t comparison_status(const comparison_t *comparison, bool strict) {
    const size_t *counts = comparison->counts;
    if (counts[PAIR_BROKEN] > 0 || counts[PAIR_REGRESSED] > 0 || comparison->n_regressed_groups > 0)
        return STATUS_FAILED;
    for (size_t i = 0; i < comparison->n_pairs && strict; i++)
        if (lacks_verdict(&comparison->pairs[i]))
            return STATUS_NOISY;
    return STATUS_OK;
}
