/* The points of linreg_train on the CPU against the known ones, and who shares them. */
#include "base/text.h"
#include "checks.h"
#include "known_linreg.h"
#include "workloads/linreg_train/data.h"

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void check_point(const linreg_data_t *data, const json_t *told) {
    const size_t i = (size_t)json_integer_value(json_array_get(told, 0)), at = i / 5;
    const bool test = i % 5 == 4;
    const float x = test ? data->x_test[at] : data->x_train[i - at];
    const float y = test ? data->y_test[at] : data->y_train[i - at];
    char *bits = mem_format("%08x %08x", bits_of(x), bits_of(y));
    char *right = mem_format("%s %s", json_string_value(json_array_get(told, 1)),
                             json_string_value(json_array_get(told, 2)));
    assert_string_equal(bits, right);
    free(bits);
    free(right);
}

static void test_points_are_known(void **state) {
    size_t i, k;
    json_t *known, *told;
    json_array_foreach(json_object_get(*state, "data"), i, known) {
        const training_t training = {json_integer_value(json_object_get(known, "points")), 1, 0.01};
        case_t spec = make_case("ref", &training);
        const linreg_data_t *data =
            linreg_data_take(&spec, (uint64_t)json_integer_value(json_object_get(known, "seed")));
        assert_int_equal(data->n_test, training.points / 5);
        assert_int_equal(data->n_train + data->n_test, training.points);
        json_array_foreach(json_object_get(known, "told"), k, told) check_point(data, told);
        linreg_data_release(data);
        case_free(&spec);
    }
}

/* Training point k is number k + k / 4: x is that of every fifth number left out. */
static void test_places_of_all_points(void **state) {
    const training_t training = {20011, 1, 0.01};
    case_t spec = make_case("ref", &training);
    const linreg_data_t *data = linreg_data_take(&spec, SEED);
    const float step = (float)(10.0 / 20011);
    for (size_t k = 0; k < data->n_train; k++)
        assert_true(data->x_train[k] == (float)(k + k / 4) * step);
    for (size_t k = 0; k < data->n_test; k++)
        assert_true(data->x_test[k] == (float)(5 * k + 4) * step);
    linreg_data_release(data);
    case_free(&spec);
}

static void test_data_is_shared(void **state) {
    const training_t training = {100, 1, 0.01}, longer = {100, 7, 0.5};
    case_t spec = make_case("ref", &training), same = make_case("omp", &longer);
    const linreg_data_t *first = linreg_data_take(&spec, SEED),
                        *second = linreg_data_take(&same, SEED),
                        *other = linreg_data_take(&spec, SEED + 1);
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, other);
    assert_memory_not_equal(first->y_train, other->y_train, 80 * sizeof(float));
    linreg_data_release(first);
    assert_ptr_equal(linreg_data_take(&spec, SEED), second); /* one user had been left */
    linreg_data_release(second);
    linreg_data_release(second);
    linreg_data_release(other);
    case_free(&spec);
    case_free(&same);
}

static void test_room_is_told(void **state) {
    const training_t training = {1000000, 1, 0.01};
    case_t spec = make_case("ref", &training);
    error_t err = ERROR_INIT;
    assert_int_equal(linreg_data_room(&spec, SEED, 0, &err), STATUS_OK);
    assert_int_equal(linreg_data_room(&spec, SEED, 1e18, &err), STATUS_FAILED);
    assert_ptr_equal(strstr(err.text, "needs 1000 PB of host memory, "), err.text);
    case_free(&spec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_are_known),
        cmocka_unit_test(test_places_of_all_points),
        cmocka_unit_test(test_data_is_shared),
        cmocka_unit_test(test_room_is_told),
    };
    return cmocka_run_group_tests(tests, read_fixture, free_fixture);
}
