#include "stats/difference.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "base/target_clones.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

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
        return npy_values(found->file, first, n, values, err);
    for (size_t i = 0; i < n; i++) {
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
