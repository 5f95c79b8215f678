#include "worker/case_requests.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cuda/nvtx.h"
#include "io/json_text.h"
#include "worker/protocol.h"
#include "workloads/common/random_fill.h"

#include <stdlib.h>
#include <string.h>

/* ---- inputs ---------------------------------------------------------------------------------- */

status_t case_restore_inputs(session_t *session, error_t *err) {
    return session->ops->refill != NULL ? session->ops->refill(session, session->seed, err)
                                        : STATUS_OK;
}

static status_t set_inputs(session_t *session, uint64_t seed, error_t *err) {
    session->seed = seed;
    return case_restore_inputs(session, err);
}

json_t *case_refill(session_t *session, const json_t *request, error_t *err) {
    if (set_inputs(session, (uint64_t)request_integer(request, "seed"), err) != STATUS_OK)
        return NULL;
    return json_pack("{s:s}", "id", session->spec.id);
}

/* ---- outputs --------------------------------------------------------------------------------- */

typedef status_t write_t(session_t *session, const char *folder, text_list_t *arrays, error_t *err);

static json_t *write_arrays(session_t *session, write_t *write, const json_t *request,
                            error_t *err) {
    text_list_t arrays = {0};
    json_t *answer = NULL;
    if (write == NULL || write(session, request_text(request, "path"), &arrays, err) == STATUS_OK)
        answer = json_pack("{s:s, s:o}", "id", session->spec.id, "arrays", json_texts(&arrays));
    if (answer != NULL && session->changed != NULL)
        json_object_set_new(answer, "changed", json_string(session->changed));
    text_list_free(&arrays);
    return answer;
}

json_t *case_output(session_t *session, const json_t *request, error_t *err) {
    session->has_last = false;
    session->changed = NULL;
    if (case_restore_inputs(session, err) != STATUS_OK)
        return NULL;
    return write_arrays(session, session->ops->output, request, err);
}

json_t *case_last(session_t *session, const json_t *request, error_t *err) {
    if (!session->has_last) {
        error_set(err, STATUS_FAILED, "last before sample with \"fresh\"");
        return NULL;
    }
    if (case_restore_inputs(session, err) != STATUS_OK)
        return NULL;
    json_t *answer = write_arrays(session, session->ops->last, request, err);
    if (answer != NULL && session->has_middle)
        json_object_set_new(answer, "middle", json_true());
    return answer;
}

/* ---- what a training learns ------------------------------------------------------------------ */

/* Without "losses" if the case is no training. */
json_t *case_learned(session_t *session, const json_t *request, error_t *err) {
    const char *id = session->spec.id;
    double losses[LEARNED_LOSSES];
    if (session->ops->learned == NULL)
        return json_pack("{s:s}", "id", id);
    session->has_last = false;
    if (case_restore_inputs(session, err) != STATUS_OK ||
        session->ops->learned(session, (double)request_integer(request, "most_ns"), losses, err) !=
            STATUS_OK)
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < LEARNED_LOSSES; i++)
        json_array_append_new(list, json_finite(losses[i]));
    return json_pack("{s:s, s:o}", "id", id, "losses", list);
}

json_t *case_loss(const session_ops_t *ops, const case_t *spec, const json_t *request,
                  error_t *err) {
    double loss;
    if (ops->loss == NULL)
        error_set(err, STATUS_FAILED, "%s is no training with a loss", ops->workload);
    else if (ops->loss(spec, request_text(request, "path"), &loss, err) == STATUS_OK)
        return json_pack("{s:s, s:o}", "id", spec->id, "loss", json_finite(loss));
    return NULL;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Of each probe. */
typedef struct share {
    int64_t warmup_ns, budget_ns;
    json_int_t warmup_samples, max_samples;
    const json_t *fresh; /* the seed of a fresh sample, or NULL */
} share_t;

/* Of a run beside which a cold driver does not matter, at least. */
static const int64_t SHORT_NS = 5000000;

/* Fewer ordinary samples by a random number, so that a kernel cannot count to the fresh one. */
enum { FEWER_MOST = 3 };

/* The first launch after another process used the device includes the switch. `*run_ns` is how long
 * the last run took, 0 without one. */
static status_t warm_up(session_t *session, probe_t *probe, const share_t *share, int64_t *n_runs,
                        int64_t *run_ns, error_t *err) {
    recorder_t ignored = session->recorder;
    for (size_t i = 0; i < ignored.n_phases; i++) {
        ignored.phases[i].ns = NULL;
        ignored.phases[i].n = ignored.phases[i].capacity = 0;
    }
    status_t status = STATUS_OK;
    const int64_t start_ns = clock_ns();
    int64_t now_ns = start_ns;
    *run_ns = 0;
    for (json_int_t n = 0;
         status == STATUS_OK && (n < share->warmup_samples || now_ns - start_ns < share->warmup_ns);
         n++, (*n_runs)++) {
        const int64_t before_ns = now_ns;
        status = probe->run(session, &ignored, err);
        now_ns = clock_ns();
        *run_ns = now_ns - before_ns;
    }
    recorder_free(&ignored);
    probe->run_ns = *run_ns;
    return status;
}

static status_t run_probe(session_t *session, probe_t *probe, error_t *err) {
    const recorder_t *recorder = &session->recorder;
    size_t before[RECORDER_MAX_PHASES];
    for (size_t i = 0; i < recorder->n_phases; i++)
        before[i] = recorder->phases[i].n;
    TRY(probe->run(session, &session->recorder, err));
    for (size_t i = 0; i < recorder->n_phases; i++)
        if (recorder->phases[i].n > before[i])
            probe->phases |= 1U << i;
    return STATUS_OK;
}

/* One more sample, of other inputs. */
static status_t sample_fresh(session_t *session, probe_t *probe, uint64_t seed, error_t *err) {
    TRY(set_inputs(session, seed, err));
    if (session->ops->fill != NULL)
        TRY(session->ops->fill(session, err));
    session->fresh = true;
    const status_t status = run_probe(session, probe, err);
    session->fresh = false;
    return status;
}

/* The fresh sample is part of the budget: without time for two, it is the only one. */
static status_t sample_and_fresh(session_t *session, probe_t *probe, const share_t *share,
                                 int64_t run_ns, error_t *err) {
    const json_int_t most = share->max_samples - random_below(FEWER_MOST + 1);
    const int64_t end_ns = clock_ns() + share->budget_ns - 2 * run_ns;
    for (json_int_t n = 0; run_ns > 0 && (n == 0 || n < most) && clock_ns() <= end_ns; n++)
        TRY(run_probe(session, probe, err));
    return sample_fresh(session, probe, (uint64_t)json_integer_value(share->fresh), err);
}

static status_t sample_probe(session_t *session, probe_t *probe, const share_t *share,
                             int64_t *n_runs, error_t *err) {
    int64_t run_ns;
    TRY(warm_up(session, probe, share, n_runs, &run_ns, err));
    if (share->fresh != NULL)
        return sample_and_fresh(session, probe, share, run_ns, err);
    const int64_t end_ns = clock_ns() + share->budget_ns;
    json_int_t n = 0;
    do
        TRY(run_probe(session, probe, err));
    while (++n < share->max_samples && clock_ns() < end_ns);
    return STATUS_OK;
}

static json_t *samples_to_json(const recorder_t *recorder) {
    json_t *phases = json_object();
    for (size_t i = 0; i < recorder->n_phases; i++) {
        if (recorder->phases[i].n == 0)
            continue; /* of a probe that was not asked */
        json_t *samples = json_array();
        for (size_t k = 0; k < recorder->phases[i].n; k++)
            json_array_append_new(samples, json_real(recorder->phases[i].ns[k]));
        json_object_set_new(phases, recorder->phases[i].name, samples);
    }
    return phases;
}

static share_t share_of(const session_t *session, const json_t *request) {
    const json_int_t n = (json_int_t)session->n_probes;
    const json_t *fresh = json_object_get(request, "fresh");
    return (share_t){.warmup_ns = request_integer(request, "warmup_ns") / n,
                     .warmup_samples = (request_integer(request, "warmup_samples") + n - 1) / n,
                     .budget_ns = request_integer(request, "budget_ns") / n,
                     .max_samples = request_integer(request, "max_samples"),
                     .fresh = json_is_integer(fresh) ? fresh : NULL};
}

static probe_t *find_probe(session_t *session, const char *phase) {
    for (size_t i = 0; i < session->n_probes; i++)
        for (size_t k = 0; k < session->recorder.n_phases; k++)
            if ((session->probes[i].phases >> k & 1) != 0 &&
                strcmp(session->recorder.phases[k].name, phase) == 0)
                return &session->probes[i];
    return NULL;
}

static status_t sample_all(session_t *session, const share_t *share, int64_t *warmed_up,
                           error_t *err) {
    status_t status = STATUS_OK;
    for (size_t i = 0; i < session->n_probes && status == STATUS_OK; i++) {
        nvtx_push(session->probes[i].name);
        status = sample_probe(session, &session->probes[i], share, warmed_up, err);
        nvtx_pop();
    }
    return status;
}

/* The worker has waited for this request, and a driver and caches went cold: on an H200 a launch and a wait took about
 * 120 us instead of 30. So a probe that is short runs first, on the inputs that it knows. */
static status_t warm_and_sample_fresh(session_t *session, probe_t *probe, uint64_t seed,
                                      int64_t *warmed_up, error_t *err) {
    const share_t few = {.warmup_samples = 3};
    const bool keep = session->keep;
    int64_t run_ns;
    session->keep = false;
    if (probe->run_ns < SHORT_NS)
        TRY(warm_up(session, probe, &few, warmed_up, &run_ns, err));
    session->keep = keep;
    return sample_fresh(session, probe, seed, err);
}

/* The probe that times a phase: known once each probe has run. */
static status_t probe_of(session_t *session, const char *phase, probe_t **probe, error_t *err) {
    const share_t one = {.max_samples = 1};
    int64_t ignored = 0;
    *probe = find_probe(session, phase);
    if (*probe == NULL) {
        TRY(sample_all(session, &one, &ignored, err));
        recorder_clear(&session->recorder);
        *probe = find_probe(session, phase);
    }
    return *probe != NULL ? STATUS_OK
                          : error_set(err, STATUS_FAILED, "the case has no phase \"%s\"", phase);
}

/* With a phase and a seed, only the fresh sample of the phase's probe; with a phase, only its probe. */
static status_t take_samples(session_t *session, const json_t *request, int64_t *warmed_up,
                             error_t *err) {
    const char *phase = request_text(request, "phase");
    share_t share = share_of(session, request);
    if (phase == NULL)
        return sample_all(session, &share, warmed_up, err);
    probe_t *probe;
    TRY(probe_of(session, phase, &probe, err));
    if (share.fresh == NULL)
        return sample_probe(session, probe, &share, warmed_up, err);
    return warm_and_sample_fresh(session, probe, (uint64_t)json_integer_value(share.fresh),
                                 warmed_up, err);
}

json_t *case_sample(session_t *session, const json_t *request, error_t *err) {
    recorder_clear(&session->recorder);
    session->has_last = session->has_middle = false;
    session->changed = NULL;
    /* A kernel cannot know what was asked for, so only what will be asked for is kept. */
    session->keep = json_is_true(json_object_get(request, "keep"));
    if (case_restore_inputs(session, err) != STATUS_OK)
        return NULL;
    char *label =
        mem_format("%s round %lld", session->spec.id, (long long)request_integer(request, "round"));
    nvtx_push(label);
    free(label);
    int64_t warmed_up = 0;
    const int64_t start_ns = clock_ns();
    const status_t status = take_samples(session, request, &warmed_up, err);
    nvtx_pop();
    if (status != STATUS_OK)
        return NULL;
    session->has_last = json_is_integer(json_object_get(request, "fresh"));
    return json_pack("{s:s, s:o, s:{s:I, s:I}}", "id", session->spec.id, "phases",
                     samples_to_json(&session->recorder), "warmup", "samples",
                     (json_int_t)warmed_up, "ns", (json_int_t)(clock_ns() - start_ns));
}
