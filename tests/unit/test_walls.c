/* walls/walls: the commands that make walls, and the process behind them. */
#include "checks.h"
#include "io/fs.h"
#include "walls/walls.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static wall_folders_t two_folders(void) {
    wall_folders_t folders = {0};
    text_list_add(&folders.hidden, "/run/hidden");
    text_list_add(&folders.open, "/run/hidden/open");
    return folders;
}

static char *command(walls_kind_t kind) {
    wall_folders_t folders = two_folders();
    const walls_t walls = {.kind = kind};
    AUTO(text_list_free) text_list_t argv = {0};
    walls_argv(&walls, &folders, &argv);
    char *text = text_list_join(&argv, " ");
    text_list_free(&folders.hidden);
    text_list_free(&folders.open);
    return text;
}

static void each_kind_hides_before_it_opens(void **state) {
    AUTO_FREE char *wrapped = command(WALLS_BUBBLEWRAP), *own = command(WALLS_NAMESPACES),
                   *none = command(WALLS_NONE);
    assert_true(text_starts(wrapped, "bwrap --die-with-parent --unshare-pid --unshare-ipc"));
    assert_has(wrapped, " --cap-drop ALL --ro-bind / / --dev /dev --proc /proc ");
    assert_true(
        text_ends(wrapped, " --tmpfs /run/hidden --bind /run/hidden/open /run/hidden/open --"));
    assert_true(text_ends(own, " wall --hide /run/hidden --open /run/hidden/open --"));
    assert_string_equal(none, "");
}

/* Processes of these names, each the child of the one before; the last tells its number. */
static _Noreturn void descend(const char *const *names, int said) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* it must not outlive a test that fails */
    for (; *names != NULL; names++) {
        prctl(PR_SET_NAME, *names, 0, 0, 0);
        if (fork() != 0)
            break;
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    }
    const pid_t own = getpid();
    if (*names == NULL) {
        prctl(PR_SET_NAME, "python3", 0, 0, 0);
        if (write(said, &own, sizeof own) != sizeof own)
            _exit(1);
    }
    while (true)
        pause();
}

static void the_process_behind_walls_is_found(void **state) {
    static const char *const NAMES[][3] = {
        {NULL}, {"bwrap", NULL}, {"bwrap", "bwrap", NULL}, {WALLS_NAME, WALLS_NAME, NULL}};
    for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
        int ends[2];
        pid_t inside;
        assert_int_equal(pipe(ends), 0);
        const pid_t started = fork();
        if (started == 0)
            descend(NAMES[i], ends[1]);
        assert_int_equal(read(ends[0], &inside, sizeof inside), sizeof inside);
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)started, (int)started);
        if (!fs_exists(path)) {
            kill(started, SIGKILL);
            skip(); /* the kernel does not list them */
        }
        assert_int_equal(walls_inside(started), inside);
        kill(inside, SIGKILL);
        kill(started, SIGKILL);
        assert_int_equal(waitpid(started, NULL, 0), started);
        close(ends[0]);
        close(ends[1]);
    }
}

#include "run_tests.h"
