/* io/npy against files that numpy saved (tests/fixtures/make_npy.py), good and hostile. */
#include "checks.h"
#include "io/fs.h"
#include "io/npy.h"
#include "refusals.h"
#include "temporary_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#define FIXTURES "tests/fixtures/npy"

static void assert_same_files(const char *path, const char *expected_path) {
    AUTO_FREE char *data, *expected;
    size_t size, expected_size;
    assert_ok(fs_read(path, &data, &size, &err));
    assert_ok(fs_read(expected_path, &expected, &expected_size, &err));
    assert_int_equal(size, expected_size);
    assert_memory_equal(data, expected, size);
}

static void reads_what_numpy_saves(void **state) {
    static const struct {
        const char *name, *type;
        unsigned n_dimensions;
        size_t shape[NPY_MAX_DIMENSIONS];
        size_t n;
        double values[6];
    } rows[] = {
        {"f4_2x3", "f4", 2, {2, 3}, 6, {0, 1.5, -2.25, (double)3e-5f, -INFINITY, NAN}},
        {"f8_6", "f8", 1, {6}, 6, {0, 1.5, -2.25, 3e-5, -INFINITY, NAN}},
        /* 6e-8 is subnormal: 2^-24; 0.333 is 1364 / 4096 in 11 bits */
        {"f2_6", "f2", 1, {6}, 6, {1, -2, 65504, 0x1p-24, INFINITY, 1364.0 / 4096}},
        {"i4_1x1x2x2", "i4", 4, {1, 1, 2, 2}, 4, {1, -2, 2147483647, -2147483648.0}},
        {"i8_3", "i8", 1, {3}, 3, {1, -9007199254740992.0, 1099511627776.0}},
        {"i1_3", "i1", 1, {3}, 3, {-128, -1, 127}},
        {"u1_3", "u1", 1, {3}, 3, {0, 128, 255}},
        {"b1_3", "b1", 1, {3}, 3, {1, 0, 1}},
        {"f8_scalar", "f8", 0, {0}, 1, {2.5}},
        {"f4_0x3", "f4", 2, {0, 3}, 0, {0}},
        {"f4_version2", "f4", 1, {2}, 2, {1, 2}},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *path = mem_format(FIXTURES "/%s.npy", rows[i].name);
        npy_t array;
        assert_ok(npy_read(path, &array, &err));
        assert_string_equal(array.type, rows[i].type);
        assert_int_equal(array.n_dimensions, rows[i].n_dimensions);
        assert_memory_equal(array.shape, rows[i].shape, sizeof array.shape);
        assert_int_equal(array.n, rows[i].n);
        for (size_t v = 0; v < array.n; v++)
            if (array.values[v] != rows[i].values[v] &&
                !(isnan(array.values[v]) && isnan(rows[i].values[v])))
                fail_msg("%s[%zu]: %.17g, expected %.17g", path, v, array.values[v],
                         rows[i].values[v]);
        npy_free(&array);
        assert_null(array.values);
    }
}

static void writes_what_numpy_saves(void **state) {
    AUTO_FREE char *path = fs_join(*state, "out.npy");
    static const float singles[] = {0, 1.5F, -2.25F, 3e-5F, -INFINITY, NAN};
    static const double doubles[] = {0, 1.5, -2.25, 3e-5, -INFINITY, NAN};
    assert_ok(npy_write(path, "f4", singles, (size_t[]){2, 3}, 2, &err));
    assert_same_files(path, FIXTURES "/f4_2x3.npy");
    assert_ok(npy_write(path, "f8", doubles, (size_t[]){6}, 1, &err));
    assert_same_files(path, FIXTURES "/f8_6.npy");
    assert_ok(npy_write(path, "f4", NULL, (size_t[]){0, 3}, 2, &err));
    assert_same_files(path, FIXTURES "/f4_0x3.npy");
    assert_ok(npy_write(path, "f8", &(double){2.5}, NULL, 0, &err));
    assert_same_files(path, FIXTURES "/f8_scalar.npy");
    static const int64_t wide[] = {1, -9007199254740992, 1099511627776};
    assert_ok(npy_write(path, "i8", wide, (size_t[]){3}, 1, &err));
    assert_same_files(path, FIXTURES "/i8_3.npy");
    assert_ok(npy_write(path, "b1", (bool[]){1, 0, 1}, (size_t[]){3}, 1, &err));
    assert_same_files(path, FIXTURES "/b1_3.npy");
}

static void round_trip(void **state) {
    AUTO_FREE char *path = fs_join(*state, "trip.npy");
    const size_t shape[NPY_MAX_DIMENSIONS] = {7, 1, 1, 1, 1, 1, 11, 13};
    enum { N = 7 * 11 * 13 };
    float values[N];
    for (int i = 0; i < N; i++)
        values[i] = (float)i / 3;
    assert_ok(npy_write(path, "f4", values, shape, NPY_MAX_DIMENSIONS, &err));
    AUTO(npy_free) npy_t array;
    assert_ok(npy_read(path, &array, &err));
    assert_int_equal(array.n, N);
    assert_memory_equal(array.shape, shape, sizeof shape);
    for (int i = 0; i < N; i++)
        assert_true(array.values[i] == (double)values[i]);
}

static status_t load(const char *path, error_t *err) {
    npy_t array;
    status_t status = npy_read(path, &array, err);
    assert_null(array.values);
    return status;
}

static void refuses_hostile_files(void **state) {
    check_refusals("tests/fixtures/invalid_npy.txt", load);
}

static void a_later_block_names_its_element(void **state) {
    AUTO_FREE char *path = fs_join(*state, "wide.npy");
    const size_t n = NPY_BLOCK + 3;
    AUTO_FREE int64_t *values = mem_zeroed(n, sizeof *values);
    npy_t array;
    values[n - 1] = INT64_MIN;
    assert_ok(npy_write(path, "i8", values, &n, 1, &err));
    assert_fails_with(npy_read(path, &array, &err), STATUS_USAGE,
                      "wide.npy: element 4098: -9223372036854775808, expected");
}

/* A worker may put anything where its output is expected. */
static void refuses_what_is_not_a_file(void **state) {
    AUTO_FREE char *path = fs_join(*state, "pipe.npy");
    npy_file_t file;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails_with(npy_open(path, &file, &err), STATUS_USAGE, "pipe.npy: not a file");
}

static void opening_reads_no_values(void **state) {
    AUTO_FREE char *path = fs_join(*state, "long.npy");
    const size_t n = 2 * NPY_BLOCK + 1;
    double *values = mem_zeroed(n, sizeof *values), block[NPY_BLOCK];
    npy_file_t file;
    values[n - 1] = 7;
    values[5] = 3;
    assert_ok(npy_write(path, "f8", values, &n, 1, &err));
    assert_ok(npy_open(path, &file, &err));
    assert_null(file.array.values);
    assert_int_equal(file.array.n, n);
    assert_ok(npy_values(&file, n - 2, 2, block, &err));
    assert_true(block[0] == 0 && block[1] == 7);
    assert_ok(npy_bytes(&file, 5, 1, block, &err));
    assert_true(block[0] == 3);
    assert_int_equal(truncate(path, 1000), 0);
    assert_fails_with(npy_values(&file, NPY_BLOCK, NPY_BLOCK, block, &err), STATUS_USAGE,
                      "long.npy: it became shorter");
    npy_close(&file);
    free(values);
}

/* Large enough for several threads; of two elements that are refused the first is named. */
static void reads_many_parts(void **state) {
    AUTO_FREE char *path = fs_join(*state, "many.npy");
    const size_t n = 300 * NPY_BLOCK + 7;
    AUTO_FREE int64_t *values = mem_alloc(n * sizeof *values);
    npy_t array;
    for (size_t i = 0; i < n; i++)
        values[i] = (int64_t)i;
    assert_ok(npy_write(path, "i8", values, &n, 1, &err));
    assert_ok(npy_read(path, &array, &err));
    assert_int_equal(array.n, n);
    for (size_t i = 0; i < n; i++)
        if (array.values[i] != (double)i)
            fail_msg("element %zu: %g", i, array.values[i]);
    npy_free(&array);
    values[70 * NPY_BLOCK + 2] = values[n - 1] = values[290 * NPY_BLOCK] = INT64_MAX;
    assert_ok(npy_write(path, "i8", values, &n, 1, &err));
    assert_fails_with(npy_read(path, &array, &err), STATUS_USAGE, "many.npy: element 286722: ");
}

static void write_errors_name_the_path(void **state) {
    AUTO_FREE char *path = mem_format("%s/missing/out.npy", (char *)*state);
    assert_fails_with(npy_write(path, "f4", &(float){1}, (size_t[]){1}, 1, &err), STATUS_USAGE,
                      path);
    const size_t shape[NPY_MAX_DIMENSIONS + 1] = {0};
    assert_fails_with(npy_write(path, "f4", &(float){1}, shape, NPY_MAX_DIMENSIONS + 1, &err),
                      STATUS_USAGE, "9 dimensions, expected at most 8");
}

#define GROUP_SET_UP make_folder
#define GROUP_TEAR_DOWN remove_folder
#include "run_tests.h"
