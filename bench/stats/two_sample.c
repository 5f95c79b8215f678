#include "stats/two_sample.h"

#include "base/memory.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the draws ------------------------------------------------------------------------------- */

enum { COUNTS = STATS_MOST_BLOCKS * (STATS_MOST_BLOCKS + 1) / 2 * STATS_REPLICATES };

struct stats_draws {
    uint8_t counts[COUNTS];
};

/* Start of the STATS_REPLICATES rows for `n` blocks, n counts each. */
static size_t first_count(size_t n) {
    return n * (n - 1) / 2 * STATS_REPLICATES;
}

stats_draws_t *stats_draws_new(uint64_t seed) {
    stats_draws_t *draws = mem_zeroed(1, sizeof *draws);
    for (size_t n = 1; n <= STATS_MOST_BLOCKS; n++) {
        uint8_t *row = draws->counts + first_count(n);
        for (size_t turn = 0; turn < STATS_REPLICATES; turn++, row += n)
            for (size_t i = 0; i < n; i++)
                row[(uint64_t)rng_word(seed, (uint32_t)n, turn * n + i) * n >> 32]++;
    }
    return draws;
}

void stats_draws_free(stats_draws_t *draws) {
    free(draws);
}

/* ---- samples in order, each with its block --------------------------------------------------- */

typedef struct sample {
    double value;
    size_t block;
} sample_t;

typedef struct pool {
    sample_t *samples, *spare; /* ascending; a buffer of the same size */
    size_t n, n_blocks;
    size_t starts[STATS_MOST_BLOCKS + 1]; /* of the blocks, before the merge */
    double medians[STATS_MOST_BLOCKS];    /* of the blocks */
} pool_t;

/* The next side is random, so it is computed: a branch would be mispredicted. */
static void merge(const sample_t *from, size_t middle, size_t n, sample_t *to) {
    const sample_t *a = from, *b = from + middle, *end_a = b, *end_b = from + n;
    while (a < end_a && b < end_b) {
        bool left = a->value <= b->value;
        *to++ = *(left ? a : b);
        a += left;
        b += !left;
    }
    memcpy(to, a, (size_t)(end_a - a) * sizeof *to);
    memcpy(to + (end_a - a), b, (size_t)(end_b - b) * sizeof *to);
}

static void insertion_sort(sample_t *samples, size_t n) {
    for (size_t i = 1; i < n; i++) {
        sample_t moved = samples[i];
        size_t k = i;
        for (; k > 0 && samples[k - 1].value > moved.value; k--)
            samples[k] = samples[k - 1];
        samples[k] = moved;
    }
}

/* With qsort() sorting would dominate the time of a comparison. */
static void merge_sort(sample_t *samples, sample_t *spare, size_t n) {
    enum { SHORT = 16 };
    if (n <= SHORT) {
        insertion_sort(samples, n);
        return;
    }
    merge_sort(samples, spare, n / 2);
    merge_sort(samples + n / 2, spare, n - n / 2);
    merge(samples, n / 2, n, spare);
    memcpy(samples, spare, n * sizeof *samples);
}

static double middle_value(const sample_t *samples, size_t n) {
    return n == 0 ? NAN : (samples[(n - 1) / 2].value + samples[n / 2].value) / 2;
}

/* Merge the sorted blocks. */
static void merge_blocks(pool_t *pool) {
    size_t ends[STATS_MOST_BLOCKS], n_runs = pool->n_blocks;
    for (size_t b = 0; b < n_runs; b++)
        ends[b] = pool->starts[b + 1];
    while (n_runs > 1) {
        size_t from = 0, kept = 0;
        for (size_t r = 0; r < n_runs; r += 2) {
            size_t to = ends[r + 1 < n_runs ? r + 1 : r];
            merge(pool->samples + from, ends[r] - from, to - from, pool->spare + from);
            ends[kept++] = from = to;
        }
        sample_t *merged = pool->spare;
        pool->spare = pool->samples;
        pool->samples = merged;
        n_runs = kept;
    }
}

/* A block is a round, or several neighbouring rounds if there are very many; empty rounds are
 * dropped. */
static void fill_blocks(pool_t *pool, const stats_rounds_t *rounds) {
    size_t n_full = 0, seen = 0;
    for (size_t r = 0; r < rounds->n_rounds; r++)
        n_full += rounds->starts[r + 1] > rounds->starts[r];
    pool->n_blocks = n_full < STATS_MOST_BLOCKS ? n_full : STATS_MOST_BLOCKS;
    for (size_t r = 0; r < rounds->n_rounds; r++) {
        size_t from = rounds->starts[r], to = rounds->starts[r + 1];
        if (to <= from)
            continue;
        size_t block = seen++ * pool->n_blocks / n_full;
        for (size_t i = from; i < to; i++)
            pool->samples[pool->n++] = (sample_t){rounds->values[i], block};
        pool->starts[block + 1] = pool->n;
    }
}

static void pool_init(pool_t *pool, const stats_rounds_t *rounds) {
    size_t n = rounds->n_rounds > 0 ? rounds->starts[rounds->n_rounds] - rounds->starts[0] : 0;
    *pool = (pool_t){.samples = mem_alloc((n + 1) * sizeof *pool->samples),
                     .spare = mem_alloc((n + 1) * sizeof *pool->spare)};
    fill_blocks(pool, rounds);
    for (size_t b = 0; b < pool->n_blocks; b++) {
        sample_t *samples = pool->samples + pool->starts[b];
        size_t length = pool->starts[b + 1] - pool->starts[b];
        merge_sort(samples, pool->spare, length);
        pool->medians[b] = middle_value(samples, length);
    }
    merge_blocks(pool);
}

static void pool_free(pool_t *pool) {
    free(pool->samples);
    free(pool->spare);
}

/* ---- the standard error of a median ---------------------------------------------------------- */

/* The value of 0-based rank `rank` in a replicate, each sample counted as often as its block was
 * drawn. The search starts at sample `*at` with `*below` samples of the replicate before it, and
 * stores where it ended: medians of replicates lie close together, so the walk is short. */
static double value_at(const pool_t *pool, const uint8_t *drawn, size_t rank, size_t *at,
                       size_t *below) {
    size_t i = *at, before = *below;
    while (before > rank)
        before -= drawn[pool->samples[--i].block];
    while (before + drawn[pool->samples[i].block] <= rank)
        before += drawn[pool->samples[i++].block];
    *at = i;
    *below = before;
    return pool->samples[i].value;
}

static void replicate(const pool_t *pool, const stats_draws_t *draws, double *medians) {
    size_t middle = pool->n / 2, length[STATS_MOST_BLOCKS] = {0},
           below_middle[STATS_MOST_BLOCKS] = {0};
    for (size_t b = 0; b < pool->n_blocks; b++)
        length[b] = pool->starts[b + 1] - pool->starts[b];
    for (size_t i = 0; i < middle; i++)
        below_middle[pool->samples[i].block]++;
    const uint8_t *drawn = draws->counts + first_count(pool->n_blocks);
    for (size_t turn = 0; turn < STATS_REPLICATES; turn++, drawn += pool->n_blocks) {
        size_t total = 0, below = 0, at = middle;
        for (size_t b = 0; b < pool->n_blocks; b++) {
            total += drawn[b] * length[b];
            below += drawn[b] * below_middle[b];
        }
        double low = value_at(pool, drawn, (total - 1) / 2, &at, &below);
        medians[turn] = (low + value_at(pool, drawn, total / 2, &at, &below)) / 2;
    }
}

static double deviation(const double *values, size_t n) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - sum / (double)n) * (values[i] - sum / (double)n);
    return sqrt(squares / (double)(n - 1));
}

/* Variance inflation by correlated rounds: (1 + rho) / (1 - rho) for a first-order autoregression
 * (Bartlett 1946). With a few dozen rounds rho is known to 1 / sqrt(n) only: a rho that chance
 * explains is ignored, and it is capped at 1/3. The noise floor must cover the rest of a drift
 * (`make gate-truth` shows costs and benefits). */
static double redundancy(const double *medians, size_t n) {
    static const double MOST = 1.0 / 3;
    double mean = 0, products = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += medians[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (medians[i] - mean) * (medians[i] - mean);
        products += i > 0 ? (medians[i] - mean) * (medians[i - 1] - mean) : 0;
    }
    if (!(products > 2 / sqrt((double)n) * squares))
        return 1;
    double rho = fmin(products / squares, MOST);
    return (1 + rho) / (1 - rho);
}

/* A rounding error is uniform over the clock's tick, with a deviation of 1 / sqrt(12). */
static double resolution_error(const pool_t *pool) {
    double *sorted = mem_alloc((pool->n + 1) * sizeof *sorted);
    for (size_t i = 0; i < pool->n; i++)
        sorted[i] = pool->samples[i].value;
    const double tick = stats_tick(sorted, pool->n);
    free(sorted);
    return tick / sqrt(12);
}

stats_location_t stats_locate(const stats_rounds_t *rounds, const stats_draws_t *draws,
                              stats_pairing_t *pairing) {
    pool_t pool;
    pool_init(&pool, rounds);
    stats_location_t location = {.median = middle_value(pool.samples, pool.n),
                                 .se_log = NAN,
                                 .df = NAN,
                                 .n_samples = pool.n,
                                 .n_rounds = pool.n_blocks};
    if (pool.n_blocks >= 2 && location.median > 0) {
        double medians[STATS_REPLICATES], n = (double)pool.n_blocks,
                                          least = resolution_error(&pool) / location.median;
        replicate(&pool, draws, medians);
        double error = deviation(medians, STATS_REPLICATES) / location.median *
                       sqrt(n / (n - 1) * redundancy(pool.medians, pool.n_blocks));
        location.se_log = fmax(error, least);
        location.df = n - 1;
        if (pairing != NULL) {
            for (size_t i = 0; i < STATS_REPLICATES; i++)
                pairing->log_medians[i] = log(medians[i]);
            for (size_t b = 0; b < pool.n_blocks; b++)
                pairing->log_rounds[b] = log(pool.medians[b]);
            pairing->least_se = least;
        }
    }
    pool_free(&pool);
    return location;
}

/* ---- a change -------------------------------------------------------------------------------- */

static double log_ratio_of(const stats_location_t *base, const stats_location_t *candidate) {
    return base->median > 0 && candidate->median > 0 ? log(candidate->median / base->median) : NAN;
}

stats_change_t stats_change(const stats_location_t *base, const stats_location_t *candidate) {
    double a = base->se_log * base->se_log, b = candidate->se_log * candidate->se_log;
    stats_change_t change = {log_ratio_of(base, candidate), sqrt(a + b), NAN};
    change.df = a + b > 0 ? (a + b) * (a + b) / (a * a / base->df + b * b / candidate->df)
                          : fmin(base->df, candidate->df);
    return change;
}

stats_change_t stats_change_paired(const stats_location_t *base, const stats_pairing_t *of_base,
                                   const stats_location_t *candidate,
                                   const stats_pairing_t *of_candidate) {
    if (base->n_rounds != candidate->n_rounds || isnan(base->se_log) || isnan(candidate->se_log))
        return stats_change(base, candidate);
    double medians[STATS_REPLICATES], rounds[STATS_MOST_BLOCKS], n = (double)base->n_rounds;
    for (size_t i = 0; i < STATS_REPLICATES; i++)
        medians[i] = of_candidate->log_medians[i] - of_base->log_medians[i];
    for (size_t b = 0; b < base->n_rounds; b++)
        rounds[b] = of_candidate->log_rounds[b] - of_base->log_rounds[b];
    double error = deviation(medians, STATS_REPLICATES) *
                   sqrt(n / (n - 1) * redundancy(rounds, base->n_rounds));
    double least = hypot(of_base->least_se, of_candidate->least_se);
    return (stats_change_t){log_ratio_of(base, candidate), error < least ? least : error, n - 1};
}

void stats_change_interval(const stats_change_t *change, double *low, double *high) {
    static const double TAIL = 0.025;
    *low = *high = NAN;
    if (isnan(change->log_ratio) || isnan(change->se))
        return;
    double half = stats_student_quantile(TAIL, change->df) * change->se;
    *low = exp(change->log_ratio - half);
    *high = exp(change->log_ratio + half);
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
    const stats_change_t mirrored = {-change->log_ratio, change->se, change->df};
    return stats_change_above(&mirrored, 1 / ratio);
}
