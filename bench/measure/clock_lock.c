#include "measure/clock_lock.h"

#include "cuda/nvml.h"

#include <math.h>
#include <stdlib.h>

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
    unsigned *clocks;
    size_t n;
    nvml_sm_clocks(request->nvml, &clocks, &n);
    status_t status =
        lock_clocks_choose(clocks, n, nvml_max_sm_mhz(request->nvml), request->asked_mhz, mhz, err);
    free(clocks);
    return status == STATUS_OK ? nvml_lock_sm_clock(request->nvml, *mhz, err) : status;
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
