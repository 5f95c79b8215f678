/* NVML, opened at run time: the device's clocks, power, temperature and throttle reasons. The
 * supervisor reads them around each round, for every contender alike. The only setting changed is
 * the SM clock lock. Source: NVML API reference. */
#ifndef BENCH_CUDA_NVML_H
#define BENCH_CUDA_NVML_H

#include "base/error.h"
#include "base/text.h"
#include "model/environment.h"

#include <stdbool.h>

typedef struct nvml nvml_t;

/* Check that NVML can be opened. */
status_t nvml_find(error_t *err);
/* Find the device by its CUDA UUID ("GPU-…"). The caller closes it. */
status_t nvml_open(const char *uuid, nvml_t **nvml, error_t *err);
void nvml_close(nvml_t *nvml); /* NULL is fine */

/* One reading; NaN if the device does not report a value. */
typedef struct nvml_reading {
    double sm_mhz, power_w, temperature_c;
    unsigned long long throttle; /* NVML's bit mask of throttle reasons, without "idle" */
} nvml_reading_t;

nvml_reading_t nvml_read(nvml_t *nvml);
double nvml_max_sm_mhz(nvml_t *nvml); /* NaN when unknown */

/* Add the names of the bits in `throttle` to `reasons`, each once. */
void nvml_throttle_names(unsigned long long throttle, text_list_t *reasons);

/* gpu.driver, gpu.ecc, gpu.mig, gpu.power_limit_w, gpu.clock_max_mhz, gpu.persistence. */
void nvml_describe(nvml_t *nvml, environment_t *env);

/* The cores near the device, 64 a word. False if unknown. */
bool nvml_cpu_affinity(nvml_t *nvml, unsigned long *cores, size_t n_words);

/* ---- locking the SM clock; a lock outlives the process that sets it -------------------------- */

/* The SM clocks available at the highest memory clock, in no order; the caller frees `*mhz`. NULL
 * and 0 if the driver does not list them. */
void nvml_sm_clocks(nvml_t *nvml, unsigned **mhz, size_t *n);
/* Lock to the nearest available clock. STATUS_FAILED, with the reason, if the clock cannot be
 * locked; nothing has changed then. */
status_t nvml_lock_sm_clock(nvml_t *nvml, unsigned mhz, error_t *err);
/* Unlock the clock, whoever locked it. */
status_t nvml_free_sm_clock(nvml_t *nvml, error_t *err);

#endif
