/* io/watchdog: what it took is given back, however the process ends that wanted it. Here it
 * takes a file: "taken" in it, and "given back" in the end. */
#include "checks.h"
#include "io/fs.h"
#include "io/subprocess.h"
#include "measure/machine.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_S = 100 };
static const double SHORT_S = 0.05; /* mood: for one that waits for us */

typedef struct place {
    char *folder, *file, *go;
    bool refuse, keep, hang;
} place_t;

static status_t take(void *context, double *value, error_t *err) {
    const place_t *place = context;
    while (place->hang && !fs_exists(place->go))
        poll(NULL, 0, 1); /* mood: as often as it takes */
    if (place->refuse)
        return error_set(err, STATUS_USAGE, "nothing to be had");
    *value = 1.5;
    return fs_write_atomic(place->file, "taken", 5, err);
}

static status_t give_back(void *context, error_t *err) {
    const place_t *place = context;
    if (place->keep)
        return error_set(err, STATUS_FAILED, "it sticks");
    return fs_write_atomic(place->file, "given back", 10, err);
}

static watchdog_task_t task_at(place_t *place) {
    return (watchdog_task_t){
        .name = "test-watchdog", .take = take, .give_back = give_back, .context = place};
}

static int set_up(void **state) {
    place_t *place = mem_zeroed(1, sizeof *place);
    assert_ok(fs_temporary_folder(&place->folder, &err));
    place->file = fs_join(place->folder, "file");
    place->go = fs_join(place->folder, "go"); /* ends a take() that hangs */
    *state = place;
    return prctl(PR_SET_CHILD_SUBREAPER, 1); /* watchdogs whose parent died become ours */
}

static int tear_down(void **state) {
    AUTO_FREE place_t *place = *state;
    assert_true(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD); /* nobody is left */
    fs_remove_tree(place->folder, NULL);
    free(place->folder);
    free(place->file);
    free(place->go);
    return 0;
}

static bool file_says(const place_t *place, const char *words) {
    char *text;
    size_t size;
    if (fs_read(place->file, &text, &size, NULL) != STATUS_OK)
        return false;
    bool same = strcmp(text, words) == 0;
    free(text);
    return same;
}

static watchdog_t start(const place_t *place) {
    watchdog_task_t task = task_at((place_t *)(uintptr_t)place);
    watchdog_t watchdog;
    double value = 0;
    assert_ok(watchdog_start(&task, LONG_S, &watchdog, &value, &err));
    assert_true(value == 1.5);
    return watchdog;
}

static void it_takes_and_gives_back(void **state) {
    watchdog_t watchdog = start(*state);
    assert_true(file_says(*state, "taken"));
    assert_true(getsid(watchdog.pid) == watchdog.pid);
    assert_ok(watchdog_end(&watchdog, LONG_S, &err));
    assert_true(file_says(*state, "given back"));
    assert_ok(watchdog_end(&watchdog, LONG_S, &err)); /* nothing to do */
}

static void a_refusal_leaves_nobody_behind(void **state) {
    place_t *place = *state;
    place->refuse = true;
    watchdog_task_t task = task_at(place);
    watchdog_t watchdog;
    double value;
    assert_fails(watchdog_start(&task, LONG_S, &watchdog, &value, &err), STATUS_USAGE,
                 "nothing to be had");
    assert_int_equal(watchdog.pid, 0);
    assert_false(fs_exists(place->file));
}

static void that_it_cannot_give_back_is_told(void **state) {
    place_t *place = *state;
    place->keep = true;
    watchdog_t watchdog = start(place);
    assert_fails(watchdog_end(&watchdog, LONG_S, &err), STATUS_FAILED, "it sticks");
}

static void signals_pass_it_by(void **state) {
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1};
    watchdog_t watchdog = start(*state);
    for (size_t i = 0; i < COUNT_OF(SIGNALS); i++)
        assert_int_equal(kill(watchdog.pid, SIGNALS[i]), 0);
    assert_ok(watchdog_end(&watchdog, LONG_S, &err));
    assert_true(file_says(*state, "given back"));
}

/* A program of ours that lives on must not keep it waiting. */
static void programs_do_not_hold_the_pipe(void **state) {
    static const char *const ARGV[] = {"sleep", "1000", NULL};
    watchdog_t watchdog = start(*state);
    subprocess_t child;
    assert_ok(subprocess_start(ARGV, false, &child, &err));
    assert_ok(watchdog_end(&watchdog, LONG_S, &err));
    assert_false(subprocess_has_ended(&child));
    assert_true(file_says(*state, "given back"));
    char how[64];
    subprocess_stop(&child, how);
}

/* What it has open of ours would be held open by it. */
static void it_holds_no_files_of_ours(void **state) {
    int ends[2];
    assert_true(subprocess_pipe(ends));
    watchdog_t watchdog = start(*state);
    close(ends[1]);
    struct pollfd in = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&in, 1, LONG_S * 1000), 1);
    assert_true((in.revents & POLLHUP) != 0);
    close(ends[0]);
    assert_ok(watchdog_end(&watchdog, LONG_S, &err));
}

static void a_killed_process_has_it_given_back(void **state) {
    int ends[2];
    assert_true(subprocess_pipe(ends));
    pid_t pid = fork();
    if (pid == 0) {
        watchdog_t watchdog = start(*state);
        if (write(ends[1], &watchdog.pid, sizeof watchdog.pid) < 0)
            _exit(1);
        poll(NULL, 0, -1);
    }
    pid_t watchdog_pid = -1;
    assert_int_equal(read(ends[0], &watchdog_pid, sizeof watchdog_pid), sizeof watchdog_pid);
    assert_true(file_says(*state, "taken"));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(waitpid(watchdog_pid, NULL, 0), watchdog_pid); /* it ends by itself */
    assert_true(file_says(*state, "given back"));
    close(ends[0]);
    close(ends[1]);
}

static void its_own_death_is_told(void **state) {
    watchdog_t watchdog = start(*state);
    kill(watchdog.pid, SIGKILL);
    assert_fails(watchdog_end(&watchdog, LONG_S, &err), STATUS_FAILED,
                 "its watchdog process has died");
    assert_true(file_says(*state, "taken"));
}

static void who_is_not_waited_for_gives_back_all_the_same(void **state) {
    place_t *place = *state;
    place->hang = true;
    watchdog_task_t task = task_at(place);
    watchdog_t watchdog;
    double value;
    assert_fails(watchdog_start(&task, SHORT_S, &watchdog, &value, &err), STATUS_FAILED,
                 "its watchdog process has not answered within 0.05 s");
    assert_int_equal(watchdog.pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* it is still there */
    assert_ok(fs_write_atomic(place->go, "", 0, &err));
    assert_true(waitpid(-1, NULL, 0) > 0);
    assert_true(file_says(place, "given back"));
}

static void closed_streams_do_not_matter(void **state) {
    pid_t pid = fork();
    if (pid == 0) {
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
        watchdog_t watchdog = start(*state);
        error_t err = ERROR_INIT;
        _exit(watchdog_end(&watchdog, LONG_S, &err) == STATUS_OK ? 0 : 1);
    }
    int how = -1;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    assert_true(file_says(*state, "given back"));
}

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "run_tests.h"
