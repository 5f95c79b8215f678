/* How long a process waits for a core that another one has. */
#include "base/text.h"
#include "checks.h"
#include "sweep/shard.h"
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

/* ---- sweep/shard: --shard I/N, auto and auto/N, on made-up environments. */

/* The environment as "NAME=VALUE NAME=VALUE …"; an array's variables as "ID", "MIN" and so on. */
typedef struct row {
    const char *option, *environment;
    const char *expected; /* "number/n variable", or a part of the message */
} row_t;

static char found[64];

static const char *look_up(const char *name, const void *context) {
    static const char ARRAY[] = "SLURM_ARRAY_TASK_";
    const char *key = text_starts(name, ARRAY) ? name + strlen(ARRAY) : name;
    for (const char *at = context; *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
        if (text_starts(at, key) && at[strlen(key)] == '=') {
            const char *value = at + strlen(key) + 1;
            snprintf(found, sizeof found, "%.*s", (int)strcspn(value, " "), value);
            return found;
        }
    return NULL;
}

static char *read_row(const row_t *row, status_t *status) {
    shard_t shard;
    error_t err = ERROR_INIT;
    *status = shard_read(row->option, look_up, row->environment, &shard, &err);
    return *status == STATUS_OK
               ? mem_format("%u/%u %s", shard.number, shard.n, shard.from != NULL ? shard.from : "")
               : mem_text(err.text);
}

static void test_accepted(void **state) {
    static const row_t ROWS[] = {
        {"3/8", "", "3/8 "},
        {"3/8", "RANK=1 WORLD_SIZE=2", "3/8 "},
        {"auto", "ID=1 MIN=1 MAX=8 COUNT=8 STEP=1", "1/8 SLURM_ARRAY_TASK_ID"},
        {"auto", "ID=8 MIN=1 MAX=8 COUNT=8 STEP=1", "8/8 SLURM_ARRAY_TASK_ID"},
        {"auto", "ID=0 MIN=0 MAX=3 COUNT=4 STEP=1", "1/4 SLURM_ARRAY_TASK_ID"},
        {"auto", "ID=15 MIN=10 MAX=20 COUNT=3 STEP=5", "2/3 SLURM_ARRAY_TASK_ID"},
        {"auto", "ID=7 MIN=1 MAX=8 COUNT=3 STEP=3", "3/3 SLURM_ARRAY_TASK_ID"},
        {"auto", "ID=2 MIN=1 COUNT=3", "2/3 SLURM_ARRAY_TASK_ID"},
        {"auto/8", "ID=2 MIN=1 MAX=8 COUNT=8 STEP=1", "2/8 SLURM_ARRAY_TASK_ID"},
        {"auto/5", "JOB_COMPLETION_INDEX=0", "1/5 JOB_COMPLETION_INDEX"},
        {"auto/5", "JOB_COMPLETION_INDEX=4", "5/5 JOB_COMPLETION_INDEX"},
        {"auto", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4", "2/4 OMPI_COMM_WORLD_RANK"},
        {"auto", "PMI_RANK=3 PMI_SIZE=4", "4/4 PMI_RANK"},
        {"auto/4", "PMI_RANK=3 PMI_SIZE=4", "4/4 PMI_RANK"},
        {"auto/4", "PMI_RANK=2", "3/4 PMI_RANK"},
        {"auto", "SLURM_PROCID=0 SLURM_NTASKS=2", "1/2 SLURM_PROCID"},
        {"auto", "RANK=1 WORLD_SIZE=2", "2/2 RANK"},
        /* Each of these is set by a launcher inside the next. */
        {"auto", "SLURM_PROCID=0 SLURM_NTASKS=2 PMI_RANK=1 PMI_SIZE=4", "2/4 PMI_RANK"},
        {"auto", "PMI_RANK=1 PMI_SIZE=4 RANK=5 WORLD_SIZE=8", "6/8 RANK"},
        /* A job step in a task of an array; a rank in an indexed job. */
        {"auto", "SLURM_PROCID=0 SLURM_NTASKS=1 RANK=0 WORLD_SIZE=1 ID=2 MIN=1 MAX=3 COUNT=3",
         "2/3 SLURM_ARRAY_TASK_ID"},
        {"auto/9", "RANK=0 WORLD_SIZE=9 JOB_COMPLETION_INDEX=7", "8/9 JOB_COMPLETION_INDEX"},
        {"auto/3", "JOB_COMPLETION_INDEX=0 ID=2 MIN=1 MAX=3 COUNT=3", "2/3 SLURM_ARRAY_TASK_ID"},
    };
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        status_t status;
        char *text = read_row(&ROWS[i], &status);
        assert_string_equal(text, ROWS[i].expected);
        assert_int_equal(status, STATUS_OK);
        free(text);
    }
}

static void test_refused(void **state) {
    static const row_t ROWS[] = {
        {"0/2", "", "--shard 0/2: expected I/N with 1 <= I <= N, auto, or auto/N"},
        {"3/2", "", "expected I/N"},
        {"automatic", "", "expected I/N"},
        {"auto/", "RANK=0", "expected I/N"},
        {"auto/0", "RANK=0", "expected I/N"},
        {"auto/-4", "RANK=0", "expected I/N"},
        {"auto/4x", "RANK=0", "expected I/N"},
        {"auto", "", "expected one of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, RANK, "},
        {"auto/4", "WORLD_SIZE=4", "expected one of"},
        {"auto", "ID=1 COUNT=4", "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_MIN is not"},
        {"auto", "ID=1 MIN=1", "SLURM_ARRAY_TASK_COUNT is not"},
        {"auto", "ID=x MIN=1 COUNT=4", "SLURM_ARRAY_TASK_ID: found \"x\", expected a whole number"},
        {"auto", "ID=-1 MIN=1 COUNT=4", "found \"-1\""},
        {"auto", "ID= MIN=1 COUNT=4", "found \"\""},
        {"auto", "ID=1 MIN=1 COUNT=99999999999999999999", "found \"99999999999999999999\""},
        {"auto", "ID=1 MIN=1 MAX=1 COUNT=0", "SLURM_ARRAY_TASK_COUNT is 0, expected 1 or more"},
        {"auto", "ID=1 MIN=1 COUNT=1 STEP=0", "SLURM_ARRAY_TASK_STEP is 0"},
        {"auto", "ID=5 MIN=1 MAX=7 COUNT=3 STEP=1",
         "the job array has 3 tasks from 1 to 7 with step 1: submit all tasks"},
        {"auto", "ID=5 MIN=7 MAX=1 COUNT=3", "the job array has 3 tasks"},
        {"auto", "ID=9 MIN=1 MAX=8 COUNT=8", "SLURM_ARRAY_TASK_ID is 9, expected one of 1 to 8"},
        {"auto", "ID=0 MIN=1 MAX=8 COUNT=8", "SLURM_ARRAY_TASK_ID is 0, expected one of 1 to 8"},
        {"auto", "ID=6 MIN=1 MAX=6 COUNT=3 STEP=2", "SLURM_ARRAY_TASK_ID is 6, expected one of"},
        {"auto/4", "ID=5 MIN=5 MAX=5 COUNT=1", "SLURM_ARRAY_TASK_COUNT is 1, expected 4"},
        {"auto", "JOB_COMPLETION_INDEX=1",
         "--shard auto: JOB_COMPLETION_INDEX is set, but nothing tells the number of shards: give "
         "--shard auto/N"},
        {"auto/2", "JOB_COMPLETION_INDEX=2", "JOB_COMPLETION_INDEX is 2, expected less than 2"},
        {"auto/2", "JOB_COMPLETION_INDEX=a", "JOB_COMPLETION_INDEX: found \"a\""},
        {"auto", "RANK=1", "RANK is set, but nothing tells the number"},
        {"auto", "RANK=4 WORLD_SIZE=4", "RANK is 4, expected less than 4, WORLD_SIZE"},
        {"auto", "PMI_RANK=0 PMI_SIZE=0", "PMI_RANK is 0, expected less than 0, PMI_SIZE"},
        {"auto/8", "PMI_RANK=0 PMI_SIZE=4", "--shard auto/8: PMI_SIZE is 4, expected 8"},
        {"auto", "SLURM_PROCID=0 SLURM_NTASKS=two", "SLURM_NTASKS: found \"two\""},
    };
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        status_t status;
        char *text = read_row(&ROWS[i], &status);
        if (strstr(text, ROWS[i].expected) == NULL)
            fail_msg("--shard %s, %s: \"%s\" has no \"%s\"", ROWS[i].option, ROWS[i].environment,
                     text, ROWS[i].expected);
        assert_int_equal(status, STATUS_USAGE);
        free(text);
    }
}

#include "run_tests.h"
