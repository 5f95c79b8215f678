#include "io/watchdog.h"

#include "io/subprocess.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What take() and give_back() came to. */
typedef struct answer {
    status_t status;
    double value;
    error_t err;
} answer_t;

_Static_assert(sizeof(answer_t) <= PIPE_BUF, "an answer is written in one piece");

/* ---- in the watchdog ------------------------------------------------------------------------- */

/* Whatever we have open would stay open for as long as the watchdog lives: the pipes of workers,
 * the journal, our own end of the pipe that it waits at. */
static void keep_only(int first, int second) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        _exit(EXIT_FAILURE); /* it would wait for its own end */
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != first && fd != second && fd != dirfd(folder))
            close(fd);
    }
    closedir(folder);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && nowhere >= 0; fd++)
        dup2(nowhere, fd);
    if (nowhere > STDERR_FILENO)
        close(nowhere);
}

/* Nobody may be there to read it: that is no reason not to go on. */
static void send_answer(int fd, const answer_t *answer) {
    ssize_t written;
    do
        written = write(fd, answer, sizeof *answer);
    while (written < 0 && errno == EINTR);
}

static void wait_for_the_end(int life_fd) {
    char byte;
    ssize_t got;
    do
        got = read(life_fd, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
}

static _Noreturn void guard(const watchdog_task_t *task, int life_fd, int answer_fd) {
    setsid();
    prctl(PR_SET_NAME, task->name);
    keep_only(life_fd, answer_fd);
    answer_t answer = {.value = NAN, .err = ERROR_INIT};
    answer.status = task->take(task->context, &answer.value, &answer.err);
    bool taken = answer.status == STATUS_OK;
    send_answer(answer_fd, &answer);
    if (taken) {
        wait_for_the_end(life_fd);
        answer = (answer_t){.value = NAN, .err = ERROR_INIT};
        answer.status = task->give_back(task->context, &answer.err);
        send_answer(answer_fd, &answer);
    }
    _exit(EXIT_SUCCESS); /* what we would do at exit is ours to do */
}

/* ---- in this process ------------------------------------------------------------------------- */

typedef enum hearing { HEARD, DIED, SILENT } hearing_t;

static hearing_t hear(int fd, double timeout_s, answer_t *answer) {
    const double deadline_s = subprocess_now_s() + timeout_s;
    struct pollfd in = {.fd = fd, .events = POLLIN};
    for (;;) {
        double left_s = fmax(deadline_s - subprocess_now_s(), 0);
        int ready = poll(&in, 1, (int)fmin(left_s * 1e3, INT_MAX));
        if (ready > 0) {
            ssize_t got = read(fd, answer, sizeof *answer);
            if (got >= 0 || errno != EINTR)
                return got == sizeof *answer ? HEARD : DIED;
        }
        if (ready == 0 && left_s <= 0)
            return SILENT;
    }
}

static status_t judge(hearing_t hearing, const answer_t *answer, double timeout_s, error_t *err) {
    if (hearing == DIED)
        return error_set(err, STATUS_FAILED, "its watchdog process has died");
    if (hearing == SILENT)
        return error_set(err, STATUS_FAILED, "its watchdog process has not answered within %.3g s",
                         timeout_s);
    if (answer->status != STATUS_OK)
        return error_set(err, answer->status, "%s", answer->err.text);
    return STATUS_OK;
}

static void close_end(int fd) {
    if (fd >= 0)
        close(fd);
}

/* Close our ends. Whoever answers no more is not waited for: init reaps it when we are gone. */
static void let_go(watchdog_t *watchdog, hearing_t hearing) {
    close_end(watchdog->life_fd);
    close_end(watchdog->answer_fd);
    while (hearing != SILENT && waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *watchdog = (watchdog_t){0};
}

/* No signal may find the watchdog without its own way with signals, so they are blocked before. */
static pid_t fork_deaf(void) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int cause = errno;
    if (pid != 0)
        sigprocmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    return pid;
}

status_t watchdog_start(const watchdog_task_t *task, double timeout_s, watchdog_t *watchdog,
                        double *value, error_t *err) {
    int life[2] = {-1, -1}, answers[2] = {-1, -1};
    *watchdog = (watchdog_t){0};
    pid_t pid = -1;
    const char *lacks = "pipe";
    if (subprocess_pipe(life) && subprocess_pipe(answers)) {
        lacks = "process";
        pid = fork_deaf();
    }
    if (pid == 0)
        guard(task, life[0], answers[1]);
    if (pid < 0)
        error_set(err, STATUS_FAILED, "%s: no %s: %s", task->name, lacks, strerror(errno));
    close_end(life[0]);
    close_end(answers[1]);
    if (pid < 0) {
        close_end(life[1]);
        close_end(answers[0]);
        return STATUS_FAILED;
    }
    *watchdog = (watchdog_t){pid, life[1], answers[0]};
    answer_t answer;
    hearing_t hearing = hear(watchdog->answer_fd, timeout_s, &answer);
    status_t status = judge(hearing, &answer, timeout_s, err);
    if (status == STATUS_OK)
        *value = answer.value;
    else
        let_go(watchdog, hearing);
    return status;
}

status_t watchdog_end(watchdog_t *watchdog, double timeout_s, error_t *err) {
    if (watchdog->pid <= 0)
        return STATUS_OK;
    close(watchdog->life_fd);
    watchdog->life_fd = -1;
    answer_t answer;
    hearing_t hearing = hear(watchdog->answer_fd, timeout_s, &answer);
    let_go(watchdog, hearing);
    return judge(hearing, &answer, timeout_s, err);
}
