/* How long a process waits for a core that another one has. */
#include "worker/run_queue.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* A kernel without these statistics has no such file, or one of zeros. */
static bool is_counted(void) {
    while (clock() < CLOCKS_PER_SEC / 20) /* what is counted is time on a core */
        ;
    char first = '0';
    FILE *file = fopen("/proc/self/schedstat", "r");
    const bool read = file != NULL && fread(&first, 1, 1, file) == 1;
    if (file != NULL)
        fclose(file);
    return read && first != '0';
}

static pid_t start_spinning(void) {
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive a test that fails */
        for (volatile int i = 0;; i++)
            ;
    }
    assert_true(pid > 0);
    return pid;
}

static void stop(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void who_shares_a_core_waits(void **state) {
    (void)state;
    if (!is_counted())
        skip();
    cpu_set_t allowed, one;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++)
        if (CPU_ISSET(core, &allowed))
            CPU_SET(core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); /* children inherit it */
    const pid_t mine = start_spinning(), other = start_spinning();
    const double before_ns = run_queue_waited_ns(mine);
    alarm(60);
    while (run_queue_waited_ns(mine) - before_ns < 1e6)
        sched_yield();
    alarm(0);
    stop(mine);
    stop(other);
}

static void without_a_process_it_is_0(void **state) {
    (void)state;
    assert_true(run_queue_waited_ns(0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_shares_a_core_waits),
        cmocka_unit_test(without_a_process_it_is_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
