/* What the machine does to a measurement: which rounds count at which clocks, a lock of the GPU's clock that ends with the run,
 * and cores of two speeds. */
#ifndef BENCH_MEASURE_MACHINE_H
#define BENCH_MEASURE_MACHINE_H

#include "base/error.h"
#include "cuda/nvml.h"
#include "model/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct watchdog_task {
    const char *name; /* of the process in ps: at most 15 characters */
    /* Both run in the watchdog, whose streams are /dev/null and which has none of our files. If
     * take() fails, give_back() is not called. */
    status_t (*take)(void *context, double *value, error_t *err);
    status_t (*give_back)(void *context, error_t *err);
    void *context;
} watchdog_task_t;

/* All zeros: no watchdog. */
typedef struct watchdog {
    pid_t pid;
    int life_fd, answer_fd; /* valid with a pid; close-on-exec */
} watchdog_t;

/* Start it and wait for take(). Fails with the error of take(), or without an answer within
 * `timeout_s`; then there is no watchdog, or one that gives back and ends as soon as it can. */
status_t watchdog_start(const watchdog_task_t *task, double timeout_s, watchdog_t *watchdog,
                        double *value, error_t *err);

/* Make it give back and wait for its end. Fails with the error of give_back(), or if it has died or
 * does not answer within `timeout_s`. Does nothing without a watchdog. */
status_t watchdog_end(watchdog_t *watchdog, double timeout_s, error_t *err);

/* `bench run --lock-clocks`: lock the GPU's SM clock at one frequency during a run. A watchdog
 * process locks it, and unlocks it when the run ends for any reason. */

/* Zeroed: no lock. */
typedef struct clock_lock {
    watchdog_t watchdog;
    unsigned mhz; /* 0: not locked */
} clock_lock_t;

/* The clock in `mhz` nearest to `asked_mhz`, the lower one of a tie; STATUS_USAGE if `asked_mhz` is
 * out of their range. If the driver lists none (n 0): `asked_mhz`, at most `max_mhz` (NaN: any). */
status_t lock_clocks_choose(const unsigned *mhz, size_t n, double max_mhz, unsigned asked_mhz,
                            unsigned *chosen_mhz, error_t *err);

/* Lock the device with this CUDA UUID. On failure nothing is locked; STATUS_USAGE: it has no such
 * clock. The watchdog is a fork of this process, which must not have NVML open or other threads. */
status_t lock_clocks(const char *uuid, unsigned asked_mhz, clock_lock_t *lock, error_t *err);
/* Fails if the clock may still be locked. Without a lock it does nothing. */
status_t lock_clocks_release(clock_lock_t *lock, error_t *err);

/* Rounds that are excluded: at low GPU clocks, which are recorded for each round, and on slow cores.
 */

/* Read the GPU and add the reading to `result`. All NaN, and nothing added, without `nvml` or for a
 * case that does not run on a GPU. */
nvml_reading_t clocks_read(nvml_t *nvml, case_result_t *result);

/* Widen the ranges of `device` to include the reading (ignoring NaN); add its throttle reasons. */
void clocks_note(const nvml_reading_t *reading, device_state_t *device);
/* Discard the readings so far, which belong to the warm-up. */
void clocks_forget(device_state_t *device);

/* Throttled for a reason other than the board's power limit (or, if locked, the clock setting), or
 * under 75 % of `full_sm_mhz`, the highest or locked clock. An unknown clock is not low. */
bool clocks_are_low(const nvml_reading_t *reading, double full_sm_mhz, bool locked);

/* Count the `throttled_rounds` (phases of rounds at low clocks) in `result`. If fewer than
 * `min_samples` others are left, merge them in and mark the case as throttled. Flag a case that hit
 * the board's power limit. */
void clocks_settle(case_result_t *result, const case_result_t *throttled_rounds,
                   size_t min_samples);

/* Count the `slow_rounds` (of rounds on a core that became slow) in `result`, or merge them in
 * if a pass has fewer than `min_rounds` others. */
void slow_rounds_settle(case_result_t *result, const case_result_t *slow_rounds,
                        unsigned min_rounds);

/* Which core a worker runs on. The cores of a virtual machine have two speeds: a core is often one
 * hyperthread of a physical core, and slower while another guest is busy on the other one
 * (docs/measuring.md has the experiment). So before each round a short loop is timed on the cores,
 * and the worker's main thread moves to the fastest; after the round it is timed there again. All
 * contenders that use a GPU are placed like this; those on the CPU use all cores. */

enum { MOST_CORES = 1024 };

typedef struct cores {
    int allowed[MOST_CORES]; /* ascending */
    size_t n;                /* under 2: workers are not moved */
    int current;             /* the worker's; -1: it may run on any of them */
    double fastest_ns;       /* of the loop, on any core so far; NaN: none */
    double entered_ns;       /* of the loop, on the current core before the round */
    bool used[MOST_CORES];   /* since cores_take_used() */
} cores_t;

/* Those of `list` ("0-7,12"; NULL: all) that this process may use. A list binds this process, and so
 * the workers that it starts. */
status_t cores_init(cores_t *cores, const char *list, error_t *err);
/* Keep those of `near` (64 cores a word, as NVML gives them), unless that leaves none. */
void cores_keep_near(cores_t *cores, const unsigned long *near, size_t n_words);

/* Move the main thread of process `pid` to the fastest core, and this thread off it. */
void cores_enter(cores_t *cores, pid_t pid);
/* Let it run on any allowed core again. False if its core has become slow since cores_enter(). */
bool cores_leave(cores_t *cores, pid_t pid);

/* How fast the host is now: the loop on its fastest core, and copies within its memory (takes 20 to 40 ms). */
typedef struct host_speed {
    double loop_ns, copy_bytes_per_s;
} host_speed_t;
host_speed_t cores_host_speed(cores_t *cores);

/* "0-3,7"; the caller frees it. */
char *cores_text(const int *list, size_t n);
/* The cores that rounds ran on since the last call. */
char *cores_take_used(cores_t *cores);

#endif
