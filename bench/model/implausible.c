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

/* Parts by the host's clock say more about its caches than about kept results, which also shorten
 * the whole. */
static bool is_compared(const phase_t *phase) {
    return phase->n_fresh > 0 && phase->n_samples > 0 &&
           (phase->clock == CLOCK_DEVICE || strcmp(phase->name, "host_to_host") == 0 ||
            strcmp(phase->name, "total") == 0 || strcmp(phase->name, "train") == 0);
}

static bool is_of_graph(const phase_t *phase) {
    return strcmp(phase->name, "kernel_graph") == 0 || strcmp(phase->name, "forward_graph") == 0;
}

/* The longest plausible fresh sample of a phase. */
static double most_ns(const case_result_t *result, const phase_t *phase) {
    const double usual_ns = stats_median(phase->samples, phase->n_samples);
    if (is_of_graph(phase)) {
        const char *copy = case_technique(&result->spec, "copy");
        const bool mapped = copy != NULL && strcmp(copy, "mapped") == 0;
        return MOST_TIMES_LAUNCHES * usual_ns +
               (mapped ? MOST_MORE_MAPPED_NS : MOST_MORE_LAUNCHES_NS);
    }
    return MOST_TIMES * usual_ns +
           (case_engine_is_built_in(result->spec.engine) ? MOST_MORE_NS : MOST_MORE_SCRIPT_NS);
}

/* The fresh samples of a phase: one in eight must be quick, as a busy machine interrupts most. */
typedef struct fresh_facts {
    double usual_ns;
    double eighth_ns;        /* the quickest eighth takes at most that */
    double uninterrupted_ns; /* likewise, without those that others had the cores in */
    size_t n, n_uninterrupted;
} fresh_facts_t;

static double quick_eighth(double *values, size_t n) {
    stats_sort(values, n);
    return n > 0 ? values[(n - 1) / 8] : NAN;
}

/* May others on the host's cores make the phase slower? A device works off a graph alone, and a launch
 * of our own code between two events. */
static bool is_of_host(const case_result_t *result, const phase_t *phase) {
    return !is_of_graph(phase) &&
           (phase->clock == CLOCK_HOST || !case_engine_is_built_in(result->spec.engine));
}

static fresh_facts_t find_fresh(const case_result_t *result, const phase_t *phase) {
    const double most = most_ns(result, phase);
    const bool of_host = is_of_host(result, phase);
    fresh_facts_t facts = {.usual_ns = stats_median(phase->samples, phase->n_samples),
                           .n = phase->n_fresh};
    double *all = mem_alloc(2 * phase->n_fresh * sizeof *all), *kept = all + phase->n_fresh;
    for (size_t i = 0; i < phase->n_fresh; i++) {
        const fresh_sample_t *sample = &phase->fresh[i];
        const bool is_interrupted =
            of_host && sample->ns > most && sample->waited_ns >= sample->ns - facts.usual_ns;
        all[i] = sample->ns;
        if (!is_interrupted)
            kept[facts.n_uninterrupted++] = sample->ns;
    }
    facts.eighth_ns = quick_eighth(all, facts.n);
    facts.uninterrupted_ns = quick_eighth(kept, facts.n_uninterrupted);
    free(all);
    return facts;
}

bool implausible_is_doubted(const case_result_t *result) {
    for (size_t i = 0; i < result->n_phases; i++) {
        const phase_t *phase = &result->phases[i];
        if (is_compared(phase) && find_fresh(result, phase).eighth_ns > most_ns(result, phase))
            return true;
    }
    return false;
}

/* Interrupted samples alone acquit nobody: a script may have seen to that. */
static void flag_phase(const case_result_t *result, const phase_t *phase, flag_list_t *flags) {
    const double most = most_ns(result, phase);
    const fresh_facts_t facts = find_fresh(result, phase);
    if (!(facts.eighth_ns > most) || facts.n < FEWEST_FRESH)
        return;
    if (facts.n_uninterrupted >= FEWEST_FRESH && facts.uninterrupted_ns > most)
        flag_list_add(flags, FLAG_FRESH_SLOWER, phase->name, facts.uninterrupted_ns,
                      facts.usual_ns);
    else
        flag_list_add(flags, FLAG_FRESH_INTERRUPTED, phase->name, facts.eighth_ns, facts.usual_ns);
}

static void flag_fresh(case_result_t *result) {
    flag_list_t found = {0};
    for (size_t i = 0; i < result->n_phases; i++)
        if (is_compared(&result->phases[i]))
            flag_phase(result, &result->phases[i], &found);
    flag_list_remove(&result->flags, FLAG_FRESH_INTERRUPTED); /* of a pass: all of them judge */
    flag_list_merge(&result->flags, &found);
    for (size_t i = 0; i < found.n; i++)
        if (found.items[i].kind == FLAG_FRESH_INTERRUPTED && result->trust == TRUST_AUDITED)
            result->trust = TRUST_SELF_REPORTED;
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
