#include "io/fs.h"

#include "base/memory.h"
#include "base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { READ_MOST = 256 << 20, PACKED_MOST = 32, PACKED_ALLOWANCE = 1 << 20 };

static status_t system_error(const char *path, const char *doing, error_t *err) {
    return error_set(err, STATUS_USAGE, "%s: cannot %s: %s", path, doing, strerror(errno));
}

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
    text_list_t names = {0};
    if (fs_list(folder, ".tmp", &names, NULL) == STATUS_OK) {
        for (size_t i = 0; i < names.n; i++) {
            char *path = fs_join(folder, names.items[i]);
            if (is_orphan(names.items[i]))
                unlink(path);
            free(path);
        }
    }
    text_list_free(&names);
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
    char *temporary;
    TRY(refuse_device(path, err));
    status_t status = write_beside(path, data, size, &temporary, err);
    if (status == STATUS_OK && rename(temporary, path) != 0)
        status = system_error(path, "write", err);
    if (status != STATUS_OK)
        unlink(temporary);
    free(temporary);
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
    char *temporary;
    status_t status = write_beside(path, data, size, &temporary, err);
    *exists = false;
    if (status == STATUS_OK && link(temporary, path) != 0) {
        *exists = errno == EEXIST;
        if (!*exists)
            status = write_exclusive(path, data, size, exists, err);
    }
    unlink(temporary);
    free(temporary);
    return status;
}

status_t fs_make_folders(const char *path, error_t *err) {
    char *partial = mem_text(path);
    status_t status = STATUS_OK;
    for (char *end = partial; status == STATUS_OK && *end != '\0';) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char separator = *end;
        *end = '\0';
        const int why = mkdir(partial, 0777) == 0 ? 0 : errno;
        if (why != 0 && !fs_is_folder(partial)) {
            errno = why;
            status = system_error(partial, "make folder", err);
        }
        *end = separator;
    }
    free(partial);
    return status;
}

bool fs_exists(const char *path) {
    return access(path, F_OK) == 0;
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
