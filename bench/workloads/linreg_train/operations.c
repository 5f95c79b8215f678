/* One epoch on a GPU, operation by operation, for sweeps with epochs = 1. Each operation is timed
 * separately on an idle device: event, launches, event. As with PyTorch's operations, the time
 * includes the latency of a launch. */
#include "workloads/linreg_train/cuda.h"

#include <string.h>

static const char *const OPERATIONS[] = {"forward", "loss", "backward", "update", "fused"};
enum { FORWARD, LOSS, BACKWARD, UPDATE, FUSED, N_OPERATIONS };

/* The operation of a stage, by its name. */
static const struct {
    const char *entry;
    unsigned operation;
} ENTRIES[] = {
    {"forward", FORWARD},   {"loss", LOSS},     {"gradient", BACKWARD},
    {"backward", BACKWARD}, {"update", UPDATE},
};

static unsigned operation_of(const gpu_stage_t *stage) {
    for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++)
        if (strcmp(stage->spec.entry, ENTRIES[i].entry) == 0)
            return ENTRIES[i].operation;
    return FUSED;
}

static bool trains(const gpu_stage_t *stage) {
    const enum stage_when when = stage->spec.when;
    return when == STAGE_TRAINING || when == STAGE_EPOCH || when == STAGE_LOSS;
}

/* One bit per operation. A stage with several operations, or a graph, cannot be split: the epoch is
 * then a single operation. */
static unsigned operations_of(const linreg_cuda_t *s) {
    unsigned operations = s->graph != NULL ? 1u << FUSED : 0;
    for (size_t i = 0; i < s->program.n_stages; i++)
        if (trains(&s->program.stages[i]))
            operations |= 1u << operation_of(&s->program.stages[i]);
    return (operations & 1u << FUSED) != 0 ? 1u << FUSED : operations;
}

/* Add a stage to `span`; NULL is the complete training. */
static status_t time_stage(linreg_cuda_t *s, const gpu_stage_t *stage, device_span_t *span,
                           error_t *err) {
    TRY(device_span_begin(span, s->gpu, err));
    TRY(stage == NULL ? linreg_cuda_train(s, err) : linreg_cuda_run_stage(s, stage, err));
    return device_span_end(span, s->gpu, err);
}

static status_t run_operations(linreg_cuda_t *s, device_span_t spans[N_OPERATIONS], error_t *err) {
    memset(spans, 0, N_OPERATIONS * sizeof *spans);
    if (operations_of(s) == 1u << FUSED)
        return time_stage(s, NULL, &spans[FUSED], err);
    for (size_t i = 0; i < s->program.n_stages; i++) {
        const gpu_stage_t *stage = &s->program.stages[i];
        if (trains(stage))
            TRY(time_stage(s, stage, &spans[operation_of(stage)], err));
    }
    return STATUS_OK;
}

status_t linreg_cuda_train_by_operation(void *linreg_cuda, error_t *err) {
    device_span_t spans[N_OPERATIONS];
    return run_operations(linreg_cuda, spans, err);
}

static status_t probe_operations(session_t *session, recorder_t *recorder, error_t *err) {
    linreg_cuda_t *s = session->state;
    device_span_t spans[N_OPERATIONS];
    TRY(linreg_cuda_upload(s, err));
    TRY(run_operations(s, spans, err));
    unsigned phase = s->first_operation;
    for (unsigned i = 0; i < N_OPERATIONS; i++)
        if ((operations_of(s) & 1u << i) != 0)
            recorder_add_between(recorder, phase++, spans[i].ns, spans[i].from_ns, spans[i].to_ns);
    return STATUS_OK;
}

void linreg_cuda_add_operations(session_t *session) {
    linreg_cuda_t *s = session->state;
    if (s->problem.epochs != 1)
        return;
    s->first_operation = (unsigned)session->recorder.n_phases;
    for (unsigned i = 0; i < N_OPERATIONS; i++)
        if ((operations_of(s) & 1u << i) != 0)
            recorder_phase(&session->recorder, OPERATIONS[i], CLOCK_DEVICE);
    session_add_probe(session, "operations", probe_operations);
}
