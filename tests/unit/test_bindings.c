/* Who changes the cores or the priority of another process. */
#include "checks.h"
#include "worker/cpu_use.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start_waiting(void) {
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive a test that fails */
        while (true)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static void stop(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void bind_to_first(pid_t pid) {
    cpu_set_t allowed, one;
    assert_int_equal(sched_getaffinity(pid, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET((size_t)core, &allowed))
            CPU_SET((size_t)core, &one);
    assert_int_equal(sched_setaffinity(pid, sizeof one, &one), 0);
}

static void a_change_of_cores_is_told_and_set_back(void **state) {
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2)
        skip();
    const pid_t pid = start_waiting();
    bindings_t before = bindings_read(pid);
    assert_int_equal(before.n, 1);
    assert_null(bindings_changed(&before, true));
    bind_to_first(pid);
    assert_string_equal(bindings_changed(&before, false), "cores");
    assert_string_equal(bindings_changed(&before, true), "cores");
    assert_null(bindings_changed(&before, true));
    bindings_free(&before);
    stop(pid);
}

static void a_change_of_priority_is_told(void **state) {
    const pid_t pid = start_waiting();
    bindings_t before = bindings_read(pid);
    assert_int_equal(setpriority(PRIO_PROCESS, (id_t)pid, 19), 0);
    assert_string_equal(bindings_changed(&before, true), "priority");
    /* Only root may set it back. */
    const char *after = bindings_changed(&before, true);
    assert_true(geteuid() != 0 || after == NULL);
    bindings_free(&before);
    stop(pid);
}

static void a_process_that_has_ended_has_not_changed(void **state) {
    const pid_t pid = start_waiting();
    bindings_t before = bindings_read(pid);
    stop(pid);
    assert_null(bindings_changed(&before, true));
    bindings_free(&before);
    bindings_t none = bindings_read(0);
    assert_int_equal(none.n, 0);
    bindings_free(&none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_of_cores_is_told_and_set_back),
        cmocka_unit_test(a_change_of_priority_is_told),
        cmocka_unit_test(a_process_that_has_ended_has_not_changed),
    };
    return cmocka_run_group_tests_name("bindings", tests, NULL, NULL);
}
