/* Sweeps as data: what tests/fixtures/invalid_sweeps.txt holds must be refused,
 * sweeps_valid/NAME.json must expand to the ids in NAME.expected. Both run against the small ladder
 * in tests/fixtures/sweep_root. */
#include "checks.h"
#include "refusals.h"
#include "sweep/sweep.h"
#include "temporary_folder.h"

#define FIXTURES "tests/fixtures/"

static const char ROOT[] = FIXTURES "sweep_root";

static char *ids_text(const sweep_t *sweep) {
    AUTO(text_list_free) text_list_t ids = {0};
    for (size_t i = 0; i < sweep->n_cases; i++)
        text_list_add(&ids, sweep->cases[i].id);
    char *joined = text_list_join(&ids, "\n"), *text = mem_format("%s\n", joined);
    free(joined);
    return text;
}

static status_t load_invalid(const char *path, error_t *err) {
    sweep_t sweep;
    status_t status = sweep_load(path, ROOT, &sweep, err);
    if (status != STATUS_OK && (sweep.cases != NULL || sweep.text != NULL))
        fail_msg("%s: something is left to free", path);
    return status;
}

static void test_invalid_sweeps(void **state) {
    check_refusals(FIXTURES "invalid_sweeps.txt", load_invalid);
}

static text_list_t names_in(const char *folder) {
    text_list_t names = {0};
    assert_ok(fs_list(folder, ".json", &names, &err));
    assert_true(names.n > 0);
    return names;
}

static void test_valid_sweeps(void **state) {
    static const char FOLDER[] = FIXTURES "sweeps_valid";
    AUTO(text_list_free) text_list_t names = names_in(FOLDER);
    for (size_t i = 0; i < names.n; i++) {
        AUTO_FREE char *path = fs_join(FOLDER, names.items[i]);
        AUTO_FREE char *expected_path = mem_format("%.*s.expected", (int)strcspn(path, "."), path);
        AUTO_FREE char *expected = read_text(expected_path);
        AUTO(sweep_free) sweep_t sweep;
        assert_ok(sweep_load(path, ROOT, &sweep, &err));
        AUTO_FREE char *ids = ids_text(&sweep);
        assert_string_equal(ids, expected);
    }
}

static void load(const char *path, const char *root, sweep_t *sweep) {
    assert_ok(sweep_load(path, root, sweep, &err));
}

static void test_everything_is_kept(void **state) {
    static const char PATH[] = FIXTURES "sweeps_valid/everything.json";
    AUTO(sweep_free) sweep_t sweep;
    load(PATH, ROOT, &sweep);
    AUTO_FREE char *text = read_text(PATH);
    assert_string_equal(sweep.text, text);
    assert_string_equal(sweep.path, PATH);
    assert_string_equal(sweep.name, "everything");
    assert_ptr_equal(sweep.workload, workload_find("mlp_infer"));
    assert_int_equal(sweep.measure.passes, 8);
    assert_int_equal(sweep.measure.least_passes, 8); /* a number is exact */
    assert_near(sweep.measure.precision_frac, 0.03, 0);
    assert_near(sweep.measure.device_precision_frac, 0.004, 0);
    assert_near(sweep.measure.time_limit_s, 3.5, 0);
    assert_near(sweep.measure.round_s, 0.25, 0);
    assert_int_equal(sweep.measure.min_rounds, 7);
    assert_int_equal(sweep.measure.min_samples, 11);
    assert_int_equal(sweep.arch.n, 2);
    assert_string_equal(sweep.arch.items[1], "sm_90a");
    assert_int_equal(sweep.charts.n, 2);
    assert_string_equal(sweep.charts.items[0], "ladder");
}

static void test_defaults(void **state) {
    AUTO(sweep_free) sweep_t sweep;
    load(FIXTURES "sweeps_valid/smallest.json", ROOT, &sweep);
    const measure_options_t by_default = MEASURE_DEFAULTS;
    assert_int_equal(sweep.measure.passes, 12);
    assert_int_equal(sweep.measure.least_passes, 5);
    size_t n_keys;
    const measure_key_t *keys = sweep_measure_keys(&n_keys);
    for (size_t i = 0; i < n_keys; i++)
        assert_memory_equal((const char *)&sweep.measure + keys[i].field,
                            (const char *)&by_default + keys[i].field,
                            keys[i].kind == VALUE_INT ? sizeof(unsigned) : sizeof(double));
    assert_int_equal(sweep.arch.n, 1);
    assert_string_equal(sweep.arch.items[0], "native");
    assert_int_equal(sweep.charts.n, 0);
    assert_int_equal(sweep.n_cases, 1);
    const case_t *spec = &sweep.cases[0];
    assert_string_equal(spec->device, "cpu");
    assert_string_equal(spec->dtype, "f32");
    assert_int_equal(spec->n_params, 2);
    assert_int_equal(spec->n_techniques, 0);
    assert_int_equal(case_param_int(spec, "batch", -1), 64);
}

static void test_groups_are_contiguous(void **state) {
    AUTO(sweep_free) sweep_t sweep;
    load("sweeps/mlp_infer.json", ".", &sweep);
    AUTO(text_list_free) text_list_t seen = {0};
    for (size_t i = 0; i < sweep.n_cases; i++) {
        AUTO_FREE char *group = workload_group(sweep.workload, &sweep.cases[i]);
        bool starts = seen.n == 0 || strcmp(seen.items[seen.n - 1], group) != 0;
        if (starts) {
            assert_false(text_list_has(&seen, group));
            text_list_add(&seen, group);
        }
    }
    assert_in_range(seen.n, 2, sweep.n_cases - 1);
}

static void refuse_left_out(const char *why) {
    fail_msg("%s", why);
}

/* Every sweep that comes with the project loads against the project's own kernels. */
static void test_own_sweeps(void **state) {
    AUTO(text_list_free) text_list_t names = names_in("sweeps");
    size_t n_loaded = 0;
    workload_search_described(".", refuse_left_out);
    for (size_t i = 0; i < names.n; i++) {
        if (strcmp(names.items[i], "schema.json") == 0)
            continue;
        AUTO_FREE char *path = fs_join("sweeps", names.items[i]), *stem = fs_stem(names.items[i]);
        AUTO(sweep_free) sweep_t sweep;
        load(path, ".", &sweep);
        assert_true(sweep.n_cases > 0);
        assert_string_equal(sweep.name, stem); /* results and charts are found by the file's name */
        n_loaded++;
    }
    assert_true(n_loaded >= 2);
}

/* What runs on a GPU first; with --quick what compiles, JAX and eager calls on a GPU after the rest. */
static void test_the_order_of_measuring(void **state) {
    static const char *const TEXT =
        "{\"schema\": 1, \"name\": \"order\", \"workload\": \"mlp_infer\", \"axes\": {\"batch\": "
        "[1, 2]},"
        " \"contenders\": [{\"engine\": \"cpu\", \"variants\": [\"omp\"]}, {\"engine\": "
        "\"pytorch\","
        " \"device\": [\"cuda\", \"cpu\"], \"variants\": [\"compile\", \"eager\", \"inference\"]},"
        " {\"engine\": \"jax\", \"device\": [\"cuda\"], \"variants\": [\"jit\"]}]}";
    static const char *const EXPECTED[] = {
        "cuda compile 1, cuda eager 1, cuda inference 1, cuda jit 1, "
        "cuda compile 2, cuda eager 2, cuda inference 2, cuda jit 2, "
        "cpu omp 1, cpu compile 1, cpu eager 1, cpu inference 1, "
        "cpu omp 2, cpu compile 2, cpu eager 2, cpu inference 2",
        "cuda inference 1, cuda inference 2, "
        "cuda compile 1, cuda eager 1, cuda jit 1, cuda compile 2, cuda eager 2, cuda jit 2, "
        "cpu omp 1, cpu eager 1, cpu inference 1, cpu omp 2, cpu eager 2, cpu inference 2, "
        "cpu compile 1, cpu compile 2"};
    for (unsigned quick = 0; quick < 2; quick++) {
        AUTO(sweep_free) sweep_t sweep;
        assert_ok(sweep_parse("order.json", TEXT, ROOT, &sweep, &err));
        sweep_order(&sweep, quick == 1);
        AUTO(text_list_free) text_list_t found = {0};
        unsigned turn = 0;
        for (size_t i = 0; i < sweep.n_cases; i++) {
            const case_t *spec = &sweep.cases[i];
            assert_in_range(case_turn(spec, quick == 1), turn, 3);
            turn = case_turn(spec, quick == 1);
            text_list_add_format(&found, "%s %s %lld", spec->device, spec->variant,
                                 (long long)case_param(spec, "batch")->integer);
        }
        assert_text(text_list_join(&found, ", "), EXPECTED[quick]);
    }
}

static void test_missing_file_and_nul(void **state) {
    sweep_t sweep;
    assert_fails_with(sweep_load("no/such/sweep.json", ROOT, &sweep, &err), STATUS_USAGE,
                      "no/such/sweep.json");

    AUTO_FREE char *folder = temporary_folder();
    AUTO_FREE char *path = fs_join(folder, "nul.json");
    assert_ok(fs_write_atomic(path, "{}\0{}", 5, &err));
    assert_fails_with(sweep_load(path, ROOT, &sweep, &err), STATUS_USAGE,
                      "nul.json: found a NUL byte at offset 2");
    assert_ok(fs_remove_tree(folder, &err));
}

/* No workload has a real parameter yet, so the reader is tried by itself. */
static void test_real_params_stay_real(void **state) {
    const param_spec_t rate = {.name = "rate", .kind = VALUE_REAL, .min = 0, .max = 1};
    json_auto_t *json = json_loads("[1, 0.25, 1.5]", 0, NULL);
    node_t list = node_root("x.json", json);
    value_t value;
    const double expected[] = {1, 0.25};
    for (size_t i = 0; i < 2; i++) {
        node_t item = node_item(&list, i);
        assert_ok(node_param(&item, &rate, &value, &err));
        assert_int_equal(value.kind, VALUE_REAL);
        assert_near(value.real, expected[i], 0);
    }
    node_t item = node_item(&list, 2);
    assert_fails(node_param(&item, &rate, &value, &err), STATUS_USAGE,
                 "x.json: $[2]: found real 1.5, expected a number 0…1");
}

#include "run_tests.h"
