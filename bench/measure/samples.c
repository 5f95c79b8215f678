#include "measure/samples.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The device's clock and the host's need not agree better. */
static const double CLOCKS_AGREE = 1.02;

/* What remains of `total` after its phases, each with clock readings of its own. */
static bool may_be_negative(const phase_t *phase) {
    return strcmp(phase->name, "residual") == 0;
}

static char *refuse_sample(const phase_t *phase, bool is_whole, const sample_claim_t *claim,
                           size_t at, double ns) {
    if (is_whole ? ns <= 0 : ns < 0 && !may_be_negative(phase))
        return mem_format("sample %zu of phase \"%s\" is %.3g ns: expected a time over 0", at + 1,
                          phase->name, ns);
    return ns <= claim->took_ns * CLOCKS_AGREE
               ? NULL
               : mem_format("sample %zu of phase \"%s\" is %.3g ns, but the request took %.3g ns",
                            at + 1, phase->name, ns, claim->took_ns);
}

/* The values of a phase, which the caller frees; or NULL and why not. */
static double *read_samples(const phase_t *phase, bool is_whole, const sample_claim_t *claim,
                            size_t *n, char **reason) {
    const json_t *array = json_object_get(json_object_get(claim->answer, "phases"), phase->name);
    *n = json_array_size(array);
    *reason = NULL;
    const size_t most = claim->most + claim->fresh;
    if (*n > most) {
        *reason = mem_format("the worker answered with %zu samples of phase \"%s\": at most %zu "
                             "were asked for",
                             *n, phase->name, most);
        return NULL;
    }
    double *values = mem_zeroed(*n, sizeof *values), sum_ns = 0;
    bool numbers = *n > 0;
    for (size_t i = 0; i < *n && numbers && *reason == NULL; i++) {
        const json_t *value = json_array_get(array, i);
        numbers = json_is_number(value);
        values[i] = json_number_value(value);
        sum_ns += values[i];
        if (numbers)
            *reason = refuse_sample(phase, is_whole, claim, i, values[i]);
    }
    if (!numbers)
        *reason = mem_format("the worker's answer has no numbers for phase \"%s\"", phase->name);
    else if (*reason == NULL && is_whole && !(sum_ns <= claim->took_ns * CLOCKS_AGREE))
        *reason = mem_format("the samples of phase \"%s\" add up to %.3g ns, but the request took "
                             "%.3g ns",
                             phase->name, sum_ns, claim->took_ns);
    if (*reason == NULL)
        return values;
    free(values);
    return NULL;
}

char *samples_add(case_result_t *into, const sample_claim_t *claim) {
    const phase_t *whole = result_whole_phase(into);
    for (size_t i = 0; i < into->n_phases; i++) {
        phase_t *phase = &into->phases[i];
        char *reason;
        size_t n;
        double *values = read_samples(phase, phase == whole, claim, &n, &reason);
        if (values == NULL)
            return reason;
        const bool both = claim->fresh && n > 1;
        phase_add_round(phase, values, n - both);
        if (both)
            phase_add_fresh(phase, &(fresh_sample_t){values[n - 1], claim->waited_ns}, 1);
        free(values);
    }
    return NULL;
}

char *samples_add_fresh(case_result_t *into, const sample_claim_t *claim) {
    const phase_t *whole = result_whole_phase(into);
    const json_t *answered = json_object_get(claim->answer, "phases");
    for (size_t i = 0; i < into->n_phases; i++) {
        phase_t *phase = &into->phases[i];
        char *reason;
        size_t n;
        if (json_object_get(answered, phase->name) == NULL)
            continue;
        double *values = read_samples(phase, phase == whole, claim, &n, &reason);
        if (values == NULL)
            return reason;
        phase_add_fresh(phase, &(fresh_sample_t){values[n - 1], claim->waited_ns}, 1);
        free(values);
    }
    return NULL;
}
