/* Which cores the threads of a process may use, and their priority: what another program of the same user
 * can change. */
#ifndef BENCH_WORKER_BINDINGS_H
#define BENCH_WORKER_BINDINGS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct bindings {
    pid_t pid;
    struct thread_binding {
        pid_t thread;
        int policy, nice;
        cpu_set_t cores;
    } * items;
    size_t n, capacity;
} bindings_t;

/* Empty if it cannot be read. */
bindings_t bindings_read(pid_t pid);
void bindings_free(bindings_t *bindings);

/* What is different now in the threads that there were before, and still are: "cores" or "priority"; NULL:
 * nothing. With `restore` it is set back, as far as this user may. */
const char *bindings_changed(const bindings_t *before, bool restore);

/* Are the main threads of two processes bound alike? */
bool bindings_agree(pid_t a, pid_t b);

#endif
