/* Temporary folders, and those that a killed process could not remove. */
#include "base/memory.h"
#include "io/find.h"
#include "io/fs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base_folder(void) {
    const char *base = fs_variable("TMPDIR");
    return base != NULL ? base : "/tmp";
}

/* Containers may share the folder, and their processes have the same numbers. */
static unsigned long long pid_namespace(void) {
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (unsigned long long)info.st_ino : 0;
}

status_t fs_temporary_folder_in(const char *base, char **path, error_t *err) {
    *path = mem_format("%s/bench-%llu-%ld-XXXXXX", base != NULL ? base : base_folder(),
                       pid_namespace(), (long)getpid());
    if (mkdtemp(*path) != NULL)
        return STATUS_OK;
    error_set(err, STATUS_USAGE, "%s: cannot make folder: %s", *path, strerror(errno));
    free(*path);
    return STATUS_USAGE;
}

status_t fs_temporary_folder(char **path, error_t *err) {
    return fs_temporary_folder_in(NULL, path, err);
}

/* Was it made by fs_temporary_folder() in a process of ours that no longer exists? */
static bool is_dead(const char *name, const char *path) {
    unsigned long long made_in;
    long pid;
    int end = 0;
    struct stat info;
    return sscanf(name, "bench-%llu-%ld-%*6[A-Za-z0-9]%n", &made_in, &pid, &end) == 2 && end > 0 &&
           name[end] == '\0' && made_in == pid_namespace() && pid > 0 && kill((pid_t)pid, 0) != 0 &&
           errno == ESRCH && lstat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == geteuid();
}

void fs_remove_dead_folders(void) {
    text_list_t names = {0};
    error_t ignored = ERROR_INIT;
    if (fs_list(base_folder(), "", &names, &ignored) == STATUS_OK)
        for (size_t i = 0; i < names.n; i++) {
            char *path = fs_join(base_folder(), names.items[i]);
            if (is_dead(names.items[i], path))
                fs_remove_tree(path, NULL);
            free(path);
        }
    text_list_free(&names);
}
