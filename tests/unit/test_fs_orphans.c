/* io/fs: what killed processes left half-written is cleared away, and nothing else. */
#include "checks.h"
#include "io/fs.h"
#include "temporary_folder.h"

#include <sys/wait.h>
#include <unistd.h>

/* A child that has ended and is reaped had a number that nobody has now. */
static long dead_pid(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return child;
}

static void orphans_are_removed_and_nothing_else(void **state) {
    long dead = dead_pid();
    char *folder = temporary_folder();
    char *gone[] = {mem_format("run.json.%ld-0.tmp", dead), mem_format("a.b.%ld-12.tmp", dead)};
    char *kept[] = {mem_format("run.json.%ld-0.tmp", (long)getpid()),
                    mem_format("run.json.%ld-0.tmp2", dead),
                    mem_format("run.json.%ld.tmp", dead),
                    mem_text("run.json.-1-0.tmp"),
                    mem_text("1-0.tmp"),
                    mem_text(".tmp"),
                    mem_text("notes.tmp")};
    const size_t n_gone = COUNT_OF(gone), n_kept = COUNT_OF(kept);
    for (size_t i = 0; i < n_gone + n_kept; i++) {
        char *path = fs_join(folder, i < n_gone ? gone[i] : kept[i - n_gone]);
        assert_ok(fs_write_atomic(path, "half", 4, &err));
        free(path);
    }
    fs_remove_orphans(folder);
    for (size_t i = 0; i < n_gone + n_kept; i++) {
        char *name = i < n_gone ? gone[i] : kept[i - n_gone], *path = fs_join(folder, name);
        assert_int_equal(fs_exists(path), i >= n_gone);
        free(path);
        free(name);
    }
    fs_remove_temporary(&folder);
    fs_remove_orphans("/no/such/folder");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orphans_are_removed_and_nothing_else),
    };
    return cmocka_run_group_tests_name("fs_orphans", tests, NULL, NULL);
}
