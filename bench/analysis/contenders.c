#include "analysis/contenders.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ours first. A rival that is not listed needs no entry. */
static const struct known_engine {
    const char *engine, *name;
} KNOWN[] = {
    {"cuda", "CUDA"}, {"cpu", "C"}, {ENGINE_C, "C"}, {"pytorch", "PyTorch"}, {"jax", "JAX"}};

enum { N_KNOWN = sizeof KNOWN / sizeof *KNOWN };

_Static_assert(N_KNOWN == 3 + KNOWN_RIVALS, "three of ours");

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
        char *choice = value_text(&spec->techniques[i].value);
        char *setting = mem_format("%s=%s", spec->techniques[i].name, choice);
        if (text_list_has(&parts, setting))
            text_list_add(&changed, with_names ? setting : choice);
        free(setting);
        free(choice);
    }
    text_list_free(&parts);
    return changed;
}

text_list_t changed_techniques(const case_t *spec) {
    return changed_as(spec, true);
}

char *contender_name(const case_t *spec) {
    text_list_t choices = changed_as(spec, false);
    char *list = text_list_join(&choices, ", ");
    char *name =
        choices.n > 0 ? mem_format("%s + %s", spec->variant, list) : mem_text(spec->variant);
    text_list_free(&choices);
    free(list);
    return name;
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
    case_t plain = case_copy(&bare);
    workload_complete(workload, &plain);
    const bool rougher = workload->tolerance(spec) > workload->tolerance(&plain);
    case_free(&plain);
    return rougher;
}

bool engine_is_ours(const char *engine) {
    return case_engine_is_served(engine) && strcmp(engine, "null") != 0;
}

bool engine_is_rival(const char *engine) {
    return !case_engine_is_served(engine);
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
    char *of_engine = mem_format("workers.%s.%s", label, spec->engine);
    char *of_variant = mem_format("workers.%s-%s.%s", label, spec->variant, spec->engine);
    const char *version = environment_get(env, of_engine);
    if (version == NULL) /* each implementation of a described workload has a worker of its own */
        version = environment_get(env, of_variant);
    free(of_engine);
    free(of_variant);
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

const case_result_t *faster_case(const case_result_t *a, const case_result_t *b,
                                 const char *phase) {
    const phase_t *left = timed_phase(a, phase), *right = timed_phase(b, phase);
    if (left == NULL || right == NULL)
        return left != NULL ? a : right != NULL ? b : NULL;
    return right->summary.median < left->summary.median ? b : a;
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

const case_result_t *standing_shown(const standing_t *standing) {
    return standing->fastest != NULL    ? standing->fastest
           : standing->claimed != NULL  ? standing->claimed
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

/* Of described workloads. */
static const platform_t IN_C = {
    .device = "cpu", .engine = ENGINE_C, .name = "C", .place = "on the CPU"};

/* A workload without code of ours there, as an imported problem: its Python files are held against the rest. */
static const platform_t CANDIDATES[] = {
    {.device = "cuda", .engine = "python", .name = "python", .place = "on the GPU"},
    {.device = "cpu", .engine = "python", .name = "python", .place = "on the CPU"},
};

const platform_t *platform_of(const record_t *run, const char *workload, const char *device) {
    const size_t side = strcmp(device, PLATFORMS[0].device) == 0 ? 0 : 1;
    bool own = false, in_c = false, candidate = false;
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_t *spec = &run->cases[i].spec;
        if (strcmp(spec->workload, workload) != 0 ||
            strcmp(spec->device, PLATFORMS[side].device) != 0)
            continue;
        own = own || strcmp(spec->engine, PLATFORMS[side].engine) == 0;
        in_c = in_c || strcmp(spec->engine, ENGINE_C) == 0;
        candidate = candidate || strcmp(spec->engine, CANDIDATES[side].engine) == 0;
    }
    if (in_c && !own)
        return &IN_C;
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

static int64_t batch_of(const case_result_t *result) {
    return case_param_int(&result->spec, "batch", 0);
}

/* A technique missing in a run of another version has its default. False for an unknown choice. */
static bool read_choices(const technique_set_t *set, const case_t *spec, size_t *choices) {
    for (size_t t = 0; t < set->n_techniques; t++) {
        const char *const *known = set->techniques[t].choices;
        const char *choice = case_technique(spec, set->techniques[t].name);
        choices[t] = 0;
        while (choice != NULL && known[choices[t]] != NULL &&
               strcmp(known[choices[t]], choice) != 0)
            choices[t]++;
        if (known[choices[t]] == NULL)
            return false;
    }
    return true;
}

/* Each case is one combination: ids are unique in a run. */
static size_t combinations(const case_result_t *const *cases, size_t n, const char *variant,
                           int64_t batch) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += batch_of(cases[i]) == batch && strcmp(cases[i]->spec.variant, variant) == 0 &&
                 result_has_times(cases[i]);
    return found;
}

static int by_integer(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void choose_batches(technique_set_t *set, const case_result_t *const *cases, size_t n,
                           size_t most) {
    int64_t *full = mem_zeroed(n, sizeof *full);
    size_t n_full = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t batch = batch_of(cases[i]);
        size_t known = 0;
        while (known < n_full && full[known] != batch)
            known++;
        if (known == n_full && 2 * combinations(cases, n, set->variant, batch) > most)
            full[n_full++] = batch;
    }
    qsort(full, n_full, sizeof *full, by_integer);
    set->n_batches = n_full < TECHNIQUE_BATCHES ? n_full : TECHNIQUE_BATCHES;
    for (size_t b = 0; b < set->n_batches; b++)
        set->batches[b] = full[set->n_batches > 1 ? b * (n_full - 1) / (set->n_batches - 1) : 0];
    free(full);
}

static void add_case(technique_set_t *set, const case_result_t *result) {
    size_t b = 0, r = 0;
    while (b < set->n_batches && set->batches[b] != batch_of(result))
        b++;
    technique_row_t row = {0};
    if (b == set->n_batches || strcmp(result->spec.variant, set->variant) != 0 ||
        !read_choices(set, &result->spec, row.choices))
        return;
    while (r < set->n_rows && memcmp(set->rows[r].choices, row.choices, sizeof row.choices) != 0)
        r++;
    if (r == set->n_rows) {
        mem_grow(&set->rows, set->n_rows, &set->capacity, sizeof *set->rows);
        set->rows[set->n_rows++] = row;
    }
    set->rows[r].cases[b] = result;
}

static int by_choices(const void *a, const void *b) {
    const technique_row_t *left = a, *right = b;
    for (size_t t = 0; t < MAX_TECHNIQUES; t++)
        if (left->choices[t] != right->choices[t])
            return left->choices[t] < right->choices[t] ? -1 : 1;
    return 0;
}

technique_set_t technique_set_of(const case_result_t *const *cases, size_t n) {
    technique_set_t set = {0};
    const workload_t *workload = n > 0 ? workload_find(cases[0]->spec.workload) : NULL;
    if (workload == NULL)
        return set;
    set.techniques = workload->techniques;
    set.n_techniques =
        workload->n_techniques < MAX_TECHNIQUES ? workload->n_techniques : MAX_TECHNIQUES;
    size_t most = 1;
    for (size_t i = 0; i < n; i++) {
        size_t found = combinations(cases, n, cases[i]->spec.variant, batch_of(cases[i]));
        if (found > most) {
            most = found;
            set.variant = cases[i]->spec.variant;
        }
    }
    if (set.variant == NULL)
        return set;
    choose_batches(&set, cases, n, most);
    for (size_t i = 0; i < n; i++)
        add_case(&set, cases[i]);
    if (set.n_rows > 0)
        qsort(set.rows, set.n_rows, sizeof *set.rows, by_choices);
    return set;
}

void technique_set_free(technique_set_t *set) {
    free(set->rows);
    *set = (technique_set_t){0};
}

const technique_row_t *technique_sibling(const technique_set_t *set, const technique_row_t *row,
                                         size_t t, size_t choice) {
    technique_row_t sibling = *row;
    sibling.choices[t] = choice;
    for (size_t r = 0; r < set->n_rows; r++)
        if (memcmp(set->rows[r].choices, sibling.choices, sizeof sibling.choices) == 0)
            return &set->rows[r];
    return NULL;
}
