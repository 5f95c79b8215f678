/* How long a process waits for a core that another one has. */
#include "checks.h"
#include "worker/cpu_use.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A kernel without these statistics has no such file, or one of zeros. */
static bool is_counted(void) {
    while (clock() < CLOCKS_PER_SEC / 20) /* mood: what is counted is time on a core */
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

static double second_number(pid_t pid) {
    char path[64];
    double first = 0, second = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lf %lf", &first, &second), 2);
    fclose(file);
    return second;
}

static void who_shares_a_core_waits(void **state) {
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
    run_queue_t before = run_queue_read(mine);
    assert_int_equal(before.n, 1);
    alarm(60);
    double waited_ns = 0;
    while (waited_ns < 1e6) {
        run_queue_t none = {.pid = mine};
        waited_ns = run_queue_since(&none, mine).waited_ns;
        sched_yield();
    }
    alarm(0);
    kill(mine, SIGSTOP); /* its numbers stay as they are */
    assert_int_equal(waitpid(mine, NULL, WUNTRACED), mine);
    const double first_ns = before.items[0].use.waited_ns, now_ns = second_number(mine);
    assert_true(run_queue_since(&before, mine).waited_ns == now_ns - first_ns);
    stop(mine);
    stop(other);
}

static void *wait_for_end(void *end) {
    pthread_mutex_lock(end);
    pthread_mutex_unlock(end);
    return NULL;
}

static void all_threads_are_read(void **state) {
    pthread_mutex_t end = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[3];
    pthread_mutex_lock(&end);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_end, &end), 0);
    run_queue_t queue = run_queue_read(getpid());
    assert_int_equal(queue.n, 4);
    queue.items[0].use.waited_ns -= 5e18; /* as if it had waited that long since */
    queue.items[3].use.waited_ns -= 7e18;
    queue.items[1].use.ran_ns -= 3e18;
    queue.items[2].use.times -= 1e18;
    const cpu_use_t use = run_queue_since(&queue, getpid());
    assert_true(use.waited_ns > 1.19e19 && use.waited_ns < 1.21e19);
    assert_true(use.ran_ns > 2.9e18 && use.ran_ns < 3.1e18);
    assert_true(use.times > 0.9e18 && use.times < 1.1e18);
    pthread_mutex_unlock(&end);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void without_the_process_it_is_0(void **state) {
    run_queue_t none = run_queue_read(0);
    assert_int_equal(none.n, 0);
    assert_true(run_queue_since(&none, 0).waited_ns == 0);
    run_queue_t another = run_queue_read(getppid());
    assert_true(run_queue_since(&another, getpid()).waited_ns == 0);
}

#include "run_tests.h"
