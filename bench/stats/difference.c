#include "stats/difference.h"

#include "base/memory.h"
#include "base/parallel.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* ==== moderated variances ===================================================================== */

/* ψ and ψ' for x > 0: recurrence to where their asymptotic series converge fast (DLMF 5.5.2, 5.11.2,
 * 5.15.8). */
enum { SERIES_FROM = 8 };

static double digamma(double x) {
    double sum = 0;
    for (; x < SERIES_FROM; x++)
        sum -= 1 / x;
    const double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y / 240)));
}

static double trigamma(double x) {
    double sum = 0;
    for (; x < SERIES_FROM; x++)
        sum += 1 / (x * x);
    const double y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y / 30)));
}

/* By bisection of the logarithm: ψ' falls from infinity to 0. */
static double trigamma_inverse(double y) {
    enum { STEPS = 60 };
    double low = log(1e-4), high = log(1e8);
    for (int i = 0; i < STEPS; i++) {
        const double middle = (low + high) / 2;
        *(trigamma(exp(middle)) > y ? &low : &high) = middle;
    }
    return exp((low + high) / 2);
}

/* ln s² less its expectation if the variance is 1; NaN: has no part. */
static double centred_log(double variance, double df) {
    return variance > 0 && df > 0 ? log(variance) - digamma(df / 2) + log(df / 2) : (double)NAN;
}

stats_prior_t stats_prior_of(const double *variances, const double *dfs, size_t n) {
    enum { FEWEST = 3 };
    double mean = 0, spread = 0, expected = 0;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const double e = centred_log(variances[i], dfs[i]);
        if (isfinite(e)) {
            mean += e;
            expected += trigamma(dfs[i] / 2);
            kept++;
        }
    }
    if (kept < FEWEST)
        return (stats_prior_t){0, 0};
    mean /= (double)kept;
    expected /= (double)kept;
    for (size_t i = 0; i < n; i++) {
        const double e = centred_log(variances[i], dfs[i]);
        spread += isfinite(e) ? (e - mean) * (e - mean) / (double)(kept - 1) : 0;
    }
    /* Variances that differ by no more than chance have a prior of any df. */
    const double more = spread - expected;
    const double half =
        more > 0 ? fmin(trigamma_inverse(more), STATS_PRIOR_MOST_DF / 2) : STATS_PRIOR_MOST_DF / 2;
    return (stats_prior_t){exp(mean + digamma(half) - log(half)), 2 * half};
}

double stats_moderated(const stats_prior_t *prior, double variance, double df) {
    return prior->df > 0 ? (prior->df * prior->variance + df * variance) / (prior->df + df)
                         : variance;
}

/* ==== two samples ============================================================================= */

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

/* ==== families of cells ======================================================================= */

enum {
    LANES = 8,            /* sums side by side, whatever a processor's vectors hold */
    PART = 1 << 16,       /* elements; with fewer, starting a thread takes longer */
    MOST_STRIPS = 16,     /* each has sums of its own for every column */
    MOST_PARTS = 64,      /* of an array without columns */
    MOST_WIDTH = 1 << 16, /* columns of a tile */
    LEAST_ROWS = 8,       /* of a strip, so that its sums are smaller than what they are of */
    CHECKED_AT_ONCE = 64, /* elements that are rows */
};

size_t difference_columns(const npy_t *array) {
    return array->n_dimensions < 2 ? 1 : array->shape[array->n_dimensions - 1];
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t between(size_t least_n, size_t n, size_t most) {
    return n < least_n ? least_n : least(n, most);
}

static size_t quotient_up(size_t a, size_t b) {
    return a / b + (a % b > 0);
}

/* An infinity has no part in a norm. */
static inline double square(double value) {
    const double squared = value * value;
    return fabs(value) == INFINITY ? 0 : squared;
}

/* Equal infinities do not differ. */
static inline double error_of(double found, double expected) {
    const double d = found - expected;
    return found == expected ? 0 : d;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Of a row's elements: lane k has those of numbers k, k + LANES, … */
typedef struct lanes {
    double squares[LANES], norms[LANES];
    double largest[LANES]; /* errors; NaN is none, but makes the squares NaN */
} lanes_t;

static inline void add_to_lane(lanes_t *lanes, size_t k, double d, double norm) {
    lanes->squares[k] += d * d;
    lanes->norms[k] += norm;
    lanes->largest[k] = fabs(d) > lanes->largest[k] ? fabs(d) : lanes->largest[k];
}

/* Sums by column begin at the first element's. */
typedef struct column_sums {
    double *squares, *norms;
} column_sums_t;

WIDEST_VECTORS static void add_elements(lanes_t *row, column_sums_t columns, const double *found,
                                        const double *expected, size_t n) {
    lanes_t sums = *row;
    double *restrict squares = columns.squares, *restrict norms = columns.norms;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (size_t k = 0; k < LANES; k++) {
            const double d = error_of(found[i + k], expected[i + k]);
            const double norm = square(expected[i + k]);
            add_to_lane(&sums, k, d, norm);
            squares[i + k] += d * d;
            norms[i + k] += norm;
        }
    }
    for (size_t k = 0; i + k < n; k++) {
        const double d = error_of(found[i + k], expected[i + k]);
        const double norm = square(expected[i + k]);
        add_to_lane(&sums, k, d, norm);
        squares[i + k] += d * d;
        norms[i + k] += norm;
    }
    *row = sums;
}

/* The same of elements that are rows themselves: is the error of any, relative to its own size or the average, over `worst`? */
WIDEST_VECTORS static bool add_rows(lanes_t *all, double worst, double average, const double *found,
                                    const double *expected, size_t n) {
    lanes_t sums = *all;
    double over[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (size_t k = 0; k < LANES; k++) {
            const double d = error_of(found[i + k], expected[i + k]);
            const double norm = square(expected[i + k]);
            const double scale = norm > average ? norm : average;
            add_to_lane(&sums, k, d, norm);
            over[k] = d * d > worst * scale ? 1 : over[k];
        }
    }
    for (size_t k = 0; i + k < n; k++) {
        const double d = error_of(found[i + k], expected[i + k]);
        const double norm = square(expected[i + k]);
        add_to_lane(&sums, k, d, norm);
        over[k] = d * d > worst * fmax(norm, average) ? 1 : over[k];
    }
    *all = sums;
    double any = 0;
    for (size_t k = 0; k < LANES; k++)
        any += over[k];
    return any > 0;
}

static double sum_of(const double lanes[LANES]) {
    double sum = 0;
    for (size_t k = 0; k < LANES; k++)
        sum += lanes[k];
    return sum;
}

static double largest_of(const double lanes[LANES]) {
    double largest = 0;
    for (size_t k = 0; k < LANES; k++)
        largest = lanes[k] > largest ? lanes[k] : largest;
    return largest;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void note_line(line_t *worst, size_t index, double squares, double norm, double average) {
    const double scale = fmax(norm, average);
    if (squares > worst->squares * scale)
        *worst = (line_t){squares / scale, index};
}

static void keep_worse(line_t *worst, const line_t *other) {
    if (other->squares > worst->squares)
        *worst = *other;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* A comparison in tiles: strips of whole rows, and of these, if rows are long, ranges of columns. */
typedef struct comparison {
    const found_t *found;
    const npy_t *expected;
    double mean_square; /* of what is expected; infinite if that is all 0: no line is wrong then */
    size_t n_rows, n_columns;
    size_t n_strips, n_ranges, strip_rows, range_columns;
    double *column_squares, *column_norms; /* by strip and column; NULL: one column */
    double *row_squares, *row_norms;       /* by range and row; NULL: one range */
    difference_t *tiles;                   /* of each; of several ranges without rows */
} comparison_t;

typedef struct tile {
    const comparison_t *comparison;
    difference_t *difference;
    size_t strip, range;
    lanes_t row; /* of the row's elements so far */
} tile_t;

/* The first element of the worst error, which is in these, or that is NaN. */
static void note_worst(difference_t *sum, const double *found, const double *expected, size_t first,
                       size_t n) {
    for (size_t i = 0; i < n && !isnan(sum->max_abs); i++) {
        const double error = fabs(error_of(found[i], expected[i]));
        if (error <= sum->max_abs)
            continue;
        sum->max_abs = error;
        sum->worst = first + i;
        sum->found = found[i];
    }
}

static void end_row(tile_t *tile, size_t row) {
    const comparison_t *c = tile->comparison;
    difference_t *sum = tile->difference;
    const double squares = sum_of(tile->row.squares), norm = sum_of(tile->row.norms);
    sum->squares += squares;
    if (c->n_ranges == 1) {
        note_line(&sum->row, row, squares, norm, c->mean_square * (double)c->n_columns);
    } else {
        c->row_squares[tile->range * c->n_rows + row] = squares;
        c->row_norms[tile->range * c->n_rows + row] = norm;
    }
    tile->row = (lanes_t){0};
}

/* Elements from `first` on, all in one row and in the tile. */
static void add_part_of_row(tile_t *tile, const double *found, size_t first, size_t n) {
    const comparison_t *c = tile->comparison;
    difference_t *sum = tile->difference;
    const double *expected = c->expected->values + first;
    const size_t column = first % c->n_columns, at = tile->strip * c->n_columns + column;
    const column_sums_t columns = {c->column_squares + at, c->column_norms + at};
    add_elements(&tile->row, columns, found, expected, n);
    if (largest_of(tile->row.largest) > sum->max_abs || isnan(sum_of(tile->row.squares)))
        note_worst(sum, found, expected, first, n);
    if (column + n == least(c->n_columns, (tile->range + 1) * c->range_columns))
        end_row(tile, first / c->n_columns);
}

static void add_column(tile_t *tile, const double *found, size_t first, size_t n) {
    const comparison_t *c = tile->comparison;
    difference_t *sum = tile->difference;
    const double *expected = c->expected->values + first;
    for (size_t at = 0, part; at < n; at += part) {
        part = least(n - at, CHECKED_AT_ONCE);
        const bool worse =
            add_rows(&tile->row, sum->row.squares, c->mean_square, found + at, expected + at, part);
        for (size_t i = at; worse && i < at + part; i++) {
            const double d = error_of(found[i], expected[i]);
            note_line(&sum->row, first + i, d * d, square(expected[i]), c->mean_square);
        }
    }
    if (largest_of(tile->row.largest) > sum->max_abs || isnan(sum_of(tile->row.squares)))
        note_worst(sum, found, expected, first, n);
}

static status_t read_found(const found_t *found, size_t first, size_t n, double values[NPY_BLOCK],
                           error_t *err) {
    if (found->file != NULL)
        TRY(npy_values(found->file, first, n, values, err));
    for (size_t i = 0; found->before != NULL && i < n; i++)
        values[i] -= found->before->values[first + i];
    for (size_t i = 0; found->file == NULL && i < n; i++) {
        const double a = found->of[0] != NULL ? found->of[0]->values[first + i] : 0;
        const double b = found->of[1] != NULL ? found->of[1]->values[first + i] : 0;
        values[i] = a == b ? a : a / 2 + b / 2; /* infinities stay */
    }
    return STATUS_OK;
}

/* Elements that follow each other: whole rows, or part of one. */
static status_t add_stretch(tile_t *tile, size_t first, size_t end, error_t *err) {
    const size_t n_columns = tile->comparison->n_columns;
    double found[NPY_BLOCK];
    for (size_t at = first, n; at < end; at += n) {
        n = least(end - at, NPY_BLOCK);
        TRY(read_found(tile->comparison->found, at, n, found, err));
        if (n_columns == 1)
            add_column(tile, found, at, n);
        for (size_t i = 0, part; n_columns > 1 && i < n; i += part) {
            part = least(n_columns - (at + i) % n_columns, n - i);
            add_part_of_row(tile, found + i, at + i, part);
        }
    }
    return STATUS_OK;
}

static status_t compare_tile(void *context, size_t number, error_t *err) {
    const comparison_t *c = context;
    tile_t tile = {.comparison = c,
                   .difference = &c->tiles[number],
                   .strip = number / c->n_ranges,
                   .range = number % c->n_ranges};
    const size_t from = tile.strip * c->strip_rows, to = least(from + c->strip_rows, c->n_rows);
    const size_t left = tile.range * c->range_columns;
    const size_t width = least(c->n_columns - left, c->range_columns);
    if (c->n_ranges == 1)
        TRY(add_stretch(&tile, from * c->n_columns, to * c->n_columns, err));
    for (size_t row = from; row < to && c->n_ranges > 1; row++)
        TRY(add_stretch(&tile, row * c->n_columns + left, row * c->n_columns + left + width, err));
    if (c->n_columns == 1)
        tile.difference->squares = sum_of(tile.row.squares);
    return STATUS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* By the shape alone: the order of sums is the same on every machine. */
static void divide(comparison_t *c) {
    const size_t parts = c->expected->n / PART;
    const size_t strips = c->n_columns == 1
                              ? between(1, parts, MOST_PARTS)
                              : between(1, least(parts, c->n_rows / LEAST_ROWS), MOST_STRIPS);
    c->strip_rows = quotient_up(c->n_rows, strips);
    c->n_strips = quotient_up(c->n_rows, c->strip_rows);
    c->range_columns = least(c->n_columns, MOST_WIDTH);
    c->n_ranges = quotient_up(c->n_columns, c->range_columns);
    c->tiles = mem_zeroed(c->n_strips * c->n_ranges, sizeof *c->tiles);
    if (c->n_columns > 1) {
        c->column_squares = mem_zeroed(c->n_strips * c->n_columns, sizeof *c->column_squares);
        c->column_norms = mem_zeroed(c->n_strips * c->n_columns, sizeof *c->column_norms);
    }
    if (c->n_ranges > 1) {
        c->row_squares = mem_zeroed(c->n_ranges * c->n_rows, sizeof *c->row_squares);
        c->row_norms = mem_zeroed(c->n_ranges * c->n_rows, sizeof *c->row_norms);
    }
}

static void add_tile(difference_t *sum, const difference_t *tile) {
    sum->squares += tile->squares;
    keep_worse(&sum->row, &tile->row);
    if (isnan(sum->max_abs) || tile->max_abs <= sum->max_abs)
        return;
    sum->max_abs = tile->max_abs;
    sum->worst = tile->worst;
    sum->found = tile->found;
}

static void add_long_rows(const comparison_t *c, line_t *worst) {
    for (size_t row = 0; row < c->n_rows; row++) {
        double squares = 0, norm = 0;
        for (size_t range = 0; range < c->n_ranges; range++) {
            squares += c->row_squares[range * c->n_rows + row];
            norm += c->row_norms[range * c->n_rows + row];
        }
        note_line(worst, row, squares, norm, c->mean_square * (double)c->n_columns);
    }
}

static void add_columns(const comparison_t *c, line_t *worst) {
    for (size_t column = 0; column < c->n_columns; column++) {
        double squares = 0, norm = 0;
        for (size_t strip = 0; strip < c->n_strips; strip++) {
            squares += c->column_squares[strip * c->n_columns + column];
            norm += c->column_norms[strip * c->n_columns + column];
        }
        note_line(worst, column, squares, norm, c->mean_square * (double)c->n_rows);
    }
}

status_t difference_find(const found_t *found, const npy_t *expected, double norm,
                         difference_t *difference, error_t *err) {
    *difference = (difference_t){0};
    if (expected->n == 0)
        return STATUS_OK;
    comparison_t c = {.found = found,
                      .expected = expected,
                      .mean_square = norm > 0 ? norm / (double)expected->n : INFINITY,
                      .n_columns = difference_columns(expected)};
    c.n_rows = expected->n / c.n_columns;
    divide(&c);
    const status_t status = parallel_parts(c.n_strips * c.n_ranges, compare_tile, &c, err);
    for (size_t i = 0; i < c.n_strips * c.n_ranges; i++)
        add_tile(difference, &c.tiles[i]);
    if (c.n_ranges > 1)
        add_long_rows(&c, &difference->row);
    if (c.n_columns > 1)
        add_columns(&c, &difference->column);
    free(c.tiles);
    free(c.column_squares);
    free(c.column_norms);
    free(c.row_squares);
    free(c.row_norms);
    return status;
}

/* ---- norm ------------------------------------------------------------------------------------ */

typedef struct norm {
    const npy_t *array;
    double *parts;
} norm_t;

static status_t sum_part(void *context, size_t part, error_t *err) {
    const norm_t *norm = context;
    const size_t first = part * PART, end = first + least(norm->array->n - first, PART);
    double lanes[LANES] = {0};
    (void)err;
    for (size_t i = first; i < end; i++)
        lanes[i % LANES] += square(norm->array->values[i]);
    norm->parts[part] = sum_of(lanes);
    return STATUS_OK;
}

double difference_norm(const npy_t *array) {
    const size_t n = quotient_up(array->n, PART);
    const norm_t norm = {array, mem_zeroed(n, sizeof *norm.parts)};
    double sum = 0;
    parallel_parts(n, sum_part, (void *)&norm, NULL);
    for (size_t i = 0; i < n; i++)
        sum += norm.parts[i];
    free(norm.parts);
    return sum;
}
