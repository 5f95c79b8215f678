#include "analysis/speedup.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

verdict_t speedup_judge(const stats_interval_t *ratio) {
    if (!isfinite(ratio->centre))
        return VERDICT_NONE;
    if (!isfinite(ratio->low) || !isfinite(ratio->high))
        return VERDICT_UNDECIDED;
    if (ratio->low > 1)
        return VERDICT_OURS;
    return ratio->high < 1 ? VERDICT_THEIRS : VERDICT_NO_DIFFERENCE;
}

/* Both sides of a pass were measured within minutes, in processes started together. */
static stats_interval_t ratio_of(const phase_t *theirs, const phase_t *ours) {
    stats_pass_t ratios[STATS_MOST_PASSES];
    size_t n = 0;
    for (; n < theirs->n_passes && n < ours->n_passes && n < STATS_MOST_PASSES; n++) {
        const stats_pass_t above = phase_pass(theirs, n), below = phase_pass(ours, n);
        ratios[n] = stats_pass_ratio(&above, &below);
    }
    return stats_interval_of(ratios, n);
}

double speedup_unreached_draw(const case_result_t *result, const phase_t *phase) {
    double least = INFINITY, most = -INFINITY;
    if (result->draw == 0 || result->draw > result->n_draws)
        return NAN;
    for (size_t p = 0; p < phase->n_passes; p++) {
        const double log_value = phase_pass(phase, p).log_value; /* NaN: it has none */
        least = fmin(least, log_value);
        most = fmax(most, log_value);
    }
    const double drawn_ns = draw_median(&result->draws[result->draw - 1], phase->name);
    return log(drawn_ns) < least - (most - least) ? drawn_ns : NAN;
}

/* The least and the most that the phase is, if that is known to be more than one value. */
static bool ends_of(const case_result_t *result, const phase_t *phase, double ends[2]) {
    const bimodal_t *two = &phase->bimodal;
    const double drawn_ns = speedup_unreached_draw(result, phase);
    ends[0] = fmin(two->found ? two->low : phase->summary.median, drawn_ns);
    ends[1] = two->found ? two->high : phase->summary.median;
    return two->found || isfinite(drawn_ns);
}

speedup_t speedup_make(const case_result_t *ours, const char *our_phase,
                       const case_result_t *theirs, const char *their_phase) {
    speedup_t speedup = {.ours = timed_phase(ours, our_phase),
                         .theirs = timed_phase(theirs, their_phase),
                         .ratio = {.centre = NAN, .low = NAN, .high = NAN}};
    if (speedup.ours == NULL || speedup.theirs == NULL)
        return speedup;
    speedup.self_reported = is_self_reported(ours) || is_self_reported(theirs);
    if (speedup.self_reported)
        return speedup;
    double above[2], below[2];
    stats_interval_t *ratio = &speedup.ratio;
    *ratio = ratio_of(speedup.theirs, speedup.ours);
    const bool theirs_vary = ends_of(theirs, speedup.theirs, above);
    const bool ours_vary = ends_of(ours, speedup.ours, below);
    if (!isfinite(ratio->centre)) /* no rounds, as in a CSV of the study */
        ratio->centre = speedup.theirs->summary.median / speedup.ours->summary.median;
    if (isfinite(ratio->low) && (ours_vary || theirs_vary)) {
        ratio->low = fmin(ratio->low, above[0] / below[1]);
        ratio->high = fmax(ratio->high, above[1] / below[0]);
    }
    speedup.verdict = speedup_judge(ratio);
    return speedup;
}

void tally_add(tally_t *tally, const speedup_t *speedup) {
    tally->of[speedup->verdict]++;
    tally->n_self_reported += speedup->self_reported;
    if (speedup->verdict == VERDICT_NONE)
        return;
    const double ratio = speedup->ratio.centre;
    tally->n_lower += speedup->verdict == VERDICT_UNDECIDED && ratio > 1;
    tally->least = tally->n == 0 ? ratio : fmin(tally->least, ratio);
    tally->most = fmax(tally->most, ratio);
    tally->last = *speedup;
    tally->n++;
}

tally_t tally_of(const comparison_set_t *set, speedup_of_t speedup_of) {
    tally_t tally = {0};
    for (size_t i = 0; i < set->n_rows; i++) {
        const speedup_t speedup = speedup_of(&set->rows[i]);
        tally_add(&tally, &speedup);
    }
    return tally;
}

crossover_t find_crossover(const comparison_set_t *set, speedup_of_t speedup_of) {
    crossover_t found = {0};
    verdict_t leader = VERDICT_NONE;
    int64_t since = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        verdict_t verdict = speedup_of(&set->rows[i]).verdict;
        if (verdict != VERDICT_OURS && verdict != VERDICT_THEIRS)
            continue;
        if (leader != VERDICT_NONE && verdict != leader) {
            found.n_changes++;
            found.last_before = since;
            found.first_after = set->rows[i].size;
            found.before = leader;
            found.after = verdict;
        }
        leader = verdict;
        since = set->rows[i].size;
    }
    return found;
}

size_t fitting_rows(const comparison_set_t *set, bool (*fits)(const size_row_t *row),
                    const size_row_t **rows) {
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        if (fits(&set->rows[i])) {
            if (rows != NULL)
                rows[n] = &set->rows[i];
            n++;
        }
    return n;
}

size_t key_rows(const comparison_set_t *set, bool (*fits)(const size_row_t *row),
                const size_row_t *rows[3]) {
    const size_row_t **fitting = mem_zeroed(set->n_rows + 1, sizeof *fitting);
    size_t n = fitting_rows(set, fits, fitting), middle = n / 2, n_keys = 0;
    for (size_t i = 1; i < n; i++)
        if (fitting[i]->size == set->reference_size)
            middle = i;
    const size_t keys[] = {0, middle, n - 1};
    for (size_t k = 0; k < 3 && n > 0; k++)
        if (k == 0 || keys[k] > keys[k - 1])
            rows[n_keys++] = fitting[keys[k]];
    free(fitting);
    return n_keys;
}
