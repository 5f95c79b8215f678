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

status_t fs_executable(char **path, error_t *err) {
    char target[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", target, sizeof target);
    if (length < 0 || (size_t)length == sizeof target)
        return error_set(err, STATUS_USAGE, "/proc/self/exe: cannot read link: %s",
                         length < 0 ? strerror(errno) : "too long");
    *path = mem_text_n(target, (size_t)length);
    return STATUS_OK;
}
