#include "worker/bindings.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static bool read_thread(pid_t thread, struct thread_binding *binding) {
    *binding = (struct thread_binding){.thread = thread, .policy = sched_getscheduler(thread)};
    errno = 0;
    binding->nice = getpriority(PRIO_PROCESS, (id_t)thread);
    return errno == 0 && binding->policy >= 0 &&
           sched_getaffinity(thread, sizeof binding->cores, &binding->cores) == 0;
}

bindings_t bindings_read(pid_t pid) {
    bindings_t bindings = {.pid = pid};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = pid > 0 ? opendir(path) : NULL;
    if (threads == NULL)
        return bindings;
    for (const struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        mem_grow(&bindings.items, bindings.n, &bindings.capacity, sizeof *bindings.items);
        bindings.n +=
            read_thread((pid_t)strtol(entry->d_name, NULL, 10), &bindings.items[bindings.n]);
    }
    closedir(threads);
    return bindings;
}

void bindings_free(bindings_t *bindings) {
    free(bindings->items);
    *bindings = (bindings_t){0};
}

static bool is_same(const struct thread_binding *a, const struct thread_binding *b) {
    return CPU_EQUAL(&a->cores, &b->cores) && a->nice == b->nice && a->policy == b->policy;
}

bool bindings_agree(pid_t a, pid_t b) {
    struct thread_binding one, other;
    return read_thread(a, &one) && read_thread(b, &other) && is_same(&one, &other);
}

static void set_back(const struct thread_binding *before, const struct thread_binding *now) {
    const struct sched_param none = {0};
    if (now->policy != before->policy)
        sched_setscheduler(before->thread, before->policy, &none);
    if (now->nice != before->nice)
        setpriority(PRIO_PROCESS, (id_t)before->thread, before->nice);
    sched_setaffinity(before->thread, sizeof before->cores, &before->cores);
}

const char *bindings_changed(const bindings_t *before, bool restore) {
    const char *what = NULL;
    for (size_t i = 0; i < before->n; i++) {
        const struct thread_binding *then = &before->items[i];
        struct thread_binding now;
        if (!read_thread(then->thread, &now))
            continue;
        const bool moved = !CPU_EQUAL(&now.cores, &then->cores);
        if (is_same(&now, then))
            continue;
        what = moved ? "cores" : what != NULL ? what : "priority";
        if (restore)
            set_back(then, &now);
    }
    return what;
}
