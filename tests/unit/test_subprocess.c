/* io/subprocess with /bin/sh as the child: exits, signals, time-outs, and much output. */
#include "base/clock.h"
#include "base/text.h"
#include "checks.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "temporary_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static subprocess_result_t shell(const char *script, const char *input, double timeout_s) {
    const char *const argv[] = {"sh", "-c", script, NULL};
    subprocess_result_t result;
    assert_ok(subprocess_run(argv, input, timeout_s, &result, &err));
    return result;
}

static void how_programs_end(void **state) {
    static const struct {
        const char *script;
        int exit_code, signal;
        const char *out, *err;
    } rows[] = {
        {"exit 0", 0, 0, "", ""},
        {"echo hello; exit 3", 3, 0, "hello\n", ""},
        {"echo oops >&2; exit 255", 255, 0, "", "oops\n"},
        {"printf x; kill -SEGV $$", -1, SIGSEGV, "x", ""},
        {"kill -KILL $$", -1, SIGKILL, "", ""},
        /* mood: its output ends before it, however late that is */
        {"exec >&- 2>&-; sleep 0.05; exit 4", 4, 0, "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        subprocess_result_t result = shell(rows[i].script, NULL, 0);
        assert_int_equal(result.exit_code, rows[i].exit_code);
        assert_int_equal(result.signal, rows[i].signal);
        assert_false(result.timed_out);
        assert_string_equal(result.out, rows[i].out);
        assert_string_equal(result.err, rows[i].err);
        subprocess_result_free(&result);
        assert_null(result.out);
    }
}

static void arguments_are_not_interpreted(void **state) {
    const char *const argv[] = {"printf", "%s|", "a b", "$HOME; exit 1", "*", "", NULL};
    AUTO(subprocess_result_free) subprocess_result_t result;
    assert_ok(subprocess_run(argv, NULL, 0, &result, &err));
    assert_string_equal(result.out, "a b|$HOME; exit 1|*||");
}

static void programs_that_cannot_start(void **state) {
    static const char *const missing[] = {"no-such-program-xyz", NULL};
    static const char *const missing_path[] = {"/no/such/program", NULL};
    AUTO_FREE char *garbage = fs_join(*state, "garbage");
    error_t err = ERROR_INIT;
    assert_int_equal(fs_write_atomic(garbage, "\1\2\3 not a program", 17, &err), STATUS_OK);
    assert_int_equal(chmod(garbage, 0755), 0);
    const char *const broken[] = {garbage, NULL}; /* found, but exec refuses it */
    const struct {
        const char *const *argv;
        const char *cause;
    } rows[] = {{missing, "no such program on $PATH"},
                {missing_path, "no such program"},
                {broken, "Exec format error"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        subprocess_result_t result;
        error_clear(&err);
        assert_int_equal(subprocess_run(rows[i].argv, NULL, 0, &result, &err), STATUS_USAGE);
        assert_true(text_starts(err.text, rows[i].argv[0]));
        assert_has(err.text, rows[i].cause);
        subprocess_result_free(&result); /* nothing to free, and no harm */
    }
}

static void much_output_on_both_streams(void **state) {
    /* 3 MB on each, alternating in blocks larger than a pipe: who reads one after the other hangs.
     */
    subprocess_result_t result =
        shell("for i in 1 2 3 4 5 6 7 8 9 10; do head -c 300000 /dev/zero | "
              "tr '\\0' o; head -c 300000 /dev/zero | tr '\\0' e >&2; done",
              NULL, 60);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(strlen(result.out), 1 << 20);
    assert_int_equal(strlen(result.err), 1 << 20);
    assert_int_equal(strspn(result.out, "o"), 1 << 20);
    assert_int_equal(strspn(result.err, "e"), 1 << 20);
    subprocess_result_free(&result);
}

static void input_reaches_the_child(void **state) {
    enum { LENGTH = 500000 };
    AUTO_FREE char *input = mem_alloc(LENGTH + 1);
    memset(input, 'i', LENGTH);
    input[LENGTH] = '\0';
    AUTO(subprocess_result_free) subprocess_result_t result = shell("cat", input, 60);
    assert_string_equal(result.out, input);
    subprocess_result_free(&result);
    result = shell("cat; echo end", NULL, 60); /* no input is an empty one */
    assert_string_equal(result.out, "end\n");
    subprocess_result_free(&result);
    result = shell("exec <&-; echo deaf", input, 60); /* must not end us by SIGPIPE */
    assert_string_equal(result.out, "deaf\n");
}

/* While the child waits for it: it ends once the line has been passed on. */
static void marked_lines_are_passed_on_at_once(void **state) {
    AUTO_FREE char *told = fs_join(*state, "told");
    char *command =
        mem_format("echo other >&2; echo step one >&2; until grep -q 'step one' '%s'; do :; done; "
                   "printf 'step two\\nstep three' >&2",
                   told);
    const char *const argv[] = {"sh", "-c", command, NULL};
    AUTO(subprocess_result_free) subprocess_result_t result;
    error_t err = ERROR_INIT;
    const int before = dup(STDERR_FILENO), file = creat(told, 0600);
    dup2(file, STDERR_FILENO);
    const status_t status = subprocess_run_marked(argv, "step ", 60, &result, &err);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    close(file);
    assert_int_equal(status, STATUS_OK);
    assert_false(result.timed_out);
    assert_string_equal(result.err, "other\nstep one\nstep two\nstep three");
    AUTO_FREE char *text;
    size_t size;
    assert_int_equal(fs_read(told, &text, &size, &err), STATUS_OK);
    assert_string_equal(text, "step one\nstep two\n");
    free(command);
}

/* Ended, and reaped by whoever is its parent now; that may take a moment after the kill. */
static void assert_ends(pid_t pid) {
    assert_true(pid > 1);
    for (int tries = 0; tries < 240000; tries++) { /* of a millisecond and more */
        char *path = mem_format("/proc/%d/stat", (int)pid), *stat_line = NULL;
        error_t err = ERROR_INIT;
        size_t size;
        bool gone = fs_read(path, &stat_line, &size, &err) != STATUS_OK;
        const char *name_end = gone ? NULL : strrchr(stat_line, ')');
        bool zombie = name_end != NULL && text_starts(name_end, ") Z");
        free(path);
        if (!gone)
            free(stat_line);
        if (gone || zombie)
            return;
        poll(NULL, 0, 1); /* mood: looks again, minutes long */
    }
    fail_msg("process %d is still there", (int)pid);
}

/* Stands still until a file exists; from then on, an hour passes between two readings. */
static int64_t standing_until(void *file) {
    static int64_t now_ns;
    return now_ns += fs_exists(file) ? 3600 * INT64_C(1000000000) : 0;
}

static void timeouts_kill_grandchildren_too(void **state) {
    AUTO_FREE char *over = fs_join(*state, "over");
    AUTO_FREE char *script = mem_format("sleep 1000 & echo $!; : >'%s'; sleep 1000", over);
    clock_inject(standing_until, over);
    AUTO(subprocess_result_free) subprocess_result_t result = shell(script, NULL, 60);
    clock_inject(NULL, NULL);
    assert_true(result.timed_out);
    assert_int_equal(result.exit_code, -1);
    assert_int_equal(result.signal, SIGKILL);
    assert_ends((pid_t)atoi(result.out)); /* what it wrote before is kept */
}

static void a_grandchild_that_holds_the_streams_does_not_hold_us(void **state) {
    AUTO(subprocess_result_free)
    subprocess_result_t result = shell("sleep 1000 & echo $!; exit 5", NULL, 60);
    assert_false(result.timed_out);
    assert_int_equal(result.exit_code, 5);
    assert_ends((pid_t)atoi(result.out));
}

static void children_start_clean(void **state) {
    /* Its own process group, SIGPIPE as usual (`head` ends `yes`), and no descriptor of ours. */
    int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int leaked = fcntl(opened, F_DUPFD_CLOEXEC, 50); /* no number that the shell itself uses */
    assert_true(leaked >= 50);
    char *script =
        mem_format("read -r _ _ _ _ group _ < /proc/self/stat; test $group = $$ || exit 1\n"
                   "yes | head -1\n"
                   "test ! -e /proc/self/fd/%d",
                   leaked);
    AUTO(subprocess_result_free) subprocess_result_t result = shell(script, NULL, 60);
    assert_string_equal(result.out, "y\n");
    assert_int_equal(result.exit_code, 0);
    free(script);
    close(leaked);
    close(opened);
}

static void our_own_streams_may_be_closed(void **state) {
    int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 50); /* -1 where it is closed already */
    close(STDIN_FILENO);
    AUTO(subprocess_result_free) subprocess_result_t result = shell("cat; echo err >&2", "in", 60);
    if (saved >= 0) {
        assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
        close(saved);
    }
    assert_string_equal(result.out, "in");
    assert_string_equal(result.err, "err\n");
}

static void start(const char *script, subprocess_t *child) {
    const char *const argv[] = {"sh", "-c", script, NULL};
    assert_ok(subprocess_start(argv, false, child, &err));
}

/* Read up to the end of the stream, or up to `wanted` bytes. */
static size_t read_some(int fd, char *text, size_t wanted) {
    size_t n = 0;
    while (n < wanted) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        assert_true(poll(&ready, 1, 240000) == 1);
        ssize_t got = read(fd, text + n, wanted - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    return n;
}

static void a_conversation(void **state) {
    subprocess_t child;
    char answer[64] = "", how[64];
    start("while read -r line; do echo \"<$line>\"; done; exit 3", &child);
    const int fds[] = {child.in_fd, child.out_fd, child.err_fd};
    for (size_t i = 0; i < 3; i++) {
        assert_true(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
    }
    assert_true(read(child.out_fd, answer, 1) < 0 && errno == EAGAIN);
    assert_int_equal(write(child.in_fd, "one\n", 4), 4);
    assert_int_equal(read_some(child.out_fd, answer, 6), 6);
    assert_string_equal(answer, "<one>\n");
    close(child.in_fd);
    child.in_fd = -1;
    assert_int_equal(read_some(child.out_fd, answer, sizeof answer), 0);
    subprocess_stop(&child, how);
    assert_string_equal(how, "exit code 3");
    assert_int_equal(child.out_fd, -1);
    subprocess_stop(&child, how);
    assert_string_equal(how, "not running");
}

static void how_stopped_children_ended(void **state) {
    subprocess_t child;
    char text[64] = "", how[64];
    start("kill -SEGV $$", &child);
    assert_int_equal(read_some(child.out_fd, text, sizeof text), 0);
    subprocess_stop(&child, how); /* at once: it may not be a zombie yet */
    assert_string_equal(how, "signal 11 (Segmentation fault)");

    start("sleep 1000 & echo $!; wait", &child);
    for (size_t n = 0; n == 0 || text[n - 1] != '\n'; n++)
        assert_true(read_some(child.out_fd, text + n, 1) == 1);
    pid_t pid = child.pid;
    subprocess_stop(&child, how);
    assert_string_equal(how, "still running, killed");
    assert_int_equal(kill(pid, 0), -1); /* reaped */
    assert_ends((pid_t)atoi(text));
}

static void children_die_with_us(void **state) {
    int report[2];
    assert_int_equal(pipe(report), 0);
    pid_t supervisor = fork();
    assert_true(supervisor >= 0);
    if (supervisor == 0) {
        const char *const argv[] = {"sleep", "1000", NULL};
        subprocess_t child;
        status_t status = subprocess_start(argv, false, &child, NULL);
        ssize_t written = write(report[1], &child.pid, sizeof child.pid);
        _exit(status == STATUS_OK && written == sizeof child.pid ? 0
                                                                 : 1); /* no subprocess_stop() */
    }
    pid_t child = 0;
    int status;
    assert_int_equal(read(report[0], &child, sizeof child), sizeof child);
    assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_ends(child);
    close(report[0]);
    close(report[1]);
}

#define GROUP_SET_UP make_folder
#define GROUP_TEAR_DOWN remove_folder
#include "run_tests.h"
