/* Temporaries of rungs: when they are held, who shares memory with whom, and from whom it comes. */
#include "checks.h"
#include "workloads/described/temporaries.h"

static described_values_t *values_of(int64_t n) {
    static described_values_t values;
    values = (described_values_t){.params = {n, 132}, .names = {"n", "sm_count", "i"}};
    values.scope = (scope_t){.names = values.names, .values = values.params, .n = 2};
    return &values;
}

/* a … d; c may start before b ends, and so may d, without the c that is in every other step only. */
static const launches_t
    PLAIN = {.items = {{.entry = "a"}, {.entry = "b"}, {.entry = "c"}, {.entry = "a"}}, .n = 4},
    OVERLAPPED = {.items = {{.entry = "a"},
                            {.entry = "b"},
                            {.entry = "c", .every = "2"},
                            {.entry = "d", .overlaps = 1},
                            {.entry = "e"}},
                  .n = 5};

static const launch_size_t ONCE[5] = {
    {.every = 1}, {.every = 1}, {.every = 1}, {.every = 1}, {.every = 1}};

static status_t size_of(const described_temporary_t *temporary, temporary_size_t *size,
                        error_t *err) {
    const temporaries_t temporaries = {.items = {*temporary}, .n = 1};
    size_t all_bytes;
    return temporaries_size(&temporaries, &PLAIN, ONCE, values_of(5), size, &all_bytes, err);
}

static void test_first_and_last(void **state) {
    static const struct {
        const char *first, *last;
        size_t from, to;
    } FOUND[] = {{"b", "", 1, 1}, {"a", "", 0, 3},  {"a", "a", 0, 3},
                 {"0", "", 0, 0}, {"3", "a", 3, 3}, {"b", "2", 1, 2}};
    for (size_t i = 0; i < COUNT_OF(FOUND); i++) {
        described_temporary_t temporary = {.name = "t", .bytes = "8 * sm_count"};
        temporary_size_t sizes[MOST_HELD];
        strcpy(temporary.first, FOUND[i].first);
        strcpy(temporary.last, FOUND[i].last);
        assert_ok(size_of(&temporary, sizes, &err));
        assert_int_equal(sizes[0].bytes, 1056);
        assert_int_equal(sizes[0].first, FOUND[i].from);
        assert_int_equal(sizes[0].last, FOUND[i].to);
    }
}

static void test_refused(void **state) {
    static const struct {
        described_temporary_t temporary;
        const char *message;
    } REFUSED[] = {
        {{"t", "n - 6", "a", "", 0},
         "TEMPORARIES[0] (t): bytes: \"n - 6\" is -1, expected 0 to 1099511627776"},
        {{"t", "2 ** 40 + 1", "a", "", 0},
         "TEMPORARIES[0] (t): bytes: \"2 ** 40 + 1\" is 1099511627777, expected 0 to "
         "1099511627776"},
        {{"t", "n", "4", "", 0},
         "TEMPORARIES[0] (t): first: found \"4\", expected a kernel of LAUNCHES, or a number from "
         "0 to 3"},
        {{"t", "n", "c", "b", 0},
         "TEMPORARIES[0] (t): last: found \"b\", launch 1, expected launch 2 (\"c\") or a later "
         "one"}};
    for (size_t i = 0; i < COUNT_OF(REFUSED); i++) {
        temporary_size_t sizes[MOST_HELD];
        assert_fails(size_of(&REFUSED[i].temporary, sizes, &err), STATUS_FAILED,
                     REFUSED[i].message);
    }
}

static void test_incomplete_tables(void **state) {
    temporaries_t temporaries;
    described_temporary_t table[] = {{"t", "n", "a", "", 0}, {"u", "n", "a", "", 0}};
    assert_ok(temporaries_take(table, sizeof table, &temporaries, &err));
    assert_int_equal(temporaries.n, 2);
    assert_fails(temporaries_take(table, sizeof table - 1, &temporaries, &err), STATUS_FAILED,
                 "its TEMPORARIES take 519 bytes; expected 1 to 32 of 260 bytes");
    memset(table[1].last, 'x', sizeof table[1].last);
    assert_fails(temporaries_take(table, sizeof table, &temporaries, &err), STATUS_FAILED,
                 "its TEMPORARIES[1] lacks a name, bytes, or the end of a text");
}

/* Memory of one that was given back, unless the next launch may start before its last one ends. */
static void test_who_shares_memory(void **state) {
    const temporaries_t temporaries = {.items = {{"s", "1000", "a", "b", 0},
                                                 {"t", "600", "d", "", 0},
                                                 {"u", "1000", "e", "", 0},
                                                 {"v", "0", "a", "e", 0}},
                                       .n = 4};
    temporary_size_t sizes[MOST_HELD];
    size_t all_bytes;
    assert_ok(
        temporaries_size(&temporaries, &OVERLAPPED, ONCE, values_of(5), sizes, &all_bytes, &err));
    assert_int_equal(all_bytes, 2048);
    assert_int_equal(sizes[0].last, 3);
    assert_true(sizes[0].offset + 1024 <= sizes[1].offset ||
                sizes[1].offset + 1024 <= sizes[0].offset);
    assert_int_equal(sizes[2].last, 4);
    assert_false(temporary_is_held(&sizes[3], 2));
}

/* The second launch may start before the step before ends, if the first is not in its step. */
static void test_steps_that_overlap(void **state) {
    static const launches_t LAUNCHES = {
        .items = {{.entry = "a", .every = "2"}, {.entry = "b", .overlaps = 1}, {.entry = "c"}},
        .n = 3};
    const temporaries_t temporaries = {
        .items = {{"s", "512", "b", "", 0}, {"t", "512", "c", "", 0}}, .n = 2};
    temporary_size_t sizes[MOST_HELD];
    size_t all_bytes;
    assert_ok(
        temporaries_size(&temporaries, &LAUNCHES, ONCE, values_of(5), sizes, &all_bytes, &err));
    assert_int_equal(all_bytes, 1024);
    for (size_t launch = 0; launch < 3; launch++)
        assert_true(temporary_is_held(&sizes[0], launch) && temporary_is_held(&sizes[1], launch));
}

/* Launch a once, b and c in turn twice, d once: positions 0 … 5. */
static const launches_t IN_TURN = {.items = {{.entry = "a"},
                                             {.entry = "b", .index = "2"},
                                             {.entry = "c", .index = "2", .in_turn = 1},
                                             {.entry = "d"}},
                                   .n = 4};
static const launch_size_t TURNS[] = {
    {.every = 1}, {.every = 1, .repeat = 2}, {.every = 1, .repeat = 2, .in_turn = 1}, {.every = 1}};

static void test_lists(void **state) {
    const temporaries_t temporaries = {.items = {{"s", "512 * (i + 1)", "b[i]", "c[1 - i + i]", 2},
                                                 {"t", "512", "b", "c", 0},
                                                 {"u", "512", "c[0]", "2[0]", 0}},
                                       .n = 3};
    static const struct {
        size_t bytes, first, last;
        bool starts;
    } EXPECTED[] = {{512, 1, 4, true}, {1024, 3, 4, false}, {512, 1, 4, true}, {512, 2, 2, true}};
    temporary_size_t sizes[MOST_HELD];
    size_t all_bytes;
    assert_int_equal(temporaries_count(&temporaries), 4);
    assert_ok(
        temporaries_size(&temporaries, &IN_TURN, TURNS, values_of(5), sizes, &all_bytes, &err));
    for (size_t i = 0; i < COUNT_OF(EXPECTED); i++) {
        assert_int_equal(sizes[i].bytes, EXPECTED[i].bytes);
        assert_int_equal(sizes[i].first, EXPECTED[i].first);
        assert_int_equal(sizes[i].last, EXPECTED[i].last);
        assert_int_equal(sizes[i].starts, EXPECTED[i].starts);
    }
}

static void test_lists_that_are_refused(void **state) {
    static const struct {
        described_temporary_t temporary;
        const char *message;
    } WRONG[] = {{{"t", "4", "b[i]", "c[1]", 3},
                  "TEMPORARIES[0] (t): first: \"b[i]\": index 2, expected 0 to 1"},
                 {{"t", "4", "a", "d[1]", 0},
                  "TEMPORARIES[0] (t): last: \"d[1]\": index 1, expected 0 to 0"}};
    for (size_t i = 0; i < COUNT_OF(WRONG); i++) {
        const temporaries_t temporaries = {.items = {WRONG[i].temporary}, .n = 1};
        temporary_size_t sizes[MOST_HELD];
        size_t all_bytes;
        assert_fails(
            temporaries_size(&temporaries, &IN_TURN, TURNS, values_of(5), sizes, &all_bytes, &err),
            STATUS_FAILED, WRONG[i].message);
    }
}

/* A launch that overlaps and waits before it writes does not keep what came before. */
static void test_temporaries_after_waits(void **state) {
    launches_t launches = OVERLAPPED;
    const temporaries_t temporaries = {.items = {{"s", "512", "a", "b", 0}}, .n = 1};
    temporary_size_t sizes[MOST_HELD];
    size_t all_bytes;
    launches.temporaries_after_wait = true;
    assert_ok(
        temporaries_size(&temporaries, &launches, ONCE, values_of(5), sizes, &all_bytes, &err));
    assert_int_equal(sizes[0].last, 1);
}

/* ---- during a call ----------------------------------------------------------------------------- */

static char calls[256]; /* "+100" takes so many bytes, "-100" gives them back */
static size_t taken[8], n_taken;

static cu_result_t take(cu_pointer_t *at, size_t bytes) {
    taken[n_taken] = bytes;
    *at = ++n_taken;
    snprintf(calls + strlen(calls), sizeof calls - strlen(calls), " +%zu", bytes);
    return CU_SUCCESS;
}

static cu_result_t give_back(cu_pointer_t at) {
    snprintf(calls + strlen(calls), sizeof calls - strlen(calls), " -%zu", taken[at - 1]);
    return CU_SUCCESS;
}

static void run(temporaries_held_t *held, gpu_sample_t *sample) {
    static const size_t LAUNCHES[] = {0, 1, 2, 0, 2}; /* of two steps, the second without 1 */
    calls[0] = '\0';
    n_taken = 0;
    for (size_t i = 0; i < COUNT_OF(LAUNCHES); i++) {
        assert_ok(temporaries_change(held, sample, LAUNCHES[i], &err));
        for (size_t t = 0; t < held->n; t++)
            assert_true((held->at[t] != 0) == temporary_is_held(&held->sizes[t], LAUNCHES[i]));
    }
    assert_ok(temporaries_end(held, sample, &err));
}

static void test_a_call(void **state) {
    gpu_t gpu = {.api = {.alloc = take, .release = give_back}};
    gpu_array_t fixed = {.role = ARRAY_TEMPORARY};
    gpu_sample_t sample = {.gpu = &gpu, .alloc = ALLOC_MALLOC};
    temporaries_held_t held = {.sizes = {{.bytes = 100, .first = 0, .last = 1},
                                         {.bytes = 200, .first = 1, .last = 2, .offset = 512}},
                               .n = 2,
                               .fixed = &fixed};
    run(&held, &sample);
    assert_string_equal(calls, " +100 +200 -100 -200 +100 -100 +200 -200");
    fixed.current = 4096;
    run(&held, &sample);
    assert_string_equal(calls, "");
    assert_ok(temporaries_change(&held, &sample, 1, &err));
    assert_int_equal(held.at[0], 4096);
    assert_int_equal(held.at[1], 4608);
}

#include "run_tests.h"
