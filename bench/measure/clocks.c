#include "measure/clocks.h"

#include "base/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
    char *reasons = text_list_join(&result->device.throttle, ", ");
    char *reason =
        mem_format("only %zu samples at full clocks (%s)", kept,
                   reasons[0] != '\0' ? reasons : "SM clock under 75 % of its full rate");
    result->status = CASE_THROTTLED;
    free(result->reason);
    result->reason = reason;
    free(reasons);
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
