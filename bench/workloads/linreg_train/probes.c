/* The probes of linreg_train on a GPU: with a synchronisation after each phase, and as in a program
 * that already has its buffers. */
#include "base/clock.h"
#include "workloads/linreg_train/cuda.h"

static status_t allocate(void *state, error_t *err) {
    linreg_cuda_t *s = state;
    TRY(linreg_cuda_allocate(s, &s->own, err));
    linreg_cuda_use(s, &s->own);
    return STATUS_OK;
}

static status_t release(void *state, error_t *err) {
    linreg_cuda_t *s = state;
    return linreg_cuda_release(s, &s->own, err);
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    linreg_cuda_t *s = session->state;
    status_t status = train_phases_sample(&s->phases, s, recorder, err);
    linreg_cuda_use(s, &s->fixed);
    return status;
}

static status_t probe_host_to_host(session_t *session, recorder_t *recorder, error_t *err) {
    linreg_cuda_t *s = session->state;
    TRY(gpu_sync(s->gpu, err));
    int64_t start_ns = clock_ns();
    TRY(linreg_cuda_upload(s, err));
    TRY(linreg_cuda_train(s, err));
    TRY(linreg_cuda_copy_out(s, err));
    TRY(gpu_sync(s->gpu, err));
    int64_t end_ns = clock_ns();
    recorder_add_between(recorder, s->host_to_host, (double)(end_ns - start_ns), start_ns, end_ns);
    return session->fresh ? linreg_cuda_keep(s, err) : STATUS_OK;
}

void linreg_cuda_add_probes(session_t *session) {
    linreg_cuda_t *s = session->state;
    const bool allocates = s->graph == NULL;
    s->phases = (train_phases_t){.gpu = s->gpu,
                                 .allocate = allocates ? allocate : NULL,
                                 .release = allocates ? release : NULL,
                                 .upload = linreg_cuda_upload,
                                 .train = linreg_cuda_train,
                                 .copy_out = linreg_cuda_copy_out};
    train_phases_declare(&s->phases, &session->recorder);
    s->host_to_host = recorder_phase(&session->recorder, "host_to_host", CLOCK_HOST);
    session_add_probe(session, "phases", probe_phases);
    session_add_probe(session, "host_to_host", probe_host_to_host);
    linreg_cuda_add_operations(session);
}
