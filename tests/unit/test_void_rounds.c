/* Rounds in which another program changed a worker, or ran although its worker had ended. */
#include "checks.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "made_case.h"
#include "measure/contender.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_ROUNDS = 3 };

typedef struct bench {
    char *folder;
    worker_link_t worker, *items[1];
    workers_t workers;
    text_list_t spared;
    guard_t guard;
    contender_settings_t settings;
    contender_t contender;
} bench_t;

static int set_up(void **state) {
    bench_t *b = mem_zeroed(1, sizeof *b);
    *state = b;
    assert_ok(fs_temporary_folder(&b->folder, &err));
    text_list_t argv = {0};
    text_list_add(&argv, "python3");
    text_list_add(&argv, "tests/fixtures/workers/steady.py");
    text_list_add(&argv, "/dev/null");
    worker_link_init(&b->worker, "steady", argv);
    b->items[0] = &b->worker;
    b->workers = (workers_t){.items = b->items, .n = 1};
    b->spared = orphans_adopt();
    b->guard = (guard_t){.spared = &b->spared, .sides = {&b->workers}};
    b->settings = (contender_settings_t){
        .measure = MEASURE_DEFAULTS, .timeout_s = 60, .max_sm_mhz = NAN, .guard = &b->guard};
    b->settings.measure.min_rounds = LEAST_ROUNDS;
    AUTO(case_free) case_t spec = made_case("null", "steady", "cpu", "v");
    spec.id = mem_text("A");
    contender_init(&b->contender, &spec, &b->worker, NULL, &b->settings);
    contender_open(&b->contender);
    assert_true(b->contender.active);
    return 0;
}

static int tear_down(void **state) {
    AUTO_FREE bench_t *b = *state;
    contender_free(&b->contender);
    worker_link_free(&b->worker);
    bindings_free(&b->guard.own);
    text_list_free(&b->spared);
    fs_remove_tree(b->folder, NULL);
    free(b->folder);
    return 0;
}

/* Takes a round; is it void? */
static bool is_void(contender_t *c) {
    const unsigned before = c->stopping.n_void;
    const size_t samples = c->result.phases[0].n_samples;
    contender_round(c);
    assert_true(c->active);
    const bool found = c->stopping.n_void > before;
    assert_true(found == (c->result.phases[0].n_samples == samples));
    return found;
}

static void lower_priority(pid_t pid) {
    assert_int_equal(setpriority(PRIO_PROCESS, (id_t)pid, 1 + getpriority(PRIO_PROCESS, (id_t)pid)),
                     0);
}

static void what_nobody_disturbs_counts(void **state) {
    bench_t *b = *state;
    for (int i = 0; i < LEAST_ROUNDS; i++)
        assert_false(is_void(&b->contender));
    contender_settle(&b->contender);
    assert_int_equal(b->contender.result.flags.n, 0);
}

static void a_changed_worker_makes_the_next_round_void(void **state) {
    bench_t *b = *state;
    lower_priority(b->worker.pid);
    assert_true(is_void(&b->contender));
    assert_string_equal(b->contender.void_reason,
                        "another program changed the priority of its worker");
}

/* Whatever is asked first. */
static void a_request_between_does_not_bless_a_change(void **state) {
    bench_t *b = *state;
    lower_priority(b->worker.pid);
    json_decref(contender_ask(&b->contender, contender_request(&b->contender, "output")));
    assert_true(is_void(&b->contender));
}

static void a_changed_bench_does_too_and_is_set_back(void **state) {
    bench_t *b = *state;
    cpu_set_t allowed, one, now;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2)
        skip();
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET((size_t)core, &allowed))
            CPU_SET((size_t)core, &one);
    assert_false(is_void(&b->contender));
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_true(is_void(&b->contender));
    assert_string_equal(b->contender.void_reason, "another program changed the cores of bench");
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&now, &allowed));
    assert_false(is_void(&b->contender));
}

/* A process that runs another program than this one and whose parent has ended, with this tag (NULL: none). */
static pid_t leave_behind(const char *tag) {
    int said[2], runs[2], silent[2];
    char none;
    pid_t left;
    assert_int_equal(pipe(said), 0);
    assert_int_equal(pipe(silent), 0);
    assert_int_equal(pipe2(runs, O_CLOEXEC), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        unsetenv(WORKER_TAG);
        if (tag != NULL)
            setenv(WORKER_TAG, tag, 1);
        const pid_t child = fork();
        if (child == 0) {
            dup2(silent[0], STDIN_FILENO); /* of which it holds the other end, too */
            alarm(60);                     /* it must not outlive a test that fails by more */
            execlp("cat", "cat", (char *)NULL);
            _exit(127);
        }
        _exit(write(said[1], &child, sizeof child) != sizeof child);
    }
    close(runs[1]);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_int_equal(read(said[0], &left, sizeof left), sizeof left);
    assert_int_equal(read(runs[0], &none, 1), 0); /* until its exec */
    for (int i = 0; i < 2; i++) {
        close(said[i]);
        close(silent[i]);
    }
    close(runs[0]);
    return left;
}

static void what_a_worker_left_is_ended(void **state) {
    bench_t *b = *state;
    assert_false(is_void(&b->contender));
    const pid_t left = leave_behind(NULL);
    assert_true(is_void(&b->contender));
    assert_true(text_starts(b->contender.void_reason, "a process that a worker had left, cat ("));
    assert_int_equal(kill(left, 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_false(is_void(&b->contender));
}

static void a_process_of_a_worker_that_runs_may_stay(void **state) {
    bench_t *b = *state;
    assert_false(is_void(&b->contender));
    const pid_t left = leave_behind(b->worker.tag), other = leave_behind("steady 0");
    assert_true(is_void(&b->contender));
    assert_int_equal(kill(other, 0), -1);
    assert_false(is_void(&b->contender));
    assert_int_equal(kill(left, SIGKILL), 0);
    assert_int_equal(waitpid(left, NULL, 0), left);
}

static void too_few_rounds_are_a_failure(void **state) {
    bench_t *b = *state;
    contender_t *c = &b->contender;
    for (int i = 1; i < LEAST_ROUNDS; i++)
        assert_false(is_void(c));
    lower_priority(b->worker.pid);
    assert_true(is_void(c));
    assert_int_equal(c->result.stop, STOP_NONE);
    contender_settle(c);
    assert_false(c->active);
    assert_int_equal(c->result.status, CASE_FAILED);
    assert_string_equal(c->result.reason, "1 of 3 rounds are void: another program changed the "
                                          "priority of its worker");
    assert_non_null(flag_list_find(&c->result.flags, FLAG_VOID_ROUNDS));
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
