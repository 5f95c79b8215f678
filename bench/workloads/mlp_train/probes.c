/* How an epoch on the GPU is timed. The start weights are put back outside of the clock, and what
 * the allocator has cached stays: only a training's first epoch is without. */
#include "base/clock.h"
#include "workloads/common/session_parts.h"
#include "workloads/mlp_train/cuda.h"

enum { TRAIN_DEVICE, VALIDATE_DEVICE, TRAIN, VALIDATE, DRIVER, TOTAL, RESIDUAL, STEP };

enum { TRAIN_BEGINS, TRAIN_ENDS, VALIDATION_BEGINS, VALIDATION_ENDS }; /* events */

typedef struct times {
    int64_t start_ns, trained_ns, end_ns;
    double driver_ns;
} times_t;

static status_t run_epoch(mlpt_cuda_t *s, times_t *times, error_t *err) {
    gpu_t *gpu = s->gpu;
    TRY(mlpt_cuda_restore(s, err));
    TRY(gpu_sync(gpu, err));
    allocator_epoch(s->allocator);
    times->start_ns = clock_ns();
    TRY(gpu_record(gpu, TRAIN_BEGINS, err));
    TRY(mlpt_cuda_upload_order(s, err));
    TRY(mlpt_cuda_epoch(s, s->shape.steps, err));
    TRY(gpu_record(gpu, TRAIN_ENDS, err));
    TRY(gpu_sync(gpu, err));
    times->trained_ns = clock_ns();
    times->driver_ns = (double)allocator_stats(s->allocator).driver_ns;
    TRY(gpu_record(gpu, VALIDATION_BEGINS, err));
    TRY(mlpt_cuda_validate(s, err));
    TRY(gpu_record(gpu, VALIDATION_ENDS, err));
    TRY(gpu_sync(gpu, err));
    times->end_ns = clock_ns();
    return STATUS_OK;
}

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    mlpt_cuda_t *s = session->state;
    double train_ns, validate_ns;
    times_t t;
    mlpt_cuda_shuffle(s, 0);
    TRY(run_epoch(s, &t, err));
    TRY(gpu_elapsed(s->gpu, TRAIN_BEGINS, TRAIN_ENDS, &train_ns, err));
    TRY(gpu_elapsed(s->gpu, VALIDATION_BEGINS, VALIDATION_ENDS, &validate_ns, err));
    const double train_host_ns = (double)(t.trained_ns - t.start_ns);
    const double validate_host_ns = (double)(t.end_ns - t.trained_ns);
    const double total_ns = (double)(t.end_ns - t.start_ns);
    recorder_add_between(recorder, TRAIN_DEVICE, train_ns, t.start_ns, t.trained_ns);
    recorder_add_between(recorder, VALIDATE_DEVICE, validate_ns, t.trained_ns, t.end_ns);
    recorder_add_between(recorder, TRAIN, train_host_ns, t.start_ns, t.trained_ns);
    recorder_add_between(recorder, VALIDATE, validate_host_ns, t.trained_ns, t.end_ns);
    recorder_add(recorder, DRIVER, t.driver_ns);
    recorder_add_between(recorder, TOTAL, total_ns, t.start_ns, t.end_ns);
    recorder_add(recorder, RESIDUAL, total_ns - train_host_ns - validate_host_ns);
    recorder_add(recorder, STEP, train_host_ns / (double)s->shape.steps);
    return STATUS_OK;
}

void mlpt_cuda_add_probes(session_t *session) {
    session_add_phases(session, CLOCK_DEVICE, NAMES("train_device", "validate_device"));
    session_add_phases(session, CLOCK_HOST,
                       NAMES("train", "validate", "driver", "total", "residual", "step"));
    session_add_probe(session, "epoch", probe);
}
