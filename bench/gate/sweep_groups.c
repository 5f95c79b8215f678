/* Groups of a sweep: see sweep_test.h. */
#include "gate/sweep_test.h"

#include "base/memory.h"
#include "gate/claim.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>

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
    double *means = mem_alloc((members->n + 1) * sizeof *means);
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
    free(means);
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
    members_t members = members_of(sweep, index);
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
    members_free(&members);
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
static void adjust(tested_sweep_t *sweep, const uncertainty_t *found, bool slower) {
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

static gate_verdict_t verdict_of(const tested_sweep_t *sweep, const sweep_group_t *group) {
    const double most = 1 + group->threshold_frac;
    if (group->p_slower <= sweep->alarm_rate_frac / 2 && group->low > most)
        return GATE_REGRESSED;
    if (group->p_faster <= sweep->alarm_rate_frac / 2 && group->high < 1 / most)
        return GATE_IMPROVED;
    return group->low >= 1 / most && group->high <= most ? GATE_UNCHANGED : GATE_UNDECIDED;
}

static void decide_groups(tested_sweep_t *sweep) {
    uncertainty_t *found = mem_zeroed(sweep->n_groups + 1, sizeof *found);
    for (size_t g = 0; g < sweep->n_groups; g++)
        found[g] = measure(sweep, g);
    const size_t tested = count_tested(found, sweep->n_groups);
    adjust(sweep, found, true);
    adjust(sweep, found, false);
    for (size_t g = 0; g < sweep->n_groups; g++) {
        sweep_group_t *group = &sweep->groups[g];
        group->verdict = verdict_of(sweep, group);
        if (isfinite(found[g].alarm_variance))
            group->detectable_frac = claim_detectable(
                &(claim_t){.variance = found[g].variance,
                           .df = found[g].df,
                           .alarm_variance = found[g].alarm_variance,
                           .alarm_df = found[g].alarm_df,
                           .threshold_frac = group->threshold_frac,
                           .alarm_rate_frac = sweep->alarm_rate_frac / 2 / (double)tested});
    }
    free(found);
}

void sweep_decide(tested_sweep_t *sweep) {
    sweep_decide_cells(sweep);
    decide_groups(sweep);
}
