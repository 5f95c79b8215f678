/* Who is sampled when, as a worker sees it that writes down whom it was asked for
 * (tests/fixtures/workers/steady.py). */
#include "checks.h"
#include "io/fs.h"
#include "made_case.h"
#include "measure/contender.h"

enum { N = 3, N_ROUNDS = 6, SEED = 11 };

typedef struct bench {
    char *folder, *log;
    worker_link_t worker;
    contender_settings_t settings;
    contender_t contenders[N];
} bench_t;

static int set_up(void **state) {
    bench_t *b = mem_zeroed(1, sizeof *b);
    *state = b;
    assert_ok(fs_temporary_folder(&b->folder, &err));
    b->log = fs_join(b->folder, "log");
    text_list_t argv = {0};
    text_list_add(&argv, "python3");
    text_list_add(&argv, "tests/fixtures/workers/steady.py");
    text_list_add(&argv, b->log);
    worker_link_init(&b->worker, "steady", argv);
    b->settings = (contender_settings_t){
        .measure = MEASURE_DEFAULTS, .seed = SEED, .timeout_s = 60, .max_sm_mhz = NAN};
    b->settings.measure.min_rounds = N_ROUNDS;
    b->settings.measure.time_limit_s = 3600; /* no busy machine ends a case */
    for (int i = 0; i < N; i++) {
        AUTO(case_free) case_t spec = made_case("null", "steady", "cpu", "v");
        spec.id = mem_format("%c", 'A' + i);
        contender_init(&b->contenders[i], &spec, &b->worker, NULL, &b->settings);
    }
    return 0;
}

static int tear_down(void **state) {
    AUTO_FREE bench_t *b = *state;
    for (int i = 0; i < N; i++)
        contender_free(&b->contenders[i]);
    worker_link_free(&b->worker);
    fs_remove_tree(b->folder, NULL);
    free(b->folder);
    free(b->log);
    return 0;
}

/* The ids of the timed rounds, in order: "ABCCBA…". Warm-up asks for no warm-up samples. */
static char *measured_order(bench_t *b, uint32_t stream) {
    static const volatile sig_atomic_t never;
    for (int i = 0; i < N; i++) {
        contender_open(&b->contenders[i]);
        assert_true(b->contenders[i].active);
    }
    schedule_rounds(b->contenders, N, SEED, stream, &never);
    for (int i = 0; i < N; i++)
        contender_finish(&b->contenders[i]);
    AUTO_FREE char *text;
    size_t size, n = 0;
    assert_ok(fs_read(b->log, &text, &size, &err));
    char *order = mem_zeroed(size + 1, 1);
    bool timed = false;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        bool is_round = strcmp(line + 2, "0") != 0;
        assert_true(is_round || !timed); /* every warm-up comes before every round */
        timed = is_round;
        if (is_round)
            order[n++] = line[0];
    }
    return order;
}

static void test_forth_and_back(void **state) {
    bench_t *b = *state;
    AUTO_FREE char *order = measured_order(b, 0);
    assert_int_equal(strlen(order), N * N_ROUNDS);
    for (size_t pass = 0; pass < N_ROUNDS; pass++) {
        const char *turn = order + pass * N;
        for (char id = 'A'; id < 'A' + N; id++)
            assert_non_null(memchr(turn, id, N)); /* each one once a pass */
        if (pass % 2 == 1)
            for (size_t i = 0; i < N; i++)
                assert_int_equal(turn[i], turn[-1 - (ptrdiff_t)i]); /* back the way it came */
    }
    for (int i = 0; i < N; i++) {
        const case_result_t *result = &b->contenders[i].result;
        assert_int_equal(result->stop, STOP_PRECISE);
        assert_int_equal(result->rounds, N_ROUNDS);
        assert_int_equal(result->phases[0].n_rounds, N_ROUNDS);
        assert_true(result->phases[0].summary.median == 1000);
        assert_true(result->warmup_ns > 0);
    }
}

/* The order follows from seed and group, and is another one for another group. */
static void test_order_is_shuffled(void **state) {
    char *first = measured_order(*state, 0), *orders[4] = {first};
    bool differs = false;
    for (uint32_t stream = 1; stream < 4; stream++) {
        tear_down(state);
        set_up(state);
        orders[stream] = measured_order(*state, stream);
        differs = differs || strcmp(orders[stream], first) != 0;
    }
    assert_true(differs);
    tear_down(state);
    set_up(state);
    assert_text(measured_order(*state, 0), first);
    for (size_t i = 0; i < 4; i++)
        free(orders[i]);
}

/* One that has stopped, or was dropped, is not asked again; the others go on. */
static void test_who_is_done_rests(void **state) {
    bench_t *b = *state;
    contender_settings_t patient = b->settings;
    patient.measure.min_rounds = 2 * N_ROUNDS;
    b->contenders[1].settings = &patient;
    stopping_init(&b->contenders[1].stopping, &patient.measure);
    AUTO_FREE char *order = measured_order(b, 0);
    assert_int_equal(strlen(order), (N - 1) * N_ROUNDS + 2 * N_ROUNDS);
    assert_string_equal(order + N * N_ROUNDS, "BBBBBB");
}

/* Twins are sampled one right behind the other, and equally often: one that has enough goes on for
 * the other's sake, and keeps its reason to stop. */
static void test_twins(void **state) {
    bench_t *b = *state;
    contender_t *c = b->contenders;
    contender_settings_t patient = b->settings;
    patient.measure.min_rounds = 2 * N_ROUNDS;
    c[2].settings = &patient;
    stopping_init(&c[2].stopping, &patient.measure);
    c[0].paired = &c[2];
    c[2].paired = &c[0];
    AUTO_FREE char *order = measured_order(b, 0);
    assert_int_equal(strlen(order), 2 * 2 * N_ROUNDS + N_ROUNDS);
    int first_a = 0, first_c = 0;
    for (const char *at = order; *at != '\0'; at++) {
        if (*at == 'B')
            continue;
        assert_true(at[1] == (*at == 'A' ? 'C' : 'A'));
        first_a += *at == 'A';
        first_c += *at == 'C';
        at++;
    }
    assert_int_equal(first_a, N_ROUNDS); /* there and back */
    assert_int_equal(first_c, N_ROUNDS);
    assert_int_equal(c[0].result.rounds, 2 * N_ROUNDS);
    assert_int_equal(c[2].result.rounds, 2 * N_ROUNDS);
    assert_int_equal(c[0].result.stop, STOP_PRECISE);
}

static void test_twin_of_one_that_was_dropped(void **state) {
    bench_t *b = *state;
    contender_t *c = b->contenders;
    c[0].paired = &c[1];
    c[1].paired = &c[0];
    contender_drop(&c[1], CASE_FAILED, "crashed");
    contender_open(&c[0]);
    contender_open(&c[2]);
    static const volatile sig_atomic_t never;
    schedule_rounds(c, N, SEED, 0, &never);
    assert_int_equal(c[0].result.rounds, N_ROUNDS);
    assert_int_equal(c[1].result.rounds, 0);
    assert_int_equal(c[2].result.rounds, N_ROUNDS);
}

static void test_interrupted(void **state) {
    bench_t *b = *state;
    volatile sig_atomic_t interrupted = 1;
    for (int i = 0; i < N; i++)
        contender_open(&b->contenders[i]);
    schedule_rounds(b->contenders, N, SEED, 0, &interrupted);
    for (int i = 0; i < N; i++) {
        assert_int_equal(b->contenders[i].result.rounds, 0);
        assert_int_equal(b->contenders[i].result.stop, STOP_NONE);
    }
}

/* A group that is interrupted leaves those that had their rounds early without their last check. */
static void test_finished(void **state) {
    bench_t *b = *state;
    contender_t *c = &b->contenders[0];
    assert_false(contender_is_finished(c));
    c->result.stop = STOP_PRECISE;
    assert_true(contender_is_finished(c)); /* nothing to check it against */
    c->result.before.done = true;
    assert_false(contender_is_finished(c));
    c->result.after.done = true;
    assert_true(contender_is_finished(c));
    c = &b->contenders[1];
    contender_drop(c, CASE_FAILED, "crashed");
    assert_true(contender_is_finished(c));
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
