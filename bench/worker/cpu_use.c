#include "worker/cpu_use.h"

#include "base/memory.h"
#include "io/fs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* ==== cores and priority ====================================================================== */

/* Their numbers; none if they cannot be read. */
static text_list_t threads_of(pid_t pid) {
    text_list_t threads = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    fs_list(path, "", &threads, NULL);
    return threads;
}

static bool read_thread(pid_t thread, struct thread_binding *binding) {
    *binding = (struct thread_binding){.thread = thread, .policy = sched_getscheduler(thread)};
    errno = 0;
    binding->nice = getpriority(PRIO_PROCESS, (id_t)thread);
    return errno == 0 && binding->policy >= 0 &&
           sched_getaffinity(thread, sizeof binding->cores, &binding->cores) == 0;
}

bindings_t bindings_read(pid_t pid) {
    AUTO(text_list_free) text_list_t threads = threads_of(pid);
    bindings_t bindings = {pid, mem_zeroed(threads.n, sizeof *bindings.items), 0};
    for (size_t i = 0; i < threads.n; i++)
        bindings.n +=
            read_thread((pid_t)strtol(threads.items[i], NULL, 10), &bindings.items[bindings.n]);
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

/* ==== time on the CPU ========================================================================= */

static cpu_use_t thread_use(pid_t pid, const char *thread) {
    char path[64], text[128], *end;
    cpu_use_t use = {0};
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", (int)pid, thread);
    if (!fs_first_line(path, text, sizeof text))
        return use;
    use.ran_ns = strtod(text, &end);
    use.waited_ns = strtod(end, &end);
    use.times = strtod(end, NULL);
    return use;
}

run_queue_t run_queue_read(pid_t pid) {
    AUTO(text_list_free) text_list_t threads = threads_of(pid);
    run_queue_t queue = {pid, mem_zeroed(threads.n, sizeof *queue.items), threads.n};
    for (size_t i = 0; i < queue.n; i++) {
        queue.items[i].thread = (pid_t)strtol(threads.items[i], NULL, 10);
        queue.items[i].use = thread_use(pid, threads.items[i]);
    }
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

/* ==== what others took ======================================================================== */

/* From being woken to running on an idle core, with its sleep states. Behind another program it is milliseconds. */
static const double WAKE_UP_NS = 2e5;

/* "TAKEN_FRAC LOADAVG": how busy the machine is said to be, in tests (docs/testing.md). */
static const char GIVEN[] = "BENCH_BUSY";

void cpu_share_add(cpu_share_t *share, const cpu_use_t *use, double took_ns, size_t n_cores) {
    const double waited_ns = use->waited_ns - WAKE_UP_NS * use->times;
    const double others_ns = took_ns * (double)n_cores - use->ran_ns;
    share->ran_ns += use->ran_ns;
    share->taken_ns += fmax(0, fmin(waited_ns, others_ns));
}

double cpu_share_taken_frac(const cpu_share_t *share) {
    const double had_ns = share->ran_ns + share->taken_ns;
    return had_ns > 0 ? share->taken_ns / had_ns : NAN;
}

void cpu_share_settle(const cpu_share_t *share, case_result_t *result) {
    const char *given = getenv(GIVEN);
    result->cpu_taken_frac = cpu_share_taken_frac(share);
    if (given != NULL && result->rounds > 0)
        result->cpu_taken_frac = strtod(given, NULL);
    if (result->cpu_taken_frac > BUSY_FRAC)
        flag_list_add(&result->flags, FLAG_BUSY, NULL, result->cpu_taken_frac, NAN);
}

/* ---- before a run ---------------------------------------------------------------------------- */

/* "6.90 5.11 3.02 5/312 4711" */
load_t load_parse(const char *loadavg) {
    load_t load = {.average = NAN};
    long running;
    if (sscanf(loadavg, "%lf %*f %*f %ld/", &load.average, &running) == 2)
        load.running = running > 1 ? running - 1 : 0;
    return load;
}

load_t load_read(void) {
    const char *given = getenv(GIVEN);
    char text[128], *rest = text;
    if (given != NULL)
        strtod(given, &rest);
    else
        fs_first_line("/proc/loadavg", text, sizeof text);
    return load_parse(rest);
}

bool load_is_high(const load_t *load, size_t n_cores) {
    return load->running > 0 && load->average >= 0.5 * (double)n_cores; /* false for NaN */
}
