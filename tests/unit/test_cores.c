/* Cores: which are given to whom, and who else uses them. */
#include "checks.h"
#include "measure/machine.h"
#include "run/devices/devices.h"
#include "worker/cpu_use.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- measure/cores: lists of cores, and moving a process. */

static void text_of_lists(void **state) {
    static const struct {
        int list[6];
        size_t n;
        const char *text;
    } ROWS[] = {{{0}, 0, ""}, {{7}, 1, "7"}, {{0, 1, 2, 5, 8, 9}, 6, "0-2,5,8-9"}};
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        AUTO_FREE char *text = cores_text(ROWS[i].list, ROWS[i].n);
        assert_string_equal(text, ROWS[i].text);
    }
}

static void bad_lists_are_refused(void **state) {
    static const char *const LISTS[] = {"", "x", "1-", "-1", "3-2", "1,,2", "1 2", "99999", "0,"};
    for (size_t i = 0; i < COUNT_OF(LISTS); i++) {
        cores_t cores;
        assert_fails_with(cores_init(&cores, LISTS[i], &err), STATUS_USAGE,
                          "expected a list of cores such as 0-7,12");
    }
    cores_t cores;
    assert_fails_with(cores_init(&cores, "1022-1023", &err), STATUS_USAGE,
                      "may use none of these cores");
}

static void a_list_binds_this_process(void **state) {
    cores_t all, one;
    char list[32];
    cpu_set_t set;
    assert_ok(cores_init(&all, NULL, &err));
    snprintf(list, sizeof list, "%d", all.allowed[all.n - 1]);
    assert_ok(cores_init(&one, list, &err));
    assert_int_equal(one.n, 1);
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_int_equal(CPU_COUNT(&set), 1);
    assert_true(CPU_ISSET((size_t)all.allowed[all.n - 1], &set));
    CPU_ZERO(&set);
    for (size_t i = 0; i < all.n; i++)
        CPU_SET((size_t)all.allowed[i], &set);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

static void near_cores_are_kept(void **state) {
    cores_t cores = {.allowed = {0, 1, 2, 64, 65}, .n = 5};
    unsigned long near[2] = {0x6, 0x2};
    cores_keep_near(&cores, near, 2);
    assert_text(cores_text(cores.allowed, cores.n), "1-2,65");
    near[0] = near[1] = 0; /* none: a mask that cannot be right */
    cores_keep_near(&cores, near, 2);
    assert_int_equal(cores.n, 3);
}

static void a_worker_is_moved_and_released(void **state) {
    cores_t cores;
    assert_ok(cores_init(&cores, NULL, &err));
    if (cores.n < 2)
        skip(); /* it stays where it is */
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    cpu_set_t set, own;
    cores_enter(&cores, child);
    assert_int_equal(sched_getaffinity(child, sizeof set, &set), 0);
    assert_int_equal(CPU_COUNT(&set), 1);
    assert_true(CPU_ISSET((size_t)cores.current, &set));
    assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
    assert_int_equal(CPU_COUNT(&own), (int)cores.n - 1);
    assert_false(CPU_ISSET((size_t)cores.current, &own));
    assert_true(cores.entered_ns > 0 && cores.fastest_ns <= cores.entered_ns);

    cores.entered_ns = 1; /* then no core is as fast any more */
    assert_false(cores_leave(&cores, child));
    assert_int_equal(sched_getaffinity(child, sizeof set, &set), 0);
    assert_int_equal(CPU_COUNT(&set), (int)cores.n);
    assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
    assert_int_equal(CPU_COUNT(&own), (int)cores.n);
    cores_enter(&cores, child);
    cores.entered_ns = INFINITY;
    assert_true(cores_leave(&cores, child));
    AUTO_FREE char *used = cores_take_used(&cores);
    assert_true(used[0] != '\0');
    free(used);
    used = cores_take_used(&cores);
    assert_string_equal(used, "");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- run/devices/share: the cores of each of several GPUs. */

enum { MOST_GPUS = 4 };

typedef struct setting {
    int n_cores, offset; /* core c and c + offset are threads of one physical core; 0: none */
    size_t n_gpus;
    unsigned long near[MOST_GPUS]; /* of the first 64 cores; 0: all */
    const char *expected[MOST_GPUS];
} setting_t;

static status_t make(const setting_t *setting, core_share_t *shares, error_t *err) {
    core_place_t places[MOST_CORES];
    for (int c = 0; c < setting->n_cores; c++)
        places[c] = (core_place_t){c, setting->offset > 0 ? c % setting->offset : c};
    for (size_t i = 0; i < setting->n_gpus; i++) {
        shares[i].device = (int)i + 4;
        memset(shares[i].near, setting->near[i] == 0 ? 0xff : 0, sizeof shares[i].near);
        if (setting->near[i] != 0)
            shares[i].near[0] = setting->near[i];
    }
    return core_shares_make(places, (size_t)setting->n_cores, shares, setting->n_gpus, err);
}

static void cores_are_shared(void **state) {
    static const setting_t SETTINGS[] = {
        /* unknown places, or one node */
        {8, 0, 2, {0, 0}, {"0-3", "4-7"}},
        {16, 0, 3, {0, 0, 0}, {"0-4", "5-9", "10-14"}},
        /* two nodes */
        {16, 0, 2, {0xff00, 0x00ff}, {"8-15", "0-7"}},
        {32, 0, 4, {0xffff, 0xffff, 0xffff0000, 0xffff0000}, {"0-7", "8-15", "16-23", "24-31"}},
        /* hyperthreads stay together */
        {16, 8, 2, {0, 0}, {"0-3,8-11", "4-7,12-15"}},
        {20, 10, 4, {0, 0, 0, 0}, {"0-1,10-11", "3-4,13-14", "5-6,15-16", "8-9,18-19"}},
        /* one GPU's cores are among the other's: it chooses first */
        {16, 0, 2, {0xffff, 0x00ff}, {"8-15", "0-7"}},
        {16, 0, 2, {0x00ff, 0xffff}, {"0-7", "8-15"}},
        /* as many for each */
        {16, 0, 2, {0xff00, 0x003f}, {"8-13", "0-5"}},
    };
    AUTO_FREE core_share_t *shares = calloc(MOST_GPUS, sizeof *shares);
    for (size_t s = 0; s < COUNT_OF(SETTINGS); s++) {
        assert_ok(make(&SETTINGS[s], shares, &err));
        for (size_t i = 0; i < SETTINGS[s].n_gpus; i++) {
            assert_text(cores_text(shares[i].cores, shares[i].n), SETTINGS[s].expected[i]);
        }
    }
}

static void too_few_are_refused(void **state) {
    static const setting_t SETTINGS[] = {
        {7, 0, 2, {0, 0}, {NULL}},
        {16, 0, 2, {0xfff8, 0x0007}, {NULL}},
        {16, 0, 2, {0x00ff, 1UL << 40}, {NULL}}, /* none near it */
    };
    static const char *const TOLD[] = {"device 4 would have 3 of 7 cores",
                                       "device 5 would have 3 of 16 cores",
                                       "device 5 would have 0 of 16 cores"};
    AUTO_FREE core_share_t *shares = calloc(MOST_GPUS, sizeof *shares);
    for (size_t s = 0; s < COUNT_OF(SETTINGS); s++) {
        error_t err = ERROR_INIT;
        assert_int_equal(make(&SETTINGS[s], shares, &err), STATUS_USAGE);
        assert_has(err.text, TOLD[s]);
        assert_has(err.text, "8 cores would do");
    }
}

/* ---- What other programs take from a worker, and the load before a run, from made-up numbers. */

static const double MS = 1e6;

static double taken_frac(cpu_use_t use, double took_ns, size_t n_cores) {
    cpu_share_t share = {0};
    cpu_share_add(&share, &use, took_ns, n_cores);
    return cpu_share_taken_frac(&share);
}

static void what_others_take(void **state) {
    /* Two threads on two busy cores have half of them, in 25 turns each. */
    assert_near(taken_frac((cpu_use_t){100 * MS, 110 * MS, 50}, 100 * MS, 2), 0.5, 1e-9);
    /* One of eight cores is enough for one thread. */
    assert_near(taken_frac((cpu_use_t){100 * MS, 0, 1}, 100 * MS, 8), 0, 1e-9);
    /* It need not keep its core busy. */
    assert_near(taken_frac((cpu_use_t){30 * MS, 12 * MS, 10}, 100 * MS, 8), 0.25, 1e-9);
}

/* On an idle machine, threads that are woken ten thousand times wait 20 µs each time. */
static void wake_ups_are_not_taken(void **state) {
    assert_near(taken_frac((cpu_use_t){100 * MS, 200 * MS, 10000}, 300 * MS, 4), 0, 1e-9);
}

/* Sixteen threads on two cores wait for each other. */
static void own_threads_take_nothing(void **state) {
    assert_near(taken_frac((cpu_use_t){200 * MS, 1400 * MS, 100}, 100 * MS, 2), 0, 1e-9);
    assert_near(taken_frac((cpu_use_t){150 * MS, 1400 * MS, 100}, 100 * MS, 2), 0.25, 1e-9);
    assert_near(taken_frac((cpu_use_t){201 * MS, 9 * MS, 1}, 100 * MS, 2), 0, 1e-9);
}

static void rounds_add_up(void **state) {
    cpu_share_t share = {0};
    assert_true(isnan(cpu_share_taken_frac(&share)));
    cpu_share_add(&share, &(cpu_use_t){30 * MS, 0, 0}, 30 * MS, 1);
    cpu_share_add(&share, &(cpu_use_t){20 * MS, 10 * MS, 0}, 30 * MS, 1);
    cpu_share_add(&share, &(cpu_use_t){0, 0, 0}, 30 * MS, 1);
    assert_near(cpu_share_taken_frac(&share), 10.0 / 60, 1e-9);
}

static void only_a_busy_case_is_flagged(void **state) {
    static const struct {
        double ran_ns, taken_ns;
        int flagged;
    } CASES[] = {{95, 5, 0}, {94, 6, 1}, {100, 0, 0}, {0, 0, 0}};
    unsetenv("BENCH_BUSY");
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        case_t spec = {0};
        AUTO(result_free) case_result_t result;
        result_init(&result, &spec);
        cpu_share_settle(&(cpu_share_t){CASES[i].ran_ns, CASES[i].taken_ns}, &result);
        assert_int_equal(result_is_busy(&result), CASES[i].flagged);
        assert_int_equal(isnan(result.cpu_taken_frac), CASES[i].ran_ns == 0);
        result.status = CASE_WRONG;
        assert_false(result_is_busy(&result)); /* its times are not shown */
    }
}

static void the_load_before(void **state) {
    static const struct {
        const char *text;
        size_t n_cores;
        int high;
    } LOADS[] = {
        {"6.90 5.11 3.02 5/312 4711\n", 2, 1},
        {"6.90 5.11 3.02 1/312 4711\n", 2, 0}, /* a build that has ended */
        {"0.10 0.11 0.02 5/312 4711\n", 2, 0}, /* for a moment */
        {"1.00 1.00 1.00 2/312 4711\n", 2, 1}, /* one of two cores */
        {"1.00 1.00 1.00 2/312 4711\n", 64, 0},
        {"", 2, 0},
        {"none", 2, 0},
    };
    for (size_t i = 0; i < COUNT_OF(LOADS); i++) {
        const load_t load = load_parse(LOADS[i].text);
        assert_int_equal(load_is_high(&load, LOADS[i].n_cores), LOADS[i].high);
    }
    const load_t load = load_parse(LOADS[0].text);
    assert_true(load.average == 6.9 && load.running == 4);
}

#include "run_tests.h"
