/* Appending to a run's cases.jsonl. */
#include "results/record.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/result_json.h"
#include "model/result_text.h"
#include "results/record_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Would record_load() keep this last line? */
static bool is_result(const char *line, size_t length) {
    case_result_t result;
    error_t ignored = ERROR_INIT;
    if (result_from_text(line, length, NULL, &result, &ignored) != STATUS_OK)
        return false;
    result_free(&result);
    return true;
}

/* How journal_append() begins every line, as far as this one goes. */
static bool begins_like_result(const char *line, size_t length) {
    static const char BEGIN[] = "{\"schema\":";
    return memcmp(line, BEGIN, length < sizeof BEGIN - 1 ? length : sizeof BEGIN - 1) == 0;
}

/* Not through a link: what is cut off and appended would be in a file elsewhere. */
static status_t open_own(const char *path, int *fd, error_t *err) {
    struct stat info;
    *fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*fd < 0 && errno == ELOOP)
        return error_set(err, STATUS_USAGE,
                         "%s: a symbolic link: results are only appended to a file in the run's "
                         "own folder",
                         path);
    if (*fd < 0)
        return error_set(err, STATUS_USAGE, "%s: cannot open for appending: %s", path,
                         strerror(errno));
    return fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)
               ? STATUS_OK
               : error_set(err, STATUS_USAGE, "%s: not a file, but a pipe or device", path);
}

/* A gzipped file with the plain name can be read, but not repaired or appended to. */
static status_t refuse_gzip(const char *path, int fd, size_t size, error_t *err) {
    struct stat info;
    if (fstat(fd, &info) == 0 && (size_t)info.st_size == size)
        return STATUS_OK;
    return error_set(err, STATUS_USAGE,
                     "%s: found a gzipped file, cannot append to it: rename it to " JOURNAL_GZIP,
                     path);
}

static status_t repair_line(const char *path, int fd, const char *line, size_t length, size_t start,
                            error_t *err) {
    if (!begins_like_result(line, length))
        return error_set(err, STATUS_USAGE,
                         "%s: its last line has no end and is not the beginning of a case: not cut "
                         "off; remove it yourself if it is not needed",
                         path);
    const bool repaired =
        is_result(line, length) ? write(fd, "\n", 1) == 1 : ftruncate(fd, (off_t)start) == 0;
    return repaired ? STATUS_OK
                    : error_set(err, STATUS_USAGE, "%s: cannot repair its last line: %s", path,
                                strerror(errno));
}

/* Remove an incomplete last line, so that the next one does not continue it. If only the newline is
 * missing, add it. */
static status_t repair_last_line(const char *path, int fd, error_t *err) {
    char *data;
    size_t size;
    TRY(fs_read_up_to(path, JOURNAL_MOST, &data, &size, err));
    size_t start = size;
    while (start > 0 && data[start - 1] != '\n')
        start--;
    status_t status = refuse_gzip(path, fd, size, err);
    if (status == STATUS_OK && start < size)
        status = repair_line(path, fd, data + start, size - start, start, err);
    free(data);
    return status;
}

/* ---- is it ours? ----------------------------------------------------------------------------- */

static status_t hash_lines(const char *path, hash_t *hash, error_t *err) {
    char *data;
    size_t size;
    TRY(fs_read_up_to(path, JOURNAL_MOST, &data, &size, err));
    for (const char *line = data; line < data + size;) {
        const char *end = memchr(line, '\n', (size_t)(data + size - line));
        const size_t length = (size_t)(end != NULL ? end + 1 - line : data + size - line);
        hash_add(hash, line, length);
        line += length;
    }
    free(data);
    return STATUS_OK;
}

status_t journal_check(journal_t *journal, error_t *err) {
    char written[HASH_TEXT], found[HASH_TEXT];
    if (journal->file == NULL)
        return STATUS_OK;
    hash_t *hash = hash_new();
    const status_t status = hash_lines(journal->path, hash, err);
    hash_finish(hash, found);
    hash_finish(journal->lines, written);
    journal->lines = NULL;
    if (status == STATUS_OK && strcmp(found, written) != 0)
        return error_set(err, STATUS_FAILED,
                         "%s has other lines than this run wrote: another program changed it",
                         journal->path);
    return status;
}

/* ---- appending ------------------------------------------------------------------------------- */

status_t journal_open(const char *folder, journal_t *journal, error_t *err) {
    int fd;
    *journal = (journal_t){.path = fs_join(folder, JOURNAL), .lines = hash_new()};
    status_t status = open_own(journal->path, &fd, err);
    if (status == STATUS_OK)
        status = repair_last_line(journal->path, fd, err);
    if (status == STATUS_OK)
        status = hash_lines(journal->path, journal->lines, err);
    if (status == STATUS_OK && (journal->file = fdopen(fd, "a")) == NULL)
        status = error_set(err, STATUS_USAGE, "%s: cannot open for appending: %s", journal->path,
                           strerror(errno));
    if (status != STATUS_OK) {
        if (fd >= 0)
            close(fd);
        journal_close(journal);
        return status;
    }
    /* Unbuffered: one fwrite is one write(2) for any length. */
    setvbuf(journal->file, NULL, _IONBF, 0);
    return STATUS_OK;
}

static bool is_of_pass(const char *line, size_t length, uint64_t passes) {
    case_result_t result;
    error_t ignored = ERROR_INIT;
    const text_list_t no_phases = {0};
    if (result_from_text(line, length, &no_phases, &result, &ignored) != STATUS_OK)
        return false;
    const bool found = result.pass > 0 && (passes >> (result.pass - 1) & 1) != 0;
    result_free(&result);
    return found;
}

/* Append the lines of a file that are not of these passes to `kept`. */
static status_t keep_lines(const char *path, uint64_t passes, FILE *kept, error_t *err) {
    char *data;
    size_t size;
    TRY(fs_read_up_to(path, JOURNAL_MOST, &data, &size, err));
    for (const char *line = data; line < data + size;) {
        const char *end = memchr(line, '\n', (size_t)(data + size - line));
        const size_t length = (size_t)((end != NULL ? end : data + size) - line);
        const bool whole = end != NULL || is_result(line, length);
        if (whole && !is_of_pass(line, length, passes)) {
            fwrite(line, 1, length, kept);
            fputc('\n', kept);
        }
        line += length + 1;
    }
    free(data);
    return STATUS_OK;
}

status_t journal_drop_passes(const char *folder, uint64_t passes, error_t *err) {
    journal_t journal;
    TRY(journal_open(folder, &journal, err));
    journal_close(&journal);
    char *plain = fs_join(folder, JOURNAL), *gzip = fs_join(folder, JOURNAL_GZIP), *text;
    size_t size;
    FILE *kept = open_memstream(&text, &size);
    status_t status = fs_exists(gzip) ? keep_lines(gzip, passes, kept, err) : STATUS_OK;
    if (status == STATUS_OK)
        status = keep_lines(plain, passes, kept, err);
    fclose(kept);
    if (status == STATUS_OK)
        status = fs_write_atomic(plain, text, size, err);
    if (status == STATUS_OK)
        unlink(gzip);
    free(text);
    free(plain);
    free(gzip);
    return status;
}

static status_t cannot_append(const journal_t *journal, error_t *err) {
    return error_set(err, STATUS_FAILED, "%s: cannot append: %s", journal->path, strerror(errno));
}

static status_t write_line(journal_t *journal, const case_result_t *result, error_t *err) {
    json_t *json = result_to_json(result);
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(json);
    if (text == NULL)
        return error_set(err, STATUS_FAILED, "%s: the result of %s cannot be written as JSON",
                         journal->path, result->spec.id);
    if (journal->hash != NULL)
        hash_add_text(journal->hash, text);
    char *line = mem_format("%s\n", text);
    free(text);
    size_t length = strlen(line);
    const bool written = fwrite(line, 1, length, journal->file) == length;
    hash_add(journal->lines, line, length);
    free(line);
    return written ? STATUS_OK : cannot_append(journal, err);
}

static status_t flush(journal_t *journal, error_t *err) {
    const bool flushed = fflush(journal->file) == 0 && fsync(fileno(journal->file)) == 0;
    return flushed ? STATUS_OK : cannot_append(journal, err);
}

status_t journal_append(journal_t *journal, const case_result_t *result, error_t *err) {
    TRY(write_line(journal, result, err));
    return flush(journal, err);
}

status_t journal_write(const char *folder, const case_result_t *results, size_t n,
                       char digest[HASH_TEXT], error_t *err) {
    journal_t journal;
    TRY(journal_open(folder, &journal, err));
    journal.hash = hash_new();
    status_t status = STATUS_OK;
    for (size_t i = 0; i < n && status == STATUS_OK; i++)
        status = write_line(&journal, &results[i], err);
    if (status == STATUS_OK)
        status = flush(&journal, err);
    hash_finish(journal.hash, digest);
    journal_close(&journal);
    return status;
}

void journal_close(journal_t *journal) {
    if (journal->file != NULL)
        fclose(journal->file);
    if (journal->lines != NULL)
        hash_finish(journal->lines, (char[HASH_TEXT]){0});
    free(journal->path);
    *journal = (journal_t){0};
}
