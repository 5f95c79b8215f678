#include "io/subprocess.h"

#include "base/clock.h"
#include "base/memory.h"
#include "io/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t passed_on;
static volatile pid_t foreground;

static void pass_signal_on(int signal_number) {
    passed_on = 1;
    if (foreground > 0)
        kill(foreground, signal_number);
}

/* ==== a child in the foreground =============================================================== */

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
    while (waitpid(foreground, &wait_status, 0) < 0 && errno == EINTR)
        ;
    foreground = 0;
    return wait_status;
}

status_t foreground_run(const char *const *argv, int *exit_code, bool *interrupted, error_t *err) {
    static const int SIGNALS[] = {SIGINT, SIGTERM};
    enum { N_SIGNALS = sizeof SIGNALS / sizeof *SIGNALS };
    const struct sigaction action = {.sa_handler = pass_signal_on};
    struct sigaction before[N_SIGNALS];
    sigset_t held, mask;
    sigemptyset(&held);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaddset(&held, SIGNALS[i]);
    passed_on = 0;
    /* Held until `foreground` is known. */
    sigprocmask(SIG_BLOCK, &held, &mask);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(SIGNALS[i], &action, &before[i]);
    const pid_t parent = getpid(), forked = fork();
    if (forked == 0)
        become(argv, parent, &mask);
    foreground = forked;
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

/* ==== children with pipes ===================================================================== */

enum { KEPT_BYTES = 1 << 20, CHUNK_BYTES = 1 << 16 };

double subprocess_now_s(void) {
    return 1e-9 * (double)clock_ns();
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Not to the numbers 0 to 2: see subprocess_pipe(). */
static bool move_up(int ends[2]) {
    for (int i = 0; i < 2; i++) {
        if (ends[i] > 2)
            continue;
        int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
        if (moved < 0)
            return false;
        close(ends[i]);
        ends[i] = moved;
    }
    return true;
}

bool subprocess_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC) == 0 && move_up(ends);
}

static bool socket_pair(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 && move_up(ends);
}

typedef struct pipes {
    int in[2], out[2], err[2];
    int exec[2]; /* carries errno if exec fails; closed by a successful exec */
} pipes_t;

static void close_pipes(pipes_t *pipes) {
    for (int i = 0; i < 2; i++) {
        close_fd(&pipes->in[i]);
        close_fd(&pipes->out[i]);
        close_fd(&pipes->err[i]);
        close_fd(&pipes->exec[i]);
    }
}

/* After fork() in a process with threads: must not allocate or lock. */
static _Noreturn void exec_child(const char *program, const char *const *argv, const pipes_t *pipes,
                                 pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before prctl() took effect */
        _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL); /* exec would inherit that we ignore it */
    if (dup2(pipes->in[0], STDIN_FILENO) >= 0 && dup2(pipes->out[1], STDOUT_FILENO) >= 0 &&
        dup2(pipes->err[1], STDERR_FILENO) >= 0)
        execv(program, (char *const *)(uintptr_t)argv);
    int cause = errno;
    ssize_t written = write(pipes->exec[1], &cause, sizeof cause);
    _exit(written < 0 ? 126 : 127);
}

/* errno of a failed exec, or 0. Returns once exec has succeeded or failed. */
static int exec_failure(int fd) {
    int cause = 0;
    ssize_t got;
    while ((got = read(fd, &cause, sizeof cause)) < 0 && errno == EINTR)
        ;
    return got == sizeof cause ? cause : 0;
}

/* Take our ends out of the pipes. */
static void keep_ends(pipes_t *pipes, subprocess_t *child) {
    child->in_fd = pipes->in[1];
    child->out_fd = pipes->out[0];
    child->err_fd = pipes->err[0];
    pipes->in[1] = pipes->out[0] = pipes->err[0] = -1;
    fcntl(child->in_fd, F_SETFL, O_NONBLOCK);
    fcntl(child->out_fd, F_SETFL, O_NONBLOCK);
    fcntl(child->err_fd, F_SETFL, O_NONBLOCK);
}

static const subprocess_t NO_CHILD = {-1, -1, -1, -1};
static const pipes_t NO_PIPES = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};

status_t subprocess_start(const char *const *argv, bool by_socket, subprocess_t *child,
                          error_t *err) {
    *child = NO_CHILD;
    AUTO_FREE char *program = fs_find_program(argv[0]);
    if (program == NULL)
        return error_set(err, STATUS_USAGE, "%s: cannot start: no such program%s", argv[0],
                         strchr(argv[0], '/') == NULL ? " on $PATH" : "");
    /* Writing to a dead child must fail, not kill us. */
    signal(SIGPIPE, SIG_IGN);
    pipes_t pipes = NO_PIPES;
    pid_t parent = getpid(), pid = -1;
    if ((by_socket ? socket_pair(pipes.in) : subprocess_pipe(pipes.in)) &&
        subprocess_pipe(pipes.out) && subprocess_pipe(pipes.err) && subprocess_pipe(pipes.exec))
        pid = fork();
    if (pid == 0)
        exec_child(program, argv, &pipes, parent);
    int cause = errno;
    if (pid > 0) {
        close_fd(&pipes.exec[1]);
        cause = exec_failure(pipes.exec[0]);
        if (cause != 0)
            waitpid(pid, NULL, 0);
    }
    if (pid < 0 || cause != 0) {
        close_pipes(&pipes);
        return error_set(err, STATUS_USAGE, "%s: cannot start: %s", argv[0], strerror(cause));
    }
    child->pid = pid;
    keep_ends(&pipes, child);
    close_pipes(&pipes);
    return STATUS_OK;
}

status_t subprocess_streams(subprocess_t *child, int theirs[3], error_t *err) {
    pipes_t pipes = NO_PIPES;
    *child = NO_CHILD;
    if (!subprocess_pipe(pipes.in) || !subprocess_pipe(pipes.out) || !subprocess_pipe(pipes.err)) {
        error_set(err, STATUS_FAILED, "pipes: %s", strerror(errno));
        close_pipes(&pipes);
        return STATUS_FAILED;
    }
    keep_ends(&pipes, child);
    theirs[0] = pipes.in[0];
    theirs[1] = pipes.out[1];
    theirs[2] = pipes.err[1];
    return STATUS_OK;
}

/* The child stays a zombie, so that its process group keeps its number. */
static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

bool subprocess_has_ended(const subprocess_t *child) {
    return child->pid <= 0 || has_ended(child->pid);
}

void subprocess_close(subprocess_t *child) {
    close_fd(&child->in_fd);
    close_fd(&child->out_fd);
    close_fd(&child->err_fd);
}

/* Kill the rest of the group, reap the child, close our ends. Returns the wait status. */
static int end(subprocess_t *child) {
    int wait_status = 0;
    kill(-child->pid, SIGKILL);
    while (waitpid(child->pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    child->pid = -1;
    subprocess_close(child);
    return wait_status;
}

/* A dying process closes its files before it can be waited for. A caller that saw the end of the
 * output and asks at once how the child ended must learn of its crash, not of our kill. */
static bool wait_for_dying(const subprocess_t *child) {
    struct pollfd out = {.fd = child->out_fd, .events = 0};
    double deadline_s = subprocess_now_s() + 1;
    while (!has_ended(child->pid)) {
        if (poll(&out, 1, 0) <= 0 || (out.revents & POLLHUP) == 0 ||
            subprocess_now_s() > deadline_s)
            return false;
        poll(NULL, 0, 1);
    }
    return true;
}

void subprocess_stop(subprocess_t *child, char how[64]) {
    if (child->pid <= 0) {
        snprintf(how, 64, "not running");
        return;
    }
    bool ended = wait_for_dying(child);
    int wait_status = end(child);
    if (WIFEXITED(wait_status))
        snprintf(how, 64, "exit code %d", WEXITSTATUS(wait_status));
    else if (ended)
        snprintf(how, 64, "signal %d (%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)));
    else
        snprintf(how, 64, "still running, killed");
}

/* One output stream of subprocess_run(). */
typedef struct capture {
    char *text;
    size_t n, capacity, most;
} capture_t;

/* Read what is available; closes `*fd` at the end of the stream. True if anything happened. */
static bool drain(int *fd, capture_t *capture) {
    char chunk[CHUNK_BYTES];
    ssize_t got = read(*fd, chunk, sizeof chunk);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        close_fd(fd);
        return true;
    }
    size_t room = capture->most - capture->n;
    size_t kept = (size_t)got < room ? (size_t)got : room;
    if (kept > 0) {
        mem_grow(&capture->text, capture->n + kept, &capture->capacity, 1);
        memcpy(capture->text + capture->n, chunk, kept);
        capture->n += kept;
    }
    return true;
}

/* Write as much of `*input` as fits; closes the stream after the last byte or if the reader is
 * gone. */
static bool feed(int *fd, const char **input, size_t *left) {
    ssize_t written = *left == 0 ? 0 : write(*fd, *input, *left);
    if (written < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (written < 0 || (size_t)written == *left) {
        close_fd(fd);
        return true;
    }
    *input += written;
    *left -= (size_t)written;
    return true;
}

typedef struct streams {
    const char *input;
    size_t input_left;
    capture_t out, err;
    const char *mark; /* of lines that are passed on; NULL: none */
    size_t n_seen;    /* bytes of `err` that have been looked at */
} streams_t;

static void pass_on(streams_t *streams) {
    const capture_t *err = &streams->err;
    const size_t length = strlen(streams->mark);
    const char *line, *end;
    while (line = err->text + streams->n_seen,
           (end = memchr(line, '\n', err->n - streams->n_seen)) != NULL) {
        const size_t n = (size_t)(end + 1 - line);
        if (n > length && memcmp(line, streams->mark, length) == 0)
            fwrite(line, 1, n, stderr);
        streams->n_seen += n;
    }
}

/* Wait up to `wait_ms` for any stream and serve it. True if anything happened. */
static bool serve(subprocess_t *child, streams_t *streams, int wait_ms) {
    /* poll() ignores negative numbers, i.e. closed streams. */
    struct pollfd fds[] = {{.fd = child->in_fd, .events = POLLOUT},
                           {.fd = child->out_fd, .events = POLLIN},
                           {.fd = child->err_fd, .events = POLLIN}};
    if (poll(fds, 3, wait_ms) <= 0)
        return false;
    bool happened = false;
    if (fds[0].revents != 0)
        happened |= feed(&child->in_fd, &streams->input, &streams->input_left);
    if (fds[1].revents != 0)
        happened |= drain(&child->out_fd, &streams->out);
    if (fds[2].revents != 0)
        happened |= drain(&child->err_fd, &streams->err);
    if (streams->mark != NULL && streams->err.n > streams->n_seen)
        pass_on(streams);
    return happened;
}

static char *captured_text(capture_t *capture) {
    mem_grow(&capture->text, capture->n, &capture->capacity, 1);
    capture->text[capture->n] = '\0';
    return capture->text;
}

static void (*watch)(void *context);

static void *watch_context;

void subprocess_watch(void (*function)(void *context), void *context) {
    watch = function;
    watch_context = context;
}

void subprocess_waiting(void) {
    if (watch != NULL)
        watch(watch_context);
}

/* `streams` have the input, and how much to keep. */
static status_t run_with(const char *const *argv, streams_t streams, double timeout_s,
                         subprocess_result_t *result, error_t *err) {
    *result = (subprocess_result_t){.exit_code = -1};
    subprocess_t child;
    TRY(subprocess_start(argv, false, &child, err));
    double deadline_s = timeout_s > 0 ? subprocess_now_s() + timeout_s : INFINITY;

    /* Poll for the child's end rather than wait for the end of its output: a grandchild may hold
     * the streams open, or the child may have closed them early. The interval grows from 1 ms to 32
     * ms. */
    int wait_ms = 1;
    while (!has_ended(child.pid)) {
        if (subprocess_now_s() >= deadline_s) {
            result->timed_out = true;
            break;
        }
        bool happened = serve(&child, &streams, wait_ms);
        subprocess_waiting();
        wait_ms = happened ? 1 : wait_ms < 32 ? wait_ms * 2 : wait_ms;
    }
    /* Kill what it left running, then read the rest of the pipes. The limit is for a process that
     * left the group and keeps writing: a pipe holds 1 MiB at most. */
    kill(-child.pid, SIGKILL);
    close_fd(&child.in_fd);
    for (int turns = KEPT_BYTES / CHUNK_BYTES + 2; turns > 0 && serve(&child, &streams, 0); turns--)
        ;
    int wait_status = end(&child);
    if (WIFEXITED(wait_status))
        result->exit_code = WEXITSTATUS(wait_status);
    else
        result->signal = WTERMSIG(wait_status);
    result->n_out = streams.out.n;
    result->out = captured_text(&streams.out);
    result->err = captured_text(&streams.err);
    return STATUS_OK;
}

status_t subprocess_run(const char *const *argv, const char *input, double timeout_s,
                        subprocess_result_t *result, error_t *err) {
    const streams_t streams = {.input = input,
                               .input_left = input == NULL ? 0 : strlen(input),
                               .out.most = KEPT_BYTES,
                               .err.most = KEPT_BYTES};
    return run_with(argv, streams, timeout_s, result, err);
}

char *subprocess_output(const char *const *argv, double timeout_s) {
    AUTO(subprocess_result_free) subprocess_result_t result = {0};
    const status_t status = subprocess_run(argv, NULL, timeout_s, &result, NULL);
    return status == STATUS_OK && result.exit_code == 0 ? mem_text(result.out) : NULL;
}

status_t subprocess_run_keep(const char *const *argv, size_t most, double timeout_s,
                             subprocess_result_t *result, error_t *err) {
    const streams_t streams = {.out.most = most, .err.most = KEPT_BYTES};
    return run_with(argv, streams, timeout_s, result, err);
}

status_t subprocess_run_marked(const char *const *argv, const char *mark, double timeout_s,
                               subprocess_result_t *result, error_t *err) {
    const streams_t streams = {.mark = mark, .out.most = KEPT_BYTES, .err.most = KEPT_BYTES};
    return run_with(argv, streams, timeout_s, result, err);
}

void subprocess_result_free(subprocess_result_t *result) {
    free(result->out);
    free(result->err);
    *result = (subprocess_result_t){0};
}

/* ==== what children leave behind ============================================================== */

enum { MOST_ROUNDS = 100 }; /* each may bring up children of those that it killed */

/* 0 if there is no such process. */
static pid_t parent_of(const char *pid) {
    char path[64], line[128], state;
    int parent;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    fs_first_line(path, line, sizeof line);
    /* The name, in parentheses, is of at most 15 bytes; the kernel escapes line breaks. */
    return sscanf(line, "%*d (%*15[^)]) %c %d", &state, &parent) == 2 && state != 'Z' ? parent : 0;
}

static bool runs_our_program(const char *pid) {
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* All, by what the parent's number is; in a system with many processes that takes milliseconds. */
static void scan_processes(text_list_t *found) {
    AUTO(text_list_free) text_list_t names = {0};
    fs_list("/proc", "", &names, NULL);
    for (size_t i = 0; i < names.n; i++)
        if (strspn(names.items[i], "0123456789") == strlen(names.items[i]) &&
            parent_of(names.items[i]) == getpid())
            text_list_add(found, names.items[i]);
}

/* False if this kernel has no such list (CONFIG_PROC_CHILDREN). */
static bool read_children(const char *thread, text_list_t *found) {
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (fscanf(file, "%31s", name) == 1)
        if (parent_of(name) == getpid()) /* else it has ended, and is not waited for yet */
            text_list_add(found, name);
    fclose(file);
    return true;
}

static text_list_t children(void) {
    AUTO(text_list_free) text_list_t threads = {0};
    text_list_t found = {0};
    bool listed = fs_list("/proc/self/task", "", &threads, NULL) == STATUS_OK;
    for (size_t i = 0; i < threads.n && listed; i++)
        listed = read_children(threads.items[i], &found) || i > 0;
    if (!listed)
        scan_processes(&found);
    return found;
}

text_list_t orphans_adopt(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return children();
}

static void end_process(const char *name) {
    const pid_t pid = (pid_t)strtol(name, NULL, 10);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static bool kill_some(const text_list_t *spared) {
    bool any = false;
    AUTO(text_list_free) text_list_t found = children();
    for (size_t i = 0; i < found.n; i++) {
        if (text_list_has(spared, found.items[i]) || runs_our_program(found.items[i]))
            continue;
        end_process(found.items[i]);
        any = true;
    }
    return any;
}

void orphans_kill(text_list_t *spared) {
    for (int i = 0; i < MOST_ROUNDS && kill_some(spared); i++)
        ;
    text_list_free(spared);
}

/* ---- while others are needed -------------------------------------------------------------------- */

/* What a variable was as the process began. The caller frees it; NULL: it had none, or it cannot be read. */
static char *variable_of(const char *pid, const char *variable) {
    AUTO_FREE char *path = mem_format("/proc/%s/environ", pid), *text = NULL;
    char *value = NULL;
    const size_t length = strlen(variable);
    size_t capacity = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL && value == NULL && getdelim(&text, &capacity, '\0', file) > 0)
        if (text_starts(text, variable) && text[length] == '=')
            value = mem_text(text + length + 1);
    if (file != NULL)
        fclose(file);
    return value;
}

static bool may_stay(const char *pid, const orphans_owned_t *owned) {
    if (text_list_has(owned->spared, pid) ||
        owned->is_known((pid_t)strtol(pid, NULL, 10), owned->context) || runs_our_program(pid))
        return true;
    AUTO_FREE char *owner = variable_of(pid, owned->variable);
    return owner != NULL && owned->has_owner(owner, owned->context);
}

/* "python3 (process 123)". */
static char *describe(const char *pid) {
    AUTO_FREE char *path = mem_format("/proc/%s/comm", pid);
    char name[32];
    const bool known = fs_first_line(path, name, sizeof name);
    text_make_plain(name);
    return mem_format("%s (process %s)", known ? name : "a program", pid);
}

char *orphans_end(const orphans_owned_t *owned) {
    char *first = NULL;
    AUTO(text_list_free) text_list_t found = children();
    for (size_t i = 0; i < found.n; i++) {
        if (may_stay(found.items[i], owned))
            continue;
        if (first == NULL)
            first = describe(found.items[i]);
        end_process(found.items[i]);
    }
    return first;
}
