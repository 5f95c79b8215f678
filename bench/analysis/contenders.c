#include "analysis/contenders.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ours first. A rival that is not listed needs no entry. */
static const struct known_engine {
    const char *engine, *name;
} KNOWN[] = {{"cuda", "CUDA"}, {"cpu", "C"}, {"pytorch", "PyTorch"}, {"jax", "JAX"}};

enum { N_KNOWN = sizeof KNOWN / sizeof *KNOWN };

_Static_assert(N_KNOWN == 2 + KNOWN_RIVALS, "two of ours");

static size_t place_of(const char *engine) {
    size_t i = 0;
    while (i < N_KNOWN && strcmp(KNOWN[i].engine, engine) != 0)
        i++;
    return i;
}

/* An id has exactly the techniques that differ from the workload's defaults. */
static text_list_t changed_as(const case_t *spec, bool with_names) {
    text_list_t parts = text_split(spec->id, '/'), changed = {0};
    for (size_t i = 0; i < spec->n_techniques; i++) {
        AUTO_FREE char *choice = value_text(&spec->techniques[i].value);
        AUTO_FREE char *setting = mem_format("%s=%s", spec->techniques[i].name, choice);
        if (text_list_has(&parts, setting))
            text_list_add(&changed, with_names ? setting : choice);
    }
    text_list_free(&parts);
    return changed;
}

text_list_t changed_techniques(const case_t *spec) {
    return changed_as(spec, true);
}

char *contender_name(const case_t *spec) {
    AUTO(text_list_free) text_list_t choices = changed_as(spec, false);
    AUTO_FREE char *list = text_list_join(&choices, ", ");
    return choices.n > 0 ? mem_format("%s + %s", spec->variant, list) : mem_text(spec->variant);
}

bool is_cold_start(const case_result_t *result) {
    return result_phase(result, "cold_first_answer") != NULL;
}

const phase_t *compared_phase(const case_result_t *result) {
    const workload_t *workload = workload_find(result->spec.workload);
    const char *const names[] = {workload != NULL ? workload->compared_by : NULL, "host_to_host",
                                 "total", "cold_first_answer"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] != NULL && isfinite(result_median(result, names[i])))
            return result_phase(result, names[i]);
    return NULL;
}

bool is_rougher(const case_t *spec) {
    const workload_t *workload = workload_find(spec->workload);
    if (workload == NULL || workload->tolerance == NULL)
        return false;
    case_t bare = *spec;
    bare.n_techniques = 0;
    AUTO(case_free) case_t plain = case_copy(&bare);
    workload_complete(workload, &plain);
    return workload->tolerance(spec) > workload->tolerance(&plain);
}

bool engine_is_ours(const char *engine) {
    return case_engine_is_built_in(engine) && strcmp(engine, "null") != 0;
}

bool engine_is_rival(const char *engine) {
    return !case_engine_is_built_in(engine);
}

const char *engine_name(const char *engine) {
    const size_t place = place_of(engine);
    if (place < N_KNOWN)
        return KNOWN[place].name;
    return strcmp(engine, "python") == 0 ? "Python"
                                         : engine; /* described workloads' scripts, by default */
}

int engine_order(const char *a, const char *b) {
    const size_t left = place_of(a), right = place_of(b);
    return left != right ? (left < right ? -1 : 1) : strcmp(a, b);
}

static int by_engine(const void *a, const void *b) {
    return engine_order(*(const char *const *)a, *(const char *const *)b);
}

void sort_engines(const char **engines, size_t n) {
    if (n > 0)
        qsort(engines, n, sizeof *engines, by_engine);
}

size_t known_rival(const char *engine) {
    const size_t place = place_of(engine);
    return engine_is_rival(engine) && place < N_KNOWN ? place + KNOWN_RIVALS - N_KNOWN
                                                      : KNOWN_RIVALS;
}

const char *rival_version(const environment_t *env, const case_t *spec) {
    if (strcmp(spec->engine, "pytorch") == 0) {
        const char *version = environment_get(env, "versions.pytorch");
        return version != NULL ? version : environment_get(env, "versions.torch");
    }
    char label[32];
    case_engine_label(spec, label);
    AUTO_FREE char *of_engine = mem_format("workers.%s.%s", label, spec->engine);
    AUTO_FREE char *of_variant = mem_format("workers.%s-%s.%s", label, spec->variant, spec->engine);
    const char *version = environment_get(env, of_engine);
    if (version == NULL) /* each implementation of a described workload has a worker of its own */
        version = environment_get(env, of_variant);
    return version;
}

const phase_t *timed_phase(const case_result_t *result, const char *name) {
    if (result == NULL || result->status != CASE_OK)
        return NULL;
    const phase_t *phase = result_phase(result, name);
    return phase != NULL && isfinite(phase->summary.median) ? phase : NULL;
}

bool is_self_reported(const case_result_t *result) {
    return result_has_times(result) && result->trust == TRUST_SELF_REPORTED;
}

exclusion_t exclusion_of(const case_result_t *result, const char *phase) {
    if (result->status != CASE_OK)
        return EXCLUDED_STATUS;
    if (is_self_reported(result))
        return EXCLUDED_SELF_REPORTED;
    if (result_is_algorithmic(result))
        return EXCLUDED_ALGORITHMIC;
    if (is_rougher(&result->spec))
        return EXCLUDED_ROUGHER;
    return phase != NULL && timed_phase(result, phase) == NULL ? EXCLUDED_NO_TIME : EXCLUDED_NOT;
}

bool can_be_fastest(const case_result_t *result) {
    return exclusion_of(result, NULL) == EXCLUDED_NOT;
}

char *exclusion_text(const case_result_t *result, const char *phase) {
    static const char *const TEXTS[] = {[EXCLUDED_SELF_REPORTED] = "is self-reported",
                                        [EXCLUDED_ALGORITHMIC] = "is another algorithm",
                                        [EXCLUDED_ROUGHER] = "has a larger tolerance"};
    static const char *const STATUSES[] = {[CASE_SKIPPED] = "was skipped",
                                           [CASE_WRONG] = "is wrong",
                                           [CASE_FAILED] = "failed",
                                           [CASE_THROTTLED] = "was throttled",
                                           [CASE_IMPLAUSIBLE] = "is implausible"};
    const exclusion_t exclusion = exclusion_of(result, phase);
    if (exclusion == EXCLUDED_NO_TIME)
        return mem_format("has no time of %s", phase);
    return mem_text(exclusion == EXCLUDED_STATUS ? STATUSES[result->status] : TEXTS[exclusion]);
}

/* ---- one side -------------------------------------------------------------------------------- */

/* Throttled cases have times, too. */
static const case_result_t *lower(const case_result_t *a, const case_result_t *b,
                                  const char *phase) {
    return a == NULL || result_median(b, phase) < result_median(a, phase) ? b : a;
}

/* How far a case without a time of the phase is from having one. */
static int distance_to_time(const case_result_t *result) {
    static const int OF_STATUS[] = {[CASE_OK] = 0,    [CASE_THROTTLED] = 0, [CASE_IMPLAUSIBLE] = 1,
                                    [CASE_WRONG] = 2, [CASE_FAILED] = 3,    [CASE_SKIPPED] = 4};
    return OF_STATUS[result->status];
}

void standing_add(standing_t *standing, const case_result_t *result, const char *phase) {
    const exclusion_t exclusion = exclusion_of(result, phase);
    if (isnan(result_median(result, phase))) {
        if (standing->timeless == NULL ||
            distance_to_time(result) < distance_to_time(standing->timeless))
            standing->timeless = result;
        return;
    }
    if (exclusion == EXCLUDED_NOT)
        standing->fastest = lower(standing->fastest, result, phase);
    else
        standing->excluded = lower(standing->excluded, result, phase);
    if (exclusion == EXCLUDED_SELF_REPORTED)
        standing->claimed = lower(standing->claimed, result, phase);
}

void standing_join(standing_t *standing, const standing_t *more, const char *phase) {
    const case_result_t *const cases[] = {more->fastest, more->claimed, more->excluded,
                                          more->timeless};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i] != NULL)
            standing_add(standing, cases[i], phase);
}

const case_result_t *standing_compared(const standing_t *standing) {
    return standing->fastest != NULL ? standing->fastest : standing->claimed;
}

const case_result_t *standing_shown(const standing_t *standing) {
    const case_result_t *compared = standing_compared(standing);
    return compared != NULL             ? compared
           : standing->excluded != NULL ? standing->excluded
                                        : standing->timeless;
}

const case_result_t *standing_faster(const standing_t *standing, const char *phase) {
    return standing->fastest != NULL && standing->excluded != NULL &&
                   result_median(standing->excluded, phase) <
                       result_median(standing->fastest, phase)
               ? standing->excluded
               : NULL;
}

/* ---- platforms ------------------------------------------------------------------------------- */

static const platform_t PLATFORMS[] = {
    {.device = "cuda", .engine = "cuda", .name = "CUDA", .place = "on the GPU"},
    {.device = "cpu", .engine = "cpu", .name = "C", .place = "on the CPU"},
};

/* A workload without code of ours there, as an imported problem: its Python files are held against the rest. */
static const platform_t CANDIDATES[] = {
    {.device = "cuda", .engine = "python", .name = "python", .place = "on the GPU"},
    {.device = "cpu", .engine = "python", .name = "python", .place = "on the CPU"},
};

const platform_t *platform_of(const record_t *run, const char *workload, const char *device) {
    const size_t side = strcmp(device, PLATFORMS[0].device) == 0 ? 0 : 1;
    bool own = false, candidate = false;
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_t *spec = &run->cases[i].spec;
        if (strcmp(spec->workload, workload) != 0 ||
            strcmp(spec->device, PLATFORMS[side].device) != 0)
            continue;
        own = own || strcmp(spec->engine, PLATFORMS[side].engine) == 0;
        candidate = candidate || strcmp(spec->engine, CANDIDATES[side].engine) == 0;
    }
    return candidate && !own ? &CANDIDATES[side] : &PLATFORMS[side];
}

bool platform_is_of_candidates(const platform_t *platform) {
    return strcmp(platform->engine, CANDIDATES[0].engine) == 0;
}

bool platform_is_ours(const platform_t *platform, const case_t *spec) {
    return strcmp(spec->device, platform->device) == 0 &&
           strcmp(spec->engine, platform->engine) == 0;
}

bool platform_is_rival(const platform_t *platform, const case_t *spec) {
    return strcmp(spec->device, platform->device) == 0 &&
           strcmp(spec->engine, platform->engine) != 0 && engine_is_rival(spec->engine);
}
