/* As many numbers in another number of dimensions are another output. */
#include "checks.h"
#include "io/fs.h"
#include "measure/verify.h"
#include "temporary_folder.h"

static const double VALUES[6] = {1, 2, 3, 4, 5, 6};
static const size_t FLAT[] = {6}, COLUMN[] = {6, 1};

static const char *name = "y";
static int64_t epochs = 1;

static void check_shapes(const size_t *found, unsigned n_found, const size_t *expected,
                         unsigned n_expected, const char *complaint) {
    char *folder, *reason = NULL;
    folder = temporary_folder();
    char *path = mem_format("%s/%s.npy", folder, name);
    text_list_t names = {0};
    text_list_add(&names, name);
    reference_t reference;
    check_t check;
    assert_ok(npy_write_f64(path, VALUES, expected, n_expected, &err));
    assert_ok(reference_load(folder, &names, &reference, &err));
    assert_ok(npy_write_f64(path, VALUES, found, n_found, &err));
    reference.epochs = epochs;
    verify_outputs(&reference, folder, 1e-6, &check, &reason);
    assert_int_equal(check.ok, complaint == NULL);
    if (complaint != NULL)
        assert_string_equal(reason, complaint);
    reference_free(&reference);
    text_list_free(&names);
    fs_remove_tree(folder, NULL);
    free(reason);
    free(path);
    free(folder);
}

static void test_dimensions_count(void **state) {
    check_shapes(FLAT, 1, FLAT, 1, NULL);
    check_shapes(COLUMN, 2, COLUMN, 2, NULL);
    check_shapes(FLAT, 1, COLUMN, 2, "y has shape (6,), expected (6, 1)");
    check_shapes(COLUMN, 2, FLAT, 1, "y has shape (6, 1), expected (6,)");
}

static void test_losses_may_end_after_the_first_epoch(void **state) {
    static const size_t HALF[] = {3}, LESS[] = {2};
    epochs = 2;
    check_shapes(HALF, 1, FLAT, 1, "y has shape (3,), expected (6,)");
    name = "losses";
    check_shapes(HALF, 1, FLAT, 1, NULL);
    check_shapes(LESS, 1, FLAT, 1, "losses has shape (2,), expected (6,)");
    epochs = 1;
    check_shapes(HALF, 1, FLAT, 1, "losses has shape (3,), expected (6,)");
    name = "y";
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dimensions_count),
        cmocka_unit_test(test_losses_may_end_after_the_first_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
