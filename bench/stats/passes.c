#include "stats/passes.h"

#include "base/memory.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;

/* ---- one pass ---- */

static double variance_of(const double *values, size_t n) {
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return n > 1 ? sum / (double)(n - 1) : 0;
}

/* Variance of the mean of the rounds' logarithms, each with its share of the samples as weight: that of
 * a mean of clusters of unequal sizes, s² / R with equal ones; 0 with one round. Rounds without a
 * positive median have no part. */
static double variance_over_rounds(const stats_rounds_t *rounds) {
    double *logs = mem_alloc(rounds->n_rounds * sizeof *logs);
    double *shares = mem_alloc(rounds->n_rounds * sizeof *shares);
    double n_samples = 0, mean = 0, sum = 0;
    size_t n = 0;
    for (size_t r = 0; r < rounds->n_rounds; r++) {
        const size_t start = rounds->starts[r], size = rounds->starts[r + 1] - start;
        const double median = stats_median(rounds->values + start, size);
        if (median > 0) {
            logs[n] = log(median);
            shares[n++] = (double)size;
            n_samples += (double)size;
        }
    }
    for (size_t i = 0; i < n; i++)
        mean += (shares[i] /= n_samples) * logs[i];
    for (size_t i = 0; i < n; i++)
        sum += pow(shares[i] * (logs[i] - mean), 2);
    free(shares);
    free(logs);
    return n > 1 ? sum * (double)n / (double)(n - 1) : 0;
}

stats_pass_t stats_pass_of(const stats_rounds_t *rounds) {
    const size_t first = rounds->n_rounds > 0 ? rounds->starts[0] : 0;
    const size_t n = rounds->n_rounds > 0 ? rounds->starts[rounds->n_rounds] - first : 0;
    double *sorted = mem_alloc((n + 1) * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = rounds->values[first + i];
    stats_sort(sorted, n);
    const double median = stats_quantile(sorted, n, 0.5), tick = stats_tick(sorted, n) / median;
    free(sorted);
    stats_pass_t pass = {.log_value = NAN};
    if (!(median > 0))
        return pass;
    pass.log_value = log(median);
    pass.variance_log = PI / 2 * variance_over_rounds(rounds) + tick * tick / 12;
    return pass;
}

stats_pass_t stats_pass_ratio(const stats_pass_t *numerator, const stats_pass_t *denominator) {
    return (stats_pass_t){.log_value = numerator->log_value - denominator->log_value,
                          .variance_log = numerator->variance_log + denominator->variance_log,
                          .shared = fmax(numerator->shared, denominator->shared)};
}

/* ---- all passes ---- */

/* The largest c with P(T+ <= c) <= 2.5 % for Wilcoxon's signed-rank statistic of n values; 0 where
 * even T+ = 0 is more probable than that. Counts the subsets of 1 … n by their sum. */
static size_t signed_rank_cut(size_t n) {
    enum { MOST_SUM = STATS_MOST_PASSES * (STATS_MOST_PASSES + 1) / 2 };
    double probability[MOST_SUM + 1] = {1};
    for (size_t rank = 1; rank <= n; rank++)
        for (size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
            probability[sum] = (probability[sum] + (sum >= rank ? probability[sum - rank] : 0)) / 2;
    size_t cut = 0;
    double below = probability[0];
    while (cut < n * (n + 1) / 2 && below + probability[cut + 1] <= 0.025)
        below += probability[++cut];
    return cut;
}

/* Averages of all pairs, each value with itself too, ascending: n (n + 1) / 2 of them. */
static size_t walsh_averages(const double *values, size_t n, double *averages) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            averages[count++] = (values[i] + values[k]) / 2;
    stats_sort(averages, count);
    return count;
}

stats_interval_t stats_interval_of(const stats_pass_t *passes, size_t n) {
    double values[STATS_MOST_PASSES], averages[STATS_MOST_PASSES * (STATS_MOST_PASSES + 1) / 2];
    double own_variance = 0, mean = 0, shared = 0;
    size_t kept = 0;
    for (size_t i = 0; i < n && kept < STATS_MOST_PASSES; i++)
        if (isfinite(passes[i].log_value)) {
            own_variance += passes[i].variance_log;
            mean += passes[i].log_value;
            shared = fmax(shared, passes[i].shared);
            values[kept++] = passes[i].log_value;
        }
    stats_interval_t interval = {
        .centre = NAN, .low = NAN, .high = NAN, .n_passes = kept, .mean_log = NAN, .se_log = NAN};
    if (kept == 0)
        return interval;
    own_variance /= (double)kept;
    interval.mean_log = mean /= (double)kept;
    const size_t n_averages = walsh_averages(values, kept, averages);
    interval.centre = exp(stats_quantile(averages, n_averages, 0.5));
    interval.range_log = averages[n_averages - 1] - averages[0];
    if (kept < STATS_FEWEST_PASSES)
        return interval;
    interval.se_log =
        sqrt(fmax(variance_of(values, kept), own_variance) * (1 / (double)kept + shared));
    const double half = stats_student_quantile(0.025, (double)(kept - 1)) * interval.se_log;
    const size_t cut = signed_rank_cut(kept);
    interval.low = exp(fmin(mean - half, averages[cut]));
    interval.high = exp(fmax(mean + half, averages[n_averages - 1 - cut]));
    return interval;
}

double stats_half_width(const stats_interval_t *interval) {
    return (interval->high - interval->low) / 2 / interval->centre;
}

/* ---- how many passes, and how much of one ---- */

/* Of Student's interval of the logarithms, if `most` passes were as far apart as these. */
static double half_width_with(const stats_interval_t *interval, double shared, size_t most) {
    const double n = (double)interval->n_passes, se = interval->se_log;
    const double variance = se * se / (1 / n + shared);
    return stats_student_quantile(0.025, (double)(most - 1)) *
           sqrt(variance * (1 / (double)most + shared));
}

bool stats_has_enough(const stats_pass_t *passes, size_t n, const stats_aim_t *aim) {
    if (n >= aim->most || n < aim->fewest)
        return n >= aim->most;
    const stats_interval_t interval = stats_interval_of(passes, n);
    double shared = 0;
    for (size_t i = 0; i < n; i++)
        shared = fmax(shared, passes[i].shared);
    if (!isfinite(interval.se_log)) /* medians of 0: no pass has a value */
        return true;
    const bool is_fewest = interval.n_passes <= STATS_FEWEST_PASSES;
    return stats_half_width(&interval) <= aim->half_width / (is_fewest ? 2 : 1) ||
           (!is_fewest && half_width_with(&interval, shared, aim->most) > aim->half_width);
}

double stats_variance_between(const stats_pass_t *passes, size_t n) {
    double values[STATS_MOST_PASSES];
    size_t kept = 0;
    for (size_t i = 0; i < n && kept < STATS_MOST_PASSES; i++)
        if (isfinite(passes[i].log_value))
            values[kept++] = passes[i].log_value;
    return kept < 2 ? (double)NAN : variance_of(values, kept);
}

bool stats_spread_dominates(const stats_pass_t *pass, double variance_between) {
    return 9 * pass->variance_log <= variance_between; /* false if it is not known */
}
