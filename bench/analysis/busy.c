#include "analysis/busy.h"

#include "base/memory.h"
#include "base/units.h"

char *busy_sentence(const record_t *run) {
    const case_result_t *worst = NULL;
    size_t n = 0, n_busy = 0;
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;) {
        n += result_has_times(result);
        if (!result_is_busy(result))
            continue;
        n_busy++;
        if (worst == NULL || result->cpu_taken_frac > worst->cpu_taken_frac)
            worst = result;
    }
    char limit[UNITS_TEXT], most[UNITS_TEXT];
    if (worst == NULL)
        return NULL;
    return mem_format("other programs took over %s of the CPU time of %zu of %zu cases, %s of %s: "
                      "these times may be too long, by far more where threads wait for each other",
                      units_percent(limit, BUSY_FRAC), n_busy, n,
                      units_percent(most, worst->cpu_taken_frac), worst->spec.id);
}
