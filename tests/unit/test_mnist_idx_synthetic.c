/* The synthetic set against tests/fixtures/mnist_known.json, which the PyTorch side is tested
 * against too. */
#include "checks.h"
#include "io/fs.h"
#include "temporary_folder.h"
#include "workloads/mnist/data.h"

#include <jansson.h>
#include <zlib.h>

static void check_crc(const json_t *known, const char *name, const uint8_t *bytes, size_t n) {
    char *found = mem_format("%08lx", crc32(0, bytes, (uInt)n));
    assert_string_equal(found,
                        json_string_value(json_object_get(json_object_get(known, "crc32"), name)));
    free(found);
}

static void check_bytes(const json_t *known, const char *name, const uint8_t *bytes) {
    const json_t *list = json_object_get(known, name);
    assert_int_equal(json_array_size(list), 16);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(json_integer_value(json_array_get(list, i)), bytes[i]);
}

static void test_synthetic_set_is_known(void **state) {
    json_error_t wrong;
    json_t *fixture =
        json_load_file("tests/fixtures/mnist_known.json", JSON_REJECT_DUPLICATES, &wrong);
    if (fixture == NULL)
        fail_msg("%s:%d: %s", wrong.source, wrong.line, wrong.text);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_synthetic_set_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
