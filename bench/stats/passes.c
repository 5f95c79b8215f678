#include "stats/passes.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* ==== Student's t ============================================================================= */

/* Regularised incomplete beta function I_x(a, b) by its continued fraction (DLMF 8.17.22),
 * evaluated by Lentz's method; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x) {
    enum { MOST_TERMS = 300 };
    static const double TINY = 1e-300, PRECISION = 1e-14;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < TINY ? TINY : d);
    double value = d;
    for (int m = 1; m <= MOST_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double terms[] = {even, odd};
        double factor = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < TINY ? TINY : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < TINY ? TINY : c;
            factor = c * d;
            value *= factor;
        }
        if (fabs(factor - 1) < PRECISION)
            break;
    }
    return value;
}

static double log_beta(double a, double b) {
    int sign;
    return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
}

static double incomplete_beta(double a, double b, double x) {
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(a * log(x) + b * log1p(-x) - log_beta(a, b));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_student_tail(double t, double df) {
    if (isnan(t) || isnan(df))
        return NAN;
    double tail = incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2;
    return t >= 0 ? tail : 1 - tail;
}

/* Newton on the logarithm of the tail, which is nearly a parabola or, far out, nearly a line in log t. */
double stats_student_quantile(double p, double df) {
    enum { MOST_STEPS = 100 };
    static const double PRECISION = 1e-9;
    double log_scale = -log_beta(df / 2, 0.5) - log(df) / 2, t = 0;
    for (int i = 0; i < MOST_STEPS; i++) {
        double tail = stats_student_tail(t, df);
        double density = exp(log_scale - (df + 1) / 2 * log1p(t * t / df));
        double next = t + log(tail / p) * tail / density;
        double step = fmax(next, t / 2) - t; /* the quantile is positive */
        t += step;
        if (fabs(step) <= PRECISION * t)
            break;
    }
    return t;
}

typedef struct ranked {
    double p;
    size_t index;
} ranked_t;

static int by_p(const void *a, const void *b) {
    const ranked_t *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p) - (x->p < y->p)
                        : (x->index > y->index) - (x->index < y->index);
}

/* Ascending; the caller frees it. */
static ranked_t *ranked(const double *p, size_t n) {
    ranked_t *order = mem_alloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (ranked_t){p[i], i};
    if (n > 0)
        qsort(order, n, sizeof *order, by_p);
    return order;
}

void stats_holm(const double *p, size_t n, double *adjusted) {
    AUTO_FREE ranked_t *order = ranked(p, n);
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fmin(1, order[i].p * (double)(n - i)));
        adjusted[order[i].index] = most;
    }
}

void stats_false_discovery(const double *p, size_t n, double *adjusted) {
    AUTO_FREE ranked_t *order = ranked(p, n);
    double least = 1;
    for (size_t i = n; i-- > 0;) {
        least = fmin(least, order[i].p * (double)n / (double)(i + 1));
        adjusted[order[i].index] = least;
    }
}

/* ==== trimmed means =========================================================================== */

stats_trimmed_t stats_trimmed_of(const double *sorted, size_t n) {
    static const double PART = 0.2;
    const size_t cut = (size_t)(PART * (double)n), kept = n - 2 * cut;
    stats_trimmed_t trimmed = {NAN, NAN, NAN};
    double mean = 0, winsorised = 0, sum = 0;
    if (n == 0)
        return trimmed;
    for (size_t i = 0; i < n; i++) {
        const size_t inside = i < cut ? cut : i >= n - cut ? n - cut - 1 : i;
        mean += i == inside ? sorted[i] / (double)kept : 0;
        winsorised += sorted[inside] / (double)n;
    }
    trimmed.mean = mean;
    if (kept < 2)
        return trimmed;
    for (size_t i = 0; i < n; i++) {
        const double value = sorted[i < cut ? cut : i >= n - cut ? n - cut - 1 : i];
        sum += (value - winsorised) * (value - winsorised);
    }
    trimmed.se = sqrt(sum / ((double)kept * (double)(kept - 1)));
    trimmed.df = (double)(kept - 1);
    return trimmed;
}

/* ==== two values ============================================================================== */

static const double LEAST_SHARE = 0.2, LEAST_STEP_LOG = 0.0487902 /* ln 1.05 */,
                    LEAST_STEP_MADS = 4 * 1.4826, LEAST_TICKS = 3, MOST_BETWEEN = 0.05;

/* How many of the ascending values are in the lower of two groups with the least sum of squares. */
static size_t split(const double *sorted, size_t n) {
    double total = 0, below = 0, most = -1;
    size_t best = 1;
    for (size_t i = 0; i < n; i++)
        total += sorted[i];
    for (size_t k = 1; k < n; k++) {
        below += sorted[k - 1];
        const double step = below / (double)k - (total - below) / (double)(n - k);
        const double between = step * step * (double)k * (double)(n - k); /* the rest is within */
        if (between > most) {
            most = between;
            best = k;
        }
    }
    return best;
}

static size_t count_between(const double *values, size_t n, double low, double high) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += values[i] > low && values[i] < high;
    return count;
}

static size_t passes_with_both(const double *values, const size_t *starts, size_t n_passes,
                               double border) {
    size_t count = 0;
    for (size_t p = 0; p < n_passes; p++) {
        size_t above = 0;
        for (size_t r = starts[p]; r < starts[p + 1]; r++)
            above += values[r] >= border;
        count += above > 0 && above < starts[p + 1] - starts[p];
    }
    return count;
}

bimodal_t bimodal_of(const double *medians, const size_t *starts, size_t n_passes, double tick) {
    const size_t n = n_passes > 0 ? starts[n_passes] : 0;
    bimodal_t none = {.found = false, .low = NAN, .high = NAN, .share_high = NAN};
    if (n < BIMODAL_FEWEST_ROUNDS)
        return none;
    AUTO_FREE double *logs = mem_alloc(n * sizeof *logs);
    for (size_t i = 0; i < n; i++)
        logs[i] = log(medians[i]);
    AUTO_FREE double *sorted = stats_sorted(logs, n);
    const size_t k = split(sorted, n);
    const double low = stats_quantile(sorted, k, 0.5);
    const double high = stats_quantile(sorted + k, n - k, 0.5), step = high - low;
    const double spread = fmax(stats_mad(sorted, k), stats_mad(sorted + k, n - k));
    const double share = (double)(n - k) / (double)n;
    const bool found = isfinite(step) && share >= LEAST_SHARE && share <= 1 - LEAST_SHARE &&
                       step >= LEAST_STEP_LOG && exp(high) - exp(low) >= LEAST_TICKS * tick &&
                       step >= LEAST_STEP_MADS * spread &&
                       (double)count_between(logs, n, low + step / 3, high - step / 3) <=
                           MOST_BETWEEN * (double)n &&
                       passes_with_both(logs, starts, n_passes, sorted[k]) >= 2;
    return found ? (bimodal_t){true, exp(low), exp(high), share} : none;
}

/* ==== summaries =============================================================================== */

/* NaN sorts last and leaves the others in order. */
static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y))
        return (isnan(x) ? 1 : 0) - (isnan(y) ? 1 : 0);
    return (x > y) - (x < y);
}

void stats_sort(double *values, size_t n) {
    if (n > 1)
        qsort(values, n, sizeof *values, compare_doubles);
}

double *stats_sorted(const double *values, size_t n) {
    double *sorted = mem_alloc((n + 1) * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = values[i];
    stats_sort(sorted, n);
    return sorted;
}

double stats_quantile(const double *sorted, size_t n, double q) {
    if (n == 0)
        return NAN;
    double position = fmin(fmax(q, 0), 1) * (double)(n - 1);
    size_t below = (size_t)position;
    double share = position - (double)below;
    /* Without this test an infinity above would turn an exact hit into NaN. */
    if (share == 0)
        return sorted[below];
    return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

double stats_median(const double *values, size_t n) {
    AUTO_FREE double *sorted = stats_sorted(values, n);
    return stats_quantile(sorted, n, 0.5);
}

double stats_tick(const double *sorted, size_t n) {
    const size_t often = n / 10 > 2 ? n / 10 : 2;
    size_t n_ticks = 0, first = 0;
    double step = INFINITY;
    for (size_t i = 1; i <= n; i++) {
        const double gap = i < n ? sorted[i] - sorted[first] : INFINITY;
        if (!(gap > 0))
            continue;
        n_ticks += i - first >= often;
        first = i;
        step = fmin(step, gap);
    }
    return n_ticks >= 2 ? step : 0;
}

double stats_mad(const double *sorted, size_t n) {
    if (n == 0)
        return NAN;
    double median = stats_quantile(sorted, n, 0.5);
    AUTO_FREE double *deviations = mem_alloc(n * sizeof *deviations);
    for (size_t i = 0; i < n; i++)
        deviations[i] = fabs(sorted[i] - median);
    stats_sort(deviations, n);
    return stats_quantile(deviations, n, 0.5);
}

/* ==== intervals over passes =================================================================== */

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
    AUTO_FREE double *logs = mem_alloc(rounds->n_rounds * sizeof *logs);
    AUTO_FREE double *shares = mem_alloc(rounds->n_rounds * sizeof *shares);
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
    return n > 1 ? sum * (double)n / (double)(n - 1) : 0;
}

stats_pass_t stats_pass_of(const stats_rounds_t *rounds) {
    const size_t first = rounds->n_rounds > 0 ? rounds->starts[0] : 0;
    const size_t n = rounds->n_rounds > 0 ? rounds->starts[rounds->n_rounds] - first : 0;
    AUTO_FREE double *sorted = stats_sorted(rounds->values + first, n);
    const double median = stats_quantile(sorted, n, 0.5), tick = stats_tick(sorted, n) / median;
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
