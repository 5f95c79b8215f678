/* How rungs of operators are launched: host and device share the tables by layout alone, and what may be launched where. */
#include "checks.h"
#include "read_text.h"
#include "workloads/common/gpu_sample.h"
#include "workloads/described/launches.h"

/* What is between `opening` and '}', without comments and blanks. */
static char *fields(const char *path, const char *opening) {
    char *text = read_text(path), *from = strstr(text, opening);
    if (from == NULL)
        fail_msg("%s: no \"%s\"", path, opening);
    from = strchr(from, '{') + 1;
    char *body = mem_text_n(from, strcspn(from, "}")), *to = body;
    for (const char *at = body; *at != '\0'; at++) {
        if (text_starts(at, "//"))
            at += strcspn(at, "\n");
        else if (strchr(" \n", *at) == NULL)
            *to++ = *at;
    }
    *to = '\0';
    free(text);
    return body;
}

/* "described_text<64>grid[3];" as what it holds: "chargrid[3][64];". Frees `fields`. */
static char *without_templates(char *fields) {
    static const char TEXT[] = "described_text<";
    for (char *at; (at = strstr(fields, TEXT)) != NULL;) {
        const char *size = at + strlen(TEXT), *name = strchr(size, '>') + 1,
                   *end = strchr(name, ';');
        char *next = mem_format("%.*schar%.*s[%.*s]%s", (int)(at - fields), fields,
                                (int)(end - name), name, (int)(name - 1 - size), size, end);
        free(fields);
        fields = next;
    }
    return fields;
}

/* The same struct for host and device, but for the spelling of types. */
static void compare_structs(const char *host_path, const char *device_path, const char *name) {
    static const char HOSTS[] = "uint32_t", DEVICES[] = "unsigned";
    AUTO_FREE char *opening = mem_format("struct %s {", name), *host = fields(host_path, opening),
                   *device = without_templates(fields(device_path, opening));
    for (char *at = host; (at = strstr(at, HOSTS)) != NULL;)
        memcpy(at, DEVICES, strlen(HOSTS));
    assert_string_equal(host, device);
}

static void test_tables_of_host_and_device(void **state) {
    compare_structs("bench/workloads/described/launches.h", "kernels/common/workload.cuh",
                    "described_launch");
    compare_structs("bench/workloads/described/tensor_maps.h", "kernels/common/tensor_maps.cuh",
                    "described_tensor_map");
    compare_structs("bench/workloads/described/temporaries.h", "kernels/common/workload.cuh",
                    "described_temporary");
    AUTO_FREE char *header = read_text("kernels/common/workload.cuh"),
                   *size = mem_format("workspace_bytes[%d]", WORKSPACE_TEXT);
    assert_has(header, size);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static described_values_t *values_of(int64_t n) {
    static described_values_t values;
    static const int64_t ITEMSIZES[ELEMENT_LETTERS] = {['T' - 'A'] = 4};
    values = (described_values_t){.params = {n, 132}, .names = {"n", "sm_count"}};
    values.scope =
        (scope_t){.names = values.names, .values = values.params, .n = 2, .itemsizes = ITEMSIZES};
    return &values;
}

static void test_sizes(void **state) {
    const described_launch_t launch = {.entry = "k",
                                       .grid = {"ceil_div(n, 8) * 2", "sm_count"},
                                       .threads = {"64", "n % 7 + 1"},
                                       .shared = "itemsize(T) * n",
                                       .cluster = {"2"}};
    launch_size_t size;
    assert_ok(launches_size(&launch, values_of(1000), 90, &size, &err));
    const launch_size_t expected = {.grid = {250, 132, 1},
                                    .threads = {64, 7, 1},
                                    .shared = 4000,
                                    .cluster = {2, 1, 1},
                                    .every = 1};
    assert_memory_equal(&size, &expected, sizeof size);
}

typedef struct refused {
    described_launch_t launch;
    unsigned arch;
    const char *message;
} refused_t;

static const refused_t REFUSED[] = {
    {{.grid = {"n - 5"}}, 90, "grid.x: \"n - 5\" is 0, expected 1 to 2147483647"},
    {{.grid = {"1", "", "65536"}}, 90, "grid.z: \"65536\" is 65536, expected 1 to 65535"},
    {{.threads = {"1", "1", "65"}}, 90, "threads.z: \"65\" is 65, expected 1 to 64"},
    {{.threads = {"1025"}}, 90, "threads.x: \"1025\" is 1025, expected 1 to 1024"},
    {{.threads = {"128", "9"}}, 90, "1152 threads per block, at most 1024 are possible"},
    {{.shared = "227 * 1024 + 1"},
     90,
     "shared: \"227 * 1024 + 1\" is 232449 bytes, expected 0 to 232448 (sm_90)"},
    {{.shared = "99 * 1024 + 1"},
     86,
     "shared: \"99 * 1024 + 1\" is 101377 bytes, expected 0 to 101376 (sm_86)"},
    {{.shared = "-n"}, 90, "shared: \"-n\" is -5 bytes, expected 0 to 232448 (sm_90)"},
    {{.grid = {"4"}, .cluster = {"2"}}, 89, "clusters need sm_90; this is sm_89"},
    {{.grid = {"5"}, .cluster = {"2"}}, 90, "grid.x = 5 is not a multiple of cluster.x = 2"},
    {{.grid = {"32", "2"}, .cluster = {"16", "2"}},
     90,
     "32 blocks per cluster, at most 16 are possible"},
    {{.every = "n - 6"}, 90, "every: \"n - 6\" is -1, expected 0 to 1000000"},
    {{.index = "n - 5"}, 90, "index: \"n - 5\" is 0, expected 1 to 1000000"},
};

static void test_sizes_that_are_not_possible(void **state) {
    for (size_t i = 0; i < COUNT_OF(REFUSED); i++) {
        described_launch_t launch = REFUSED[i].launch;
        launch_size_t size;
        error_t err = ERROR_INIT;
        strcpy(launch.entry, "k");
        assert_int_equal(launches_size(&launch, values_of(5), REFUSED[i].arch, &size, &err),
                         STATUS_FAILED);
        assert_text(mem_format("kernel \"k\": %s", REFUSED[i].message), err.text);
    }
}

static void test_workspace(void **state) {
    launches_t launches = {.workspace = ""};
    size_t bytes = 1;
    assert_ok(launches_workspace(&launches, values_of(5), &bytes, &err));
    assert_int_equal(bytes, 0);
    strcpy(launches.workspace, "8 * sm_count");
    assert_ok(launches_workspace(&launches, values_of(5), &bytes, &err));
    assert_int_equal(bytes, 1056);
    strcpy(launches.workspace, "n - 6");
    assert_fails(launches_workspace(&launches, values_of(5), &bytes, &err), STATUS_FAILED,
                 "WORKSPACE: \"n - 6\" is -1 bytes");
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Each expected: step, launch, index. */
static void expect_order(const launch_size_t *sizes, size_t n, size_t steps,
                         const int expected[][3], size_t n_expected) {
    launch_place_t place = LAUNCH_FIRST;
    for (size_t i = 0; i < n_expected; i++) {
        assert_true(launches_next(sizes, n, steps, &place));
        const int found[] = {place.step, (int)place.launch, place.index};
        assert_memory_equal(found, expected[i], sizeof found);
    }
    assert_false(launches_next(sizes, n, steps, &place));
}

static void test_order_of_a_training(void **state) {
    const launch_size_t sizes[] = {
        {.every = 2}, {.every = 1, .repeat = 2}, {.every = 3}, {.every = 0}};
    static const int EXPECTED[][3] = {{0, 0, 0}, {0, 1, 0}, {0, 1, 1}, {0, 2, 0}, {1, 1, 0},
                                      {1, 1, 1}, {2, 0, 0}, {2, 1, 0}, {2, 1, 1}, {2, 3, 0}};
    expect_order(sizes, COUNT_OF(sizes), 3, EXPECTED, COUNT_OF(EXPECTED));
}

static void test_launches_in_turn(void **state) {
    const launch_size_t sizes[] = {{.every = 1, .repeat = 2},
                                   {.every = 2, .repeat = 2, .in_turn = true},
                                   {.every = 1, .repeat = 2, .in_turn = true},
                                   {.every = 1},
                                   {.every = 1, .repeat = 1},
                                   {.every = 1, .repeat = 1, .in_turn = true}};
    static const int EXPECTED[][3] = {
        {0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {0, 3, 0}, {0, 4, 0},
        {0, 5, 0}, {1, 0, 0}, {1, 2, 0}, {1, 0, 1}, {1, 2, 1}, {1, 3, 0}, {1, 4, 0}, {1, 5, 0}};
    expect_order(sizes, COUNT_OF(sizes), 2, EXPECTED, COUNT_OF(EXPECTED));
}

/* Of a training a graph has many nodes, which must not take seconds to prepare. */
static void test_batches(void **state) {
    assert_int_equal(gpu_batch_launches(5000, 1), 256);
    assert_int_equal(gpu_batch_launches(54000, 1), 8);
    assert_int_equal(gpu_batch_launches(5000, 1000), 16);
    assert_int_equal(gpu_batch_launches(5000, 100000), 2);
}

static void launches_of_a_kernel_have_one_number(void **state) {
    static const char *const ENTRIES[] = {"forward", "loss", "forward", "update", "loss"};
    static const size_t EXPECTED[] = {0, 1, 0, 2, 1};
    launches_t launches = {.n = COUNT_OF(ENTRIES)};
    size_t number[MOST_LAUNCHES];
    for (size_t i = 0; i < launches.n; i++)
        snprintf(launches.items[i].entry, sizeof launches.items[i].entry, "%s", ENTRIES[i]);
    assert_int_equal(launches_kernels(&launches, number), 3);
    for (size_t i = 0; i < launches.n; i++)
        assert_int_equal(number[i], EXPECTED[i]);
}

#include "run_tests.h"
