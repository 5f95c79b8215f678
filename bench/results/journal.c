/* Appending to a run's cases.jsonl. */
#include "results/record.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/fs.h"
#include "io/json.h"
#include "io/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== the folder's lock ======================================================================= */

enum { MOST_WAITS = 100, WAIT_NS = 10000000, SQUEUE_TIMEOUT_S = 60 };

/* ---- who writes -------------------------------------------------------------------------------- */

static json_t *slurm_task(void) {
    const char *job = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID"),
               *task = getenv("SLURM_ARRAY_TASK_ID");
    return array != NULL && task != NULL ? json_sprintf("%s_%s", array, task) : json_text(job);
}

/* Tells machines apart that have one name, and a start of a machine from its next. */
static json_t *boot_id(void) {
    char id[64];
    fs_first_line("/proc/sys/kernel/random/boot_id", id, sizeof id);
    return json_text(id);
}

static json_t *describe_us(void) {
    char host[256] = "", now[32];
    const char *restarts = getenv("SLURM_RESTART_COUNT");
    gethostname(host, sizeof host - 1);
    return json_pack("{s:o, s:I, s:o, s:s, s:o, s:i}", "host", json_text(host), "process",
                     (json_int_t)getpid(), "boot", boot_id(), "since", clock_timestamp(now),
                     "slurm_task", slurm_task(), "slurm_restarts",
                     restarts != NULL ? atoi(restarts) : 0);
}

static const char *text_of(const json_t *owner, const char *key) {
    const char *text = json_string_value(json_object_get(owner, key));
    return text != NULL ? text : "";
}

static long long number_of(const json_t *owner, const char *key) {
    return json_integer_value(json_object_get(owner, key));
}

/* Known, and the same of both? */
static bool agree(const json_t *a, const json_t *b, const char *key) {
    return *text_of(a, key) != '\0' && strcmp(text_of(a, key), text_of(b, key)) == 0;
}

/* ---- has it ended? ----------------------------------------------------------------------------- */

/* What flock() on the folder says. Between machines it often says nothing, on one it is reliable. */
typedef enum alone { ALONE, NOT_ALONE, UNKNOWN } alone_t;

static bool is_running(long long pid) {
    return pid > 0 && pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* Only where Slurm runs us, too: elsewhere its numbers may be another cluster's. */
static bool slurm_has_ended(const json_t *owner, const json_t *us) {
    const char *task = text_of(owner, "slurm_task");
    const char *argv[] = {"squeue", "--noheader", "--states=running,suspended,completing,stopped",
                          "--jobs", task,         NULL};
    AUTO(subprocess_result_free) subprocess_result_t answer = {0};
    if (*task == '\0' || *text_of(us, "slurm_task") == '\0' ||
        subprocess_run(argv, NULL, SQUEUE_TIMEOUT_S, &answer, NULL) != STATUS_OK)
        return false;
    return answer.exit_code == 0 ? answer.out[0] == '\0'
                                 : strstr(answer.err, "Invalid job id") != NULL;
}

static bool has_ended(const json_t *owner, const json_t *us, alone_t alone) {
    /* Slurm starts a task again only after it has ended, or its machine. */
    if (agree(owner, us, "slurm_task") &&
        number_of(owner, "slurm_restarts") < number_of(us, "slurm_restarts"))
        return true;
    if (alone == NOT_ALONE)
        return false;
    if (agree(owner, us, "boot"))
        return alone == ALONE || !is_running(number_of(owner, "process"));
    return agree(owner, us, "host") /* which has been started again */
           || (!agree(owner, us, "slurm_task") && slurm_has_ended(owner, us));
}

static status_t refuse(const char *folder, const char *path, const json_t *owner, const json_t *us,
                       error_t *err) {
    if (*text_of(owner, "host") == '\0')
        return error_set(err, STATUS_USAGE,
                         "%s is in use by another bench run; if none is writing there, remove %s",
                         folder, path);
    const bool here = agree(owner, us, "boot") || agree(owner, us, "host");
    return error_set(
        err, STATUS_USAGE, "%s is in use by process %lld on host %s since %s%s%s", folder,
        number_of(owner, "process"), text_of(owner, "host"), text_of(owner, "since"),
        here ? "" : "; if it is not running there any more, remove ", here ? "" : path);
}

/* ---- the lock ---------------------------------------------------------------------------------- */

static alone_t lock_folder(int folder) {
    if (flock(folder, LOCK_EX | LOCK_NB) == 0)
        return ALONE;
    return errno == EWOULDBLOCK ? NOT_ALONE : UNKNOWN; /* else the file system has no locks */
}

static bool owner_has_died(const char *path, const json_t *us) {
    json_auto_t *owner = json_load_file(path, 0, NULL);
    return owner != NULL && agree(owner, us, "boot") && !is_running(number_of(owner, "process"));
}

/* A killed owner's last child has the lock, too, until it executes its program. */
static alone_t lock_after_children(int folder, const char *path, const json_t *us) {
    alone_t alone = lock_folder(folder);
    for (int i = 0; i < MOST_WAITS && alone == NOT_ALONE && owner_has_died(path, us); i++) {
        clock_sleep_ns(WAIT_NS);
        alone = lock_folder(folder);
    }
    return alone;
}

static status_t take(const char *folder, run_lock_t *lock, const json_t *us, alone_t alone,
                     error_t *err) {
    json_auto_t *owner = json_load_file(lock->path, 0, NULL);
    /* It is about to write the file. */
    for (int i = 0; owner == NULL && alone == NOT_ALONE && i < MOST_WAITS; i++) {
        clock_sleep_ns(WAIT_NS);
        owner = json_load_file(lock->path, 0, NULL);
    }
    bool exists = alone == NOT_ALONE || fs_exists(lock->path);
    if (owner != NULL && has_ended(owner, us, alone)) {
        unlink(lock->path);
        exists = false;
    }
    if (!exists)
        TRY(fs_write_new(lock->path, lock->text, strlen(lock->text), &exists, err));
    if (!exists)
        return STATUS_OK;
    json_decref(owner);
    owner = json_load_file(lock->path, 0, NULL);
    return refuse(folder, lock->path, owner, us, err);
}

status_t run_lock(const char *folder, run_lock_t *lock, error_t *err) {
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, STATUS_USAGE, "%s: cannot open: %s", folder, strerror(errno));
    json_auto_t *us = describe_us();
    *lock = (run_lock_t){fs_join(folder, "run.lock"), json_dumps(us, JSON_INDENT(2)), fd};
    status_t status = take(folder, lock, us, lock_after_children(fd, lock->path, us), err);
    if (status != STATUS_OK) {
        free(lock->text);
        lock->text = NULL; /* not ours: kept */
        run_unlock(lock);
    }
    return status;
}

/* Whoever took the folder over keeps it. */
static bool is_ours(const run_lock_t *lock) {
    AUTO_FREE char *text = NULL;
    size_t size;
    return lock->text != NULL && fs_read(lock->path, &text, &size, NULL) == STATUS_OK &&
           strcmp(text, lock->text) == 0;
}

void run_unlock(run_lock_t *lock) {
    if (lock->path == NULL)
        return;
    if (is_ours(lock))
        unlink(lock->path);
    close(lock->folder);
    free(lock->path);
    free(lock->text);
    *lock = (run_lock_t){0};
}

/* ==== the journal ============================================================================= */

/* Would record_load() keep this line? */
static bool is_result(const char *line, size_t length, unsigned *pass) {
    AUTO(result_free) case_result_t result = {0};
    if (result_from_text(line, length, &result, NULL) != STATUS_OK)
        return false;
    *pass = result.pass;
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
    unsigned pass;
    const bool repaired =
        is_result(line, length, &pass) ? write(fd, "\n", 1) == 1 : ftruncate(fd, (off_t)start) == 0;
    return repaired ? STATUS_OK
                    : error_set(err, STATUS_USAGE, "%s: cannot repair its last line: %s", path,
                                strerror(errno));
}

/* Remove an incomplete last line, so that the next one does not continue it. If only the newline is
 * missing, add it. */
static status_t repair_last_line(const char *path, int fd, error_t *err) {
    AUTO_FREE char *data = NULL;
    size_t size;
    TRY(fs_read_up_to(path, JOURNAL_MOST, &data, &size, err));
    size_t start = size;
    while (start > 0 && data[start - 1] != '\n')
        start--;
    TRY(refuse_gzip(path, fd, size, err));
    return start < size ? repair_line(path, fd, data + start, size - start, start, err) : STATUS_OK;
}

/* ---- is it ours? ----------------------------------------------------------------------------- */

static status_t hash_lines(const char *path, hash_t *hash, error_t *err) {
    AUTO_FREE char *data = NULL;
    size_t size;
    TRY(fs_read_up_to(path, JOURNAL_MOST, &data, &size, err));
    for (const char *line = data; line < data + size;) {
        const char *end = memchr(line, '\n', (size_t)(data + size - line));
        const size_t length = (size_t)(end != NULL ? end + 1 - line : data + size - line);
        hash_add(hash, line, length);
        line += length;
    }
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

/* Append the lines of a file that are not of these passes to `kept`. */
static status_t keep_lines(const char *path, uint64_t passes, FILE *kept, error_t *err) {
    AUTO_FREE char *data = NULL;
    size_t size;
    TRY(fs_read_up_to(path, JOURNAL_MOST, &data, &size, err));
    for (const char *line = data; line < data + size;) {
        const char *end = memchr(line, '\n', (size_t)(data + size - line));
        const size_t length = (size_t)((end != NULL ? end : data + size) - line);
        unsigned pass = 0; /* of a draw, too */
        const bool is_whole = is_result(line, length, &pass) || end != NULL;
        if (is_whole && (pass == 0 || (passes >> (pass - 1) & 1) == 0)) {
            fwrite(line, 1, length, kept);
            fputc('\n', kept);
        }
        line += length + 1;
    }
    return STATUS_OK;
}

status_t journal_drop_passes(const char *folder, uint64_t passes, error_t *err) {
    journal_t journal;
    TRY(journal_open(folder, &journal, err));
    journal_close(&journal);
    AUTO_FREE char *plain = fs_join(folder, JOURNAL), *gzip = fs_join(folder, JOURNAL_GZIP),
                   *text = NULL;
    size_t size;
    FILE *kept = open_memstream(&text, &size);
    status_t status = fs_exists(gzip) ? keep_lines(gzip, passes, kept, err) : STATUS_OK;
    if (status == STATUS_OK)
        status = keep_lines(plain, passes, kept, err);
    fclose(kept);
    TRY(status);
    TRY(fs_write_atomic(plain, text, size, err));
    unlink(gzip);
    return STATUS_OK;
}

static status_t cannot_append(const journal_t *journal, error_t *err) {
    return error_set(err, STATUS_FAILED, "%s: cannot append: %s", journal->path, strerror(errno));
}

static status_t write_line(journal_t *journal, const case_result_t *result, error_t *err) {
    json_auto_t *json = result_to_json(result);
    AUTO_FREE char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (text == NULL)
        return error_set(err, STATUS_FAILED, "%s: the result of %s cannot be written as JSON",
                         journal->path, result->spec.id);
    if (journal->hash != NULL)
        hash_add_text(journal->hash, text);
    AUTO_FREE char *line = mem_format("%s\n", text);
    const size_t length = strlen(line);
    const bool written = fwrite(line, 1, length, journal->file) == length;
    hash_add(journal->lines, line, length);
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
