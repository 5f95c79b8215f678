#include "worker/run_queue.h"

#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static cpu_use_t thread_use(int tasks, const char *thread) {
    char path[64], text[128];
    snprintf(path, sizeof path, "%.20s/schedstat", thread);
    const int file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    cpu_use_t use = {0};
    if (n <= 0)
        return use;
    text[n] = '\0';
    char *end;
    use.ran_ns = strtod(text, &end);
    use.waited_ns = strtod(end, &end);
    use.times = strtod(end, NULL);
    return use;
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
        queue.items[queue.n++].use = thread_use(dirfd(threads), entry->d_name);
    }
    closedir(threads);
    return queue;
}

static cpu_use_t use_before(const run_queue_t *before, pid_t thread) {
    for (size_t i = 0; i < before->n; i++)
        if (before->items[i].thread == thread)
            return before->items[i].use;
    return (cpu_use_t){0};
}

cpu_use_t run_queue_since(run_queue_t *before, pid_t pid) {
    cpu_use_t sum = {0};
    if (before->pid == pid) {
        run_queue_t now = run_queue_read(pid);
        for (size_t i = 0; i < now.n; i++) {
            const cpu_use_t was = use_before(before, now.items[i].thread);
            sum.ran_ns += now.items[i].use.ran_ns - was.ran_ns;
            sum.waited_ns += now.items[i].use.waited_ns - was.waited_ns;
            sum.times += now.items[i].use.times - was.times;
        }
        free(now.items);
    }
    free(before->items);
    *before = (run_queue_t){0};
    return sum;
}
