/* The audit of a script's claims, on a clock of our own: what a made-up worker takes for its runs, and
 * what disturbs it, is exact here. tests/cheats/ has real workers. */
#include "base/clock.h"
#include "checks.h"
#include "made_case.h"
#include "measure/contender.h"

enum { CALLS = 64 }; /* of a graph */
static const double REQUEST_NS = 1e5, STALL_NS = 4.5e7, BUSY_NS = 3e8;

static struct world {
    int64_t now_ns;
    const char *phase; /* that the worker names; NULL: it cannot be audited */
    double run_ns;     /* what a run takes */
    double call_ns;    /* … of the phase "forward" */
    bool knows_phases; /* that requests may name */
    double request_ns; /* beside the runs; up to a third more, from request to request */
    double stall_ns;   /* of the first request */
    double lucky_ns;   /* the second takes so much less than others */
    double busy_until; /* until then everything takes three times as long */
    double padding;    /* of N runs, of N and 2N: a part of what they take */
    double noise_ns;   /* … what other processes make of them */
    double kept_ns;    /* of the first run after a refill, more: results are kept */
    double first_ns;   /* likewise, of the first refill's */
    double cold_ns;    /* of a request after a pause, more */
    int64_t last_ns;   /* when the worker was last at work */
    uint64_t refill;
    bool is_new; /* its inputs */
    int requests, most_runs, fewest_runs;
} world;

static int64_t made_up_now(void *context) {
    return world.now_ns;
}

/* In the place of measure/contender.c. */

bool contender_reopen(contender_t *c) {
    return c->active;
}

bool contender_refill(contender_t *c, uint64_t seed, bool continues) {
    world.is_new = seed != 0;
    world.refill = seed;
    world.last_ns = clock_ns();
    return true;
}

void contender_enter_core(contender_t *c) {}

bool contender_leave_core(contender_t *c) {
    return true;
}

bool contender_may_ask(const contender_t *c, const char *key) {
    return world.knows_phases && strcmp(key, "phase") == 0;
}

bool contender_exchange(contender_t *c, json_t *request, json_t **answer) {
    const char *asked = json_string_value(json_object_get(request, "phase"));
    AUTO_FREE char *phase = mem_text(asked != NULL ? asked : world.phase);
    const double run_ns = asked != NULL ? CALLS * world.call_ns : world.run_ns;
    const int runs = (int)json_integer_value(json_object_get(request, "runs"));
    assert_string_equal(json_string_value(json_object_get(request, "op")), "audit");
    assert_string_equal(json_string_value(json_object_get(request, "id")), c->result.spec.id);
    json_decref(request);
    const double jitter = (double)(world.requests * 37 % 101) / 300;
    const double kept_ns = world.is_new ? world.kept_ns : 0;
    const double cold_ns = clock_ns() > world.last_ns ? world.cold_ns : 0;
    const double ns = world.request_ns * (1 + jitter) + runs * run_ns + kept_ns + cold_ns +
                      (world.is_new ? world.first_ns : 0);
    if (world.is_new)
        world.first_ns = 0;
    world.is_new = false;
    if (runs > 1 && (world.fewest_runs == 0 || runs < world.fewest_runs))
        world.fewest_runs = runs;
    const double padding =
        runs == world.fewest_runs ? world.noise_ns + world.padding * runs * run_ns : 0;
    const double slower = (double)clock_ns() < world.busy_until ? 3 : 1;
    world.now_ns += (int64_t)(slower * (ns + padding) + (world.requests == 0 ? world.stall_ns : 0) -
                              (world.requests == 1 ? world.lucky_ns : 0));
    world.last_ns = clock_ns();
    world.requests++;
    world.most_runs = runs > world.most_runs ? runs : world.most_runs;
    *answer = phase == NULL ? json_pack("{s:s, s:s}", "status", "failed", "reason", "unknown op")
                            : json_pack("{s:s, s:s, s:i}", "status", "ok", "phase", phase, "calls",
                                        asked != NULL ? CALLS : 1);
    return true;
}

/* The trust in a contender with these phases, the second of which NULL has not, if the world is as it is. */
static trust_t trust_of(case_t spec, const program_t *program, const char *const names[2],
                        const double claimed_ns[2]) {
    const contender_settings_t settings = {0};
    contender_t contender = {.active = true, .settings = &settings, .program = program};
    contender.audit.expected.seed = 1; /* it has one */
    result_init(&contender.result, &spec);
    case_free(&spec);
    for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
        phase_t *phase =
            result_add_phase(&contender.result, names[i], i == 0 ? CLOCK_HOST : CLOCK_DEVICE);
        phase_add_round(phase, (double[]){claimed_ns[i], claimed_ns[i], claimed_ns[i]}, 3);
        contender.audit.phases[i].name = names[i];
        contender.audit.n_phases = i == 0 ? 0 : 2;
    }
    clock_inject(made_up_now, NULL);
    trust_find(&contender);
    world.now_ns = clock_ns(); /* with all pauses */
    clock_inject(NULL, NULL);
    const trust_t trust = contender.result.trust;
    result_free(&contender.result);
    return trust;
}

/* … in a script that claims so much for a run. */
static trust_t trust_in(double claimed_ns) {
    case_t spec = made_case("mlp_infer", "mine", "cpu", "plain");
    spec.id = mem_text("mlp_infer/mine-cpu/plain");
    return trust_of(spec, NULL, (const char *[2]){"host_to_host"}, (double[2]){claimed_ns});
}

/* … of an operator, which is compared by a call in a graph. */
static trust_t trust_in_call_of(const char *engine, const char *phase, const program_t *program,
                                double claimed_ns) {
    case_t spec = made_case("softmax", engine, "cuda", "plain");
    spec.id = mem_format("softmax/%s/plain", engine);
    return trust_of(spec, program, (const char *[]){"host_to_host", phase},
                    (double[]){1e5, claimed_ns});
}

static void set_world(double run_ns) {
    world = (struct world){.phase = "host_to_host", .run_ns = run_ns, .request_ns = REQUEST_NS};
}

static trust_t trust_in_call(double claimed_ns) {
    return trust_in_call_of("mine", "forward_graph", NULL, claimed_ns);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const double RUNS_NS[] = {1e3, 1e5, 1e7, 1e8, 2e9};
enum { N_RUNS = COUNT_OF(RUNS_NS) };

static void what_agrees_is_audited(void **state) {
    static const struct {
        double claimed; /* of what a run takes */
        trust_t trust;
    } CASES[] = {{1, TRUST_AUDITED},          {0.85, TRUST_AUDITED},
                 {0.81, TRUST_SELF_REPORTED}, {1 / 3., TRUST_SELF_REPORTED},
                 {1 / 0.3, TRUST_AUDITED},    {1 / 0.09, TRUST_SELF_REPORTED}};
    for (size_t r = 0; r < N_RUNS; r++)
        for (size_t i = 0; i < COUNT_OF(CASES); i++) {
            set_world(RUNS_NS[r]);
            assert_int_equal(trust_in(CASES[i].claimed * RUNS_NS[r]), CASES[i].trust);
        }
}

/* Had the first request alone decided how many runs the others have, they would be too few for all. */
static void a_stalled_first_request_is_forgiven(void **state) {
    for (size_t r = 0; r < N_RUNS; r++) {
        set_world(RUNS_NS[r]);
        world.stall_ns = STALL_NS;
        assert_int_equal(trust_in(RUNS_NS[r]), TRUST_AUDITED);
    }
    set_world(RUNS_NS[0]);
    world.stall_ns = STALL_NS;
    trust_in(RUNS_NS[0]);
    assert_in_range(world.most_runs, 500, 4000);
}

/* What a request costs beside its runs differs: one of the shorter that costs less than all others would
 * make the difference to the longer ones too large for ever. */
static void one_request_that_costs_less_than_all_others_does_not_count(void **state) {
    static const double CLAIMED[] = {1, 0.75};
    for (size_t i = 0; i < COUNT_OF(CLAIMED); i++) {
        set_world(1e4);
        world.request_ns = 6e5;
        world.lucky_ns = 5e5;
        assert_int_equal(trust_in(CLAIMED[i] * 1e4), i == 0 ? TRUST_AUDITED : TRUST_SELF_REPORTED);
    }
}

static void a_machine_that_is_busy_for_a_while_is_forgiven(void **state) {
    for (size_t r = 0; r < N_RUNS - 1; r++) { /* the last takes longer than all patience */
        set_world(RUNS_NS[r]);
        world.busy_until = BUSY_NS;
        assert_int_equal(trust_in(RUNS_NS[r]), TRUST_AUDITED);
    }
}

/* No run takes no time. */
static void doing_less_in_an_audit_does_not_help(void **state) {
    for (size_t r = 0; r < N_RUNS; r++) {
        set_world(RUNS_NS[r]);
        world.run_ns = 0;
        assert_int_equal(trust_in(RUNS_NS[r]), TRUST_SELF_REPORTED);
    }
}

/* Then 2N runs less N are any time that was claimed. */
static void making_the_shorter_audit_longer_does_not_help(void **state) {
    for (size_t r = 0; r < 2; r++) {
        set_world(RUNS_NS[r]);
        world.padding = 0.5;
        assert_int_equal(trust_in(0.5 * RUNS_NS[r]), TRUST_SELF_REPORTED);
    }
}

/* By its clock, too, which says of samples on new inputs what it likes. */
static void results_that_are_kept_are_found(void **state) {
    for (size_t r = 0; r < N_RUNS; r++)
        for (unsigned busy = 0; busy < 2; busy++)
            for (unsigned kept = 0; kept < 2; kept++) {
                set_world(RUNS_NS[r]);
                world.busy_until = busy ? BUSY_NS : 0;
                /* Caches explain less. */
                world.kept_ns = kept ? 1.5 * RUNS_NS[r] + 1e6 : 0.5 * RUNS_NS[r] + 1e5;
                assert_int_equal(trust_in(RUNS_NS[r]), kept ? TRUST_SELF_REPORTED : TRUST_AUDITED);
                assert_int_equal(world.refill, 0); /* the inputs as opened */
            }
}

/* One disturbed request is followed by pauses, after which both caches and device are cold. */
static void what_a_pause_costs_does_not_count(void **state) {
    set_world(1e5);
    world.first_ns = world.cold_ns = 5e6;
    assert_int_equal(trust_in(1e5), TRUST_AUDITED);
}

static void copies_before_long_runs_do_not_count(void **state) {
    set_world(1e8);
    world.request_ns = 2e8;
    assert_int_equal(trust_in(1e8), TRUST_AUDITED);
    assert_int_equal(world.most_runs, 6); /* twice as many as fit into the first request */
}

/* As a script does that copies 128 MB to a device before its runs: few runs would be a small part of a request. */
static void what_a_request_costs_beside_its_runs_does_not_count(void **state) {
    static const double COSTS_NS[] = {5e6, 3e7, 1e8};
    for (size_t i = 0; i < COUNT_OF(COSTS_NS); i++) {
        for (unsigned is_low = 0; is_low < 2; is_low++) {
            set_world(1e5);
            world.request_ns = COSTS_NS[i];
            world.knows_phases = true;
            world.call_ns = 3e3;
            assert_int_equal(trust_in_call(is_low ? 2e3 : 3e3),
                             is_low ? TRUST_SELF_REPORTED : TRUST_AUDITED);
            assert_in_range(world.now_ns, 1, 20e9);
        }
    }
}

static void another_phase_vouches_for_nothing(void **state) {
    static const char *const PHASES[] = {"total", NULL};
    for (size_t i = 0; i < COUNT_OF(PHASES); i++) {
        set_world(1e5);
        world.phase = PHASES[i];
        assert_int_equal(trust_in(1e5), TRUST_SELF_REPORTED);
        assert_in_range(world.requests, 1, 2);
    }
}

/* A true whole does not vouch for the call that is compared. */
static void what_is_compared_is_audited(void **state) {
    static const struct {
        double claimed_ns;
        bool knows_phases;
        trust_t trust;
    } CASES[] = {{2e3, true, TRUST_AUDITED},
                 {200, true, TRUST_SELF_REPORTED},
                 {2e3, false, TRUST_SELF_REPORTED}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        set_world(1e5);
        world.call_ns = 2e3;
        world.knows_phases = CASES[i].knows_phases;
        assert_int_equal(trust_in_call(CASES[i].claimed_ns), CASES[i].trust);
    }
}

/* Of our own workers: only what runs no code of the user's is sealed. */
static void code_of_the_user_s_is_audited(void **state) {
    const program_t rung = {0}, object = {.is_object = true};
    set_world(1e5);
    world.call_ns = 2e3;
    world.knows_phases = true;
    assert_int_equal(trust_in_call_of("cuda", "kernel_graph", &rung, 200), TRUST_SEALED);
    assert_int_equal(trust_in_call_of("cuda", "kernel_graph", &object, 2e3), TRUST_AUDITED);
    assert_int_equal(trust_in_call_of("cuda", "kernel_graph", &object, 200), TRUST_SELF_REPORTED);
    assert_int_equal(trust_in_call_of("cpu", "kernel_graph", &object, 200), TRUST_SELF_REPORTED);
}

/* A wrong claim costs a second, or three tries; a true one milliseconds, or two long runs. */
static void audits_end(void **state) {
    set_world(1e8);
    trust_in(1e8);
    assert_int_equal(world.requests, 2); /* the last one on new inputs */
    set_world(1e5);
    trust_in(1e5);
    assert_in_range(world.now_ns, 1, 100 * 1000 * 1000);
    for (unsigned is_noisy = 0; is_noisy < 2; is_noisy++) {
        set_world(1e5);
        world.noise_ns = is_noisy ? 2e7 : 0;
        trust_in(1e4);
        assert_in_range(world.now_ns, 1000 * 1000 * 1000, 1500 * 1000 * 1000);
    }
}

#include "run_tests.h"
