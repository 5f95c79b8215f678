#include "worker/run_queue.h"

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

double run_queue_waited_ns(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    double sum_ns = 0;
    if (threads == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.')
            sum_ns += thread_waited_ns(dirfd(threads), entry->d_name);
    closedir(threads);
    return sum_ns;
}
