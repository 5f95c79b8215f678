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

static text_list_t children(void) {
    text_list_t names = {0}, found = {0};
    error_t ignored = ERROR_INIT;
    if (fs_list("/proc", "", &names, &ignored) != STATUS_OK)
        return found;
    for (size_t i = 0; i < names.n; i++)
        if (strspn(names.items[i], "0123456789") == strlen(names.items[i]) &&
            parent_of(names.items[i]) == getpid())
            text_list_add(&found, names.items[i]);
    text_list_free(&names);
    return found;
}

text_list_t orphans_adopt(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return children();
}

static bool kill_some(const text_list_t *spared) {
    bool any = false;
    text_list_t found = children();
    for (size_t i = 0; i < found.n; i++) {
        const char *name = found.items[i];
        if (text_list_has(spared, name) || runs_our_program(name))
            continue;
        const pid_t pid = (pid_t)strtol(name, NULL, 10);
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
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
