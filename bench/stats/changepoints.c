#include "stats/changepoints.h"

#include "base/memory.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>

double changepoints_noise(const double *values, size_t n, double least) {
    /* For a normal distribution the median of |x| is 0.6745 standard deviations. */
    static const double TO_DEVIATION = 1.4826;
    if (n < 2)
        return least;
    double *differences = mem_alloc((n - 1) * sizeof *differences);
    for (size_t i = 1; i < n; i++)
        differences[i - 1] = fabs(values[i] - values[i - 1]);
    stats_sort(differences, n - 1);
    double noise = TO_DEVIATION * stats_quantile(differences, n - 1, 0.5) / sqrt(2);
    free(differences);
    return fmax(noise, least);
}

/* Sums of the first i values and of their squares: they give the squared error of any segment. */
typedef struct sums {
    double *values, *squares;
} sums_t;

static sums_t sums_of(const double *values, size_t n) {
    sums_t sums = {mem_zeroed(n + 1, sizeof(double)), mem_zeroed(n + 1, sizeof(double))};
    for (size_t i = 0; i < n; i++) {
        /* Relative to the first value, so that squares do not cancel. */
        double value = values[i] - values[0];
        sums.values[i + 1] = sums.values[i] + value;
        sums.squares[i + 1] = sums.squares[i] + value * value;
    }
    return sums;
}

static double cost(const sums_t *sums, size_t from, size_t to) {
    double sum = sums->values[to] - sums->values[from];
    return fmax(sums->squares[to] - sums->squares[from] - sum * sum / (double)(to - from), 0);
}

/* last[end]: start of the last segment of the best fit to the first `end` values. */
static void partition(const sums_t *sums, size_t n, double penalty, size_t *last) {
    double *best = mem_alloc((n + 1) * sizeof *best);
    size_t *open = mem_alloc((n + 1) * sizeof *open), n_open = 0; /* starts not yet pruned */
    best[0] = -penalty;
    for (size_t end = 1; end <= n; end++) {
        best[end] = INFINITY;
        last[end] = 0;
        if (end >= CHANGEPOINTS_SEGMENT)
            open[n_open++] = end - CHANGEPOINTS_SEGMENT;
        for (size_t i = 0; i < n_open; i++) {
            double fit = best[open[i]] + cost(sums, open[i], end) + penalty;
            if (fit < best[end]) {
                best[end] = fit;
                last[end] = open[i];
            }
        }
        /* A start that is worse even without the penalty of one more step never becomes best again
         * (Killick et al., theorem 3.1). The minimum segment length delays that by as many
         * values. */
        size_t kept = 0;
        for (size_t i = 0; i < n_open; i++)
            if (open[i] + 2 * CHANGEPOINTS_SEGMENT > end ||
                best[open[i]] + cost(sums, open[i], end) <= best[end] + penalty)
                open[kept++] = open[i];
        n_open = kept;
    }
    free(open);
    free(best);
}

double changepoints_penalty(size_t n, double noise) {
    static const double FACTOR = 4, FEW = 15;
    return FACTOR * (1 + FEW / (double)n) * noise * noise * log((double)n);
}

size_t changepoints_find(const double *values, size_t n, double noise, size_t *starts) {
    starts[0] = 0;
    if (n < CHANGEPOINTS_FEWEST)
        return n > 0 ? 1 : 0;
    sums_t sums = sums_of(values, n);
    size_t *last = mem_zeroed(n + 1, sizeof *last), n_starts = 0;
    partition(&sums, n, changepoints_penalty(n, noise), last);
    for (size_t end = n; end > 0; end = last[end])
        starts[n_starts++] = last[end];
    for (size_t i = 0; i < n_starts / 2; i++) {
        size_t moved = starts[i];
        starts[i] = starts[n_starts - 1 - i];
        starts[n_starts - 1 - i] = moved;
    }
    free(last);
    free(sums.values);
    free(sums.squares);
    return n_starts;
}
