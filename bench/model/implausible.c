/* Times that cannot be those of the work that was asked for. */
#include "model/implausible.h"

#include "base/memory.h"
#include "stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is explained by caches, after new inputs were written, and by a driver that was not called
 * meanwhile: measured in docs/cheating.md. An interpreter is colder than machine code. */
static const double MOST_TIMES = 2, MOST_MORE_NS = 50e3, MOST_MORE_SCRIPT_NS = 300e3;
/* Of many launches, by the device's clock, both times after equal copies, so caches and driver make
 * little difference; but reads over the bus wait for the copies' writes over it. */
static const double MOST_TIMES_LAUNCHES = 1.5, MOST_MORE_LAUNCHES_NS = 2e3,
                    MOST_MORE_MAPPED_NS = 10e3;

/* As many as one pass has at least, by measure.min_rounds as it is if not given: a case must not
 * escape by being slow. */
enum { FEWEST_FRESH = 4 };

/* A busy machine interrupts some two thirds of the fresh samples: docs/cheating.md. */
static double quick_eighth(const double *values, size_t n) {
    double *sorted = mem_alloc(n * sizeof *sorted);
    memcpy(sorted, values, n * sizeof *values);
    stats_sort(sorted, n);
    const double found = sorted[(n - 1) / 8];
    free(sorted);
    return found;
}

/* Parts by the host's clock say more about its caches than about kept results, which also shorten
 * the whole. */
static bool is_compared(const phase_t *phase) {
    return phase->n_fresh > 0 && phase->n_samples > 0 &&
           (phase->clock == CLOCK_DEVICE || strcmp(phase->name, "host_to_host") == 0 ||
            strcmp(phase->name, "total") == 0 || strcmp(phase->name, "train") == 0);
}

/* The longest plausible fresh sample of a phase. */
static double most_ns(const case_result_t *result, const phase_t *phase) {
    const double usual_ns = stats_median(phase->samples, phase->n_samples);
    if (strcmp(phase->name, "kernel_graph") == 0 || strcmp(phase->name, "forward_graph") == 0) {
        const char *copy = case_technique(&result->spec, "copy");
        const bool mapped = copy != NULL && strcmp(copy, "mapped") == 0;
        return MOST_TIMES_LAUNCHES * usual_ns +
               (mapped ? MOST_MORE_MAPPED_NS : MOST_MORE_LAUNCHES_NS);
    }
    return MOST_TIMES * usual_ns +
           (case_engine_is_built_in(result->spec.engine) ? MOST_MORE_NS : MOST_MORE_SCRIPT_NS);
}

static bool is_slow(const case_result_t *result, const phase_t *phase) {
    return is_compared(phase) &&
           quick_eighth(phase->fresh, phase->n_fresh) > most_ns(result, phase);
}

bool implausible_is_doubted(const case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++)
        if (is_slow(result, &result->phases[i]))
            return true;
    return false;
}

static void flag_fresh(case_result_t *result) {
    flag_list_t found = {0};
    for (size_t i = 0; i < result->n_phases; i++) {
        const phase_t *phase = &result->phases[i];
        if (phase->n_fresh >= FEWEST_FRESH && is_slow(result, phase))
            flag_list_add(&found, FLAG_FRESH_SLOWER, phase->name,
                          quick_eighth(phase->fresh, phase->n_fresh),
                          stats_median(phase->samples, phase->n_samples));
    }
    flag_list_merge(&result->flags, &found);
    flag_list_free(&found);
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
