/* Trainings of linreg_train on the CPU: against the known ones, and `omp` against the oracle. */
#include "base/text.h"
#include "checks.h"
#include "engine/session.h"
#include "io/fs.h"
#include "io/npy.h"
#include "known_linreg.h"
#include "made_case.h"
#include "temporary_folder.h"
#include "workloads/common/workload.h"
#include "workloads/linreg_train/data.h"

#include <omp.h>

static void open_session(session_t *session, const char *variant, const training_t *training) {
    open_case(session, &linreg_train_cpu, make_case(variant, training));
}

/* params, losses and, where there are test points, test_loss. */
typedef struct written {
    npy_t arrays[3];
    size_t n;
} written_t;

static written_t output_of(const char *variant, const training_t *training) {
    static const char *const NAMES[] = {"params", "losses", "test_loss"};
    session_t session;
    text_list_t names = {0};
    open_session(&session, variant, training);
    char *folder = temporary_folder();
    assert_ok(session.ops->output(&session, folder, &names, &err));
    written_t written = {.n = names.n};
    assert_in_range(names.n, 2, 3);
    for (size_t i = 0; i < names.n; i++) {
        assert_string_equal(names.items[i], NAMES[i]);
        char *path = mem_format("%s/%s.npy", folder, NAMES[i]);
        assert_ok(npy_read(path, &written.arrays[i], &err));
        assert_string_equal(written.arrays[i].type, "f8");
        free(path);
    }
    fs_remove_temporary(&folder);
    text_list_free(&names);
    close_session(&session);
    return written;
}

static void free_written(written_t *written) {
    for (size_t i = 0; i < written->n; i++)
        npy_free(&written->arrays[i]);
}

static double relative_l2(const npy_t *found, const double *right) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < found->n; i++) {
        difference += pow(found->values[i] - right[i], 2);
        norm += pow(right[i], 2);
    }
    return sqrt(difference / norm);
}

static void check_training(const char *variant, const json_t *known, double tolerance) {
    const training_t training = {json_integer_value(json_object_get(known, "points")),
                                 json_integer_value(json_object_get(known, "epochs")),
                                 json_number_value(json_object_get(known, "rate"))};
    static const char *const NAMES[] = {"params", "losses", "test_loss"};
    written_t written = output_of(variant, &training);
    assert_int_equal(written.n, json_is_null(json_object_get(known, "test_loss")) ? 2 : 3);
    for (size_t i = 0; i < written.n; i++) {
        const json_t *list = json_object_get(known, NAMES[i]);
        double right[32];
        assert_int_equal(written.arrays[i].n_dimensions, 1);
        assert_int_equal(written.arrays[i].n, json_array_size(list));
        assert_in_range(json_array_size(list), 1, 32);
        for (size_t k = 0; k < json_array_size(list); k++)
            right[k] = json_number_value(json_array_get(list, k));
        double error = relative_l2(&written.arrays[i], right);
        if (!(error <= tolerance)) /* NaN fails */
            fail_msg("%s, %lld points, %lld epochs: %s is off by %g", variant,
                     (long long)training.points, (long long)training.epochs, NAMES[i], error);
    }
    free_written(&written);
}

static void test_ref_is_the_known_training(void **state) {
    size_t i;
    json_t *known;
    json_array_foreach(json_object_get(*state, "trainings"), i, known)
        check_training("ref", known, 1e-13);
}

/* Around the block of 1024, where threads start, more threads than full shares, and with fewer. */
static void test_omp_is_the_oracle(void **state) {
    static const int64_t POINTS[] = {1279, 1280, 1282, 20480, 20482, 41000, 123457, 500003};
    const int all = omp_get_max_threads();
    for (size_t i = 0; i < COUNT_OF(POINTS); i++) {
        for (int threads = 1; threads <= 7; threads += 2) {
            const training_t training = {POINTS[i], 30, 0.01};
            omp_set_num_threads(threads);
            written_t right = output_of("ref", &training), found = output_of("omp", &training);
            assert_int_equal(found.n, right.n);
            for (size_t k = 0; k < found.n; k++) {
                assert_int_equal(found.arrays[k].n, right.arrays[k].n);
                double error = relative_l2(&found.arrays[k], right.arrays[k].values);
                if (!(error <= 2e-6))
                    fail_msg("%lld points, %d threads, array %zu: %g", (long long)POINTS[i],
                             threads, k, error);
            }
            free_written(&right);
            free_written(&found);
        }
    }
    omp_set_num_threads(all);
}

/* The order of its sums is fixed: the oracle's bits do not depend on the machine's cores. */
static void test_ref_does_not_depend_on_threads(void **state) {
    const training_t training = {123457, 20, 0.01};
    const int all = omp_get_max_threads();
    written_t first = output_of("ref", &training);
    omp_set_num_threads(all + 3);
    written_t second = output_of("ref", &training);
    omp_set_num_threads(all);
    for (size_t i = 0; i < first.n; i++)
        assert_memory_equal(first.arrays[i].values, second.arrays[i].values,
                            first.arrays[i].n * sizeof(double));
    free_written(&first);
    free_written(&second);
}

static void test_divergence_is_told(void **state) {
    static const struct {
        const char *variant;
        training_t training;
        const char *reason;
    } CASES[] = {
        {"ref", {5000, 200, 0.05}, "loss is not finite from epoch 50 on"},
        {"omp", {5000, 200, 0.05}, "loss is not finite from epoch 50 on"},
        {"ref", {5000, 15, 1}, "loss is not finite from epoch 15 on"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        session_t session = {.spec = make_case(CASES[i].variant, &CASES[i].training)};
        const open_request_t request = {.spec = &session.spec, .seed = SEED};
        error_t err = ERROR_INIT;
        assert_int_equal(linreg_train_cpu.open(&session, &request, &err), STATUS_FAILED);
        assert_false(session.skipped);
        assert_string_equal(err.text, CASES[i].reason);
        case_free(&session.spec);
    }
}

/* One epoch is one operation, too. */
static void check_phases(const char *variant, int64_t epochs, size_t n) {
    static const char *const PHASES[] = {"train", "total", "residual", "host_to_host", "fused"};
    session_t session;
    open_session(&session, variant, &(training_t){5000, epochs, 0.01});
    assert_int_equal(session.n_probes, 1);
    assert_ok(session.probes[0].run(&session, &session.recorder, &err));
    const recorder_t *recorder = &session.recorder;
    assert_int_equal(recorder->n_phases, n);
    for (size_t i = 0; i < recorder->n_phases; i++) {
        assert_string_equal(recorder->phases[i].name, PHASES[i]);
        assert_int_equal(recorder->phases[i].n, 1);
    }
    assert_true(recorder->phases[0].ns[0] + recorder->phases[2].ns[0] == recorder->phases[1].ns[0]);
    if (n == 5)
        assert_true(recorder->phases[4].ns[0] == recorder->phases[0].ns[0]);
    close_session(&session);
}

static void test_one_run_fills_every_phase(void **state) {
    check_phases("ref", 20, 4);
    check_phases("omp", 20, 4);
    check_phases("ref", 1, 5);
    check_phases("omp", 1, 5);
}

static void test_results(void **state) {
    session_t session;
    open_session(&session, "ref", &(training_t){5000, 25, 0.01});
    json_t *results = json_loads(session.results_json, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(results);
    assert_int_equal(json_object_size(results), 4);
    assert_near(json_number_value(json_object_get(results, "w")), 2, 0.05);
    assert_true(json_number_value(json_object_get(results, "b")) > 0.7645);
    assert_true(json_number_value(json_object_get(results, "test_loss")) > 0);
    static const int EPOCHS[] = {0, 10, 20, 25};
    const json_t *losses = json_object_get(results, "loss");
    assert_int_equal(json_array_size(losses), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(json_integer_value(json_array_get(json_array_get(losses, i), 0)),
                         EPOCHS[i]);
    json_decref(results);
    close_session(&session);
    open_session(&session, "omp", &(training_t){4, 1, 0.01}); /* no test point */
    assert_null(strstr(session.results_json, "test_loss"));
    close_session(&session);
}

static void test_cost_and_constants(void **state) {
    const workload_t *workload = workload_find("linreg_train");
    case_t spec = workload_defaults(workload);
    workload_cost_t cost = workload->cost(&spec);
    assert_near(cost.bytes, 8 * 4e6, 0);
    assert_near(cost.working_set_bytes, 8 * 4e6, 0);
    assert_near(cost.further_passes, 199, 0);
    assert_near(cost.device_bytes, 8 * 5e6, 0);
    assert_near(cost.flops, 4e6 * (6 * 200 + 2 * 20), 0);
    assert_near(workload->tolerance(&spec), 5e-6, 0);
    check_constants("linreg_train", &spec,
                    "POINTS=5000000 N_TRAIN=4000000 N_TEST=1000000 EPOCHS=200 "
                    "LOSS_EVERY=10 RATE=0.01");
    case_free(&spec);
}

/* ---- The points of linreg_train on the CPU against the known ones, and who shares them. */

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

#define GROUP_SET_UP read_fixture
#define GROUP_TEAR_DOWN free_fixture
#include "run_tests.h"
