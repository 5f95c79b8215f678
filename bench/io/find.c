#include "io/find.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

char *fs_find_program(const char *name) {
    if (strchr(name, '/') != NULL)
        return is_program(name) ? mem_text(name) : NULL;
    const char *path = getenv("PATH");
    text_list_t folders = text_split(path == NULL ? "" : path, ':');
    char *found = NULL;
    for (size_t i = 0; i < folders.n && found == NULL; i++) {
        /* POSIX: an empty entry is the current folder. */
        char *program = fs_join(folders.items[i][0] == '\0' ? "." : folders.items[i], name);
        if (is_program(program))
            found = program;
        else
            free(program);
    }
    text_list_free(&folders);
    return found;
}

char *package_install(const package_t *package) {
    const struct {
        const char *manager, *command, *name;
    } choices[] = {
        {"apt-get", "apt-get install", package->apt},
        {"dnf", "dnf install", package->dnf},
        {"pacman", "pacman -S", package->pacman},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        char *path = fs_find_program(choices[i].manager);
        bool found = path != NULL;
        free(path);
        if (found)
            return mem_format("%s %s", choices[i].command, choices[i].name);
    }
    return mem_format("%s %s", choices[0].command, choices[0].name);
}

status_t fs_executable(char **path, error_t *err) {
    char target[PATH_MAX];
    *path = NULL;
    ssize_t length = readlink("/proc/self/exe", target, sizeof target);
    if (length < 0 || (size_t)length == sizeof target)
        return error_set(err, STATUS_USAGE, "/proc/self/exe: cannot read link: %s",
                         length < 0 ? strerror(errno) : "too long");
    *path = mem_text_n(target, (size_t)length);
    return STATUS_OK;
}
