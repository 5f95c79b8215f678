/* Times that cannot be those of the work that was asked for. */
#include "limits/limits.h"

#include "base/memory.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What caches explain: after new inputs were written, they and the code are colder. */
static const double MOST_TIMES = 2, MOST_MORE_NS = 20000;

static double least(const double *values, size_t n) {
    double found = values[0];
    for (size_t i = 1; i < n; i++)
        found = fmin(found, values[i]);
    return found;
}

/* A case that is slower on inputs that it has not seen before keeps results. Every fresh sample must
 * be: that one was interrupted says nothing. */
static void flag_fresh(case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++) {
        const phase_t *phase = &result->phases[i];
        if (phase->n_fresh == 0 || phase->n_samples == 0 || strcmp(phase->name, "residual") == 0)
            continue;
        const double fresh_ns = least(phase->fresh, phase->n_fresh);
        const double usual_ns = stats_median(phase->samples, phase->n_samples);
        if (fresh_ns > MOST_TIMES * usual_ns + MOST_MORE_NS)
            flag_list_add(&result->flags, FLAG_FRESH_SLOWER, phase->name, fresh_ns, usual_ns);
    }
}

void implausible_find(case_result_t *result) {
    flag_fresh(result);
    for (size_t i = 0; i < result->flags.n && result->status == CASE_OK; i++) {
        const flag_t *flag = &result->flags.items[i];
        if (flag->kind != FLAG_OVER_LIMIT && flag->kind != FLAG_FRESH_SLOWER)
            continue;
        char *text = flag_text(flag);
        result->status = CASE_IMPLAUSIBLE;
        result->reason = mem_text(text + strlen("implausible: "));
        free(text);
    }
}
