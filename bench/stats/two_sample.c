#include "stats/two_sample.h"

#include "stats/student.h"

#include <math.h>

/* ---- a side ---------------------------------------------------------------------------------- */

stats_side_t stats_side_of(const stats_rounds_t *rounds, const size_t *pass_starts, size_t n_passes,
                           const bimodal_t *bimodal) {
    stats_side_t side = {.are_passes = n_passes >= STATS_FEWEST_PASSES, .bimodal = *bimodal};
    const size_t n = side.are_passes ? n_passes : rounds->n_rounds;
    side.n = n < STATS_MOST_PASSES ? n : STATS_MOST_PASSES;
    for (size_t i = 0; i < side.n; i++) {
        size_t first = i * n / side.n, end = (i + 1) * n / side.n;
        if (side.are_passes) {
            first = pass_starts[first];
            end = pass_starts[end];
        }
        const stats_rounds_t unit = {rounds->values, rounds->starts + first, end - first};
        side.units[i] = stats_pass_of(&unit);
    }
    return side;
}

/* ---- a change -------------------------------------------------------------------------------- */

/* The least and the most that a side is, as a part of its centre. */
static void ends_of(const stats_side_t *side, double centre, double ends[2]) {
    ends[0] = side->bimodal.found ? side->bimodal.low / centre : 1;
    ends[1] = side->bimodal.found ? side->bimodal.high / centre : 1;
}

static void cover_both_values(stats_change_t *change, const stats_side_t *base,
                              const stats_side_t *candidate) {
    change->values_log[0] = change->values_log[1] = change->log_ratio;
    if (!base->bimodal.found && !candidate->bimodal.found)
        return;
    double below[2], above[2];
    ends_of(base, stats_interval_of(base->units, base->n).centre, below);
    ends_of(candidate, stats_interval_of(candidate->units, candidate->n).centre, above);
    change->values_log[0] += log(above[0] / below[1]);
    change->values_log[1] += log(above[1] / below[0]);
    change->low = fmin(change->low, exp(change->values_log[0]));
    change->high = fmax(change->high, exp(change->values_log[1]));
}

/* Drift does not stop at the ends of a run: this part of the passes' range is added to either end of
 * its interval. Chosen by `make gate-truth` with other random numbers than the published ones. */
static const double DRIFT_PART = 0.25;

stats_change_t stats_change(const stats_side_t *base, const stats_side_t *candidate) {
    const stats_interval_t a = stats_interval_of(base->units, base->n),
                           b = stats_interval_of(candidate->units, candidate->n);
    const double u = a.se_log * a.se_log, v = b.se_log * b.se_log;
    const double drift = exp(DRIFT_PART * (a.range_log + b.range_log));
    const double df_a = (double)a.n_passes - 1, df_b = (double)b.n_passes - 1;
    stats_change_t change = {.log_ratio = log(b.centre / a.centre),
                             .low = b.low / a.high / drift,
                             .high = b.high / a.low * drift,
                             .se = sqrt(u + v),
                             .df = u + v > 0 ? (u + v) * (u + v) / (u * u / df_a + v * v / df_b)
                                             : fmin(df_a, df_b),
                             .range_log = fmax(a.range_log, b.range_log),
                             .chance_of_states = exp2(-(double)(a.n_passes + b.n_passes)),
                             .are_passes = base->are_passes && candidate->are_passes,
                             .mean_log = b.mean_log - a.mean_log,
                             .weight = 1 / (double)a.n_passes + 1 / (double)b.n_passes};
    cover_both_values(&change, base, candidate);
    return change;
}

stats_change_t stats_change_paired(const stats_side_t *base, const stats_side_t *candidate) {
    if (base->n != candidate->n || !base->are_passes || !candidate->are_passes)
        return stats_change(base, candidate);
    stats_pass_t ratios[STATS_MOST_PASSES];
    for (size_t i = 0; i < base->n; i++)
        ratios[i] = stats_pass_ratio(&candidate->units[i], &base->units[i]);
    const stats_interval_t ratio = stats_interval_of(ratios, base->n);
    stats_change_t change = {.log_ratio = log(ratio.centre),
                             .low = ratio.low,
                             .high = ratio.high,
                             .se = ratio.se_log,
                             .df = (double)ratio.n_passes - 1,
                             .range_log = ratio.range_log,
                             .chance_of_states = exp2(-2 * (double)ratio.n_passes),
                             .are_passes = true,
                             .mean_log = ratio.mean_log,
                             .weight = 1 / (double)ratio.n_passes};
    cover_both_values(&change, base, candidate);
    return change;
}

double stats_change_above(const stats_change_t *change, double ratio) {
    double beyond = change->log_ratio - log(ratio);
    if (isnan(beyond) || isnan(change->se))
        return 1;
    if (!(change->se > 0))
        return beyond > 0 ? 0 : 1;
    return stats_student_tail(beyond / change->se, change->df);
}

double stats_change_below(const stats_change_t *change, double ratio) {
    stats_change_t mirrored = *change;
    mirrored.log_ratio = -change->log_ratio;
    return stats_change_above(&mirrored, 1 / ratio);
}
