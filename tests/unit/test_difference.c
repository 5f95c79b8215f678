/* Differences found tile by tile are those of one plain loop. */
#include "base/rng.h"
#include "checks.h"
#include "stats/difference.h"

typedef struct arrays {
    npy_t expected, found;
} arrays_t;

static double number(size_t i) {
    return rng_word(7, 0, i) * 0x1p-31 - 1;
}

/* `rows` 0: a vector of `columns` elements. */
static arrays_t make(size_t rows, size_t columns) {
    arrays_t a = {
        .expected = {.n = (rows > 0 ? rows : 1) * columns, .n_dimensions = rows > 0 ? 2 : 1}};
    a.expected.shape[0] = rows > 0 ? rows : columns;
    a.expected.shape[1] = columns;
    a.found = a.expected;
    a.expected.values = mem_alloc(a.expected.n * sizeof(double));
    a.found.values = mem_alloc(a.expected.n * sizeof(double));
    for (size_t i = 0; i < a.expected.n; i++) {
        a.expected.values[i] = number(2 * i);
        a.found.values[i] = a.expected.values[i] + 1e-6 * number(2 * i + 1);
    }
    return a;
}

static void free_arrays(arrays_t *a) {
    npy_free(&a->expected);
    npy_free(&a->found);
}

static difference_t find(const arrays_t *a) {
    const found_t found = {.of = {&a->found, &a->found}};
    difference_t difference;
    assert_int_equal(
        difference_find(&found, &a->expected, difference_norm(&a->expected), &difference, NULL),
        STATUS_OK);
    return difference;
}

/* Of the lines whose elements are `step` apart. */
static line_t worst_line(const arrays_t *a, size_t n_lines, size_t line_step, size_t step) {
    const size_t length = a->expected.n / n_lines;
    double all = 0;
    line_t worst = {0};
    for (size_t i = 0; i < a->expected.n; i++)
        all += isinf(a->expected.values[i]) ? 0 : a->expected.values[i] * a->expected.values[i];
    for (size_t line = 0; line < n_lines; line++) {
        double squares = 0, norm = 0;
        for (size_t k = 0; k < length; k++) {
            const double e = a->expected.values[line * line_step + k * step];
            const double f = a->found.values[line * line_step + k * step];
            squares += e == f ? 0 : (f - e) * (f - e);
            norm += isinf(e) ? 0 : e * e;
        }
        const double share = squares / fmax(norm, all / (double)n_lines);
        if (share > worst.squares)
            worst = (line_t){share, line};
    }
    return worst;
}

static void assert_line(line_t found, line_t expected) {
    assert_int_equal(found.index, expected.index);
    assert_near(found.squares / expected.squares, 1, 1e-9);
}

static void assert_as_by_a_plain_loop(const arrays_t *a) {
    const difference_t found = find(a);
    const size_t n_columns = difference_columns(&a->expected), n = a->expected.n;
    double squares = 0, largest = 0;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const double e = a->expected.values[i], f = a->found.values[i], d = e == f ? 0 : f - e;
        squares += d * d;
        at = fabs(d) > largest ? i : at;
        largest = fmax(largest, fabs(d));
    }
    assert_near(found.squares / squares, 1, 1e-9);
    assert_true(found.max_abs == largest);
    assert_int_equal(found.worst, at);
    assert_true(found.found == a->found.values[at]);
    assert_line(found.row, worst_line(a, n / n_columns, n_columns, 1));
    if (n_columns > 1)
        assert_line(found.column, worst_line(a, n_columns, 1, n_columns));
}

/* One tile, strips, strips of which the last is shorter, ranges of columns, both, no multiple of anything. */
static const struct {
    size_t rows, columns;
} SHAPES[] = {{0, 1},      {0, 5},     {0, 65},     {0, 70001},  {0, 300003}, {1, 1},
              {3, 1},      {1, 7},     {2, 3},      {37, 11},    {4099, 33},  {1031, 257},
              {200000, 2}, {5, 70001}, {19, 65536}, {33, 65537}, {1, 200003}, {7, 131072},
              {129, 4096}, {8, 16384}, {150001, 3}};

static void tiles_are_of_no_consequence(void **state) {
    for (size_t s = 0; s < COUNT_OF(SHAPES); s++) {
        arrays_t a = make(SHAPES[s].rows, SHAPES[s].columns);
        assert_as_by_a_plain_loop(&a);
        free_arrays(&a);
    }
}

/* One element, in each place, is found as the worst element, row and column. */
static void one_wrong_element_is_found_everywhere(void **state) {
    for (size_t s = 0; s < COUNT_OF(SHAPES); s++) {
        arrays_t a = make(SHAPES[s].rows, SHAPES[s].columns);
        const size_t n = a.expected.n, n_columns = difference_columns(&a.expected);
        for (size_t k = 0; k < 5; k++) {
            const size_t at = k == 0 ? 0 : k == 1 ? n - 1 : rng_word(9, 0, k) % n;
            const double before = a.found.values[at];
            a.found.values[at] = before + 30;
            const difference_t found = find(&a);
            assert_int_equal(found.worst, at);
            assert_int_equal(found.row.index, at / n_columns);
            assert_int_equal(found.column.index, n_columns > 1 ? at % n_columns : 0);
            a.found.values[at] = before;
        }
        free_arrays(&a);
    }
}

/* Of equal errors the first is named; an infinity is no part of a norm; NaN is worse than all. */
static void what_is_worst(void **state) {
    arrays_t a = make(300, 1024);
    a.found.values[200 * 1024 + 3] = a.expected.values[200 * 1024 + 3] = INFINITY;
    assert_as_by_a_plain_loop(&a);
    for (size_t row = 290; row > 100; row -= 10) {
        a.expected.values[row * 1024 + 5] = 1;
        a.found.values[row * 1024 + 5] = 9;
    }
    assert_int_equal(find(&a).worst, 110 * 1024 + 5);
    a.found.values[250 * 1024 + 7] = INFINITY;
    difference_t found = find(&a);
    assert_true(isinf(found.max_abs) && isinf(found.squares));
    assert_int_equal(found.worst, 250 * 1024 + 7);
    a.found.values[299 * 1024 + 1023] = NAN;
    a.found.values[299 * 1024 + 1022] = NAN;
    found = find(&a);
    assert_true(isnan(found.max_abs) && isnan(found.squares) && isnan(found.found));
    assert_int_equal(found.worst, 299 * 1024 + 1022);
    free_arrays(&a);
}

static void nothing_differs(void **state) {
    arrays_t a = make(0, 0);
    assert_true(find(&a).squares == 0);
    free_arrays(&a);
    a = make(3, 0);
    assert_true(find(&a).squares == 0);
    free_arrays(&a);
    a = make(100, 1000);
    for (size_t i = 0; i < a.expected.n; i++)
        a.expected.values[i] = a.found.values[i] = 0;
    a.found.values[7] = 1e-3;
    const difference_t found = find(&a);
    assert_near(found.squares, 1e-6, 1e-18);
    assert_true(found.row.squares == 0 && found.column.squares == 0); /* of nothing */
    free_arrays(&a);
}

#include "run_tests.h"
