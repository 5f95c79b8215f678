/* NVML, opened at run time: what the device's clocks, power and temperature are, and whether
 * something holds the clocks down. Read only. The supervisor reads it around each round, for every
 * contender alike. Source: NVML API reference. */
#ifndef BENCH_NVML_H
#define BENCH_NVML_H

#include "ground/error.h"
#include "ground/text.h"
#include "nouns/environment.h"

#include <stdbool.h>

typedef struct nvml nvml_t;

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

#endif
