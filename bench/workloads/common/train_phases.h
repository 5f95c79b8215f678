/* Times any training on a GPU, with a synchronisation after each phase; and single parts of it. */
#ifndef BENCH_WORKLOADS_COMMON_TRAIN_PHASES_H
#define BENCH_WORKLOADS_COMMON_TRAIN_PHASES_H

#include "engine/gpu.h"
#include "engine/session.h"

enum { TRAIN_PHASES = 10 };

/* A sample: malloc → h2d → train → d2h → free. The functions submit work without waiting. */
typedef struct train_phases {
    gpu_t *gpu;
    /* The buffers of a sample. Both NULL if a graph fixes the addresses: such a sample allocates
     * nothing. `release` is called again after a failure. */
    status_t (*allocate)(void *state, error_t *err);
    status_t (*release)(void *state, error_t *err);
    status_t (*upload)(void *state, error_t *err);
    status_t (*train)(void *state, error_t *err);
    status_t (*copy_out)(void *state, error_t *err);
    uint32_t steps;               /* of a sample, for the phases per step; 0: no such phases */
    unsigned index[TRAIN_PHASES]; /* in the recorder */
} train_phases_t;

void train_phases_declare(train_phases_t *phases, recorder_t *recorder);
status_t train_phases_sample(const train_phases_t *phases, void *state, recorder_t *recorder,
                             error_t *err);
/* Is this the name of a phase, declared or not? */
bool train_phases_has(const char *name);

/* Wait for the device; `*ns` gets its time since gpu_record() of event 0. */
status_t device_time(gpu_t *gpu, double *ns, error_t *err);

/* Device work between two events, from idle, in one or more pieces. Start with zeros. */
typedef struct device_span {
    double ns;              /* the device's */
    int64_t from_ns, to_ns; /* the host's clock around it */
} device_span_t;
status_t device_span_begin(device_span_t *span, gpu_t *gpu, error_t *err);
status_t device_span_end(device_span_t *span, gpu_t *gpu, error_t *err);

#endif
