/* measure/cores: lists of cores, and moving a process. */
#include "checks.h"
#include "measure/machine.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void text_of_lists(void **state) {
    static const struct {
        int list[6];
        size_t n;
        const char *text;
    } ROWS[] = {{{0}, 0, ""}, {{7}, 1, "7"}, {{0, 1, 2, 5, 8, 9}, 6, "0-2,5,8-9"}};
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        char *text = cores_text(ROWS[i].list, ROWS[i].n);
        assert_string_equal(text, ROWS[i].text);
        free(text);
    }
}

static void bad_lists_are_refused(void **state) {
    static const char *const LISTS[] = {"", "x", "1-", "-1", "3-2", "1,,2", "1 2", "99999", "0,"};
    for (size_t i = 0; i < COUNT_OF(LISTS); i++) {
        cores_t cores;
        error_t err = ERROR_INIT;
        assert_int_equal(cores_init(&cores, LISTS[i], &err), STATUS_USAGE);
        assert_non_null(strstr(err.text, "expected a list of cores such as 0-7,12"));
    }
    cores_t cores;
    error_t err = ERROR_INIT;
    assert_int_equal(cores_init(&cores, "1022-1023", &err), STATUS_USAGE);
    assert_non_null(strstr(err.text, "may use none of these cores"));
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
    char *text = cores_text(cores.allowed, cores.n);
    assert_string_equal(text, "1-2,65");
    free(text);
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
    char *used = cores_take_used(&cores);
    assert_true(used[0] != '\0');
    free(used);
    used = cores_take_used(&cores);
    assert_string_equal(used, "");
    free(used);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_lists),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(a_list_binds_this_process),
        cmocka_unit_test(near_cores_are_kept),
        cmocka_unit_test(a_worker_is_moved_and_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
