/* Folders that bench makes for itself and removes, also those that a killed process could not remove. */
#include "base/memory.h"
#include "io/find.h"
#include "io/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

/* Is it a name that fs_temporary_folder() gives? `name` ends at a slash, or at its end. */
static bool is_temporary_name(const char *name, unsigned long long *made_in, long *pid) {
    enum { LETTERS = sizeof "XXXXXX" - 1 };
    int start = 0, end = 0;
    return sscanf(name, "bench-%llu-%ld-%n%*6[A-Za-z0-9]%n", made_in, pid, &start, &end) == 2 &&
           end == start + LETTERS && (name[end] == '\0' || name[end] == '/');
}

static bool is_temporary(const char *path) {
    unsigned long long made_in;
    long pid;
    for (const char *name = path; name != NULL; name = strchr(name, '/')) {
        name += strspn(name, "/");
        if (is_temporary_name(name, &made_in, &pid))
            return strstr(name, "/..") == NULL;
    }
    return false;
}

/* ---- removing -------------------------------------------------------------------------------- */

static status_t removal_error(const char *path, const char *doing, error_t *err) {
    return error_set(err, STATUS_USAGE, "%s: cannot %s: %s", path, doing, strerror(errno));
}

static status_t remove_at(int parent_fd, const char *name, const char *path, error_t *err);

/* Always closes `folder_fd`. */
static status_t remove_contents(int folder_fd, const char *path, error_t *err) {
    DIR *folder = fdopendir(folder_fd);
    if (folder == NULL) {
        status_t failed = removal_error(path, "read folder", err);
        close(folder_fd);
        return failed;
    }
    status_t status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *child = fs_join(path, entry->d_name);
        status = remove_at(folder_fd, entry->d_name, child, err);
        free(child);
    }
    closedir(folder);
    return status;
}

/* Uses file descriptors and O_NOFOLLOW: a symbolic link is removed, never followed, even if it
 * replaces a folder meanwhile. */
static status_t remove_at(int parent_fd, const char *name, const char *path, error_t *err) {
    if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
        return STATUS_OK;
    if (errno != EISDIR && errno != EPERM) /* Linux and POSIX: it is a folder */
        return removal_error(path, "remove", err);
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return removal_error(path, "remove", err);
    TRY(remove_contents(fd, path, err));
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return removal_error(path, "remove", err);
    return STATUS_OK;
}

static status_t remove_all(const char *path, error_t *err) {
    /* "link/" would mean the link's target. */
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    char *trimmed = mem_text_n(path, length);
    status_t status = remove_at(AT_FDCWD, trimmed, trimmed, err);
    free(trimmed);
    return status;
}

static status_t refuse_to_remove(const char *path, error_t *err) {
    return error_set(err, STATUS_FAILED, "%s: not removed: bench did not make it", path);
}

status_t fs_remove_tree(const char *path, error_t *err) {
    return is_temporary(path) ? remove_all(path, err) : refuse_to_remove(path, err);
}

status_t fs_remove_marked(const char *path, const char *mark, error_t *err) {
    if (rmdir(path) == 0 || errno == ENOENT)
        return STATUS_OK;
    char *file = fs_join(path, mark);
    const bool is_ours = fs_is_folder(path) && fs_exists(file);
    free(file);
    return is_ours ? remove_all(path, err) : refuse_to_remove(path, err);
}

/* ---- temporary folders ------------------------------------------------------------------------ */

status_t fs_temporary_folder_in(const char *base, char **path, error_t *err) {
    char *made = mem_format("%s/bench-%llu-%ld-XXXXXX", base != NULL ? base : base_folder(),
                            pid_namespace(), (long)getpid());
    const bool is_made = mkdtemp(made) != NULL;
    *path = is_made ? made : NULL;
    if (is_made)
        return STATUS_OK;
    error_set(err, STATUS_USAGE, "%s: cannot make a temporary folder: %s%s", made, strerror(errno),
              base == NULL ? ": set TMPDIR to a folder with space" : "");
    free(made);
    return STATUS_USAGE;
}

status_t fs_temporary_folder(char **path, error_t *err) {
    return fs_temporary_folder_in(NULL, path, err);
}

void fs_remove_temporary(char **path) {
    if (*path != NULL)
        fs_remove_tree(*path, NULL);
    free(*path);
    *path = NULL;
}

status_t fs_check_temporary(error_t *err) {
    char *folder;
    TRY(fs_temporary_folder(&folder, err));
    fs_remove_temporary(&folder);
    return STATUS_OK;
}

/* Was it made in a process of ours that no longer exists? */
static bool is_dead(const char *name, const char *path) {
    unsigned long long made_in;
    long pid;
    struct stat info;
    return is_temporary_name(name, &made_in, &pid) && made_in == pid_namespace() && pid > 0 &&
           kill((pid_t)pid, 0) != 0 && errno == ESRCH && lstat(path, &info) == 0 &&
           S_ISDIR(info.st_mode) && info.st_uid == geteuid();
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
