#include "io/fs.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

/* ==== paths =================================================================================== */

const char *fs_variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

char *fs_join(const char *folder, const char *name) {
    return mem_format("%s%s%s", folder, text_ends(folder, "/") ? "" : "/", name);
}

char *fs_from_here(const char *path) {
    AUTO_FREE char *here = getcwd(NULL, 0);
    const size_t n = here != NULL ? strlen(here) : 0;
    const bool below = n > 0 && strncmp(path, here, n) == 0 && path[n] == '/';
    return mem_text(below ? path + n + 1 : path);
}

char *fs_stem(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    /* A leading dot marks a hidden file, not an extension. */
    return dot == NULL || dot == name ? mem_text(name) : mem_text_n(name, (size_t)(dot - name));
}

char *fs_file_name(const char *text) {
    static const char SAFE[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+=-";
    enum { LONGEST = 120, N_FIRST = 63 }; /* letters, digits and "_": a name may begin with them */
    char *name = mem_text(text), digits[HASH_TEXT];
    bool lost = name[0] == '\0' || strlen(name) > LONGEST || strstr(name, "..") != NULL;
    for (char *c = name; *c != '\0'; c++) {
        const char *safe = strchr(SAFE, *c);
        if (safe != NULL && (c > name || safe < SAFE + N_FIRST) && (c[0] != '.' || c[1] != '.'))
            continue;
        lost = lost || *c != '/';
        *c = '_';
    }
    if (!lost)
        return name;
    hash_t *hash = hash_new();
    hash_add_text(hash, text);
    hash_finish(hash, digits);
    char *distinct = mem_format("%.*s_%.8s", LONGEST, name, digits);
    free(name);
    return distinct;
}

/* ==== temporary folders ======================================================================= */

/* Folders that bench makes for itself and removes, also those that a killed process could not remove. */

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

static status_t system_error(const char *path, const char *doing, error_t *err) {
    return error_set(err, STATUS_USAGE, "%s: cannot %s: %s", path, doing, strerror(errno));
}

static status_t remove_at(int parent_fd, const char *name, const char *path, error_t *err);

/* Always closes `folder_fd`. */
static status_t remove_contents(int folder_fd, const char *path, error_t *err) {
    DIR *folder = fdopendir(folder_fd);
    if (folder == NULL) {
        status_t failed = system_error(path, "read folder", err);
        close(folder_fd);
        return failed;
    }
    status_t status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        AUTO_FREE char *child = fs_join(path, entry->d_name);
        status = remove_at(folder_fd, entry->d_name, child, err);
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
        return system_error(path, "remove", err);
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return system_error(path, "remove", err);
    TRY(remove_contents(fd, path, err));
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return system_error(path, "remove", err);
    return STATUS_OK;
}

static status_t remove_all(const char *path, error_t *err) {
    /* "link/" would mean the link's target. */
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    AUTO_FREE char *trimmed = mem_text_n(path, length);
    return remove_at(AT_FDCWD, trimmed, trimmed, err);
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
    const bool is_ours = fs_is_folder(path) && fs_has(path, mark);
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

static const char IN_MEMORY[] = "/dev/shm";

status_t fs_temporary_folder_for(size_t bytes, char **path, error_t *err) {
    enum { SMALL_PART = 4 };
    struct statvfs room;
    const bool has_room = access(IN_MEMORY, W_OK) == 0 && statvfs(IN_MEMORY, &room) == 0 &&
                          bytes <= room.f_bavail * room.f_frsize / SMALL_PART;
    return fs_temporary_folder_in(has_room ? IN_MEMORY : NULL, path, err);
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

static void remove_dead_folders_in(const char *base) {
    AUTO(text_list_free) text_list_t names = {0};
    fs_list(base, "", &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        AUTO_FREE char *path = fs_join(base, names.items[i]);
        if (is_dead(names.items[i], path))
            fs_remove_tree(path, NULL);
    }
}

void fs_remove_dead_folders(void) {
    remove_dead_folders_in(base_folder());
    remove_dead_folders_in(IN_MEMORY);
}

/* ==== files and folders ======================================================================= */

enum { READ_MOST = 256 << 20, PACKED_MOST = 32, PACKED_ALLOWANCE = 1 << 20 };

/* zlib's message about a stream, or the system's if zlib only passes its error on. */
static status_t gzip_error(gzFile stream, const char *path, error_t *err) {
    int code;
    const char *message = gzerror(stream, &code);
    if (code == Z_ERRNO)
        return system_error(path, "read", err);
    return error_set(err, STATUS_USAGE, "%s: broken gzip file: %s", path, message);
}

/* What a file may hold. */
typedef struct room {
    size_t expected, most; /* bytes: the file's own, and unpacked */
} room_t;

static status_t too_large(const char *path, const room_t *room, error_t *err) {
    char most[UNITS_TEXT], own[UNITS_TEXT];
    return error_set(err, STATUS_USAGE, "%s: more than %s (%s as a file)", path,
                     units_bytes(most, (double)room->most),
                     units_bytes(own, (double)room->expected));
}

/* Read all of `stream`; one spare byte is kept for the terminating NUL. */
static status_t read_stream(gzFile stream, const char *path, const room_t *room, char **data,
                            size_t *size, error_t *err) {
    size_t capacity = room->expected + 2, used = 0;
    char *buffer = mem_alloc(capacity);
    status_t status = STATUS_OK;
    for (int got = 1; got > 0 && status == STATUS_OK;) {
        size_t left = capacity - used - 1;
        errno = 0;
        got = gzread(stream, buffer + used, left < INT_MAX ? (unsigned)left : INT_MAX);
        used += got > 0 ? (size_t)got : 0;
        if (got < 0)
            status = gzip_error(stream, path, err);
        else if (used > room->most)
            status = too_large(path, room, err);
        else if (used == capacity - 1)
            buffer = mem_resize(buffer, capacity *= 2, 1);
    }
    buffer[used] = '\0';
    *data = buffer;
    *size = used;
    return status;
}

bool fs_first_line(const char *path, char *line, size_t bytes) {
    FILE *file = fopen(path, "re");
    const bool found = file != NULL && fgets(line, (int)bytes, file) != NULL;
    line[found ? strcspn(line, "\n") : 0] = '\0';
    if (file != NULL)
        fclose(file);
    return found;
}

status_t fs_open_file(const char *path, int *fd, size_t *size, error_t *err) {
    struct stat info;
    /* A pipe that nobody writes to must not block. */
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *size = 0;
    if (*fd < 0)
        return system_error(path, "open", err);
    status_t status = STATUS_OK;
    if (fstat(*fd, &info) != 0) {
        status = system_error(path, "open", err);
    } else if (S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        status = system_error(path, "read", err);
    } else if (!S_ISREG(info.st_mode)) {
        status = error_set(err, STATUS_USAGE, "%s: not a file, but a pipe or device", path);
    }
    if (status == STATUS_OK) {
        *size = (size_t)info.st_size;
    } else {
        close(*fd);
        *fd = -1;
    }
    return status;
}

status_t fs_read_up_to(const char *path, size_t most, char **data, size_t *size, error_t *err) {
    int fd;
    room_t room = {.most = most};
    *data = NULL;
    *size = 0;
    TRY(fs_open_file(path, &fd, &room.expected, err));
    if (room.expected > most) {
        close(fd);
        return too_large(path, &room, err);
    }
    /* Text and results shrink to a tenth; what shrinks much more was made to fill the memory. */
    if (room.expected + PACKED_ALLOWANCE < most / PACKED_MOST)
        room.most = (room.expected + PACKED_ALLOWANCE) * PACKED_MOST;
    gzFile stream = gzdopen(fd, "rb"); /* reads files without the gzip magic unchanged */
    if (stream == NULL) {
        close(fd);
        return system_error(path, "open", err);
    }
    gzbuffer(stream, 1 << 17);
    status_t status = read_stream(stream, path, &room, data, size, err);
    /* A truncated stream reads like a complete one; only closing reports it. */
    if (gzclose_r(stream) == Z_BUF_ERROR && status == STATUS_OK)
        status = error_set(err, STATUS_USAGE, "%s: broken gzip file: it ends too early", path);
    if (status != STATUS_OK) {
        free(*data);
        *data = NULL;
    }
    return status;
}

status_t fs_read(const char *path, char **data, size_t *size, error_t *err) {
    return fs_read_up_to(path, READ_MOST, data, size, err);
}

/* Create a new file beside `path`; the caller owns `*temporary`, its name. Not mkstemp(), which
 * gives mode 0600 instead of following the umask. */
static int create_beside(const char *path, char **temporary) {
    static atomic_uint serial;
    for (;;) {
        *temporary =
            mem_format("%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&serial, 1));
        int fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
        free(*temporary);
    }
}

/* Is it a name from create_beside() in a process that no longer exists? */
static bool is_orphan(const char *name) {
    long pid;
    unsigned serial;
    int end = 0;
    const char *tail = name + strlen(name);
    for (int dots = 2; tail > name && dots > 0;)
        dots -= *--tail == '.';
    return sscanf(tail, ".%ld-%u.tmp%n", &pid, &serial, &end) == 2 && end > 0 &&
           tail[end] == '\0' && pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

void fs_remove_orphans(const char *folder) {
    AUTO(text_list_free) text_list_t names = {0};
    fs_list(folder, ".tmp", &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        AUTO_FREE char *path = fs_join(folder, names.items[i]);
        if (is_orphan(names.items[i]))
            unlink(path);
    }
}

bool fs_write_all(int fd, const void *data, size_t size) {
    for (const char *at = data; size > 0;) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

/* Write and flush a new file beside `path`. */
static status_t write_beside(const char *path, const void *data, size_t size, char **temporary,
                             error_t *err) {
    const int fd = create_beside(path, temporary);
    status_t status = STATUS_OK;
    if (fd < 0 || !fs_write_all(fd, data, size) || fsync(fd) != 0)
        status = system_error(path, "write", err);
    if (fd >= 0 && close(fd) != 0)
        status = system_error(path, "write", err); /* the first error wins */
    return status;
}

/* As root, a rename would leave the machine without its /dev/null. */
static status_t refuse_device(const char *path, error_t *err) {
    struct stat info;
    return lstat(path, &info) != 0 || S_ISREG(info.st_mode) || S_ISLNK(info.st_mode) ||
                   S_ISDIR(info.st_mode)
               ? STATUS_OK
               : error_set(err, STATUS_USAGE,
                           "%s: a pipe or device, expected a file: it is not replaced", path);
}

status_t fs_write_atomic(const char *path, const void *data, size_t size, error_t *err) {
    AUTO_FREE char *temporary = NULL;
    TRY(refuse_device(path, err));
    status_t status = write_beside(path, data, size, &temporary, err);
    if (status == STATUS_OK && rename(temporary, path) != 0)
        status = system_error(path, "write", err);
    if (status != STATUS_OK)
        unlink(temporary);
    return status;
}

/* Where files cannot have two names (FAT, some network file systems): readers may see a part. */
static status_t write_exclusive(const char *path, const void *data, size_t size, bool *exists,
                                error_t *err) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *exists = fd < 0 && errno == EEXIST;
    if (*exists)
        return STATUS_OK;
    status_t status = STATUS_OK;
    if (fd < 0 || !fs_write_all(fd, data, size))
        status = system_error(path, "write", err);
    if (fd >= 0) {
        close(fd);
        if (status != STATUS_OK)
            unlink(path);
    }
    return status;
}

status_t fs_write_new(const char *path, const void *data, size_t size, bool *exists, error_t *err) {
    AUTO_FREE char *temporary = NULL;
    status_t status = write_beside(path, data, size, &temporary, err);
    *exists = false;
    if (status == STATUS_OK && link(temporary, path) != 0) {
        *exists = errno == EEXIST;
        if (!*exists)
            status = write_exclusive(path, data, size, exists, err);
    }
    unlink(temporary);
    return status;
}

/* Reserved at once: a full disk would else end the process when it writes. */
status_t fs_map_new(const char *path, size_t bytes, void **values, error_t *err) {
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
    *values = NULL;
    if (fd < 0)
        return system_error(path, "create", err);
    const int full = bytes > 0 ? posix_fallocate(fd, 0, (off_t)bytes) : 0;
    void *map = full == 0 && bytes > 0
                    ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                    : NULL;
    const int failure = full != 0 ? full : map == MAP_FAILED ? errno : 0;
    close(fd);
    if (failure == 0) {
        *values = map;
        return STATUS_OK;
    }
    char needed[UNITS_TEXT];
    unlink(path);
    return error_set(err, STATUS_USAGE, "%s: needs %s: %s", path,
                     units_bytes(needed, (double)bytes), strerror(failure));
}

status_t fs_copy_new(const char *from, const char *to, error_t *err) {
    int fd;
    size_t size, n = 0;
    void *values;
    TRY(fs_open_file(from, &fd, &size, err));
    status_t status = fs_map_new(to, size, &values, err);
    while (status == STATUS_OK && n < size) {
        const ssize_t part = read(fd, (char *)values + n, size - n);
        n += part > 0 ? (size_t)part : 0;
        if (part <= 0)
            status = error_set(err, STATUS_USAGE, "%s: ends after %zu bytes, expected %zu", from, n,
                               size);
    }
    if (values != NULL)
        munmap(values, size);
    close(fd);
    return status;
}

status_t fs_make_folders(const char *path, error_t *err) {
    AUTO_FREE char *partial = mem_text(path);
    for (char *end = partial; *end != '\0';) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char separator = *end;
        *end = '\0';
        const int why = mkdir(partial, 0777) == 0 ? 0 : errno;
        if (why != 0 && !fs_is_folder(partial)) {
            errno = why;
            TRY(system_error(partial, "make folder", err));
        }
        *end = separator;
    }
    return STATUS_OK;
}

bool fs_exists(const char *path) {
    return access(path, F_OK) == 0;
}

bool fs_has(const char *folder, const char *name) {
    AUTO_FREE char *path = fs_join(folder, name);
    return fs_exists(path);
}

bool fs_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

status_t fs_remove_file(const char *path, error_t *err) {
    return unlink(path) == 0 || errno == ENOENT ? STATUS_OK : system_error(path, "remove", err);
}

status_t fs_list(const char *folder, const char *suffix, text_list_t *names, error_t *err) {
    DIR *stream = opendir(folder);
    if (stream == NULL)
        return system_error(folder, "read folder", err);
    errno = 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL; errno = 0) {
        bool dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!dots && text_ends(entry->d_name, suffix))
            text_list_add(names, entry->d_name);
    }
    status_t status = errno == 0 ? STATUS_OK : system_error(folder, "read folder", err);
    closedir(stream);
    text_list_sort(names);
    return status;
}

/* ==== programs ================================================================================ */

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

char *fs_find_program(const char *name) {
    if (strchr(name, '/') != NULL)
        return is_program(name) ? mem_text(name) : NULL;
    const char *path = getenv("PATH");
    AUTO(text_list_free) text_list_t folders = text_split(path == NULL ? "" : path, ':');
    char *found = NULL;
    for (size_t i = 0; i < folders.n && found == NULL; i++) {
        /* POSIX: an empty entry is the current folder. */
        char *program = fs_join(folders.items[i][0] == '\0' ? "." : folders.items[i], name);
        if (is_program(program))
            found = program;
        else
            free(program);
    }
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
        AUTO_FREE char *path = fs_find_program(choices[i].manager);
        if (path != NULL)
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
