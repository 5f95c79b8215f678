#include "io/foreground.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t passed_on;
static volatile pid_t child;

static void pass_on(int signal_number) {
    passed_on = 1;
    if (child > 0)
        kill(child, signal_number);
}

/* A process group of its own: the terminal's Ctrl-C reaches the child once, through us. */
static _Noreturn void become(const char *const *argv, pid_t parent, const sigset_t *mask) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (getppid() == parent && nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        sigprocmask(SIG_SETMASK, mask, NULL);
        execv(argv[0], (char *const *)(uintptr_t)argv);
    }
    _exit(127);
}

static int wait_for_child(void) {
    int wait_status = 0;
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    return wait_status;
}

status_t foreground_run(const char *const *argv, int *exit_code, bool *interrupted, error_t *err) {
    static const int SIGNALS[] = {SIGINT, SIGTERM};
    enum { N_SIGNALS = sizeof SIGNALS / sizeof *SIGNALS };
    const struct sigaction action = {.sa_handler = pass_on};
    struct sigaction before[N_SIGNALS];
    sigset_t held, mask;
    sigemptyset(&held);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaddset(&held, SIGNALS[i]);
    passed_on = 0;
    /* Held until `child` is known. */
    sigprocmask(SIG_BLOCK, &held, &mask);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(SIGNALS[i], &action, &before[i]);
    const pid_t parent = getpid(), forked = fork();
    if (forked == 0)
        become(argv, parent, &mask);
    child = forked;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    const int wait_status = forked > 0 ? wait_for_child() : 0;
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(SIGNALS[i], &before[i], NULL);
    *interrupted = passed_on;
    *exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    if (forked < 0 || *exit_code == 127)
        return error_set(err, STATUS_USAGE, "%s: cannot start", argv[0]);
    if (*exit_code < 0 && !*interrupted)
        return error_set(err, STATUS_FAILED, "%s %s: %s", argv[0], argv[1],
                         strsignal(WTERMSIG(wait_status)));
    return STATUS_OK;
}
