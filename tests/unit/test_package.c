/* Which command installs a package is told by the package manager that is here. */
#include "checks.h"
#include "io/fs.h"
#include "temporary_folder.h"

#include <sys/stat.h>

/* The manager NULL: none. */
static void check(const char *manager, const char *command) {
    static const package_t package = {"g++", "gcc-c++", "gcc"};
    char *folder = temporary_folder(), *path = mem_text(getenv("PATH"));
    if (manager != NULL) {
        char *program = fs_join(folder, manager);
        assert_ok(fs_write_atomic(program, "", 0, &err));
        assert_int_equal(chmod(program, 0755), 0);
        free(program);
    }
    setenv("PATH", folder, 1);
    char *found = package_install(&package);
    setenv("PATH", path, 1);
    assert_string_equal(found, command);
    free(found);
    fs_remove_temporary(&folder);
    free(path);
}

static void test_managers(void **state) {
    check("apt-get", "apt-get install g++");
    check("dnf", "dnf install gcc-c++");
    check("pacman", "pacman -S gcc");
    check(NULL, "apt-get install g++");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_managers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
