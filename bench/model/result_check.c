/* Do the parts of a result agree? A file may have been edited, or made by another program. See result.h. */
#include "model/result.h"

#include <math.h>
#include <string.h>

/* ---- times ----------------------------------------------------------------------------------- */

/* Parts that a sample may lack, or that are shorter than the clock shows. */
static bool may_be_zero(const case_result_t *result, const phase_t *phase) {
    static const char *const WHOLE[] = {"total", "host_to_host", "kernel", "train",
                                        "step",  "epoch",        "forward"};
    if (phase->clock == CLOCK_DEVICE || phase == result_whole_phase(result))
        return false;
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; i++)
        if (strcmp(phase->name, WHOLE[i]) == 0)
            return false;
    return true;
}

static bool may_be_negative(const phase_t *phase) {
    return strcmp(phase->name, "residual") == 0; /* what remains of `total` after its phases */
}

bool phase_can_take(const case_result_t *result, const phase_t *phase, double ns) {
    if (!isfinite(ns) || may_be_negative(phase))
        return isfinite(ns);
    return may_be_zero(result, phase) ? ns >= 0 : ns > 0;
}

static status_t check_times(const case_result_t *result, const phase_t *phase, error_t *err) {
    for (size_t i = 0; i < phase->n_samples; i++)
        if (!phase_can_take(result, phase, phase->samples[i]))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s\": sample %zu is %g, expected a time over 0", phase->name,
                             i + 1, phase->samples[i]);
    for (size_t i = 0; i < phase->n_fresh; i++)
        if (!phase_can_take(result, phase, phase->fresh[i].ns))
            return error_set(err, STATUS_USAGE,
                             "\"phases.%s.fresh\": sample %zu is %g, expected a time over 0",
                             phase->name, i + 1, phase->fresh[i].ns);
    return STATUS_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Times are shown as those of a right result. */
static status_t check_outputs(const case_result_t *result, const check_t *check, const char *name,
                              error_t *err) {
    if (!check->done)
        return STATUS_OK;
    if (!check->ok && result_has_times(result))
        return error_set(err, STATUS_USAGE,
                         "\"status\" is \"%s\", but \"check.%s.ok\" is false: expected wrong or "
                         "failed",
                         case_status_name(result->status), name);
    if (check->ok && check->rel_l2 > check->tolerance) /* NaN: another rule decided */
        return error_set(err, STATUS_USAGE,
                         "\"check.%s.ok\" is true, but its \"rel_l2\" of %g is over its "
                         "\"tolerance\" of %g",
                         name, check->rel_l2, check->tolerance);
    return STATUS_OK;
}

/* ---- trust ----------------------------------------------------------------------------------- */

static status_t check_trust(const case_result_t *result, error_t *err) {
    const bool own = case_engine_is_built_in(result->spec.engine);
    if (result->trust == TRUST_SEALED && !own)
        return error_set(err, STATUS_USAGE,
                         "\"trust\" is \"sealed\", but times of engine %s are what its worker "
                         "claims: expected audited or self-reported",
                         result->spec.engine);
    if (result->trust != TRUST_AUDITED)
        return STATUS_OK;
    if (result->claims.n == 0)
        return error_set(err, STATUS_USAGE,
                         "\"trust\" is \"audited\", but \"claims\" is null: nothing was audited");
    if (!claim_agrees(claims_ratio(&result->claims)))
        return error_set(err, STATUS_USAGE,
                         "\"trust\" is \"audited\", but \"claims.ratio\" is %g: expected "
                         "self-reported",
                         claims_ratio(&result->claims));
    return STATUS_OK;
}

status_t result_check(const case_result_t *result, error_t *err) {
    TRY(check_outputs(result, &result->before, "before", err));
    TRY(check_outputs(result, &result->after, "after", err));
    TRY(check_trust(result, err));
    if (result->cpu_taken_frac < 0 || result->cpu_taken_frac > 1)
        return error_set(err, STATUS_USAGE, "\"cpu_taken_frac\" is %g, expected 0 to 1",
                         result->cpu_taken_frac);
    for (size_t i = 0; i < result->n_phases; i++)
        TRY(check_times(result, &result->phases[i], err));
    return STATUS_OK;
}
