/* The probe of an epoch on a GPU. The start weights are restored before the clock starts, and the
 * allocator keeps its cache: only the first epoch of a training starts without. */
#include "base/clock.h"
#include "workloads/common/session_parts.h"
#include "workloads/mlp_train/cuda.h"

enum { TRAIN_DEVICE, VALIDATE_DEVICE, TRAIN, VALIDATE, DRIVER, TOTAL, RESIDUAL, STEP };

enum { TRAIN_BEGINS, TRAIN_ENDS, VALIDATION_BEGINS, VALIDATION_ENDS }; /* events */

static status_t probe(session_t *session, recorder_t *recorder, error_t *err) {
    mlpt_cuda_t *s = session->state;
    gpu_t *gpu = s->gpu;
    double train_device_ns, validate_device_ns;
    mlpt_cuda_shuffle(s, 0);
    TRY(mlpt_cuda_restore(s, err));
    TRY(gpu_sync(gpu, err));
    allocator_epoch(s->allocator);
    const int64_t start_ns = clock_ns();
    TRY(gpu_record(gpu, TRAIN_BEGINS, err));
    TRY(mlpt_cuda_upload_order(s, err));
    TRY(mlpt_cuda_epoch(s, s->shape.steps, err));
    TRY(gpu_record(gpu, TRAIN_ENDS, err));
    TRY(gpu_sync(gpu, err));
    const int64_t trained_ns = clock_ns();
    const double driver_ns = (double)allocator_stats(s->allocator).driver_ns;
    TRY(gpu_record(gpu, VALIDATION_BEGINS, err));
    TRY(mlpt_cuda_validate(s, err));
    TRY(gpu_record(gpu, VALIDATION_ENDS, err));
    TRY(gpu_sync(gpu, err));
    const int64_t end_ns = clock_ns();
    TRY(gpu_elapsed(gpu, TRAIN_BEGINS, TRAIN_ENDS, &train_device_ns, err));
    TRY(gpu_elapsed(gpu, VALIDATION_BEGINS, VALIDATION_ENDS, &validate_device_ns, err));
    const double train_ns = (double)(trained_ns - start_ns);
    const double validate_ns = (double)(end_ns - trained_ns);
    const double total_ns = (double)(end_ns - start_ns);
    recorder_add_between(recorder, TRAIN_DEVICE, train_device_ns, start_ns, trained_ns);
    recorder_add_between(recorder, VALIDATE_DEVICE, validate_device_ns, trained_ns, end_ns);
    recorder_add_between(recorder, TRAIN, train_ns, start_ns, trained_ns);
    recorder_add_between(recorder, VALIDATE, validate_ns, trained_ns, end_ns);
    recorder_add(recorder, DRIVER, driver_ns);
    recorder_add_between(recorder, TOTAL, total_ns, start_ns, end_ns);
    recorder_add(recorder, RESIDUAL, total_ns - train_ns - validate_ns);
    recorder_add(recorder, STEP, train_ns / (double)s->shape.steps);
    return STATUS_OK;
}

void mlpt_cuda_add_probes(session_t *session) {
    session_add_phases(session, CLOCK_DEVICE, NAMES("train_device", "validate_device"));
    session_add_phases(session, CLOCK_HOST,
                       NAMES("train", "validate", "driver", "total", "residual", "step"));
    session_add_probe(session, "epoch", probe);
}
