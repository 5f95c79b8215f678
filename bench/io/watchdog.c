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

/* The result of take() or give_back(). */
typedef struct answer {
    status_t status;
    double value;
    error_t err;
} answer_t;

_Static_assert(sizeof(answer_t) <= PIPE_BUF, "an answer is written in one piece");

/* ---- in the watchdog ------------------------------------------------------------------------- */

/* Our open files would stay open while the watchdog lives: the pipes of workers, the journal, our
 * end of the pipe that it waits on. */
static void keep_only(int first, int second) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        _exit(EXIT_FAILURE); /* it would wait on its own end of the pipe */
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != first && fd != second && fd != dirfd(folder))
            close(fd);
    }
    closedir(folder);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null_fd >= 0; fd++)
        dup2(null_fd, fd);
    if (null_fd > STDERR_FILENO)
        close(null_fd);
}

/* The reader may be gone, so errors are ignored. */
static void send_answer(int fd, const answer_t *answer) {
    while (write(fd, answer, sizeof *answer) < 0 && errno == EINTR)
        ;
}

static void wait_for_our_end(int life_fd) {
    char byte;
    ssize_t got;
    do
        got = read(life_fd, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
}

static _Noreturn void run_watchdog(const watchdog_task_t *task, int life_fd, int answer_fd) {
    setsid();
    prctl(PR_SET_NAME, task->name);
    keep_only(life_fd, answer_fd);
    answer_t answer = {.value = NAN, .err = ERROR_INIT};
    answer.status = task->take(task->context, &answer.value, &answer.err);
    bool taken = answer.status == STATUS_OK;
    send_answer(answer_fd, &answer);
    if (taken) {
        wait_for_our_end(life_fd);
        answer = (answer_t){.value = NAN, .err = ERROR_INIT};
        answer.status = task->give_back(task->context, &answer.err);
        send_answer(answer_fd, &answer);
    }
    _exit(EXIT_SUCCESS); /* exit handlers belong to the main process */
}

/* ---- in this process ------------------------------------------------------------------------- */

typedef enum reply { REPLIED, DIED, TIMED_OUT } reply_t;

static reply_t receive_answer(int fd, double timeout_s, answer_t *answer) {
    const double deadline_s = subprocess_now_s() + timeout_s;
    struct pollfd in = {.fd = fd, .events = POLLIN};
    for (;;) {
        double left_s = fmax(deadline_s - subprocess_now_s(), 0);
        int ready = poll(&in, 1, (int)fmin(left_s * 1e3, INT_MAX));
        if (ready > 0) {
            ssize_t got = read(fd, answer, sizeof *answer);
            if (got >= 0 || errno != EINTR)
                return got == sizeof *answer ? REPLIED : DIED;
        }
        if (ready == 0 && left_s <= 0)
            return TIMED_OUT;
    }
}

static status_t status_of_reply(reply_t reply, const answer_t *answer, double timeout_s,
                                error_t *err) {
    if (reply == DIED)
        return error_set(err, STATUS_FAILED, "its watchdog process has died");
    if (reply == TIMED_OUT)
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

/* Close our ends. A watchdog that timed out is not waited for: init reaps it after our end. */
static void close_watchdog(watchdog_t *watchdog, reply_t reply) {
    close_end(watchdog->life_fd);
    close_end(watchdog->answer_fd);
    while (reply != TIMED_OUT && waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *watchdog = (watchdog_t){0};
}

/* Signals are blocked before the fork and stay blocked in the watchdog. */
static pid_t fork_with_signals_blocked(void) {
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
    const char *missing = "pipe";
    if (subprocess_pipe(life) && subprocess_pipe(answers)) {
        missing = "process";
        pid = fork_with_signals_blocked();
    }
    if (pid == 0)
        run_watchdog(task, life[0], answers[1]);
    if (pid < 0)
        error_set(err, STATUS_FAILED, "%s: no %s: %s", task->name, missing, strerror(errno));
    close_end(life[0]);
    close_end(answers[1]);
    if (pid < 0) {
        close_end(life[1]);
        close_end(answers[0]);
        return STATUS_FAILED;
    }
    *watchdog = (watchdog_t){pid, life[1], answers[0]};
    answer_t answer;
    reply_t reply = receive_answer(watchdog->answer_fd, timeout_s, &answer);
    status_t status = status_of_reply(reply, &answer, timeout_s, err);
    if (status == STATUS_OK)
        *value = answer.value;
    else
        close_watchdog(watchdog, reply);
    return status;
}

status_t watchdog_end(watchdog_t *watchdog, double timeout_s, error_t *err) {
    if (watchdog->pid <= 0)
        return STATUS_OK;
    close(watchdog->life_fd);
    watchdog->life_fd = -1;
    answer_t answer;
    reply_t reply = receive_answer(watchdog->answer_fd, timeout_s, &answer);
    close_watchdog(watchdog, reply);
    return status_of_reply(reply, &answer, timeout_s, err);
}
