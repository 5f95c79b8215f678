#include "io/output.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As a shell reports a process that SIGPIPE ended. */
enum { BROKEN_PIPE = 128 + SIGPIPE };

/* ---- the standard streams -------------------------------------------------------------------- */

void output_begin(void) {
    signal(SIGXFSZ, SIG_IGN);
    /* Only for reading: who closed stdout is told that the output is lost. "/" is there on a machine without /dev. */
    while (true) {
        int fd = open("/dev/null", O_RDONLY);
        if (fd < 0)
            fd = open("/", O_RDONLY);
        if (fd > STDERR_FILENO)
            close(fd);
        if (fd < 0 || fd > STDERR_FILENO)
            return;
    }
}

static bool has_no_reader(int fd) {
    struct pollfd out = {.fd = fd};
    return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

int output_finish(error_t *err) {
    /* The last flush succeeds if an earlier one has dropped its part. */
    const bool failed_before = ferror(stdout) != 0;
    int why = fflush(stdout) != 0 ? errno : 0;
    const bool is_read = !has_no_reader(STDOUT_FILENO);
    if (!failed_before && why == 0 && fclose(stdout) != 0) /* some file systems tell only now */
        why = errno;
    if (!failed_before && why == 0)
        return STATUS_OK;
    if (!is_read)
        return BROKEN_PIPE;
    return (int)error_set(err, STATUS_USAGE, "cannot write to stdout%s%s", why != 0 ? ": " : "",
                          why != 0 ? strerror(why) : "");
}

void output_print(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = mem_format_args(format, args);
    va_end(args);
    text_make_plain(text);
    fputs(text, out);
    free(text);
}

/* ---- files that the user names ----------------------------------------------------------------- */

typedef enum place {
    PLACE_FILE,   /* of that name, now or to be */
    PLACE_LINK,   /* to a file */
    PLACE_OPEN,   /* a link to what is open already, such as /dev/stdout: `*fd` */
    PLACE_STREAM, /* a pipe or device */
} place_t;

/* The descriptor for writing that is open on that file; -1: none. */
static int descriptor_of(const struct stat *info) {
    enum { MOST = 1024 };
    struct stat own;
    for (int fd = STDOUT_FILENO; fd < MOST; fd++)
        if (fstat(fd, &own) == 0 && own.st_dev == info->st_dev && own.st_ino == info->st_ino &&
            (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
            return fd;
    return -1;
}

static place_t place_of(const char *path, int *fd) {
    struct stat name, target;
    *fd = STDOUT_FILENO;
    if (strcmp(path, "-") == 0)
        return PLACE_OPEN;
    *fd = -1;
    if (lstat(path, &name) != 0)
        return PLACE_FILE;
    if (stat(path, &target) != 0)
        return PLACE_LINK; /* to nothing: an error tells it */
    if (S_ISLNK(name.st_mode) && (*fd = descriptor_of(&target)) >= 0)
        return PLACE_OPEN;
    if (S_ISREG(target.st_mode) || S_ISDIR(target.st_mode))
        return S_ISLNK(name.st_mode) ? PLACE_LINK : PLACE_FILE;
    return PLACE_STREAM;
}

bool output_is_stream(const char *path) {
    int fd;
    return place_of(path, &fd) >= PLACE_OPEN;
}

static status_t write_stream(const char *path, int fd, const void *data, size_t size,
                             error_t *err) {
    if (fs_write_all(fd, data, size))
        return STATUS_OK;
    const int why = errno;
    if (why == EPIPE) { /* subprocess_start() ignores it */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return fd == STDOUT_FILENO
               ? error_set(err, STATUS_USAGE, "cannot write to stdout: %s", strerror(why))
               : error_set(err, STATUS_USAGE, "%s: cannot write: %s", path, strerror(why));
}

static status_t open_and_write(const char *path, const void *data, size_t size, error_t *err) {
    const int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, STATUS_USAGE, "%s: cannot open: %s", path, strerror(errno));
    status_t status = write_stream(path, fd, data, size, err);
    if (close(fd) != 0)
        status = error_set(err, STATUS_USAGE, "%s: cannot write: %s", path, strerror(errno));
    return status;
}

/* The link stays. */
static status_t write_target(const char *path, const void *data, size_t size, error_t *err) {
    char *target = realpath(path, NULL);
    const status_t status = target != NULL ? fs_write_atomic(target, data, size, err)
                                           : error_set(err, STATUS_USAGE, "%s: cannot write: %s",
                                                       path, strerror(errno));
    free(target);
    return status;
}

status_t output_write_file(const char *path, const void *data, size_t size, error_t *err) {
    int fd;
    switch (place_of(path, &fd)) {
    case PLACE_OPEN:
        fflush(stdout); /* what was printed before comes before */
        return write_stream(path, fd, data, size, err);
    case PLACE_STREAM:
        return open_and_write(path, data, size, err);
    case PLACE_LINK:
        return write_target(path, data, size, err);
    default:
        return fs_write_atomic(path, data, size, err);
    }
}
