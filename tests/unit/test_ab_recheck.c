/* Which cases of a pair of runs are measured again, and how often. */
#include "checks.h"
#include "run/against/ab.h"

enum { MOST = 8 };

/* A comparison of cases with one cell each; `base` and `candidate` have so many passes. */
typedef struct fixture {
    comparison_t comparison;
    pair_t pairs[MOST];
    cell_t cells[MOST];
    sweep_cell_t tests[MOST];
    phase_t phases[MOST][2];
} fixture_t;

static void add(fixture_t *f, const char *id, pair_verdict_t verdict, size_t base,
                size_t candidate) {
    size_t i = f->comparison.n_pairs++;
    f->comparison.pairs = f->pairs;
    f->phases[i][0].n_passes = base;
    f->phases[i][1].n_passes = candidate;
    f->cells[i] =
        (cell_t){.base = &f->phases[i][0], .candidate = &f->phases[i][1], .test = &f->tests[i]};
    f->pairs[i] = (pair_t){.id = id, .verdict = verdict, .cells = &f->cells[i], .n_cells = 1};
}

static void check(const fixture_t *f, unsigned expected, const char *ids) {
    AUTO(text_list_free) text_list_t chosen = {0};
    unsigned more_passes = recheck_choose(&f->comparison, &chosen);
    AUTO_FREE char *joined = text_list_join(&chosen, " ");
    assert_string_equal(joined, ids);
    assert_int_equal(more_passes, expected);
}

static void test_only_what_is_undecided(void **state) {
    fixture_t f = {0};
    static const char *const IDS[PAIR_VERDICTS] = {
        "broken", "regressed", "undecided", "missing", "nothing", "improved", "new", "unchanged"};
    check(&f, 0, "");
    for (int verdict = 0; verdict < PAIR_VERDICTS; verdict++)
        add(&f, IDS[verdict], (pair_verdict_t)verdict, 8, 8);
    check(&f, 8, "undecided");
}

static void test_two_values_stay_undecided(void **state) {
    fixture_t f = {0};
    add(&f, "one", PAIR_UNDECIDED, 8, 8);
    add(&f, "two", PAIR_UNDECIDED, 8, 8);
    f.tests[0].gate.verdict = f.tests[1].gate.verdict = GATE_UNDECIDED;
    f.phases[1][0].bimodal.found = true;
    check(&f, 8, "one");
    f.tests[1].gate.verdict = GATE_UNCHANGED; /* then another cell is undecided */
    check(&f, 8, "one two");
}

/* A case that another phase decides, unless it is slower: more passes would not take that back. */
static void test_an_undecided_phase_is_measured_again(void **state) {
    static const pair_verdict_t VERDICTS[] = {PAIR_UNCHANGED, PAIR_IMPROVED, PAIR_REGRESSED};
    static const char *const IDS[] = {"unchanged", "improved", "regressed"};
    fixture_t f = {0};
    for (size_t i = 0; i < 3; i++) {
        add(&f, IDS[i], VERDICTS[i], 8, 8);
        f.tests[i].gate.verdict = GATE_UNDECIDED;
    }
    check(&f, 8, "unchanged improved");
}

/* What is looked at again has doubled, so that there are few looks. */
static void test_as_many_as_the_longest_has(void **state) {
    fixture_t f = {0};
    add(&f, "a", PAIR_UNDECIDED, 8, 8);
    check(&f, 8, "a");
    add(&f, "b", PAIR_UNDECIDED, 16, 15);
    check(&f, 16, "a b");
    add(&f, "long", PAIR_UNCHANGED, 32, 32); /* decided: nobody waits for it */
    check(&f, 16, "a b");
}

static void test_enough_is_enough(void **state) {
    fixture_t f = {0};
    add(&f, "a", PAIR_UNDECIDED, RECHECK_MOST_PASSES, RECHECK_MOST_PASSES);
    check(&f, 0, "");
    add(&f, "b", PAIR_UNDECIDED, 3, RECHECK_MOST_PASSES);
    check(&f, 0, "");
    add(&f, "c", PAIR_UNDECIDED, RECHECK_MOST_PASSES - 14, RECHECK_MOST_PASSES - 14);
    check(&f, 14, "c");
    f.pairs[0].verdict = f.pairs[1].verdict = PAIR_UNCHANGED;
    check(&f, 14, "c");
}

/* From any start the looks come to an end. */
static void test_looks_end(void **state) {
    for (size_t start = 2; start <= RECHECK_MOST_PASSES; start++) {
        size_t passes = start;
        int looks = 0;
        for (;;) {
            fixture_t f = {0};
            AUTO(text_list_free) text_list_t chosen = {0};
            add(&f, "a", PAIR_UNDECIDED, passes, passes);
            unsigned more_passes = recheck_choose(&f.comparison, &chosen);
            if (more_passes == 0)
                break;
            passes += more_passes;
            looks++;
        }
        assert_int_equal(passes, RECHECK_MOST_PASSES);
        assert_true(looks <= (start < 8 ? 5 : 3));
    }
}

#include "run_tests.h"
