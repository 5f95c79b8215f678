#include "worker/run_queue.h"

#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double thread_waited_ns(int tasks, const char *thread) {
    char path[64], text[128];
    snprintf(path, sizeof path, "%.20s/schedstat", thread);
    const int file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *second = strchr(text, ' ');
    return second != NULL ? strtod(second, NULL) : 0;
}

run_queue_t run_queue_read(pid_t pid) {
    run_queue_t queue = {.pid = pid};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return queue;
    for (const struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        mem_grow(&queue.items, queue.n, &queue.capacity, sizeof *queue.items);
        queue.items[queue.n].thread = (pid_t)strtol(entry->d_name, NULL, 10);
        queue.items[queue.n++].waited_ns = thread_waited_ns(dirfd(threads), entry->d_name);
    }
    closedir(threads);
    return queue;
}

static double before_ns(const run_queue_t *before, pid_t thread) {
    for (size_t i = 0; i < before->n; i++)
        if (before->items[i].thread == thread)
            return before->items[i].waited_ns;
    return 0;
}

double run_queue_waited_ns(run_queue_t *before, pid_t pid) {
    double sum_ns = 0;
    if (before->pid == pid) {
        run_queue_t now = run_queue_read(pid);
        for (size_t i = 0; i < now.n; i++)
            sum_ns += now.items[i].waited_ns - before_ns(before, now.items[i].thread);
        free(now.items);
    }
    free(before->items);
    *before = (run_queue_t){0};
    return sum_ns;
}
