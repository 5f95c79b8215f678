#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* Memory is busy with fewer. */
enum { MOST_THREADS = 16 };

typedef struct parts {
    size_t n;
    part_work_t *work;
    void *context;
    atomic_size_t next;
    pthread_mutex_t mutex; /* of what follows */
    size_t failed;         /* the first part that did; n: none */
    error_t *err;          /* its error */
} parts_t;

static void note_failure(parts_t *parts, size_t part, const error_t *err) {
    pthread_mutex_lock(&parts->mutex);
    if (part < parts->failed) {
        parts->failed = part;
        *parts->err = *err;
    }
    pthread_mutex_unlock(&parts->mutex);
    atomic_store(&parts->next, parts->n);
}

static void *take_parts(void *argument) {
    parts_t *parts = argument;
    for (size_t part; (part = atomic_fetch_add(&parts->next, 1)) < parts->n;) {
        error_t err = ERROR_INIT;
        if (parts->work(parts->context, part, &err) != STATUS_OK)
            note_failure(parts, part, &err);
    }
    return NULL;
}

size_t parallel_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? (size_t)CPU_COUNT(&cores) : 1;
}

static size_t count_threads(size_t n_parts) {
    const size_t n = parallel_cores();
    const size_t most = n < MOST_THREADS ? n : MOST_THREADS;
    return n_parts < most ? n_parts : most;
}

/* Where no thread is to be had, the caller's does it all. */
status_t parallel_parts(size_t n, part_work_t *work, void *context, error_t *err) {
    error_t failure = ERROR_INIT;
    parts_t parts = {.n = n,
                     .work = work,
                     .context = context,
                     .mutex = PTHREAD_MUTEX_INITIALIZER,
                     .failed = n,
                     .err = &failure};
    pthread_t threads[MOST_THREADS];
    const size_t n_threads = count_threads(n);
    size_t n_others = 0;
    while (n_others + 1 < n_threads &&
           pthread_create(&threads[n_others], NULL, take_parts, &parts) == 0)
        n_others++;
    take_parts(&parts);
    for (size_t i = 0; i < n_others; i++)
        pthread_join(threads[i], NULL);
    return parts.failed == n ? STATUS_OK : error_set(err, failure.status, "%s", failure.text);
}
