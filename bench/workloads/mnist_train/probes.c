/* The probes of mnist_train on a GPU: with a synchronisation after each phase; and each stage of
 * one step separately, on an idle device: event, launches, event. */
#include "workloads/mnist_train/cuda.h"

#include <string.h>

static status_t upload(void *state, error_t *err) {
    mnist_cuda_t *s = state;
    return mnist_cuda_upload(s, s->sample_steps, err);
}

static status_t train(void *state, error_t *err) {
    mnist_cuda_t *s = state;
    return mnist_cuda_train(s, s->sample_steps, err);
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    mnist_cuda_t *s = session->state;
    status_t status = train_phases_sample(&s->phases, s, recorder, err);
    mnist_cuda_use_fixed(s);
    if (session->fresh) {
        mnist_cuda_losses(s, s->last, s->sample_steps);
        memcpy(s->last_weights, s->results, s->sample.parameter_bytes);
    }
    return status;
}

/* ---- stages of one step ---------------------------------------------------------------------- */

/* A kernel for all steps is a single phase. The stages of a graph are launched one by one here. */
static const char WHOLE_STEP[] = "fused";

static const char *phase_of(const mnist_cuda_t *s, const mnist_unit_t *unit) {
    const bool whole = unit->stage != NULL && unit->stage->spec.when == STAGE_TRAINING;
    return whole && s->n_units == 1 ? WHOLE_STEP : unit->name;
}

static status_t probe_stages(session_t *session, recorder_t *recorder, error_t *err) {
    mnist_cuda_t *s = session->state;
    TRY(mnist_cuda_upload(s, 1, err));
    s->problem.steps = 1;
    for (size_t i = 0; i < s->n_units; i++) {
        device_span_t span = {0};
        TRY(device_span_begin(&span, s->gpu, err));
        TRY(mnist_cuda_run_unit(s, &s->units[i], err));
        TRY(device_span_end(&span, s->gpu, err));
        recorder_add_between(recorder, s->first_stage + (unsigned)i, span.ns, span.from_ns,
                             span.to_ns);
    }
    return STATUS_OK;
}

static status_t check_name(const char *name, error_t *err) {
    if (!train_phases_has(name))
        return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "its stage \"%s\" has the name of a sample phase; expected another name",
                     name);
}

static status_t add_stages(session_t *session, error_t *err) {
    mnist_cuda_t *s = session->state;
    s->first_stage = (unsigned)session->recorder.n_phases;
    for (size_t i = 0; i < s->n_units; i++) {
        TRY(check_name(phase_of(s, &s->units[i]), err));
        recorder_phase(&session->recorder, phase_of(s, &s->units[i]), CLOCK_DEVICE);
    }
    session_add_probe(session, "stages", probe_stages);
    return STATUS_OK;
}

status_t mnist_cuda_add_probes(session_t *session, error_t *err) {
    mnist_cuda_t *s = session->state;
    const bool allocates = s->graph == NULL;
    s->phases = (train_phases_t){.gpu = s->gpu,
                                 .allocate = allocates ? mnist_cuda_allocate : NULL,
                                 .release = allocates ? mnist_cuda_release : NULL,
                                 .upload = upload,
                                 .train = train,
                                 .copy_out = mnist_cuda_copy_out,
                                 .steps = s->sample_steps};
    train_phases_declare(&s->phases, &session->recorder);
    session_add_probe(session, "phases", probe_phases);
    return s->data->steps == 1 ? add_stages(session, err) : STATUS_OK;
}
