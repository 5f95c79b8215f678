#include "measure/machine.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/subprocess.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ==== the watchdog ============================================================================ */

/* The result of take() or give_back(). */
typedef struct answer {
    status_t status;
    double value;
    error_t err;
} answer_t;

_Static_assert(sizeof(answer_t) <= PIPE_BUF, "an answer is written in one piece");

/* ---- in the watchdog ------------------------------------------------------------------------- */

/* Our open files would stay open while the watchdog lives: the pipes of workers, the journal, our
 * end of the pipe that it waits on. */
static void keep_only(int first, int second) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        _exit(EXIT_FAILURE); /* it would wait on its own end of the pipe */
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != first && fd != second && fd != dirfd(folder))
            close(fd);
    }
    closedir(folder);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null_fd >= 0; fd++)
        dup2(null_fd, fd);
    if (null_fd > STDERR_FILENO)
        close(null_fd);
}

/* The reader may be gone, so errors are ignored. */
static void send_answer(int fd, const answer_t *answer) {
    while (write(fd, answer, sizeof *answer) < 0 && errno == EINTR)
        ;
}

static void wait_for_our_end(int life_fd) {
    char byte;
    ssize_t got;
    do
        got = read(life_fd, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
}

static _Noreturn void run_watchdog(const watchdog_task_t *task, int life_fd, int answer_fd) {
    setsid();
    prctl(PR_SET_NAME, task->name);
    keep_only(life_fd, answer_fd);
    answer_t answer = {.value = NAN, .err = ERROR_INIT};
    answer.status = task->take(task->context, &answer.value, &answer.err);
    bool taken = answer.status == STATUS_OK;
    send_answer(answer_fd, &answer);
    if (taken) {
        wait_for_our_end(life_fd);
        answer = (answer_t){.value = NAN, .err = ERROR_INIT};
        answer.status = task->give_back(task->context, &answer.err);
        send_answer(answer_fd, &answer);
    }
    _exit(EXIT_SUCCESS); /* exit handlers belong to the main process */
}

/* ---- in this process ------------------------------------------------------------------------- */

typedef enum reply { REPLIED, DIED, TIMED_OUT } reply_t;

static reply_t receive_answer(int fd, double timeout_s, answer_t *answer) {
    const double deadline_s = subprocess_now_s() + timeout_s;
    struct pollfd in = {.fd = fd, .events = POLLIN};
    for (;;) {
        double left_s = fmax(deadline_s - subprocess_now_s(), 0);
        int ready = poll(&in, 1, (int)fmin(left_s * 1e3, INT_MAX));
        if (ready > 0) {
            ssize_t got = read(fd, answer, sizeof *answer);
            if (got >= 0 || errno != EINTR)
                return got == sizeof *answer ? REPLIED : DIED;
        }
        if (ready == 0 && left_s <= 0)
            return TIMED_OUT;
    }
}

static status_t status_of_reply(reply_t reply, const answer_t *answer, double timeout_s,
                                error_t *err) {
    if (reply == DIED)
        return error_set(err, STATUS_FAILED, "its watchdog process has died");
    if (reply == TIMED_OUT)
        return error_set(err, STATUS_FAILED, "its watchdog process has not answered within %.3g s",
                         timeout_s);
    if (answer->status != STATUS_OK)
        return error_set(err, answer->status, "%s", answer->err.text);
    return STATUS_OK;
}

static void close_end(int fd) {
    if (fd >= 0)
        close(fd);
}

/* Close our ends. A watchdog that timed out is not waited for: init reaps it after our end. */
static void close_watchdog(watchdog_t *watchdog, reply_t reply) {
    close_end(watchdog->life_fd);
    close_end(watchdog->answer_fd);
    while (reply != TIMED_OUT && waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *watchdog = (watchdog_t){0};
}

/* Signals are blocked before the fork and stay blocked in the watchdog. */
static pid_t fork_with_signals_blocked(void) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int cause = errno;
    if (pid != 0)
        sigprocmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    return pid;
}

status_t watchdog_start(const watchdog_task_t *task, double timeout_s, watchdog_t *watchdog,
                        double *value, error_t *err) {
    int life[2] = {-1, -1}, answers[2] = {-1, -1};
    *watchdog = (watchdog_t){0};
    pid_t pid = -1;
    const char *missing = "pipe";
    if (subprocess_pipe(life) && subprocess_pipe(answers)) {
        missing = "process";
        pid = fork_with_signals_blocked();
    }
    if (pid == 0)
        run_watchdog(task, life[0], answers[1]);
    if (pid < 0)
        error_set(err, STATUS_FAILED, "%s: no %s: %s", task->name, missing, strerror(errno));
    close_end(life[0]);
    close_end(answers[1]);
    if (pid < 0) {
        close_end(life[1]);
        close_end(answers[0]);
        return STATUS_FAILED;
    }
    *watchdog = (watchdog_t){pid, life[1], answers[0]};
    answer_t answer;
    reply_t reply = receive_answer(watchdog->answer_fd, timeout_s, &answer);
    status_t status = status_of_reply(reply, &answer, timeout_s, err);
    if (status == STATUS_OK)
        *value = answer.value;
    else
        close_watchdog(watchdog, reply);
    return status;
}

status_t watchdog_end(watchdog_t *watchdog, double timeout_s, error_t *err) {
    if (watchdog->pid <= 0)
        return STATUS_OK;
    close(watchdog->life_fd);
    watchdog->life_fd = -1;
    answer_t answer;
    reply_t reply = receive_answer(watchdog->answer_fd, timeout_s, &answer);
    close_watchdog(watchdog, reply);
    return status_of_reply(reply, &answer, timeout_s, err);
}

/* ==== the locked clock ======================================================================== */

/* NVML takes seconds to start on a machine of many GPUs without persistence mode. */
enum { TIMEOUT_S = 60 };

static unsigned distance(unsigned a, unsigned b) {
    return a > b ? a - b : b - a;
}

status_t lock_clocks_choose(const unsigned *mhz, size_t n, double max_mhz, unsigned asked_mhz,
                            unsigned *chosen_mhz, error_t *err) {
    if (n == 0 && asked_mhz > max_mhz)
        return error_set(err, STATUS_USAGE,
                         "--lock-clocks %u: this GPU's SM clock is at most %g MHz", asked_mhz,
                         max_mhz);
    *chosen_mhz = asked_mhz;
    if (n == 0)
        return STATUS_OK;
    unsigned lowest = mhz[0], highest = mhz[0];
    *chosen_mhz = mhz[0];
    for (size_t i = 1; i < n; i++) {
        unsigned far = distance(mhz[i], asked_mhz), best = distance(*chosen_mhz, asked_mhz);
        lowest = mhz[i] < lowest ? mhz[i] : lowest;
        highest = mhz[i] > highest ? mhz[i] : highest;
        if (far < best || (far == best && mhz[i] < *chosen_mhz))
            *chosen_mhz = mhz[i];
    }
    if (asked_mhz < lowest || asked_mhz > highest)
        return error_set(err, STATUS_USAGE,
                         "--lock-clocks %u: this GPU's SM clock ranges from %u to %u MHz",
                         asked_mhz, lowest, highest);
    return STATUS_OK;
}

/* For the callbacks that run in the watchdog process. */
typedef struct lock_request {
    const char *uuid;
    unsigned asked_mhz;
    nvml_t *nvml; /* opened in the watchdog */
} lock_request_t;

static status_t choose_and_lock(lock_request_t *request, unsigned *mhz, error_t *err) {
    AUTO_FREE unsigned *clocks = NULL;
    size_t n;
    nvml_sm_clocks(request->nvml, &clocks, &n);
    TRY(lock_clocks_choose(clocks, n, nvml_max_sm_mhz(request->nvml), request->asked_mhz, mhz,
                           err));
    return nvml_lock_sm_clock(request->nvml, *mhz, err);
}

static status_t take(void *context, double *value, error_t *err) {
    lock_request_t *request = context;
    unsigned mhz = 0;
    if (nvml_open(request->uuid, &request->nvml, err) != STATUS_OK)
        return STATUS_FAILED;
    status_t status = choose_and_lock(request, &mhz, err);
    if (status != STATUS_OK)
        nvml_close(request->nvml);
    *value = mhz;
    return status;
}

static status_t give_back(void *context, error_t *err) {
    lock_request_t *request = context;
    status_t status = nvml_free_sm_clock(request->nvml, err);
    nvml_close(request->nvml);
    return status;
}

status_t lock_clocks(const char *uuid, unsigned asked_mhz, clock_lock_t *lock, error_t *err) {
    lock_request_t request = {.uuid = uuid, .asked_mhz = asked_mhz};
    const watchdog_task_t task = {
        .name = "clock-watchdog", .take = take, .give_back = give_back, .context = &request};
    double mhz;
    *lock = (clock_lock_t){0};
    TRY(watchdog_start(&task, TIMEOUT_S, &lock->watchdog, &mhz, err));
    lock->mhz = (unsigned)mhz;
    return STATUS_OK;
}

status_t lock_clocks_release(clock_lock_t *lock, error_t *err) {
    status_t status = watchdog_end(&lock->watchdog, TIMEOUT_S, err);
    *lock = (clock_lock_t){0};
    return status;
}

/* ==== rounds at low clocks ==================================================================== */

/* Rounds with the clock below this share of the full clock are excluded. */
static const double FULL_CLOCK_FRAC = 0.75;

/* nvmlClocksEventReasonSwPowerCap: the reproducible state of a contender that draws full board
 * power, so it is only flagged unless the clock drops far. */
static const unsigned long long POWER_CAP = 0x04;
/* nvmlClocksEventReasonApplicationsClocksSetting */
static const unsigned long long SETTING = 0x02;

void clocks_note(const nvml_reading_t *reading, device_state_t *device) {
    const double values[] = {reading->sm_mhz, reading->power_w, reading->temperature_c};
    double *ranges[] = {device->sm_mhz, device->power_w, device->temperature_c};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ranges[i][0] = fmin(ranges[i][0], values[i]); /* ignore NaN */
        ranges[i][1] = fmax(ranges[i][1], values[i]);
    }
    nvml_throttle_names(reading->throttle, &device->throttle);
}

nvml_reading_t clocks_read(nvml_t *nvml, case_result_t *result) {
    nvml_reading_t reading = {NAN, NAN, NAN, 0};
    if (nvml == NULL || strcmp(result->spec.device, "cuda") != 0)
        return reading;
    reading = nvml_read(nvml);
    clocks_note(&reading, &result->device);
    return reading;
}

void clocks_forget(device_state_t *device) {
    for (int i = 0; i < 2; i++)
        device->sm_mhz[i] = device->power_w[i] = device->temperature_c[i] = NAN;
    text_list_free(&device->throttle);
}

bool clocks_are_low(const nvml_reading_t *reading, double full_sm_mhz, bool locked) {
    const unsigned long long expected = POWER_CAP | (locked ? SETTING : 0);
    return (reading->throttle & ~expected) != 0 ||
           reading->sm_mhz < FULL_CLOCK_FRAC * full_sm_mhz; /* false for NaN */
}

void clocks_settle(case_result_t *result, const case_result_t *throttled_rounds,
                   size_t min_samples) {
    size_t kept = SIZE_MAX, excluded = 0;
    if (text_list_has(&result->device.throttle, "sw_power_cap"))
        flag_list_add(&result->flags, FLAG_POWER_LIMIT, NULL, result->device.sm_mhz[0],
                      result->device.sm_mhz[1]);
    for (size_t i = 0; i < result->n_phases; i++) {
        result->phases[i].n_throttled = throttled_rounds->phases[i].n_samples;
        if (result->phases[i].n_samples < kept)
            kept = result->phases[i].n_samples;
        if (throttled_rounds->phases[i].n_samples > excluded)
            excluded = throttled_rounds->phases[i].n_samples;
    }
    if (excluded == 0 || kept >= min_samples)
        return;
    for (size_t i = 0; i < result->n_phases; i++)
        phase_add_rounds(&result->phases[i], &throttled_rounds->phases[i]);
    AUTO_FREE char *reasons = text_list_join(&result->device.throttle, ", ");
    free(result->reason);
    result->status = CASE_THROTTLED;
    result->reason =
        mem_format("only %zu samples at full clocks (%s)", kept,
                   reasons[0] != '\0' ? reasons : "SM clock under 75 % of its full rate");
}

void slow_rounds_settle(case_result_t *result, const case_result_t *slow_rounds,
                        unsigned min_rounds) {
    for (size_t i = 0; i < result->n_phases; i++) {
        phase_t *phase = &result->phases[i];
        const phase_t *slow = &slow_rounds->phases[i];
        if (phase->n_rounds < min_rounds)
            phase_add_rounds(phase, slow);
        else
            phase->n_slow_core = slow->n_samples;
    }
}

/* ==== cores =================================================================================== */

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
    AUTO(text_list_free) text_list_t parts = {0};
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && list[next] == list[next - 1] + 1; next++)
            ;
        if (next - first > 1)
            text_list_add_format(&parts, "%d-%d", list[first], list[next - 1]);
        else
            text_list_add_format(&parts, "%d", list[first]);
    }
    return text_list_join(&parts, ",");
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

/* The best of a few: what disturbs one only makes it longer. */
enum { COPY_BYTES = 32 << 20, COPIES = 3 };

static double copy_rate(void) {
    AUTO_FREE char *from = mem_alloc(COPY_BYTES), *to = mem_alloc(COPY_BYTES);
    double best_ns = INFINITY;
    memset(from, 1, COPY_BYTES);
    memset(to, 2, COPY_BYTES);
    for (int i = 0; i < COPIES; i++) {
        const int64_t start_ns = clock_ns();
        memcpy(to, from, COPY_BYTES);
        __asm__ volatile("" : : "r"(to) : "memory");
        best_ns = fmin(best_ns, (double)(clock_ns() - start_ns));
    }
    return 1e9 * COPY_BYTES / best_ns;
}

host_speed_t cores_host_speed(cores_t *cores) {
    host_speed_t speed = {.loop_ns = INFINITY};
    int fastest = cores->allowed[0];
    for (size_t i = 0; i < cores->n; i++) {
        const double ns = time_core(cores, cores->allowed[i]);
        if (ns < speed.loop_ns)
            fastest = cores->allowed[i];
        speed.loop_ns = fmin(speed.loop_ns, ns);
    }
    bind_to(0, fastest);
    speed.copy_bytes_per_s = copy_rate();
    release(cores, 0, -1);
    return speed;
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
