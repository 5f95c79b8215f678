/* NVML, opened at run time: what the device's clocks, power and temperature are, and whether
 * something holds the clocks down. The supervisor reads it around each round, for every contender
 * alike. It sets nothing but the lock of the SM clock. Source: NVML API reference. */
#ifndef BENCH_CUDA_NVML_H
#define BENCH_CUDA_NVML_H

#include "base/error.h"
#include "base/text.h"
#include "model/environment.h"

#include <stdbool.h>

typedef struct nvml nvml_t;

/* Is NVML here at all? Else why not. */
status_t nvml_find(error_t *err);
/* Find the device by its CUDA UUID ("GPU-…"). The caller closes it. */
status_t nvml_open(const char *uuid, nvml_t **nvml, error_t *err);
void nvml_close(nvml_t *nvml); /* NULL is fine */

/* One reading. NaN where the device does not say. */
typedef struct nvml_reading {
    double sm_mhz, power_w, temperature_c;
    unsigned long long throttle; /* NVML's bit mask of what holds clocks down, without "idle" */
} nvml_reading_t;

nvml_reading_t nvml_read(nvml_t *nvml);
double nvml_max_sm_mhz(nvml_t *nvml); /* NaN when unknown */

/* Add the names of the bits of `throttle` that are not yet in `reasons`. */
void nvml_throttle_names(unsigned long long throttle, text_list_t *reasons);

/* gpu.driver, gpu.ecc, gpu.mig, gpu.power_limit_w, gpu.clock_max_mhz, gpu.persistence. */
void nvml_describe(nvml_t *nvml, environment_t *env);

/* ---- the lock of the SM clock, which outlives the process that sets it ----------------------- */

/* The SM clocks that there are with the memory's highest clock, in no order; the caller frees
 * `*mhz`. NULL and 0 where the driver does not list them. */
void nvml_sm_clocks(nvml_t *nvml, unsigned **mhz, size_t *n);
/* The driver takes the nearest clock that there is. STATUS_FAILED where the clock cannot be locked,
 * with the reason; nothing has changed then. */
status_t nvml_lock_sm_clock(nvml_t *nvml, unsigned mhz, error_t *err);
/* Set it free, whoever locked it. */
status_t nvml_free_sm_clock(nvml_t *nvml, error_t *err);

#endif
