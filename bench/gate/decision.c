#include "gate/decision.h"

#include "base/memory.h"
#include "stats/passes.h"

#include <math.h>
#include <stdlib.h>

/* Outside either end of an interval of 95 %. */
static const double CLAIM_OUTSIDE = 0.025;

/* A claim needs both: the whole interval over passes lies beyond the threshold, and a change as large is
 * improbable between two runs of one build. */
typedef struct claim {
    double variance, df;             /* over passes: of the interval */
    double alarm_variance, alarm_df; /* with what differs between runs: of the probability */
    double doubt_log;                /* part of a change that may be chance for other reasons */
    double threshold_frac, alarm_rate_frac;
} claim_t;

/* More are as good as infinitely many, and lgamma() stays precise. */
static const double MOST_DF = 1e4;

/* Student's t as stats/passes.h has it; many degrees of freedom count as 10,000. */
static double claim_quantile(double p, double df) {
    return stats_student_quantile(p, fmin(df, MOST_DF));
}

/* The one-sided probability of a change as large, if there is none. */
static double claim_chance(double change_log, double variance, double df) {
    if (isnan(change_log) || isnan(variance))
        return 1;
    if (!(variance > 0))
        return change_log > 0 ? 0 : 1;
    return stats_student_tail(change_log / sqrt(variance), fmin(df, MOST_DF));
}

static double pass_variance(const sweep_cell_t *cell) {
    return cell->variance / cell->gate.change.weight;
}

/* What two runs of one build add to the variance of a change: drift that the passes of a run share (of each
 * side STATS_SHARED of the variance between them), and `spread`, a standard deviation. Runs in turns share both. */
static double claim_run_variance(bool paired, double pass_variance, double spread) {
    return paired ? 0 : 2 * STATS_SHARED * pass_variance + spread * spread;
}

static double alarm_variance(const sweep_cell_t *cell) {
    return cell->variance + cell->run_variance;
}
/* Satterthwaite: the passes' part is an estimate, the rest is given. */
static double alarm_df(const sweep_cell_t *cell) {
    const double part = cell->variance / alarm_variance(cell);
    return part > 0 ? cell->df / (part * part) : cell->df;
}

/* The slowdown, as a fraction, that is claimed nine times in ten. */
static double claim_detectable(const claim_t *claim) {
    static const double MISSED = 0.1;
    const double sd = sqrt(claim->alarm_variance);
    const double significant =
        claim_quantile(claim->alarm_rate_frac, claim->alarm_df) * sd + claim->doubt_log;
    const double beyond = log1p(claim->threshold_frac) +
                          claim_quantile(CLAIM_OUTSIDE, claim->df) * sqrt(claim->variance);
    return expm1(fmax(significant, beyond) + claim_quantile(MISSED, claim->alarm_df) * sd);
}

const char *gate_verdict_name(gate_verdict_t verdict) {
    static const char *const NAMES[] = {"unchanged", "regressed", "improved", "undecided"};
    return NAMES[verdict];
}

static gate_verdict_t verdict_of(const gate_cell_t *cell, double alarm_rate_frac) {
    const double most = 1 + cell->threshold_frac;
    if (cell->p_slower <= alarm_rate_frac && cell->low > most)
        return GATE_REGRESSED;
    if (cell->p_faster <= alarm_rate_frac && cell->high < 1 / most)
        return GATE_IMPROVED;
    return cell->low >= 1 / most && cell->high <= most ? GATE_UNCHANGED : GATE_UNDECIDED;
}

static void open_cell(gate_cell_t *cell, double threshold_frac) {
    /* Not even noise floors stand for the passes that a side lacks: with processes in two states, runs of
     * one pass raise false alarms in up to 77 % of generated sweeps. */
    const bool may_claim = cell->change.are_passes;
    cell->threshold_frac = fmax(threshold_frac, cell->floor_frac);
    cell->low = may_claim ? cell->change.low : NAN;
    cell->high = may_claim ? cell->change.high : NAN;
}

/* Cells whose processes differ by more than the threshold. */
static size_t count_restless(gate_cell_t *const *cells, size_t n) {
    size_t restless = 0;
    for (size_t i = 0; i < n; i++)
        restless += cells[i]->change.range_log > log1p(cells[i]->threshold_frac);
    return restless;
}

/* Holm's correction of Student's t, but not less than the chance of states: of as many cells as
 * there are whose processes differ, one may have all slow ones on one side by chance. */
static void adjust(gate_cell_t *const *cells, size_t n, const double *p, double *adjusted) {
    const double restless = (double)count_restless(cells, n);
    stats_holm(p, n, adjusted);
    for (size_t i = 0; i < n; i++)
        adjusted[i] = fmin(1, fmax(adjusted[i], restless * cells[i]->change.chance_of_states));
}

void gate_decide(gate_cell_t *const *cells, size_t n, double threshold_frac,
                 double alarm_rate_frac) {
    AUTO_FREE double *p = mem_alloc((n + 1) * sizeof *p),
                     *adjusted = mem_alloc((n + 1) * sizeof *adjusted);
    for (size_t i = 0; i < n; i++) {
        open_cell(cells[i], threshold_frac);
        p[i] = stats_change_above(&cells[i]->change, 1 + cells[i]->threshold_frac);
    }
    adjust(cells, n, p, adjusted);
    for (size_t i = 0; i < n; i++) {
        cells[i]->p_slower = adjusted[i];
        p[i] = stats_change_below(&cells[i]->change, 1 / (1 + cells[i]->threshold_frac));
    }
    adjust(cells, n, p, adjusted);
    for (size_t i = 0; i < n; i++) {
        cells[i]->p_faster = adjusted[i];
        cells[i]->verdict = verdict_of(cells[i], alarm_rate_frac);
    }
}

double gate_floor_of_runs(const stats_side_t *runs, size_t n_runs) {
    double most = 0;
    for (size_t a = 0; a < n_runs; a++)
        for (size_t b = a + 1; b < n_runs; b++) {
            const stats_change_t change = stats_change(&runs[a], &runs[b]);
            if (!isnan(change.low))
                most = fmax(most, fmax(change.high, 1 / change.low) - 1);
        }
    return most;
}

/* Fewer cells take less time than threads to start. */
enum { FEW = 1000 };

static bool has_evidence(const sweep_cell_t *cell) {
    const stats_change_t *change = &cell->gate.change;
    return change->are_passes && isfinite(change->log_ratio) && isfinite(change->se);
}

/* ---- what differs between passes, and between runs ------------------------------------------- */

/* Cells of a group are of one kind: each learns from the others how much its passes differ. */
static void moderate_group(tested_sweep_t *sweep, size_t group, double *variances, double *dfs) {
    size_t n = 0;
    for (size_t i = 0; i < sweep->n_cells; i++)
        if (sweep->cells[i].group == group && has_evidence(&sweep->cells[i])) {
            const stats_change_t *change = &sweep->cells[i].gate.change;
            variances[n] = change->se * change->se / change->weight;
            dfs[n++] = change->df;
        }
    const stats_prior_t prior = stats_prior_of(variances, dfs, n);
    for (size_t i = 0, k = 0; i < sweep->n_cells; i++)
        if (sweep->cells[i].group == group && has_evidence(&sweep->cells[i])) {
            sweep_cell_t *cell = &sweep->cells[i];
            cell->variance =
                stats_moderated(&prior, variances[k], dfs[k]) * cell->gate.change.weight;
            cell->df = dfs[k++] + prior.df;
        }
}

/* By how much the cells of a group differ from what they share, beyond what their passes explain: two
 * runs of one build do. Half of the cells may have changed; then this is too large, never too small
 * (an empirical null: Efron 2004, J. Am. Stat. Assoc. 99). */
static double spread_of_group(const tested_sweep_t *sweep, size_t group, double *changes,
                              double *errors) {
    enum { FEWEST = 8 };
    static const double MAD_TO_SD = 1.4826;
    size_t n = 0;
    for (size_t i = 0; i < sweep->n_cells; i++)
        if (sweep->cells[i].group == group && has_evidence(&sweep->cells[i])) {
            changes[n] = sweep->cells[i].gate.change.mean_log;
            errors[n++] = sweep->cells[i].variance;
        }
    const double least = sweep->groups[group].spread.cell;
    if (n < FEWEST)
        return least;
    stats_sort(changes, n);
    const double sd = MAD_TO_SD * stats_mad(changes, n);
    return sqrt(fmax(least * least, sd * sd - stats_median(errors, n)));
}

/* Noise floors are thresholds that hold what differs between runs. */
static void learn_variances(tested_sweep_t *sweep) {
    AUTO_FREE double *a = mem_alloc((sweep->n_cells + 1) * sizeof *a),
                     *b = mem_alloc((sweep->n_cells + 1) * sizeof *b);
    for (size_t g = 0; g < sweep->n_groups; g++) {
        moderate_group(sweep, g, a, b);
        const double spread = spread_of_group(sweep, g, a, b);
        for (size_t i = 0; i < sweep->n_cells; i++) {
            sweep_cell_t *cell = &sweep->cells[i];
            if (cell->group == g && has_evidence(cell) && !(cell->gate.floor_frac > 0))
                cell->run_variance = claim_run_variance(sweep->paired, pass_variance(cell), spread);
        }
    }
}

/* ---- processes in two states ----------------------------------------------------------------- */

/* Processes in two states: how far they are apart, and the chance that all of BASE are in one of them
 * and all of CANDIDATE in the other. No spread within a side shows that. */
typedef struct states {
    double apart_log, chance; /* 0: the passes fall into no two groups */
} states_t;

/* The passes fall into two groups if the widest gap between them is half of their range. */
static states_t states_of_side(const stats_side_t *side, const sweep_cell_t *cell) {
    double values[STATS_MOST_PASSES], gap = 0;
    size_t n = 0, below = 0;
    for (size_t i = 0; i < side->n; i++)
        if (isfinite(side->units[i].log_value))
            values[n++] = side->units[i].log_value;
    stats_sort(values, n);
    for (size_t i = 1; i < n; i++)
        if (values[i] - values[i - 1] > gap) {
            gap = values[i] - values[i - 1];
            below = i;
        }
    if (n == 0 || gap < (values[n - 1] - values[0]) / 2)
        return (states_t){0, 0};
    const double share = ((double)below + 1) / ((double)n + 2); /* Laplace's rule of succession */
    return (states_t){gap, pow(share, (double)cell->sides[0]->n) *
                               pow(1 - share, (double)cell->sides[1]->n)};
}

static states_t states_of(const sweep_cell_t *cell) {
    const states_t a = states_of_side(cell->sides[0], cell),
                   b = states_of_side(cell->sides[1], cell);
    const double sides = (a.apart_log > 0) + (b.apart_log > 0);
    return (states_t){fmax(a.apart_log, b.apart_log),
                      sides > 0 ? (a.chance + b.chance) / sides : 0};
}

/* Of as many cells of the group as have states that explain such a change, one may show it by chance. */
static double chance_of_states(const tested_sweep_t *sweep, const sweep_cell_t *cell,
                               const states_t *states) {
    const double change = fabs(cell->gate.change.log_ratio);
    double chance = 0;
    for (size_t i = 0; i < sweep->n_cells; i++)
        if (sweep->cells[i].group == cell->group && states[i].apart_log >= change / 2 &&
            states[i].apart_log <= 2 * change)
            chance += states[i].chance;
    return chance;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* Another run's compiler may choose as either side's did once. */
static double doubt_of_choices(const sweep_cell_t *cell, bool slower) {
    const double *base = cell->choices[0], *candidate = cell->choices[1];
    return slower ? base[1] - candidate[0] : candidate[1] - base[0];
}

static double change_beyond_doubt(const sweep_cell_t *cell, bool slower) {
    const double change = cell->gate.change.mean_log;
    return (slower ? change : -change) - doubt_of_choices(cell, slower);
}

static void adjust_sweep_test(const tested_sweep_t *sweep, bool slower, const states_t *states) {
    const size_t n = sweep->n_cells;
    double *p = mem_alloc((2 * n + 1) * sizeof *p), *adjusted = p + n;
    for (size_t i = 0; i < n; i++) {
        const sweep_cell_t *cell = &sweep->cells[i];
        p[i] = has_evidence(cell) ? claim_chance(change_beyond_doubt(cell, slower),
                                                 alarm_variance(cell), alarm_df(cell))
                                  : 1;
    }
    stats_false_discovery(p, n, adjusted);
#pragma omp parallel for schedule(dynamic, 64) if (n > FEW)
    for (size_t i = 0; i < n; i++) {
        gate_cell_t *gate = &sweep->cells[i].gate;
        if (adjusted[i] <= sweep->alarm_rate_frac / 2)
            adjusted[i] = fmax(adjusted[i], chance_of_states(sweep, &sweep->cells[i], states));
        *(slower ? &gate->p_slower : &gate->p_faster) = fmin(1, adjusted[i]);
    }
    free(p);
}

/* The ends of the change's interval, each of which it misses with probability `p`; logarithms. Around the
 * mean of all passes: the centre takes no notice of a few that are in another state. */
static void interval_of(const sweep_cell_t *cell, double p, double ends[2]) {
    const stats_change_t *change = &cell->gate.change;
    const double half = claim_quantile(p, cell->df) * sqrt(cell->variance);
    ends[0] = fmin(change->mean_log - half, change->values_log[0]);
    ends[1] = fmax(change->mean_log + half, change->values_log[1]);
}

/* Of each of the two one-sided tests that no change is larger (Schuirmann 1987). */
static const double EQUAL = 0.05;

static gate_verdict_t verdict_of_sweep_test(const tested_sweep_t *sweep, const sweep_cell_t *cell) {
    const gate_verdict_t verdict = verdict_of(&cell->gate, sweep->alarm_rate_frac / 2);
    const double most_log = log(1 + cell->gate.threshold_frac);
    double ends[2];
    if (!has_evidence(cell) || verdict == GATE_REGRESSED || verdict == GATE_IMPROVED)
        return verdict;
    interval_of(cell, EQUAL, ends);
    return ends[0] >= -most_log && ends[1] <= most_log ? GATE_UNCHANGED : GATE_UNDECIDED;
}

/* The weight of the passes' variance with which the cell would be decided, if its change stays. */
static double weight_to_decide(const tested_sweep_t *sweep, const sweep_cell_t *cell) {
    const double change = cell->gate.change.mean_log, per_pass = pass_variance(cell);
    const double beyond = fabs(change) - log1p(cell->gate.threshold_frac);
    if (beyond < 0)
        return pow(beyond / claim_quantile(EQUAL, cell->df), 2) / per_pass;
    const double t =
        claim_quantile(sweep->alarm_rate_frac / 2 / (double)sweep->n_cells, alarm_df(cell));
    const double error = fmax(0, change_beyond_doubt(cell, change > 0)) / t;
    return fmin(pow(beyond / claim_quantile(CLAIM_OUTSIDE, cell->df), 2),
                error * error - cell->run_variance) /
           per_pass;
}

static double more_passes(const tested_sweep_t *sweep, const sweep_cell_t *cell) {
    const double sides = sweep->paired ? 1 : 2, weight = weight_to_decide(sweep, cell);
    const double needed = weight > 0 ? ceil(sides / weight) : INFINITY;
    return needed <= STATS_MOST_PASSES ? fmax(1, needed - floor(sides / cell->gate.change.weight))
                                       : (double)INFINITY;
}

static void open_cell_sweep_test(const tested_sweep_t *sweep, sweep_cell_t *cell) {
    cell->gate.threshold_frac = fmax(sweep->threshold_frac, cell->gate.floor_frac);
    cell->gate.low = cell->gate.high = cell->variance = cell->df = cell->detectable_frac = NAN;
    cell->run_variance = 0;
}

static void close_cell(const tested_sweep_t *sweep, sweep_cell_t *cell) {
    if (has_evidence(cell)) {
        double ends[2];
        interval_of(cell, CLAIM_OUTSIDE, ends);
        cell->gate.low = exp(fmin(ends[0], cell->gate.change.log_ratio));
        cell->gate.high = exp(fmax(ends[1], cell->gate.change.log_ratio));
        cell->detectable_frac = claim_detectable(
            &(claim_t){.variance = cell->variance,
                       .df = cell->df,
                       .alarm_variance = alarm_variance(cell),
                       .alarm_df = alarm_df(cell),
                       .doubt_log = doubt_of_choices(cell, true),
                       .threshold_frac = cell->gate.threshold_frac,
                       .alarm_rate_frac = sweep->alarm_rate_frac / 2 / (double)sweep->n_cells});
    }
    cell->gate.verdict = verdict_of_sweep_test(sweep, cell);
    cell->more_passes = cell->gate.verdict != GATE_UNDECIDED ? 0
                        : has_evidence(cell)                 ? more_passes(sweep, cell)
                                                             : (double)INFINITY;
}

/* The first half of it: the cells. */
static void sweep_decide_cells(tested_sweep_t *sweep) {
    const size_t n = sweep->n_cells;
    for (size_t i = 0; i < n; i++)
        open_cell_sweep_test(sweep, &sweep->cells[i]);
    learn_variances(sweep);
    AUTO_FREE states_t *states = mem_zeroed(n + 1, sizeof *states);
    for (size_t i = 0; i < n; i++)
        states[i] = states_of(&sweep->cells[i]);
    adjust_sweep_test(sweep, true, states);
    adjust_sweep_test(sweep, false, states);
#pragma omp parallel for schedule(dynamic, 64) if (n > FEW)
    for (size_t i = 0; i < n; i++)
        close_cell(sweep, &sweep->cells[i]);
}

/* A group's threshold, as a part of a cell's: what all cells share is known better than any one of them. */
static const double SWEEP_GROUP_PART = 0.2;

/* A smaller group is no better known than its cells. */
enum { SWEEP_FEWEST_CELLS = 5 };

/* The cells of a group that have evidence, and room for a value of each. */
typedef struct members {
    const sweep_cell_t **cells;
    double *values;
    size_t n;
} members_t;

static members_t members_of(const tested_sweep_t *sweep, size_t group) {
    members_t members = {mem_alloc((sweep->n_cells + 1) * sizeof *members.cells),
                         mem_alloc((sweep->n_cells + 1) * sizeof *members.values), 0};
    for (size_t i = 0; i < sweep->n_cells; i++)
        if (sweep->cells[i].group == group && isfinite(sweep->cells[i].variance))
            members.cells[members.n++] = &sweep->cells[i];
    return members;
}

static void members_free(members_t *members) {
    free(members->cells);
    free(members->values);
}

/* ---- spread between passes ------------------------------------------------------------------- */

/* What is spread over passes: a side, or the ratio of both. */
typedef enum evidence { OF_BASE, OF_CANDIDATE, OF_RATIO } evidence_t;

static double value_of(const sweep_cell_t *cell, evidence_t evidence, size_t pass) {
    const stats_side_t *base = cell->sides[0], *candidate = cell->sides[1];
    const double a = pass < base->n ? base->units[pass].log_value : (double)NAN;
    const double b = pass < candidate->n ? candidate->units[pass].log_value : (double)NAN;
    return evidence == OF_BASE ? a : evidence == OF_CANDIDATE ? b : b - a;
}

static double mean_of(const sweep_cell_t *cell, evidence_t evidence) {
    double sum = 0;
    size_t n = 0;
    for (size_t p = 0; p < STATS_MOST_PASSES; p++) {
        const double value = value_of(cell, evidence, p);
        sum += isfinite(value) ? value : 0;
        n += isfinite(value);
    }
    return sum / (double)n;
}

typedef struct spread {
    double variance, weight, df; /* between passes; of their mean it is variance * weight */
} spread_t;

/* How far all cells together differ from pass to pass: each from its own mean, so that cells that a pass
 * lacks do not matter. */
static spread_t spread_of_passes(const members_t *members, evidence_t evidence) {
    AUTO_FREE double *means = mem_alloc((members->n + 1) * sizeof *means);
    double sum = 0, squares = 0;
    size_t n = 0;
    for (size_t i = 0; i < members->n; i++)
        means[i] = mean_of(members->cells[i], evidence);
    for (size_t p = 0; p < STATS_MOST_PASSES; p++) {
        size_t kept = 0;
        for (size_t i = 0; i < members->n; i++) {
            const double value = value_of(members->cells[i], evidence, p) - means[i];
            if (isfinite(value))
                members->values[kept++] = value;
        }
        stats_sort(members->values, kept);
        const double shared = stats_trimmed_of(members->values, kept).mean;
        if (kept >= SWEEP_FEWEST_CELLS) {
            sum += shared;
            squares += shared * shared;
            n++;
        }
    }
    if (n < STATS_FEWEST_PASSES)
        return (spread_t){NAN, NAN, NAN};
    const double df = (double)n - 1;
    return (spread_t){fmax(0, squares - sum * sum / (double)n) / df, 1 / (double)n, df};
}

static spread_t spread_between_passes(const tested_sweep_t *sweep, const members_t *members) {
    if (sweep->paired)
        return spread_of_passes(members, OF_RATIO);
    const spread_t a = spread_of_passes(members, OF_BASE),
                   b = spread_of_passes(members, OF_CANDIDATE);
    const double u = a.variance * a.weight, v = b.variance * b.weight, weight = a.weight + b.weight;
    return (spread_t){(u + v) / weight, weight,
                      u + v > 0 ? (u + v) * (u + v) / (u * u / a.df + v * v / b.df) : a.df + b.df};
}

/* ---- one group ------------------------------------------------------------------------------- */

/* Of the shared change: by passes and cells, and for an alarm between runs, too. */
typedef struct uncertainty {
    double variance, df, alarm_variance, alarm_df;
} uncertainty_t;

/* Welch and Satterthwaite. */
static double joined_df(double u, double df_u, double v, double df_v, double all) {
    const double part = u * u / df_u + v * v / df_v;
    return part > 0 ? all * all / part : df_u + df_v;
}

static uncertainty_t uncertainty_of(const tested_sweep_t *sweep, const sweep_group_t *group,
                                    const members_t *members, const stats_trimmed_t *shared) {
    const spread_t passes = spread_between_passes(sweep, members);
    const double u = passes.variance * passes.weight, v = shared->se * shared->se;
    const double between =
        group->floor_frac > 0
            ? 0
            : claim_run_variance(sweep->paired, passes.variance, group->spread.shared);
    const double all = u + v + between;
    return (uncertainty_t){u + v, joined_df(u, passes.df, v, shared->df, u + v), all,
                           joined_df(u, passes.df, v, shared->df, all)};
}

static size_t count_moved(const members_t *members, bool slower) {
    size_t n = 0;
    for (size_t i = 0; i < members->n; i++) {
        const gate_cell_t *gate = &members->cells[i]->gate;
        n += slower ? gate->low > 1 : gate->high < 1;
    }
    return n;
}

static double median_detectable(const members_t *members) {
    size_t n = 0;
    for (size_t i = 0; i < members->n; i++)
        if (isfinite(members->cells[i]->detectable_frac))
            members->values[n++] = members->cells[i]->detectable_frac;
    return stats_median(members->values, n);
}

static uncertainty_t measure(const tested_sweep_t *sweep, size_t index) {
    sweep_group_t *group = &sweep->groups[index];
    AUTO(members_free) members_t members = members_of(sweep, index);
    uncertainty_t found = {NAN, NAN, NAN, NAN};
    *group = (sweep_group_t){.spread = group->spread,
                             .floor_frac = group->floor_frac,
                             .n_cells = members.n,
                             .log_ratio = NAN,
                             .low = NAN,
                             .high = NAN,
                             .threshold_frac =
                                 fmax(SWEEP_GROUP_PART * sweep->threshold_frac, group->floor_frac),
                             .detectable_frac = NAN,
                             .cell_detectable_frac = median_detectable(&members),
                             .verdict = GATE_UNDECIDED};
    if (members.n >= SWEEP_FEWEST_CELLS) {
        for (size_t i = 0; i < members.n; i++)
            members.values[i] = members.cells[i]->gate.change.mean_log;
        stats_sort(members.values, members.n);
        const stats_trimmed_t shared = stats_trimmed_of(members.values, members.n);
        found = uncertainty_of(sweep, group, &members, &shared);
        group->log_ratio = shared.mean;
        if (isfinite(found.variance)) {
            const double half = claim_quantile(CLAIM_OUTSIDE, found.df) * sqrt(found.variance);
            group->low = exp(shared.mean - half);
            group->high = exp(shared.mean + half);
        }
        group->n_moved = count_moved(&members, shared.mean > 0);
    }
    return found;
}

/* ---- all groups ------------------------------------------------------------------------------ */

static size_t count_tested(const uncertainty_t *found, size_t n) {
    size_t tested = 0;
    for (size_t g = 0; g < n; g++)
        tested += isfinite(found[g].alarm_variance);
    return tested;
}

/* Holm's correction over those that can be tested. */
static void adjust_groups(tested_sweep_t *sweep, const uncertainty_t *found, bool slower) {
    double *p = mem_alloc((2 * sweep->n_groups + 1) * sizeof *p), *adjusted = p + sweep->n_groups;
    size_t n = 0;
    for (size_t g = 0; g < sweep->n_groups; g++) {
        const sweep_group_t *group = &sweep->groups[g];
        if (isfinite(found[g].alarm_variance))
            p[n++] = claim_chance(slower ? group->log_ratio : -group->log_ratio,
                                  found[g].alarm_variance, found[g].alarm_df);
    }
    stats_holm(p, n, adjusted);
    for (size_t g = 0, k = 0; g < sweep->n_groups; g++) {
        sweep_group_t *group = &sweep->groups[g];
        *(slower ? &group->p_slower : &group->p_faster) =
            isfinite(found[g].alarm_variance) ? adjusted[k++] : 1;
    }
    free(p);
}

static gate_verdict_t verdict_of_group(const tested_sweep_t *sweep, const sweep_group_t *group) {
    const gate_cell_t as_one = {.threshold_frac = group->threshold_frac,
                                .low = group->low,
                                .high = group->high,
                                .p_slower = group->p_slower,
                                .p_faster = group->p_faster};
    return verdict_of(&as_one, sweep->alarm_rate_frac / 2);
}

static void decide_groups(tested_sweep_t *sweep) {
    AUTO_FREE uncertainty_t *found = mem_zeroed(sweep->n_groups + 1, sizeof *found);
    for (size_t g = 0; g < sweep->n_groups; g++)
        found[g] = measure(sweep, g);
    const size_t tested = count_tested(found, sweep->n_groups);
    adjust_groups(sweep, found, true);
    adjust_groups(sweep, found, false);
    for (size_t g = 0; g < sweep->n_groups; g++) {
        sweep_group_t *group = &sweep->groups[g];
        group->verdict = verdict_of_group(sweep, group);
        if (isfinite(found[g].alarm_variance))
            group->detectable_frac = claim_detectable(
                &(claim_t){.variance = found[g].variance,
                           .df = found[g].df,
                           .alarm_variance = found[g].alarm_variance,
                           .alarm_df = found[g].alarm_df,
                           .threshold_frac = group->threshold_frac,
                           .alarm_rate_frac = sweep->alarm_rate_frac / 2 / (double)tested});
    }
}

void sweep_decide(tested_sweep_t *sweep) {
    sweep_decide_cells(sweep);
    decide_groups(sweep);
}
