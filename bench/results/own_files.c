#include "results/record.h"

#include "base/memory.h"
#include "io/fs.h"
#include "results/record_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_own_file(const char *path) {
    static const char *const OWN[] = {HEADER, JOURNAL, JOURNAL_GZIP, "timings.csv"};
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *folder = slash != NULL ? mem_text_n(path, (size_t)(slash - path + 1)) : mem_text("./");
    char *header = mem_format("%s" HEADER, folder);
    bool is_own = false;
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        is_own = is_own || strcmp(name, OWN[i]) == 0;
    is_own = is_own && fs_exists(header);
    free(header);
    free(folder);
    return is_own;
}

status_t record_refuse_own_file(const char *path, error_t *err) {
    char *target = realpath(path, NULL); /* a link is followed when it is written */
    const bool is_own = is_own_file(path) || (target != NULL && is_own_file(target));
    free(target);
    return is_own ? error_set(err, STATUS_USAGE,
                              "%s: would overwrite a file of the run itself: choose another name",
                              path)
                  : STATUS_OK;
}

status_t record_refuse_other_file(const char *path, const char *begin, error_t *err) {
    enum { MOST = 64 };
    char found[MOST] = "";
    int fd;
    size_t size;
    if (!fs_exists(path))
        return STATUS_OK;
    TRY(fs_open_file(path, &fd, &size, err));
    const ssize_t n = read(fd, found, MOST - 1);
    close(fd);
    if (n <= 0 || text_starts(found, begin))
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s: exists, and is not a report of bench: remove it, or choose another place "
                     "with --out, --pages or --html",
                     path);
}
