#include "io/orphans.h"

#include "base/memory.h"
#include "io/fs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ROUNDS = 100 }; /* each may bring up children of those that it killed */

/* 0 if there is no such process. */
static pid_t parent_of(const char *pid) {
    char path[64], state;
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    /* The name, in parentheses, is of at most 15 bytes without line breaks of ours. */
    if (fscanf(file, "%*d (%*15[^)]) %c %d", &state, &parent) != 2 || state == 'Z')
        parent = 0;
    fclose(file);
    return parent;
}

static bool runs_our_program(const char *pid) {
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* All, by what the parent's number is; in a system with many processes that takes milliseconds. */
static void scan_processes(text_list_t *found) {
    text_list_t names = {0};
    error_t ignored = ERROR_INIT;
    fs_list("/proc", "", &names, &ignored);
    for (size_t i = 0; i < names.n; i++)
        if (strspn(names.items[i], "0123456789") == strlen(names.items[i]) &&
            parent_of(names.items[i]) == getpid())
            text_list_add(found, names.items[i]);
    text_list_free(&names);
}

/* False if this kernel has no such list (CONFIG_PROC_CHILDREN). */
static bool read_children(const char *thread, text_list_t *found) {
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (fscanf(file, "%31s", name) == 1)
        if (parent_of(name) == getpid()) /* else it has ended, and is not waited for yet */
            text_list_add(found, name);
    fclose(file);
    return true;
}

static text_list_t children(void) {
    text_list_t threads = {0}, found = {0};
    error_t ignored = ERROR_INIT;
    bool listed = fs_list("/proc/self/task", "", &threads, &ignored) == STATUS_OK;
    for (size_t i = 0; i < threads.n && listed; i++)
        listed = read_children(threads.items[i], &found) || i > 0;
    text_list_free(&threads);
    if (!listed)
        scan_processes(&found);
    return found;
}

text_list_t orphans_adopt(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return children();
}

static void end(const char *name) {
    const pid_t pid = (pid_t)strtol(name, NULL, 10);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static bool kill_some(const text_list_t *spared) {
    bool any = false;
    text_list_t found = children();
    for (size_t i = 0; i < found.n; i++) {
        if (text_list_has(spared, found.items[i]) || runs_our_program(found.items[i]))
            continue;
        end(found.items[i]);
        any = true;
    }
    text_list_free(&found);
    return any;
}

void orphans_kill(text_list_t *spared) {
    for (int i = 0; i < MOST_ROUNDS && kill_some(spared); i++)
        ;
    text_list_free(spared);
}

/* ---- while others are needed -------------------------------------------------------------------- */

/* What a variable was as the process began. The caller frees it; NULL: it had none, or it cannot be read. */
static char *variable_of(const char *pid, const char *variable) {
    char *path = mem_format("/proc/%s/environ", pid), *text = NULL, *value = NULL;
    const size_t length = strlen(variable);
    size_t capacity = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL && value == NULL && getdelim(&text, &capacity, '\0', file) > 0)
        if (text_starts(text, variable) && text[length] == '=')
            value = mem_text(text + length + 1);
    if (file != NULL)
        fclose(file);
    free(text);
    free(path);
    return value;
}

static bool may_stay(const char *pid, const orphans_owned_t *owned) {
    if (text_list_has(owned->spared, pid) ||
        owned->is_known((pid_t)strtol(pid, NULL, 10), owned->context) || runs_our_program(pid))
        return true;
    char *owner = variable_of(pid, owned->variable);
    const bool stays = owner != NULL && owned->has_owner(owner, owned->context);
    free(owner);
    return stays;
}

/* "python3 (process 123)". */
static char *describe(const char *pid) {
    char *path = mem_format("/proc/%s/comm", pid), name[32] = "a program";
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(name, sizeof name, file) != NULL)
        name[strcspn(name, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
    free(path);
    text_make_plain(name);
    return mem_format("%s (process %s)", name, pid);
}

char *orphans_end(const orphans_owned_t *owned) {
    char *first = NULL;
    text_list_t found = children();
    for (size_t i = 0; i < found.n; i++) {
        if (may_stay(found.items[i], owned))
            continue;
        if (first == NULL)
            first = describe(found.items[i]);
        end(found.items[i]);
    }
    text_list_free(&found);
    return first;
}
