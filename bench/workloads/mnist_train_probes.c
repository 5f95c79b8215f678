/* How a training on the GPU is timed: with a synchronisation after each phase; and, of one step,
 * each stage by itself: the device is idle, then come an event, the stage's launches, an event. */
#include "ground/clock.h"
#include "workloads/mnist_train_cuda.h"

#include <string.h>

enum { TRAIN_DEVICE, STEP_DEVICE, MALLOC, H2D, TRAIN, D2H, FREE, TOTAL, RESIDUAL, STEP };

/* A session declares the phases below in this order; one whose addresses are in a graph allocates
 * nothing in a sample. */
static const struct {
    const char *name;
    clock_domain_t clock;
    bool allocates;
} PHASES[] = {
    [TRAIN_DEVICE] = {"train_device", CLOCK_DEVICE, false},
    [STEP_DEVICE] = {"step_device", CLOCK_DEVICE, false},
    [MALLOC] = {"malloc", CLOCK_HOST, true},
    [H2D] = {"h2d", CLOCK_HOST, false},
    [TRAIN] = {"train", CLOCK_HOST, false},
    [D2H] = {"d2h", CLOCK_HOST, false},
    [FREE] = {"free", CLOCK_HOST, true},
    [TOTAL] = {"total", CLOCK_HOST, false},
    [RESIDUAL] = {"residual", CLOCK_HOST, false},
    [STEP] = {"step", CLOCK_HOST, false},
};
enum { N_PHASES = sizeof PHASES / sizeof PHASES[0] };

static bool has_phase(const mnist_cuda_t *s, unsigned which) {
    return !PHASES[which].allocates || s->graph == NULL;
}

/* Index in the recorder: phases that this case does not have were not declared. */
static unsigned phase_index(const mnist_cuda_t *s, unsigned which) {
    unsigned index = 0;
    for (unsigned i = 0; i < which; i++)
        index += has_phase(s, i);
    return index;
}

static void add(session_t *session, recorder_t *recorder, unsigned which, double ns,
                int64_t from_ns, int64_t to_ns) {
    const mnist_cuda_t *s = session->state;
    if (has_phase(s, which))
        recorder_add_between(recorder, phase_index(s, which), ns, from_ns, to_ns);
}

static status_t run_phases(mnist_cuda_t *s, cu_pointer_t *own, int64_t at[6], error_t *err) {
    gpu_t *gpu = s->gpu;
    TRY(gpu_sync(gpu, err));
    at[0] = clock_ns();
    if (s->graph == NULL)
        TRY(mnist_cuda_allocate(s, own, err));
    at[1] = clock_ns();
    TRY(mnist_cuda_upload(s, s->sample_steps, err));
    TRY(gpu_sync(gpu, err));
    at[2] = clock_ns();
    TRY(gpu_record(gpu, 0, err));
    TRY(mnist_cuda_train(s, s->sample_steps, err));
    TRY(gpu_record(gpu, 1, err));
    TRY(gpu_sync(gpu, err));
    at[3] = clock_ns();
    TRY(mnist_cuda_copy_out(s, err));
    TRY(gpu_sync(gpu, err));
    at[4] = clock_ns();
    TRY(mnist_cuda_release(s, own, err));
    at[5] = clock_ns();
    return STATUS_OK;
}

static void add_phases(session_t *session, recorder_t *recorder, const int64_t at[6],
                       double device_ns) {
    const mnist_cuda_t *s = session->state;
    const double steps = s->sample_steps, total_ns = (double)(at[5] - at[0]);
    double residual_ns = total_ns;
    add(session, recorder, TRAIN_DEVICE, device_ns, at[2], at[3]);
    recorder_add(recorder, phase_index(s, STEP_DEVICE), device_ns / steps);
    for (unsigned i = MALLOC; i <= FREE; i++) {
        const int64_t from_ns = at[i - MALLOC], to_ns = at[i - MALLOC + 1];
        const double ns = (double)(to_ns - from_ns);
        add(session, recorder, i, ns, from_ns, to_ns);
        if (has_phase(s, i))
            residual_ns -= ns;
        if (i == TRAIN)
            recorder_add(recorder, phase_index(s, STEP), ns / steps);
    }
    add(session, recorder, TOTAL, total_ns, at[0], at[5]);
    recorder_add(recorder, phase_index(s, RESIDUAL), residual_ns);
}

static status_t probe_phases(session_t *session, recorder_t *recorder, error_t *err) {
    mnist_cuda_t *s = session->state;
    cu_pointer_t own = 0;
    int64_t at[6];
    status_t status = run_phases(s, &own, at, err);
    mnist_cuda_use_fixed(s);
    if (status != STATUS_OK) {
        error_t ignored = ERROR_INIT;
        mnist_cuda_release(s, &own, &ignored);
        return status;
    }
    double device_ns;
    TRY(gpu_elapsed(s->gpu, 0, 1, &device_ns, err));
    add_phases(session, recorder, at, device_ns);
    return STATUS_OK;
}

/* ---- stages of one step --------------------------------------------------------------------- */

/* A kernel for all steps has no parts to be timed. The stages of a graph are the same kernels, here
 * launched one by one. */
static const char WHOLE_STEP[] = "fused";

static const char *phase_of(const mnist_unit_t *unit) {
    return unit->stage != NULL && unit->stage->spec.when == STAGE_TRAINING ? WHOLE_STEP
                                                                           : unit->name;
}

static status_t time_alone(mnist_cuda_t *s, const mnist_unit_t *unit, recorder_t *recorder,
                           unsigned phase, error_t *err) {
    double elapsed_ns;
    TRY(gpu_sync(s->gpu, err));
    const int64_t from_ns = clock_ns();
    TRY(gpu_record(s->gpu, 0, err));
    TRY(mnist_cuda_run_unit(s, unit, err));
    TRY(gpu_record(s->gpu, 1, err));
    TRY(gpu_sync(s->gpu, err));
    const int64_t to_ns = clock_ns();
    TRY(gpu_elapsed(s->gpu, 0, 1, &elapsed_ns, err));
    recorder_add_between(recorder, phase, elapsed_ns, from_ns, to_ns);
    return STATUS_OK;
}

static status_t probe_stages(session_t *session, recorder_t *recorder, error_t *err) {
    mnist_cuda_t *s = session->state;
    TRY(mnist_cuda_upload(s, 1, err));
    s->problem.steps = 1;
    for (size_t i = 0; i < s->n_units; i++)
        TRY(time_alone(s, &s->units[i], recorder, s->first_stage + (unsigned)i, err));
    return STATUS_OK;
}

static status_t check_name(const char *name, error_t *err) {
    for (unsigned k = 0; k < N_PHASES; k++)
        if (strcmp(name, PHASES[k].name) == 0)
            return error_set(err, STATUS_FAILED,
                             "its stage \"%s\" is called as a phase of the sample is; expected "
                             "another name",
                             name);
    return STATUS_OK;
}

static status_t add_stages(session_t *session, error_t *err) {
    mnist_cuda_t *s = session->state;
    s->first_stage = (unsigned)session->recorder.n_phases;
    for (size_t i = 0; i < s->n_units; i++) {
        TRY(check_name(phase_of(&s->units[i]), err));
        recorder_phase(&session->recorder, phase_of(&s->units[i]), CLOCK_DEVICE);
    }
    session_add_probe(session, "stages", probe_stages);
    return STATUS_OK;
}

status_t mnist_cuda_add_probes(session_t *session, error_t *err) {
    const mnist_cuda_t *s = session->state;
    for (unsigned i = 0; i < N_PHASES; i++)
        if (has_phase(s, i))
            recorder_phase(&session->recorder, PHASES[i].name, PHASES[i].clock);
    session_add_probe(session, "phases", probe_phases);
    return s->data->steps == 1 ? add_stages(session, err) : STATUS_OK;
}
