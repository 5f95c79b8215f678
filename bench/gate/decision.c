#include "gate/decision.h"

#include "base/memory.h"
#include "stats/passes.h"

#include <math.h>
#include <stdlib.h>

/* More are as good as infinitely many, and lgamma() stays precise. */
static const double MOST_DF = 1e4;

double claim_quantile(double p, double df) {
    return stats_student_quantile(p, fmin(df, MOST_DF));
}

double claim_chance(double change_log, double variance, double df) {
    if (isnan(change_log) || isnan(variance))
        return 1;
    if (!(variance > 0))
        return change_log > 0 ? 0 : 1;
    return stats_student_tail(change_log / sqrt(variance), fmin(df, MOST_DF));
}

double claim_run_variance(bool paired, double pass_variance, double spread) {
    return paired ? 0 : 2 * STATS_SHARED * pass_variance + spread * spread;
}

double claim_detectable(const claim_t *claim) {
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

static gate_verdict_t verdict_of(const gate_cell_t *cell, const gate_options_t *options) {
    const double most = 1 + cell->threshold_frac;
    if (cell->p_slower <= options->alarm_rate_frac && cell->low > most)
        return GATE_REGRESSED;
    if (cell->p_faster <= options->alarm_rate_frac && cell->high < 1 / most)
        return GATE_IMPROVED;
    return cell->low >= 1 / most && cell->high <= most ? GATE_UNCHANGED : GATE_UNDECIDED;
}

static void open_cell(gate_cell_t *cell, const gate_options_t *options) {
    /* Not even noise floors stand for the passes that a side lacks: with processes in two states, runs of
     * one pass raise false alarms in up to 77 % of generated sweeps. */
    const bool may_claim = cell->change.are_passes;
    cell->threshold_frac = fmax(options->threshold_frac, cell->floor_frac);
    cell->low = may_claim ? cell->change.low : NAN;
    cell->high = may_claim ? cell->change.high : NAN;
}

/* Cells whose processes differ by more than the threshold. */
static size_t count_restless(const gate_cell_t *cells, size_t n) {
    size_t restless = 0;
    for (size_t i = 0; i < n; i++)
        restless += cells[i].change.range_log > log1p(cells[i].threshold_frac);
    return restless;
}

/* Holm's correction of Student's t, but not less than the chance of states: of as many cells as
 * there are whose processes differ, one may have all slow ones on one side by chance. */
static void adjust(const gate_cell_t *cells, size_t n, const double *p, double *adjusted) {
    const double restless = (double)count_restless(cells, n);
    stats_holm(p, n, adjusted);
    for (size_t i = 0; i < n; i++)
        adjusted[i] = fmin(1, fmax(adjusted[i], restless * cells[i].change.chance_of_states));
}

void gate_decide(gate_cell_t *cells, size_t n, const gate_options_t *options) {
    double *p = mem_alloc((n + 1) * sizeof *p), *adjusted = mem_alloc((n + 1) * sizeof *adjusted);
    for (size_t i = 0; i < n; i++) {
        open_cell(&cells[i], options);
        p[i] = stats_change_above(&cells[i].change, 1 + cells[i].threshold_frac);
    }
    adjust(cells, n, p, adjusted);
    for (size_t i = 0; i < n; i++) {
        cells[i].p_slower = adjusted[i];
        p[i] = stats_change_below(&cells[i].change, 1 / (1 + cells[i].threshold_frac));
    }
    adjust(cells, n, p, adjusted);
    for (size_t i = 0; i < n; i++) {
        cells[i].p_faster = adjusted[i];
        cells[i].verdict = verdict_of(&cells[i], options);
    }
    free(adjusted);
    free(p);
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
