/* The table of conditions: what must agree in runs that are compared, in boots, in parts of a run. */
#include "checks.h"
#include "results/conditions.h"

enum { NEVER = RESUMED + 1, IN_BOOTS };

/* A fact that differs, or that one run lacks: from which relation on is that a difference? */
static const struct {
    const char *key;
    int differs, lacks; /* relation_t; NEVER; IN_BOOTS: only there */
    bool code;
    bool is_in_all_parts; /* or in none */
} FACTS[] = {
    {"gpu.name", COMPARED, COMPARED, false, false},
    {"gpu.driver", COMPARED, COMPARED, false, false},
    {"gpu.mig", COMPARED, COMPARED, false, false},
    {"gpu.ecc", COMPARED, COMPARED, false, false},
    {"host.cpu", COMPARED, COMPARED, false, false},
    {"measure.mode", COMPARED, COMPARED, false, false},
    {"measure.lock_clocks.locked_mhz", COMPARED, COMPARED, false, true},
    {"versions.pytorch", BOOTS, NEVER, true, false},
    {"versions.cuda_compiler", BOOTS, BOOTS, true, false},
    {"git.changes", PARTS, NEVER, true, false},
    {"git.revision", PARTS, NEVER, true, false},
    {"git.folder.changes", PARTS, NEVER, true, false},
    {"workers.pytorch-cuda.torch", BOOTS, NEVER, true, false},
    {"workers.cpu.openmp_threads", BOOTS, NEVER, false, false},
    {"workers.pytorch-cpu.threads", BOOTS, NEVER, false, false},
    {"operators.softmax", BOOTS, NEVER, true, false},
    {"gpu.power_limit_w", BOOTS, BOOTS, false, false},
    {"measure.quick", BOOTS, BOOTS, false, true},
    {"measure.isolate", BOOTS, BOOTS, false, false},
    {"measure.devices", PARTS, PARTS, false, true},
    {"measure.lock_clocks.reason", PARTS, NEVER, false, false},
    {"host.name", NEVER, NEVER, false, false},
    {"host.cpus", IN_BOOTS, NEVER, false, false},
    {"host.governor", IN_BOOTS, NEVER, false, false},
    {"gpu.uuid", NEVER, NEVER, false, false},
    {"measured.copy_bytes_per_s", NEVER, NEVER, false, false},
    {"of a later version", NEVER, NEVER, false, false},
};
enum { N_FACTS = COUNT_OF(FACTS) };

static bool begins(int from, int relation) {
    return from == IN_BOOTS ? relation == BOOTS : relation >= from;
}

static environment_t with(const char *key, const char *value) {
    environment_t env = {0};
    environment_set(&env, key, value);
    return env;
}

static size_t count_broken(const environment_t *a, const environment_t *b, relation_t relation) {
    AUTO(conditions_free) run_differences_t list = conditions_broken(a, b, relation);
    const size_t n = list.n;
    return n;
}

static void test_relations_are_nested(void **state) {
    for (size_t i = 0; i < N_FACTS; i++) {
        environment_t one = with(FACTS[i].key, "1"), other = with(FACTS[i].key, "2-3"), none = {0};
        for (int relation = COMPARED; relation <= RESUMED; relation++) {
            const bool differs = count_broken(&one, &other, (relation_t)relation) == 1;
            const bool lacks = count_broken(&none, &one, (relation_t)relation) == 1;
            const bool is_new = count_broken(&one, &none, (relation_t)relation) == 1;
            /* Parts may lack what one of them has no use for; of a machine that goes on not all is known yet. */
            const bool must_have = relation < PARTS || strstr(FACTS[i].key, "mode") != NULL ||
                                   (relation == PARTS && FACTS[i].is_in_all_parts);
            if (differs != begins(FACTS[i].differs, relation))
                fail_msg("%s: relation %d, differs: %d", FACTS[i].key, relation, differs);
            if (lacks != (relation >= FACTS[i].lacks && must_have) || lacks != is_new)
                fail_msg("%s: relation %d, lacks: %d", FACTS[i].key, relation, lacks);
            assert_int_equal(count_broken(&one, &one, (relation_t)relation), 0);
        }
        assert_int_equal(condition_is_of_code(FACTS[i].key), FACTS[i].code);
        environment_free(&one);
        environment_free(&other);
    }
}

/* What may differ in runs that are compared is named; nothing else is. */
static void test_the_rest_is_named(void **state) {
    for (size_t i = 0; i < N_FACTS; i++) {
        AUTO(environment_free)
        environment_t one = with(FACTS[i].key, "100"), other = with(FACTS[i].key, "102");
        run_differences_t list = conditions_changed(&one, &other);
        const bool measured = strncmp(FACTS[i].key, "measured.", 9) == 0; /* 2 % apart is nothing */
        assert_int_equal(list.n, FACTS[i].differs != COMPARED && !measured);
        conditions_free(&list);
    }
    environment_t slow = with("measured.copy_bytes_per_s", "90"),
                  fast = with("measured.copy_bytes_per_s", "100"), pair = with("measure.pair", "a"),
                  none = {0};
    AUTO(conditions_free) run_differences_t list = conditions_changed(&slow, &fast);
    assert_int_equal(list.n, 1);
    assert_text(run_difference_text(&list.items[0]), "measured.copy_bytes_per_s: 90 → 100");
    conditions_free(&list);
    list = conditions_changed(&pair, &none);
    assert_int_equal(list.n, 0);
    environment_free(&slow);
    environment_free(&fast);
    environment_free(&pair);
}

/* Slurm gives a job the cores that are free: which they are is no condition, how many is. */
static void test_boots_have_as_many_cores(void **state) {
    AUTO(environment_free)
    environment_t base = with("host.cpus", "0-3,8"), moved = with("host.cpus", "1,4-7"),
                  fewer = with("host.cpus", "0-3");
    assert_int_equal(count_broken(&base, &moved, BOOTS), 0);
    assert_int_equal(count_broken(&base, &fewer, BOOTS), 1);
    assert_int_equal(count_broken(&base, &fewer, PARTS), 0);
    AUTO(conditions_free) run_differences_t list = conditions_changed(&base, &moved);
    assert_int_equal(list.n, 1);
}

static void test_what_machines_differ_in(void **state) {
    assert_true(condition_is_of_machine("host.name"));
    assert_true(condition_is_of_machine("host.load"));
    assert_true(condition_is_of_machine("gpu.uuid"));
    assert_false(condition_is_of_machine("host.cores"));
    assert_false(condition_is_notable(100, 98));
    assert_true(condition_is_notable(90, 100));
    assert_false(condition_is_notable(NAN, 100));
}

static void test_older_runs_are_steady(void **state) {
    environment_t older = {0}, steady = with("measure.mode", "steady"),
                  cold = with("measure.mode", "cold");
    assert_int_equal(count_broken(&older, &steady, COMPARED), 0);
    assert_int_equal(count_broken(&older, &cold, COMPARED), 1);
    environment_free(&steady);
    environment_free(&cold);
}

/* A locked clock that is null in run.json is none. */
static void test_null_is_none(void **state) {
    environment_t none = {0}, null = {0};
    environment_set_number(&null, "measure.lock_clocks.locked_mhz", NAN);
    assert_int_equal(count_broken(&none, &null, COMPARED), 0);
    assert_int_equal(count_broken(&null, &none, PARTS), 0);
    environment_free(&null);
}

static void test_names_are_those_of_both_tables(void **state) {
    static const char *const NAMES[] = {"gpu", "mode", "locked-clock", "params", "trust", "clock"};
    AUTO(text_list_free) text_list_t names = conditions_names();
    for (size_t i = 0; i < COUNT_OF(NAMES); i++)
        assert_true(text_list_has(&names, NAMES[i]));
    assert_false(text_list_has(&names, "unit"));
}

#include "run_tests.h"
