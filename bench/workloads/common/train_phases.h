/* How a training on a GPU is timed, whatever it trains: with a synchronisation after each phase;
 * and a part of it by itself. */
#ifndef BENCH_WORKLOADS_COMMON_TRAIN_PHASES_H
#define BENCH_WORKLOADS_COMMON_TRAIN_PHASES_H

#include "engine/gpu.h"
#include "engine/session.h"

enum { TRAIN_PHASES = 10 };

/* What a sample is made of: malloc → h2d → train → d2h → free, in functions that submit their work
 * and do not wait for it. */
typedef struct train_phases {
    gpu_t *gpu;
    /* The sample's own buffers. Both NULL where a training's addresses are in a graph: such a
     * sample allocates nothing. `release` is called again after a failure. */
    status_t (*allocate)(void *state, error_t *err);
    status_t (*release)(void *state, error_t *err);
    status_t (*upload)(void *state, error_t *err);
    status_t (*train)(void *state, error_t *err);
    status_t (*copy_out)(void *state, error_t *err);
    uint32_t steps;               /* of a sample, for the phases of one; 0: it has none */
    unsigned index[TRAIN_PHASES]; /* in the recorder */
} train_phases_t;

/* Declare the phases that such a sample has. */
void train_phases_declare(train_phases_t *phases, recorder_t *recorder);
/* Take one sample. */
status_t train_phases_sample(const train_phases_t *phases, void *state, recorder_t *recorder,
                             error_t *err);
/* Is that the name of a phase, declared or not? */
bool train_phases_has(const char *name);

/* End what began with gpu_record() of event 0: the device's time from there on, when it is done. */
status_t device_time(gpu_t *gpu, double *ns, error_t *err);

/* Work of an idle device between two events, perhaps in several pieces. Start with zeros. */
typedef struct device_span {
    double ns;              /* the device's */
    int64_t from_ns, to_ns; /* the host's clock around it */
} device_span_t;
status_t device_span_begin(device_span_t *span, gpu_t *gpu, error_t *err);
status_t device_span_end(device_span_t *span, gpu_t *gpu, error_t *err);

#endif
