/* How far times are vouched for: fresh samples, claims of workers, and what they may win. */
#include "analysis/contenders.h"
#include "checks.h"
#include "made_case.h"
#include "measure/contender.h"
#include "model/result.h"

static case_result_t make(double usual_ns, double fresh_ns) {
    AUTO(case_free) case_t spec = made_case("null", "mine", "cpu", "steady");
    spec.id = mem_text("null/mine-cpu/steady");
    case_result_t result;
    result_init(&result, &spec);
    result.pass = 1;
    phase_t *phase = result_add_phase(&result, "total", CLOCK_HOST);
    for (int r = 0; r < 5; r++) {
        phase_add_round(phase, (double[]){usual_ns, usual_ns}, 2);
        phase_add_fresh(phase, &(fresh_sample_t){fresh_ns + r, 0}, 1);
    }
    phase_summarise(phase);
    return result;
}

static void fresh_samples_are_no_part_of_any_figure(void **state) {
    AUTO(result_free) case_result_t result = make(1000, 5000);
    assert_int_equal(result.phases[0].n_samples, 10);
    assert_true(result.phases[0].summary.max == 1000);
    assert_int_equal(result.phases[0].n_fresh, 5);
}

static void slower_on_new_inputs_is_implausible(void **state) {
    static const struct {
        double usual_ns, fresh_ns;
        case_status_t status;
    } CASES[] = {{1000, 301500, CASE_OK},
                 {1000, 302500, CASE_IMPLAUSIBLE},
                 {1e6, 2.29e6, CASE_OK},
                 {1e6, 2.31e6, CASE_IMPLAUSIBLE}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free) case_result_t result = make(CASES[i].usual_ns, CASES[i].fresh_ns);
        implausible_find(&result);
        assert_int_equal(result.status, CASES[i].status);
        assert_int_equal(result.flags.n, CASES[i].status == CASE_OK ? 0 : 1);
    }
    AUTO(result_free) case_result_t sealed = make(1000, 53000);
    implausible_find(&sealed);
    assert_int_equal(sealed.status, CASE_OK); /* a script may be that much slower */
    set_text(&sealed.spec.engine, "cpu");
    implausible_find(&sealed);
    assert_int_equal(sealed.status, CASE_IMPLAUSIBLE);
    AUTO(result_free) case_result_t part = make(1000, 1e6);
    set_text(&part.phases[0].name, "malloc");
    implausible_find(&part);
    assert_int_equal(part.status, CASE_OK);
    part.phases[0].clock = CLOCK_DEVICE;
    implausible_find(&part);
    assert_int_equal(part.status, CASE_IMPLAUSIBLE);
    case_result_t few = make(1000, 1e6); /* a busy machine may have interrupted all of so few */
    few.phases[0].n_fresh = 3;
    implausible_find(&few);
    assert_int_equal(few.status, CASE_OK);
    few.phases[0].n_fresh = 4; /* of the fewest rounds */
    implausible_find(&few);
    assert_int_equal(few.status, CASE_IMPLAUSIBLE);
    result_free(&few);
}

/* Of them, too, the quickest eighth. A pause may tell code that keeps results which they are: they explain what moving the
 * bytes takes, and eight medians. */
static void caches_explain_what_rewritten_inputs_take(void **state) {
    static const struct {
        double rewritten_ns[9], bytes, fresh_ns;
        case_status_t status;
    } CASES[] = {
        {{240e3, 250e3, 260e3, 240e3}, 20e6, 245e3, CASE_OK},
        {{240e3, 250e3, 260e3}, 20e6, 245e3, CASE_IMPLAUSIBLE}, /* too few */
        {{240e3, 250e3, 260e3, 240e3}, 8e3, 245e3, CASE_IMPLAUSIBLE},
        {{240e3, 250e3, 260e3, 240e3}, NAN, 245e3, CASE_IMPLAUSIBLE},
        {{240e3, 250e3, 87e3, 240e3}, 20e6, 245e3, CASE_IMPLAUSIBLE},
        {{300, 240e3, 240e3, 240e3, 240e3, 240e3, 240e3, 240e3}, 20e6, 245e3, CASE_IMPLAUSIBLE},
        {{300, 240e3, 240e3, 240e3, 240e3, 240e3, 240e3, 240e3, 240e3}, 20e6, 245e3, CASE_OK},
        {{240e3, 240e3, 240e3, 240e3}, 20e6, 531e3, CASE_IMPLAUSIBLE},
        {{9e6, 9e6, 9e6, 9e6}, 1e9, 1441e3, CASE_OK},
        {{9e6, 9e6, 9e6, 9e6}, 1e9, 1443e3, CASE_IMPLAUSIBLE}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free) case_result_t result = make(87e3, CASES[i].fresh_ns);
        set_text(&result.spec.engine, "cpu");
        result.limit.bytes = CASES[i].bytes;
        for (size_t k = 0; k < 9 && CASES[i].rewritten_ns[k] > 0; k++)
            phase_add_rewritten(&result.phases[0], &CASES[i].rewritten_ns[k], 1);
        implausible_find(&result);
        assert_int_equal(result.status, CASES[i].status);
        assert_true(result.phases[0].summary.median == 87e3);
    }
}

static void rewritten_samples_of_all_passes_count(void **state) {
    AUTO(result_free) case_result_t one = make(87e3, 245e3), two = make(87e3, 245e3);
    for (size_t k = 0; k < 2; k++) {
        phase_add_rewritten(&one.phases[0], (double[]){240e3}, 1);
        phase_add_rewritten(&two.phases[0], (double[]){240e3}, 1);
    }
    set_text(&one.spec.engine, "cpu");
    set_text(&two.spec.engine, "cpu");
    one.limit.bytes = two.limit.bytes = 20e6;
    result_add_passes(&one, &two);
    implausible_find(&one);
    assert_int_equal(one.status, CASE_OK);
    assert_int_equal(one.phases[0].n_rewritten, 4);
}

static void an_eighth_of_fresh_samples_must_be_quick(void **state) {
    static const struct {
        size_t fresh, quick;
        bool doubted;
    } CASES[] = {{0, 0, false}, {3, 0, true},  {4, 0, true},  {8, 0, true},  {8, 1, false},
                 {9, 1, true},  {9, 2, false}, {32, 3, true}, {32, 4, false}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free) case_result_t result = make(1000, 1e6);
        result.phases[0].n_fresh = 0;
        for (size_t k = 0; k < CASES[i].fresh; k++) /* the quick ones are the last */
            phase_add_fresh(&result.phases[0],
                            &(fresh_sample_t){k + CASES[i].quick < CASES[i].fresh ? 1e6 : 1000, 0},
                            1);
        assert_int_equal(implausible_is_doubted(&result), CASES[i].doubted);
        implausible_find(&result);
        assert_int_equal(result.status,
                         CASES[i].doubted && CASES[i].fresh >= 4 ? CASE_IMPLAUSIBLE : CASE_OK);
    }
}

/* A busy machine makes an honest case slow, and a dishonest one may make the machine busy. */
static void what_waited_for_cores_is_no_evidence(void **state) {
    static const struct {
        size_t waited; /* of the five slow samples */
        double waited_ns;
        case_status_t status;
        trust_t trust;
    } CASES[] = {{0, 0, CASE_IMPLAUSIBLE, TRUST_AUDITED},
                 {1, 1e6, CASE_IMPLAUSIBLE, TRUST_AUDITED},
                 {2, 1e6, CASE_OK, TRUST_SELF_REPORTED},
                 {5, 1e6, CASE_OK, TRUST_SELF_REPORTED},
                 {5, 0.9e6, CASE_IMPLAUSIBLE, TRUST_AUDITED}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free) case_result_t result = make(1000, 1e6);
        result.trust = TRUST_AUDITED;
        for (size_t k = 0; k < CASES[i].waited; k++)
            result.phases[0].fresh[k].waited_ns = CASES[i].waited_ns;
        assert_true(implausible_is_doubted(&result)); /* more rounds may still show it */
        implausible_find(&result);
        assert_int_equal(result.status, CASES[i].status);
        assert_int_equal(result.trust, CASES[i].trust);
        assert_int_equal(result.flags.n, 1);
    }
    case_result_t graph = make(1000, 1e6); /* nothing that the host does slows these */
    set_text(&graph.phases[0].name, "kernel_graph");
    for (size_t k = 0; k < 5; k++)
        graph.phases[0].fresh[k].waited_ns = 1e6;
    graph.phases[0].clock = CLOCK_DEVICE;
    implausible_find(&graph);
    assert_int_equal(graph.status, CASE_IMPLAUSIBLE);
    result_free(&graph);
}

static void add_phase(case_result_t *result, const char *name, double ns) {
    phase_add_round(result_add_phase(result, name, CLOCK_HOST), (double[]){ns, ns}, 2);
}

static void audits_are_of_the_whole(void **state) {
    AUTO(result_free) case_result_t result = make(1000, 1000);
    static const char *const NAMES_BY_RANK[] = {"total", "batch", "train", "host_to_host"};
    for (size_t i = 0; i < 4; i++) {
        if (i > 0)
            add_phase(&result, NAMES_BY_RANK[i], 500);
        assert_string_equal(trust_audited_phase(&result)->name, NAMES_BY_RANK[i]);
    }
}

static void steps_may_not_claim_less_than_their_training(void **state) {
    static const struct {
        const char *workload;
        double step_ns, claimed_ns;
    } CASES[] = {{"mnist_train", 5, 1000},
                 {"mnist_train", 500, 1e5},
                 {"mnist_train", 600, 1e5},
                 {"mlp_train", 5, 1e5}}; /* compared by its training */
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free) case_result_t result = make(1e6, 1e6);
        set_text(&result.spec.workload, CASES[i].workload);
        add_integer(&result.spec, "steps", 5000);
        add_phase(&result, "train", 1e5);
        add_phase(&result, "step", CASES[i].step_ns);
        assert_true(trust_claimed_ns(&result, result_phase(&result, "train")) ==
                    CASES[i].claimed_ns);
    }
}

static void few_quick_samples_acquit_nobody(void **state) {
    AUTO(result_free) case_result_t result = make(1000, 1e6);
    result.trust = TRUST_AUDITED;
    for (size_t k = 0; k < 5; k++)
        result.phases[0].fresh[k].waited_ns = 1e6;
    phase_add_fresh(&result.phases[0], (fresh_sample_t[]){{1e6, 0}, {1e6, 0}, {1e6, 0}}, 3);
    for (size_t k = 0; k < 20; k++)
        phase_add_fresh(&result.phases[0], &(fresh_sample_t){1e6, 1e6}, 1);
    phase_add_fresh(&result.phases[0], &(fresh_sample_t){1000, 0}, 1);
    implausible_find(&result);
    assert_int_equal(result.status, CASE_OK);
    assert_int_equal(result.trust, TRUST_SELF_REPORTED);
}

static void nothing_excuses_our_own_kernels(void **state) {
    for (int of_device = 0; of_device < 2; of_device++) {
        AUTO(result_free) case_result_t result = make(1000, 1e6);
        set_text(&result.spec.engine, "cuda");
        set_text(&result.phases[0].name, of_device ? "kernel" : "total");
        result.phases[0].clock = of_device ? CLOCK_DEVICE : CLOCK_HOST;
        result.trust = TRUST_SEALED;
        for (size_t k = 0; k < 5; k++)
            result.phases[0].fresh[k].waited_ns = 1e6;
        implausible_find(&result);
        assert_int_equal(result.status, of_device ? CASE_IMPLAUSIBLE : CASE_OK);
        assert_int_equal(result.trust, TRUST_SEALED);
        assert_int_equal(result.flags.n, 1);
    }
}

static void all_passes_judge_what_waited_in_one(void **state) {
    AUTO(result_free) case_result_t busy = make(1000, 1e6), quiet = make(1000, 1000);
    for (size_t k = 0; k < 5; k++)
        busy.phases[0].fresh[k].waited_ns = 1e6;
    result_add_claim(&busy, 1);
    result_add_claim(&quiet, 1);
    implausible_find(&busy);
    assert_int_equal(busy.trust, TRUST_SELF_REPORTED);
    result_add_passes(&busy, &quiet);
    implausible_find(&busy);
    assert_int_equal(busy.trust, TRUST_AUDITED);
    assert_int_equal(busy.flags.n, 0);
}

static void launches_on_changing_inputs_are_held_to_less(void **state) {
    static const struct {
        double fresh_ns;
        case_status_t status;
    } CASES[] = {{3400, CASE_OK}, {3600, CASE_IMPLAUSIBLE}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free) case_result_t result = make(1000, CASES[i].fresh_ns);
        set_text(&result.phases[0].name, "kernel_graph");
        result.phases[0].clock = CLOCK_DEVICE;
        implausible_find(&result);
        assert_int_equal(result.status, CASES[i].status);
    }
}

static void over_its_limit_is_implausible(void **state) {
    AUTO(result_free) case_result_t result = make(1000, 1000);
    flag_list_add(&result.flags, FLAG_OVER_LIMIT, "dram", 1.8, NAN);
    implausible_find(&result);
    assert_int_equal(result.status, CASE_IMPLAUSIBLE);
    assert_string_equal(result.reason, "faster than the dram limit (180 % of it)");
}

static void the_median_of_the_passes_decides(void **state) {
    AUTO(result_free) case_result_t result = make(1000, 1000), more = make(1000, 1000);
    result_add_claim(&more, 0.05); /* that was no run */
    assert_int_equal(more.trust, TRUST_SELF_REPORTED);
    more.claims.n = 0;
    result_add_claim(&result, 0.9);
    assert_int_equal(result.trust, TRUST_AUDITED);
    result_add_claim(&more, 1.7);
    assert_int_equal(more.trust, TRUST_SELF_REPORTED);
    result_add_passes(&result, &more);
    assert_int_equal(result.trust, TRUST_SELF_REPORTED);
    assert_true(claims_ratio(&result.claims) == 1.3);
    result_add_claim(&result, 1.05);
    assert_int_equal(result.trust, TRUST_AUDITED);
    result_add_claim(&result, NAN);
    assert_int_equal(result.trust, TRUST_SELF_REPORTED);
}

/* One pass may be disturbed; where there are as many as intervals need, their median is not. */
static void few_passes_may_be_farther_from_their_claims(void **state) {
    static const struct {
        double ratio;
        unsigned passes; /* so many agree */
    } CASES[] = {{1.09, 8}, {1.15, STATS_FEWEST_PASSES - 1}, {1.25, 0}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        AUTO(result_free) case_result_t result = make(1000, 1000);
        for (unsigned pass = 1; pass <= 8; pass++) {
            result_add_claim(&result, CASES[i].ratio);
            assert_int_equal(result.trust,
                             pass <= CASES[i].passes ? TRUST_AUDITED : TRUST_SELF_REPORTED);
        }
    }
}

static void self_reported_is_never_the_fastest(void **state) {
    AUTO(result_free) case_result_t result = make(1000, 1000);
    for (trust_t trust = TRUST_UNKNOWN; trust <= TRUST_SELF_REPORTED; trust++) {
        result.trust = trust;
        assert_int_equal(can_be_fastest(&result), trust != TRUST_SELF_REPORTED);
    }
}

static void all_of_it_is_saved(void **state) {
    case_result_t result = make(1000, 5000), again;
    result_add_claim(&result, 1.02);
    result.phases[0].fresh[4].waited_ns = 250;
    phase_add_rewritten(&result.phases[0], (double[]){30, 20}, 2);
    json_auto_t *json = result_to_json(&result);
    assert_ok(result_from_json(json, &again, &err));
    assert_int_equal(again.trust, TRUST_AUDITED);
    assert_memory_equal(&again.claims, &result.claims, sizeof again.claims);
    assert_int_equal(again.phases[0].n_fresh, 5);
    assert_true(again.phases[0].fresh[2].ns == 5002);
    assert_true(again.phases[0].fresh[4].waited_ns == 250);
    assert_int_equal(again.phases[0].n_rewritten, 2);
    assert_true(again.phases[0].rewritten[1] == 20);
    result_free(&again);
    json_object_set_new(json, "trust", json_string("blind"));
    assert_fails_with(result_from_json(json, &again, &err), STATUS_USAGE, "\"trust\" is \"blind\"");
    result_free(&result);
}

#include "run_tests.h"
