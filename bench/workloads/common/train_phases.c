#include "workloads/common/train_phases.h"

#include "base/clock.h"

#include <string.h>

enum { TRAIN_DEVICE, STEP_DEVICE, MALLOC, H2D, TRAIN, D2H, FREE, TOTAL, RESIDUAL, STEP };

static const struct {
    const char *name;
    clock_domain_t clock;
    enum { ALWAYS, ALLOCATING, STEPPING } when;
} PHASES[TRAIN_PHASES] = {
    [TRAIN_DEVICE] = {"train_device", CLOCK_DEVICE, ALWAYS},
    [STEP_DEVICE] = {"step_device", CLOCK_DEVICE, STEPPING},
    [MALLOC] = {"malloc", CLOCK_HOST, ALLOCATING},
    [H2D] = {"h2d", CLOCK_HOST, ALWAYS},
    [TRAIN] = {"train", CLOCK_HOST, ALWAYS},
    [D2H] = {"d2h", CLOCK_HOST, ALWAYS},
    [FREE] = {"free", CLOCK_HOST, ALLOCATING},
    [TOTAL] = {"total", CLOCK_HOST, ALWAYS},
    [RESIDUAL] = {"residual", CLOCK_HOST, ALWAYS},
    [STEP] = {"step", CLOCK_HOST, STEPPING},
};

static bool has_phase(const train_phases_t *phases, unsigned which) {
    return PHASES[which].when == ALWAYS ||
           (PHASES[which].when == ALLOCATING ? phases->allocate != NULL : phases->steps > 0);
}

bool train_phases_has(const char *name) {
    for (unsigned i = 0; i < TRAIN_PHASES; i++)
        if (strcmp(name, PHASES[i].name) == 0)
            return true;
    return false;
}

void train_phases_declare(train_phases_t *phases, recorder_t *recorder) {
    for (unsigned i = 0; i < TRAIN_PHASES; i++)
        if (has_phase(phases, i))
            phases->index[i] = recorder_phase(recorder, PHASES[i].name, PHASES[i].clock);
}

static status_t run(const train_phases_t *phases, void *state, int64_t at[6], error_t *err) {
    gpu_t *gpu = phases->gpu;
    TRY(gpu_sync(gpu, err));
    at[0] = clock_ns();
    if (phases->allocate != NULL)
        TRY(phases->allocate(state, err));
    at[1] = clock_ns();
    TRY(phases->upload(state, err));
    TRY(gpu_sync(gpu, err));
    at[2] = clock_ns();
    TRY(gpu_record(gpu, 0, err));
    TRY(phases->train(state, err));
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    at[3] = clock_ns();
    TRY(phases->copy_out(state, err));
    TRY(gpu_sync(gpu, err));
    at[4] = clock_ns();
    if (phases->release != NULL)
        TRY(phases->release(state, err));
    at[5] = clock_ns();
    return STATUS_OK;
}

static void add_all(const train_phases_t *phases, recorder_t *recorder, const int64_t at[6],
                    double device_ns) {
    const unsigned *index = phases->index;
    const double steps = phases->steps, total_ns = (double)(at[5] - at[0]);
    double residual_ns = total_ns;
    recorder_add_between(recorder, index[TRAIN_DEVICE], device_ns, at[2], at[3]);
    if (steps > 0)
        recorder_add(recorder, index[STEP_DEVICE], device_ns / steps);
    for (unsigned i = MALLOC; i <= FREE; i++) {
        const int64_t from_ns = at[i - MALLOC], to_ns = at[i - MALLOC + 1];
        if (!has_phase(phases, i))
            continue;
        recorder_add_between(recorder, index[i], (double)(to_ns - from_ns), from_ns, to_ns);
        residual_ns -= (double)(to_ns - from_ns);
    }
    if (steps > 0)
        recorder_add(recorder, index[STEP], (double)(at[3] - at[2]) / steps);
    recorder_add_between(recorder, index[TOTAL], total_ns, at[0], at[5]);
    recorder_add(recorder, index[RESIDUAL], residual_ns);
}

status_t train_phases_sample(const train_phases_t *phases, void *state, recorder_t *recorder,
                             error_t *err) {
    int64_t at[6];
    status_t status = run(phases, state, at, err);
    if (status != STATUS_OK) {
        error_t ignored = ERROR_INIT;
        if (phases->release != NULL)
            phases->release(state, &ignored);
        return status;
    }
    double device_ns;
    TRY(gpu_elapsed(phases->gpu, 0, 1, &device_ns, err));
    add_all(phases, recorder, at, device_ns);
    return STATUS_OK;
}

status_t device_time(gpu_t *gpu, double *ns, error_t *err) {
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    return gpu_elapsed(gpu, 0, 1, ns, err);
}

status_t device_span_begin(device_span_t *span, gpu_t *gpu, error_t *err) {
    TRY(gpu_sync(gpu, err));
    if (span->ns == 0)
        span->from_ns = clock_ns();
    return gpu_record(gpu, 0, err);
}

status_t device_span_end(device_span_t *span, gpu_t *gpu, error_t *err) {
    double ns;
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    span->to_ns = clock_ns();
    TRY(gpu_elapsed(gpu, 0, 1, &ns, err));
    span->ns += ns;
    return STATUS_OK;
}
