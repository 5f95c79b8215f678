/* How a training on the GPU is timed: once with a synchronisation after each phase, and once as a
 * program would run it that has its buffers. */
#include "ground/clock.h"
#include "workloads/linreg_train_cuda.h"

enum { TRAIN_DEVICE, MALLOC, H2D, TRAIN, D2H, FREE, TOTAL, RESIDUAL, HOST_TO_HOST };

/* A session declares the phases below in this order; one whose addresses are in a graph allocates
 * nothing in a sample. */
static const struct {
    const char *name;
    clock_domain_t clock;
    bool allocates;
} PHASES[] = {
    [TRAIN_DEVICE] = {"train_device", CLOCK_DEVICE, false},
    [MALLOC] = {"malloc", CLOCK_HOST, true},
    [H2D] = {"h2d", CLOCK_HOST, false},
    [TRAIN] = {"train", CLOCK_HOST, false},
    [D2H] = {"d2h", CLOCK_HOST, false},
    [FREE] = {"free", CLOCK_HOST, true},
    [TOTAL] = {"total", CLOCK_HOST, false},
    [RESIDUAL] = {"residual", CLOCK_HOST, false},
    [HOST_TO_HOST] = {"host_to_host", CLOCK_HOST, false},
};
enum { N_PHASES = sizeof PHASES / sizeof PHASES[0] };

static bool has_phase(const linreg_cuda_t *s, unsigned which) {
    return !PHASES[which].allocates || s->graph == NULL;
}

/* Index in the recorder: phases that this case does not have were not declared. */
static unsigned phase_index(const linreg_cuda_t *s, unsigned which) {
    unsigned index = 0;
    for (unsigned i = 0; i < which; i++)
        index += has_phase(s, i);
    return index;
}

static void add(session_t *session, recorder_t *recorder, unsigned which, double ns,
                int64_t from_ns, int64_t to_ns) {
    const linreg_cuda_t *s = session->state;
    if (has_phase(s, which))
        recorder_add_between(recorder, phase_index(s, which), ns, from_ns, to_ns);
}

static status_t run_phases(linreg_cuda_t *s, linreg_buffers_t *own, int64_t at[6], error_t *err) {
    gpu_t *gpu = s->gpu;
    TRY(gpu_sync(gpu, err));
    at[0] = clock_ns();
    if (s->graph == NULL) {
        TRY(linreg_cuda_allocate(s, own, err));
        linreg_cuda_use(s, own);
    }
    at[1] = clock_ns();
    TRY(linreg_cuda_upload(s, err));
    TRY(gpu_sync(gpu, err));
    at[2] = clock_ns();
    TRY(gpu_record(gpu, 0, err));
    TRY(linreg_cuda_train(s, err));
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    at[3] = clock_ns();
    TRY(linreg_cuda_copy_out(s, err));
    TRY(gpu_sync(gpu, err));
    at[4] = clock_ns();
    TRY(linreg_cuda_release(s, own, err));
    at[5] = clock_ns();
    return STATUS_OK;
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    linreg_cuda_t *s = session->state;
    linreg_buffers_t own = {0};
    int64_t at[6];
    status_t status = run_phases(s, &own, at, err);
    linreg_cuda_use(s, &s->fixed);
    if (status != STATUS_OK) {
        error_t ignored = ERROR_INIT;
        linreg_cuda_release(s, &own, &ignored);
        return status;
    }
    double device_ns;
    TRY(gpu_elapsed(s->gpu, 0, 1, &device_ns, err));
    add(session, recorder, TRAIN_DEVICE, device_ns, at[2], at[3]);
    const double total_ns = (double)(at[5] - at[0]);
    double residual_ns = total_ns;
    for (unsigned i = MALLOC; i <= FREE; i++) {
        const int64_t from_ns = at[i - MALLOC], to_ns = at[i - MALLOC + 1];
        const double ns = (double)(to_ns - from_ns);
        add(session, recorder, i, ns, from_ns, to_ns);
        if (has_phase(s, i))
            residual_ns -= ns;
    }
    add(session, recorder, TOTAL, total_ns, at[0], at[5]);
    recorder_add(recorder, phase_index(s, RESIDUAL), residual_ns);
    return STATUS_OK;
}

/* Buffers are there, as a program that trains more than once would have them. */
static status_t probe_host_to_host(session_t *session, recorder_t *recorder, error_t *err) {
    linreg_cuda_t *s = session->state;
    TRY(gpu_sync(s->gpu, err));
    int64_t start_ns = clock_ns();
    TRY(linreg_cuda_upload(s, err));
    TRY(linreg_cuda_train(s, err));
    TRY(linreg_cuda_copy_out(s, err));
    TRY(gpu_sync(s->gpu, err));
    int64_t end_ns = clock_ns();
    add(session, recorder, HOST_TO_HOST, (double)(end_ns - start_ns), start_ns, end_ns);
    return STATUS_OK;
}

void linreg_cuda_add_probes(session_t *session) {
    for (unsigned i = 0; i < N_PHASES; i++)
        if (has_phase(session->state, i))
            recorder_phase(&session->recorder, PHASES[i].name, PHASES[i].clock);
    session_add_probe(session, "phases", probe_phases);
    session_add_probe(session, "host_to_host", probe_host_to_host);
    linreg_cuda_add_operations(session);
}
