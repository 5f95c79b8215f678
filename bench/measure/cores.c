#include "measure/cores.h"

#include "base/clock.h"
#include "base/memory.h"

#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

enum { LOOP_STEPS = 2500, LOOP_REPEATS = 3 };

/* Times a core's loop may take, of the fastest so far to stay on it, and of what it took before a
 * round for that to count. On an H200's virtual machine the fast state spreads by a tenth, and the
 * slow one begins at 1.4. */
static const double STAY = 1.1, SLOW = 1.1;

/* Eight independent chains fill the core's units, so that a busy neighbour is felt. About 8 µs. */
static double loop_ns(void) {
    double best_ns = INFINITY;
    for (int repeat = 0; repeat < LOOP_REPEATS; repeat++) {
        uint64_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        const int64_t start_ns = clock_ns();
        for (int step = 0; step < LOOP_STEPS; step++)
            for (int i = 0; i < 8; i++)
                x[i] += x[i] << 3 ^ (uint64_t)step;
        for (int i = 0; i < 8; i++)
            __asm__ volatile("" : : "r"(x[i]));
        best_ns = fmin(best_ns, (double)(clock_ns() - start_ns));
    }
    return best_ns;
}

static void bind_to(pid_t pid, int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    sched_setaffinity(pid, sizeof set, &set);
}

/* To all allowed cores but `without` (-1: none). */
static void release(const cores_t *cores, pid_t pid, int without) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < cores->n; i++)
        if (cores->allowed[i] != without)
            CPU_SET((size_t)cores->allowed[i], &set);
    sched_setaffinity(pid, sizeof set, &set);
}

/* ---- which cores ----------------------------------------------------------------------------- */

/* Of "0-7,12" into `wanted`. */
static bool parse_list(const char *list, bool wanted[MOST_CORES]) {
    for (const char *c = list;; c++) {
        char *end;
        const long first = strtol(c, &end, 10);
        long last = first;
        if (end == c)
            return false;
        if (*end == '-') {
            c = end + 1;
            last = strtol(c, &end, 10);
        }
        if (end == c || first < 0 || last < first || last >= MOST_CORES)
            return false;
        for (long core = first; core <= last; core++)
            wanted[core] = true;
        c = end;
        if (*c != ',')
            return *c == '\0';
    }
}

status_t cores_init(cores_t *cores, const char *list, error_t *err) {
    cpu_set_t set;
    bool wanted[MOST_CORES] = {false};
    *cores = (cores_t){.current = -1, .fastest_ns = NAN};
    if (list != NULL && !parse_list(list, wanted))
        return error_set(err, STATUS_USAGE, "--cpus %s: expected a list of cores such as 0-7,12",
                         list);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return STATUS_OK;
    for (int core = 0; core < MOST_CORES && core < CPU_SETSIZE; core++)
        if (CPU_ISSET((size_t)core, &set) && (list == NULL || wanted[core]))
            cores->allowed[cores->n++] = core;
    if (cores->n == 0)
        return error_set(err, STATUS_USAGE, "--cpus %s: this process may use none of these cores",
                         list);
    if (list != NULL)
        release(cores, 0, -1); /* the workers inherit it */
    return STATUS_OK;
}

void cores_keep_near(cores_t *cores, const unsigned long *near, size_t n_words) {
    enum { WORD = 8 * sizeof *near };
    size_t kept = 0;
    cores_t before = *cores;
    for (size_t i = 0; i < before.n; i++) {
        const size_t core = (size_t)before.allowed[i];
        if (core / WORD < n_words && (near[core / WORD] >> core % WORD & 1) != 0)
            cores->allowed[kept++] = before.allowed[i];
    }
    cores->n = kept;
    if (kept == 0)
        *cores = before;
}

char *cores_text(const int *list, size_t n) {
    text_list_t parts = {0};
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && list[next] == list[next - 1] + 1; next++)
            ;
        if (next - first > 1)
            text_list_add_format(&parts, "%d-%d", list[first], list[next - 1]);
        else
            text_list_add_format(&parts, "%d", list[first]);
    }
    char *text = text_list_join(&parts, ",");
    text_list_free(&parts);
    return text;
}

/* ---- a round --------------------------------------------------------------------------------- */

static double time_core(cores_t *cores, int core) {
    bind_to(0, core);
    const double ns = loop_ns();
    cores->fastest_ns = fmin(cores->fastest_ns, ns);
    return ns;
}

void cores_enter(cores_t *cores, pid_t pid) {
    if (cores->n < 2)
        return;
    int chosen = cores->current;
    double ns = chosen >= 0 ? time_core(cores, chosen) : INFINITY;
    for (size_t i = 0; i < cores->n && !(ns <= STAY * cores->fastest_ns); i++) {
        const double of_core = time_core(cores, cores->allowed[i]);
        if (of_core < ns) {
            ns = of_core;
            chosen = cores->allowed[i];
        }
    }
    cores->current = chosen;
    cores->entered_ns = ns;
    cores->used[chosen] = true;
    bind_to(pid, chosen);
    release(cores, 0, chosen);
}

bool cores_leave(cores_t *cores, pid_t pid) {
    if (cores->n < 2)
        return true;
    const double ns = time_core(cores, cores->current);
    release(cores, pid, -1);
    release(cores, 0, -1);
    return ns <= SLOW * cores->entered_ns;
}

char *cores_take_used(cores_t *cores) {
    int list[MOST_CORES];
    size_t n = 0;
    for (int core = 0; core < MOST_CORES; core++) {
        if (cores->used[core])
            list[n++] = core;
        cores->used[core] = false;
    }
    return cores_text(list, n);
}
