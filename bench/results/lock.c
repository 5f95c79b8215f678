#include "results/lock.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/fs.h"
#include "io/json_text.h"
#include "io/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { MOST_WAITS = 100, WAIT_NS = 10000000, SQUEUE_TIMEOUT_S = 60 };

/* ---- who writes -------------------------------------------------------------------------------- */

static json_t *slurm_task(void) {
    const char *job = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID"),
               *task = getenv("SLURM_ARRAY_TASK_ID");
    return array != NULL && task != NULL ? json_sprintf("%s_%s", array, task) : json_text(job);
}

/* Tells machines apart that have one name, and a start of a machine from its next. */
static json_t *boot_id(void) {
    char id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL && fscanf(file, "%63s", id) != 1)
        id[0] = '\0';
    if (file != NULL)
        fclose(file);
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
    subprocess_result_t answer;
    error_t ignored = ERROR_INIT;
    if (*task == '\0' || *text_of(us, "slurm_task") == '\0' ||
        subprocess_run(argv, NULL, SQUEUE_TIMEOUT_S, &answer, &ignored) != STATUS_OK)
        return false;
    const bool ended = answer.exit_code == 0 ? answer.out[0] == '\0'
                                             : strstr(answer.err, "Invalid job id") != NULL;
    subprocess_result_free(&answer);
    return ended;
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

/* NULL: there is none, or it cannot be read. */
static json_t *read_owner(const char *path) {
    char *text = NULL;
    size_t size;
    if (!fs_exists(path) || fs_read(path, &text, &size, NULL) != STATUS_OK)
        return NULL;
    json_t *owner = json_loadb(text, size, 0, NULL);
    free(text);
    return owner;
}

static status_t take(const char *folder, run_lock_t *lock, const json_t *us, alone_t alone,
                     error_t *err) {
    json_t *owner = read_owner(lock->path);
    /* It is about to write the file. */
    for (int i = 0; owner == NULL && alone == NOT_ALONE && i < MOST_WAITS; i++) {
        clock_sleep_ns(WAIT_NS);
        owner = read_owner(lock->path);
    }
    bool exists = alone == NOT_ALONE || fs_exists(lock->path);
    if (owner != NULL && has_ended(owner, us, alone)) {
        unlink(lock->path);
        exists = false;
    }
    status_t status = STATUS_OK;
    if (!exists)
        status = fs_write_new(lock->path, lock->text, strlen(lock->text), &exists, err);
    if (status == STATUS_OK && exists) {
        json_decref(owner);
        owner = read_owner(lock->path);
        status = refuse(folder, lock->path, owner, us, err);
    }
    json_decref(owner);
    return status;
}

status_t run_lock(const char *folder, run_lock_t *lock, error_t *err) {
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, STATUS_USAGE, "%s: cannot open: %s", folder, strerror(errno));
    json_t *us = describe_us();
    *lock = (run_lock_t){fs_join(folder, "run.lock"), json_dumps(us, JSON_INDENT(2)), fd};
    status_t status = take(folder, lock, us, lock_folder(fd), err);
    json_decref(us);
    if (status != STATUS_OK) {
        free(lock->text);
        lock->text = NULL; /* not ours: kept */
        run_unlock(lock);
    }
    return status;
}

/* Whoever took the folder over keeps it. */
static bool is_ours(const run_lock_t *lock) {
    char *text = NULL;
    size_t size;
    if (lock->text == NULL || fs_read(lock->path, &text, &size, NULL) != STATUS_OK)
        return false;
    const bool same = strcmp(text, lock->text) == 0;
    free(text);
    return same;
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
