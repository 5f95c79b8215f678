/* The reader of MNIST's files, on small files of the same format made here, good and bad. */
#include "checks.h"
#include "gzip_file.h"
#include "io/fs.h"
#include "made_case.h"
#include "temporary_folder.h"
#include "workloads/mnist/data.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

static const dataset_shape_t SHAPE = {6, 4, 3, 2};

enum { IMAGE_BYTES = 3 * 2, LONGEST = 256 };
static const char *const FILES[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
enum { TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS };

typedef struct bytes {
    uint8_t data[LONGEST];
    size_t n;
} bytes_t;

static void add_number(bytes_t *to, uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8)
        to->data[to->n++] = (uint8_t)(number >> shift);
}

/* Pixel k of a file is its number, label k is 9 − k: all bytes of both sets are told apart. */
static bytes_t good_file(int which) {
    const bool images = which == TRAIN_IMAGES || which == TEST_IMAGES;
    const uint32_t n = which < TEST_IMAGES ? 6 : 4;
    bytes_t file = {.n = 0};
    add_number(&file, images ? 0x803 : 0x801);
    add_number(&file, n);
    if (images) {
        add_number(&file, 3);
        add_number(&file, 2);
    }
    for (uint32_t k = 0; k < (images ? n * IMAGE_BYTES : n); k++)
        file.data[file.n++] = (uint8_t)(images ? which * 100 + k : 9 - k);
    return file;
}

static char *path_of(const char *folder, int which, const char *end) {
    return mem_format("%s/%s%s", folder, FILES[which], end);
}

static void write_file(const char *folder, int which, const bytes_t *file, bool gzip) {
    error_t err = ERROR_INIT;
    char *path = path_of(folder, which, gzip ? ".gz" : "");
    status_t status = gzip ? write_gzip(path, file->data, file->n, &err)
                           : fs_write_atomic(path, file->data, file->n, &err);
    if (status != STATUS_OK)
        fail_msg("%s", err.text);
    free(path);
}

static void write_good(const char *folder, bool gzip) {
    for (int which = 0; which < 4; which++) {
        const bytes_t file = good_file(which);
        write_file(folder, which, &file, gzip);
    }
}

static void check_good(const char *folder) {
    dataset_t set;
    assert_ok(dataset_read(folder, &SHAPE, &set, &err));
    assert_false(set.synthetic);
    assert_int_equal(set.shape.n_train, 6);
    for (size_t k = 0; k < 6 * IMAGE_BYTES; k++)
        assert_int_equal(set.train_images[k], k);
    for (size_t k = 0; k < 4 * IMAGE_BYTES; k++)
        assert_int_equal(set.test_images[k], 200 + k);
    for (size_t k = 0; k < 6; k++)
        assert_int_equal(set.train_labels[k], 9 - k);
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(set.test_labels[k], 9 - k);
    dataset_free(&set);
}

static void test_plain_and_gzipped(void **state) {
    for (int gzip = 0; gzip <= 1; gzip++) {
        char *folder = temporary_folder();
        write_good(folder, gzip);
        check_good(folder);
        fs_remove_temporary(&folder);
    }
}

static void test_mixed_and_plain_first(void **state) {
    char *folder = temporary_folder();
    const bytes_t bad = {.data = "no IDX", .n = 6};
    write_good(folder, false);
    for (int which = 0; which < 4; which++)
        write_file(folder, which, &bad, true); /* not looked at */
    check_good(folder);
    char *path = path_of(folder, TEST_IMAGES, "");
    assert_int_equal(unlink(path), 0);
    free(path);
    const bytes_t good = good_file(TEST_IMAGES);
    write_file(folder, TEST_IMAGES, &good, true);
    check_good(folder);
    fs_remove_temporary(&folder);
}

/* Reading fails with "FILE: `expected`". */
static void check_refused(const char *folder, int which, bool gzip, const char *expected) {
    dataset_t set;
    char *path = path_of(folder, which, gzip ? ".gz" : "");
    char *message = mem_format("%s: %s", path, expected);
    assert_fails(dataset_read(folder, &SHAPE, &set, &err), STATUS_USAGE, message);
    assert_null(set.train_images);
    assert_null(set.test_labels);
    free(message);
    free(path);
}

typedef struct bad_file {
    int which;
    size_t cut;       /* to so many bytes, unless it is 0 */
    size_t longer;    /* bytes more */
    size_t at;        /* this byte … */
    uint8_t value;    /* … has this value, unless `at` is 0 */
    const char *told; /* behind the file's name */
} bad_file_t;

static const bad_file_t BAD_FILES[] = {
    {TRAIN_IMAGES, .at = 3, .value = 1,
     .told = "found magic number 0x00000801, expected 0x00000803: no IDX file of images"},
    {TEST_LABELS, .at = 2, .value = 9,
     .told = "found magic number 0x00000901, expected 0x00000801: no IDX file of labels"},
    {TRAIN_IMAGES, .at = 7, .value = 5, .told = "found 5 images of 3 × 2, expected 6 of 3 × 2"},
    {TEST_IMAGES, .at = 11, .value = 2, .told = "found 4 images of 2 × 2, expected 4 of 3 × 2"},
    {TEST_IMAGES, .at = 12, .value = 1,
     .told = "found 4 images of 3 × 16777218, expected 4 of 3 × 2"},
    {TRAIN_LABELS, .at = 7, .value = 7, .told = "found 7 labels, expected 6, one for each image"},
    {TEST_LABELS, .at = 4, .value = 255,
     .told = "found 4278190084 labels, expected 4, one for each image"},
    {TRAIN_IMAGES, .cut = 51, .told = "ends after 51 bytes, expected 52"},
    {TEST_IMAGES, .cut = 16, .told = "ends after 16 bytes, expected 40"},
    {TEST_IMAGES, .cut = 7, .told = "ends after 7 bytes, expected 40"},
    {TRAIN_LABELS, .cut = 1, .told = "ends after 1 bytes, expected 14"},
    {TRAIN_LABELS, .cut = 13, .told = "ends after 13 bytes, expected 14"},
    {TRAIN_IMAGES, .longer = 1, .told = "goes on behind the 52 bytes that were expected"},
    {TEST_LABELS, .longer = 100, .told = "goes on behind the 12 bytes that were expected"},
    {TRAIN_LABELS, .at = 8, .value = 10, .told = "label 0 is 10, expected 0 … 9"},
    {TEST_LABELS, .at = 11, .value = 255, .told = "label 3 is 255, expected 0 … 9"},
};

static void test_bad_files(void **state) {
    for (size_t i = 0; i < COUNT_OF(BAD_FILES); i++) {
        const bad_file_t *bad = &BAD_FILES[i];
        for (int gzip = 0; gzip <= 1; gzip++) {
            char *folder = temporary_folder();
            bytes_t file = good_file(bad->which);
            file.n = bad->cut != 0 ? bad->cut : file.n + bad->longer;
            if (bad->at != 0)
                file.data[bad->at] = bad->value;
            write_good(folder, gzip);
            write_file(folder, bad->which, &file, gzip);
            check_refused(folder, bad->which, gzip, bad->told);
            fs_remove_temporary(&folder);
        }
    }
}

/* Change the gzipped file as bytes: cut it, or turn one byte around. */
static void damage(const char *folder, int which, long cut_bytes, long flip_from_end) {
    char *path = path_of(folder, which, ".gz");
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    if (flip_from_end > 0) {
        fseek(file, size - flip_from_end, SEEK_SET);
        const int byte = fgetc(file);
        fseek(file, size - flip_from_end, SEEK_SET);
        fputc(byte ^ 0xFF, file);
    }
    fclose(file);
    assert_int_equal(truncate(path, size - cut_bytes), 0);
    free(path);
}

/* At the end of a gzip stream are its checksum and its length, four bytes each. */
static void test_damaged_gzip(void **state) {
    static const struct {
        long cut_bytes, flip_from_end;
        const char *told;
    } DAMAGES[] = {
        {0, 8, "cannot read: incorrect data check"},
        {0, 1, "cannot read: incorrect length check"},
        {1, 0, "the gzip stream ends too early"},
        {8, 0, "the gzip stream ends too early"},
    };
    for (size_t i = 0; i < COUNT_OF(DAMAGES); i++) {
        char *folder = temporary_folder();
        write_good(folder, true);
        damage(folder, TRAIN_LABELS, DAMAGES[i].cut_bytes, DAMAGES[i].flip_from_end);
        dataset_t set;
        error_t err = ERROR_INIT;
        assert_int_equal(dataset_read(folder, &SHAPE, &set, &err), STATUS_USAGE);
        if (!strstr(err.text, FILES[TRAIN_LABELS]) || !strstr(err.text, DAMAGES[i].told))
            fail_msg("damage %zu: %s", i, err.text);
        fs_remove_temporary(&folder);
    }
}

static void test_missing_file_and_folder_in_its_place(void **state) {
    char *folder = temporary_folder();
    write_good(folder, false);
    char *path = path_of(folder, TEST_LABELS, "");
    assert_int_equal(unlink(path), 0);
    dataset_t set;
    error_t err = ERROR_INIT;
    assert_int_equal(dataset_read(folder, &SHAPE, &set, &err), STATUS_USAGE);
    char *message =
        mem_format("%s: has no t10k-labels-idx1-ubyte and no t10k-labels-idx1-ubyte.gz", folder);
    assert_string_equal(err.text, message);
    free(message);
    assert_int_equal(fs_make_folders(path, &err), STATUS_OK);
    check_refused(folder, TEST_LABELS, false, "cannot open: Is a directory");
    free(path);
    fs_remove_temporary(&folder);
}

/* ---- the search ------------------------------------------------------------------------------ */

static void put_set(const char *root, const char *place) {
    char *folder = fs_join(root, place);
    assert_ok(fs_make_folders(folder, &err));
    write_good(folder, true);
    free(folder);
}

static void check_found(const char *root, const char *expected) {
    char *folder;
    assert_ok(dataset_find(root, &folder, &err));
    if (expected == NULL)
        assert_null(folder);
    else
        assert_string_equal(folder, expected);
    free(folder);
}

static void test_search_order(void **state) {
    char *top = temporary_folder();
    char *root = fs_join(top, "project"), *own = fs_join(root, "data/mnist");
    char *shared = fs_join(root, "../shared/data/mnist"), *wanted = fs_join(top, "wanted");
    assert_ok(fs_make_folders(root, &err));
    unsetenv("MNIST_DIR");
    check_found(root, NULL);
    put_set(top, "shared/data/mnist");
    check_found(root, shared);
    assert_ok(fs_make_folders(own, &err)); /* empty: passed over */
    check_found(root, shared);
    put_set(root, "data/mnist");
    check_found(root, own);
    put_set(top, "wanted");
    setenv("MNIST_DIR", wanted, 1);
    check_found(root, wanted);
    setenv("MNIST_DIR", "", 1); /* as if it were not set */
    check_found(root, own);
    free(wanted);
    free(shared);
    free(own);
    free(root);
    unsetenv("MNIST_DIR");
    fs_remove_temporary(&top);
}

/* Whoever names a folder wants what is in it, and no other set. */
static void test_wanted_folder_without_files(void **state) {
    char *top = temporary_folder(), *folder;
    put_set(top, "data/mnist");
    setenv("MNIST_DIR", "/nowhere", 1);
    assert_fails(dataset_find(top, &folder, &err), STATUS_USAGE,
                 "$MNIST_DIR: /nowhere has no train-images-idx3-ubyte and no "
                 "train-images-idx3-ubyte.gz");
    unsetenv("MNIST_DIR");
    fs_remove_temporary(&top);
}

/* A set that is there and bad is never replaced by another one. */
static void test_bad_set_is_no_reason_for_another(void **state) {
    char *top = temporary_folder();
    put_set(top, "data/mnist"); /* not of MNIST's shape */
    dataset_t set;
    unsetenv("MNIST_DIR");
    assert_fails_with(dataset_load(top, &set, &err), STATUS_USAGE,
                      "data/mnist/train-images-idx3-ubyte.gz: found 6 images of "
                      "3 × 2, expected 60000 of 28 × 28");
    fs_remove_temporary(&top);
}

/* ---- The synthetic set against tests/fixtures/mnist_known.json, which the PyTorch side is tested
 * against too. */

static void check_crc(const json_t *known, const char *name, const uint8_t *bytes, size_t n) {
    assert_text(mem_format("%08lx", crc32(0, bytes, (uInt)n)),
                json_string_value(json_object_get(json_object_get(known, "crc32"), name)));
}

static void check_bytes(const json_t *known, const char *name, const uint8_t *bytes) {
    const json_t *list = json_object_get(known, name);
    assert_int_equal(json_array_size(list), 16);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(json_integer_value(json_array_get(list, i)), bytes[i]);
}

static void test_synthetic_set_is_known(void **state) {
    json_t *fixture = read_json("tests/fixtures/mnist_known.json");
    const json_t *known = json_object_get(fixture, "synthetic");
    char *folder = temporary_folder();
    char *top = mem_format("%s/project", folder);
    assert_ok(fs_make_folders(top, &err)); /* ../shared is looked at, too */
    dataset_t set;
    unsetenv("MNIST_DIR");
    assert_ok(dataset_load(top, &set, &err)); /* there are no files */
    assert_true(set.synthetic);
    check_bytes(known, "first_train_labels", set.train_labels);
    check_bytes(known, "first_test_labels", set.test_labels);
    check_bytes(known, "first_train_pixels", set.train_images);
    check_bytes(known, "last_test_pixels", set.test_images + 10000 * 784 - 16);
    check_crc(known, "train_images", set.train_images, 60000 * 784);
    check_crc(known, "train_labels", set.train_labels, 60000);
    check_crc(known, "test_images", set.test_images, 10000 * 784);
    check_crc(known, "test_labels", set.test_labels, 10000);
    dataset_free(&set);
    free(top);
    fs_remove_temporary(&folder);
    json_decref(fixture);
}

#include "run_tests.h"
