#include "analysis/speedup.h"

#include "base/memory.h"
#include "workloads/common/workload.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_GPU, SIDE_CPU };
static const platform_t PLATFORMS[] = {
    [SIDE_GPU] = {.device = "cuda", .engine = "cuda", .name = "CUDA", .place = "on the GPU"},
    [SIDE_CPU] =
        {.device = "cpu", .engine = "cpu", .name = "C", .place = "on the CPU", .oracle = "ref"},
};

static const phase_t *timed_phase(const case_result_t *result, const char *name) {
    if (result == NULL || result->status != CASE_OK)
        return NULL;
    const phase_t *phase = result_phase(result, name);
    return phase != NULL && isfinite(phase->summary.median) ? phase : NULL;
}

static verdict_t judge(const stats_interval_t *ratio) {
    if (!isfinite(ratio->centre))
        return VERDICT_NONE;
    if (!isfinite(ratio->low) || !isfinite(ratio->high))
        return VERDICT_UNDECIDED;
    if (ratio->low > 1)
        return VERDICT_OURS;
    return ratio->high < 1 ? VERDICT_THEIRS : VERDICT_NO_DIFFERENCE;
}

/* Both sides of a pass were measured within minutes, in processes started together. */
static stats_interval_t ratio_of(const phase_t *theirs, const phase_t *ours) {
    stats_pass_t ratios[STATS_MOST_PASSES];
    size_t n = 0;
    for (; n < theirs->n_passes && n < ours->n_passes && n < STATS_MOST_PASSES; n++) {
        const stats_pass_t above = phase_pass(theirs, n), below = phase_pass(ours, n);
        ratios[n] = stats_pass_ratio(&above, &below);
    }
    return stats_interval_of(ratios, n);
}

/* The least and the most that the phase is, if it has two values. */
static void ends_of(const phase_t *phase, double ends[2]) {
    const bimodal_t *two = &phase->bimodal;
    ends[0] = two->found ? two->low : phase->summary.median;
    ends[1] = two->found ? two->high : phase->summary.median;
}

speedup_t speedup_make(const case_result_t *ours, const char *our_phase,
                       const case_result_t *theirs, const char *their_phase) {
    speedup_t speedup = {.ours = timed_phase(ours, our_phase),
                         .theirs = timed_phase(theirs, their_phase),
                         .ratio = {.centre = NAN, .low = NAN, .high = NAN}};
    if (speedup.ours == NULL || speedup.theirs == NULL)
        return speedup;
    double above[2], below[2];
    stats_interval_t *ratio = &speedup.ratio;
    *ratio = ratio_of(speedup.theirs, speedup.ours);
    ends_of(speedup.theirs, above);
    ends_of(speedup.ours, below);
    if (!isfinite(ratio->centre)) /* no rounds, as in a CSV of the study */
        ratio->centre = speedup.theirs->summary.median / speedup.ours->summary.median;
    if (isfinite(ratio->low) && (speedup.ours->bimodal.found || speedup.theirs->bimodal.found)) {
        ratio->low = fmin(ratio->low, above[0] / below[1]);
        ratio->high = fmax(ratio->high, above[1] / below[0]);
    }
    speedup.verdict = judge(ratio);
    return speedup;
}

void tally_add(tally_t *tally, const speedup_t *speedup) {
    tally->of[speedup->verdict]++;
    if (speedup->verdict == VERDICT_NONE)
        return;
    const double ratio = speedup->ratio.centre;
    tally->n_lower += speedup->verdict == VERDICT_UNDECIDED && ratio > 1;
    tally->least = tally->n == 0 ? ratio : fmin(tally->least, ratio);
    tally->most = fmax(tally->most, ratio);
    tally->last = *speedup;
    tally->n++;
}

tally_t tally_of(const comparison_set_t *set, speedup_of_t speedup_of) {
    tally_t tally = {0};
    for (size_t i = 0; i < set->n_rows; i++) {
        const speedup_t speedup = speedup_of(&set->rows[i]);
        tally_add(&tally, &speedup);
    }
    return tally;
}

/* A workload unknown to this version is read like mlp_infer. */
static const char *size_param_of(const char *workload) {
    const workload_t *known = workload_find(workload);
    return known != NULL && known->size_param != NULL ? known->size_param : "batch";
}

/* The size in the published study of the workload. */
static int64_t reference_size_of(const char *size_param) {
    static const struct {
        const char *param;
        int64_t size;
    } SIZES[] = {{"batch", 64}, {"points", 5000000}, {"hidden", 1024}, {"width", 784}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        if (strcmp(SIZES[i].param, size_param) == 0)
            return SIZES[i].size;
    return -1;
}

/* What must be equal, besides the size, for two cases to do the same work. */
static char *comparison_set_key(const case_t *spec, bool with_seed) {
    const char *size_param = size_param_of(spec->workload);
    text_list_t parts = {0};
    for (size_t i = 0; i < spec->n_params; i++) {
        const char *name = spec->params[i].name;
        if (strcmp(name, size_param) == 0 || (!with_seed && strcmp(name, "seed") == 0))
            continue;
        const bool named = strcmp(name, "layers") != 0;
        char *value = value_text(&spec->params[i].value);
        text_list_add_format(&parts, "%s%s%s", named ? name : "", named ? "=" : "", value);
        free(value);
    }
    text_list_add(&parts, spec->dtype);
    char *key = text_list_join(&parts, ", ");
    text_list_free(&parts);
    return key;
}

/* OWNER_ANY: not a contender on this platform. */
static owner_t owner_of(const platform_t *platform, const case_t *spec) {
    if (strcmp(spec->device, platform->device) != 0)
        return OWNER_ANY;
    if (strcmp(spec->engine, "pytorch") == 0)
        return OWNER_PYTORCH;
    if (!case_engine_is_built_in(spec->engine))
        return OWNER_OTHERS;
    const bool oracle = platform->oracle != NULL && strcmp(spec->variant, platform->oracle) == 0;
    return strcmp(spec->engine, platform->engine) == 0 && !oracle ? OWNER_OURS : OWNER_ANY;
}

bool comparison_set_shares_work(const comparison_set_t *set, const case_t *spec) {
    if (strcmp(spec->workload, set->workload) != 0)
        return false;
    char *key = comparison_set_key(spec, true);
    bool same = strcmp(key, set->key) == 0;
    free(key);
    return same;
}

bool comparison_set_has(const comparison_set_t *set, const case_result_t *result, owner_t owner) {
    const owner_t actual = owner_of(set->platform, &result->spec);
    return actual != OWNER_ANY && (owner == OWNER_ANY || owner == actual) &&
           comparison_set_shares_work(set, &result->spec);
}

int64_t size_of_case(const comparison_set_t *set, const case_t *spec) {
    return case_param_int(spec, set->size_param, -1);
}

const case_result_t *comparison_set_next(const comparison_set_t *set, const case_result_t *after,
                                         owner_t owner, int64_t size) {
    const case_result_t *next = after != NULL ? after + 1 : set->run->cases;
    for (; next < set->run->cases + set->run->n_cases; next++)
        if ((size == EVERY_SIZE || size_of_case(set, &next->spec) == size) &&
            comparison_set_has(set, next, owner))
            return next;
    return NULL;
}

comparison_set_count_t comparison_set_count(const comparison_set_t *set) {
    comparison_set_count_t count = {0};
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, OWNER_ANY, EVERY_SIZE)) != NULL) {
        count.n++;
        count.timed += result_has_times(result);
    }
    return count;
}

const case_result_t *faster_case(const case_result_t *a, const case_result_t *b,
                                 const char *phase) {
    const phase_t *left = timed_phase(a, phase), *right = timed_phase(b, phase);
    if (left == NULL || right == NULL)
        return left != NULL ? a : right != NULL ? b : NULL;
    return right->summary.median < left->summary.median ? b : a;
}

const case_result_t *comparison_set_fastest(const comparison_set_t *set, int64_t size,
                                            owner_t owner, const char *phase) {
    const case_result_t *fastest = NULL, *result = NULL;
    while ((result = comparison_set_next(set, result, owner, size)) != NULL)
        if (!result_is_algorithmic(result) && !is_rougher(&result->spec))
            fastest = faster_case(fastest, result, phase);
    return fastest;
}

/* Rung 01 in the study's set-up, or PyTorch eager, at a size. */
static const case_result_t *fixed_case(const comparison_set_t *set, int64_t size, owner_t owner,
                                       const char *variant) {
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, owner, size)) != NULL)
        if (fnmatch(variant, result->spec.variant, 0) == 0 &&
            (owner == OWNER_PYTORCH || results_is_study_setup(&result->spec)))
            return result;
    return NULL;
}

/* A phase is used only if every side that was run has it. */
static const char *headline_phase(const comparison_set_t *set) {
    const workload_t *workload = workload_find(set->workload);
    if (workload != NULL && workload->compared_by != NULL)
        return workload->compared_by;
    for (owner_t owner = OWNER_OURS; owner <= OWNER_PYTORCH; owner++) {
        size_t n = 0, timed = 0;
        const case_result_t *result = NULL;
        while ((result = comparison_set_next(set, result, owner, EVERY_SIZE)) != NULL) {
            n++;
            timed += timed_phase(result, "host_to_host") != NULL;
        }
        if (n > 0 && timed == 0)
            return "total";
    }
    return "host_to_host";
}

static void fill_row(const comparison_set_t *set, size_row_t *row) {
    bool gpu = strcmp(set->platform->device, "cuda") == 0;
    bool study = gpu && strcmp(set->workload, "mlp_infer") == 0;
    const char *phase = set->phase;
    row->best = comparison_set_fastest(set, row->size, OWNER_OURS, phase);
    row->fastest = comparison_set_fastest(set, row->size, OWNER_PYTORCH, phase);
    row->other = comparison_set_fastest(set, row->size, OWNER_OTHERS, phase);
    row->study = study ? fixed_case(set, row->size, OWNER_OURS, "01_*") : NULL;
    row->eager = fixed_case(set, row->size, OWNER_PYTORCH, "eager");
    if (gpu) {
        comparison_set_t host = *set;
        host.platform = &PLATFORMS[SIDE_CPU];
        row->host = comparison_set_fastest(&host, row->size, OWNER_OURS, phase);
        row->host_pytorch = comparison_set_fastest(&host, row->size, OWNER_PYTORCH, phase);
    }
    row->headline = speedup_make(row->best, phase, row->fastest, phase);
    row->against_eager = speedup_make(row->best, phase, row->eager, phase);
    row->against_other = speedup_make(row->best, phase, row->other, phase);
    row->against_study = speedup_make(row->best, phase, row->study, phase);
    row->against_host = speedup_make(row->best, phase, row->host, phase);
    row->against_host_pytorch = speedup_make(row->best, phase, row->host_pytorch, phase);
    row->study_total = speedup_make(row->study, "total", row->eager, "total");
}

static int by_size(const void *a, const void *b) {
    int64_t x = ((const size_row_t *)a)->size, y = ((const size_row_t *)b)->size;
    return (x > y) - (x < y);
}

static void fill_rows(comparison_set_t *set) {
    size_t capacity = 0;
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, OWNER_ANY, EVERY_SIZE)) != NULL) {
        size_t known = 0;
        while (known < set->n_rows && set->rows[known].size != size_of_case(set, &result->spec))
            known++;
        if (known < set->n_rows)
            continue;
        mem_grow(&set->rows, set->n_rows, &capacity, sizeof *set->rows);
        set->rows[set->n_rows++] = (size_row_t){.size = size_of_case(set, &result->spec)};
    }
    qsort(set->rows, set->n_rows, sizeof *set->rows, by_size);
    for (size_t i = 0; i < set->n_rows; i++)
        fill_row(set, &set->rows[i]);
}

static void add_set(comparison_set_list_t *list, const record_t *run, const platform_t *platform,
                    const case_t *spec) {
    comparison_set_t set = {.run = run,
                            .platform = platform,
                            .workload = spec->workload,
                            .size_param = size_param_of(spec->workload),
                            .key = comparison_set_key(spec, true)};
    set.reference_size = reference_size_of(set.size_param);
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].platform == platform && strcmp(list->items[i].key, set.key) == 0) {
            free(set.key);
            return;
        }
    set.shape = comparison_set_key(spec, false);
    set.phase = headline_phase(&set);
    fill_rows(&set);
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = set;
}

comparison_set_list_t comparison_sets_of(const record_t *run, const char *workload) {
    comparison_set_list_t list = {0};
    for (size_t s = 0; s < sizeof PLATFORMS / sizeof *PLATFORMS; s++)
        for (size_t i = 0; i < run->n_cases; i++) {
            const case_t *spec = &run->cases[i].spec;
            if (strcmp(spec->workload, workload) == 0 && owner_of(&PLATFORMS[s], spec) != OWNER_ANY)
                add_set(&list, run, &PLATFORMS[s], spec);
        }
    return list;
}

void comparison_set_list_free(comparison_set_list_t *list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].key);
        free(list->items[i].shape);
        free(list->items[i].rows);
    }
    free(list->items);
    *list = (comparison_set_list_t){0};
}

crossover_t find_crossover(const comparison_set_t *set, speedup_of_t speedup_of) {
    crossover_t found = {0};
    verdict_t leader = VERDICT_NONE;
    int64_t since = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        verdict_t verdict = speedup_of(&set->rows[i]).verdict;
        if (verdict != VERDICT_OURS && verdict != VERDICT_THEIRS)
            continue;
        if (leader != VERDICT_NONE && verdict != leader) {
            found.n_changes++;
            found.last_before = since;
            found.first_after = set->rows[i].size;
            found.before = leader;
            found.after = verdict;
        }
        leader = verdict;
        since = set->rows[i].size;
    }
    return found;
}

size_t fitting_rows(const comparison_set_t *set, bool (*fits)(const size_row_t *row),
                    const size_row_t **rows) {
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        if (fits(&set->rows[i])) {
            if (rows != NULL)
                rows[n] = &set->rows[i];
            n++;
        }
    return n;
}

size_t key_rows(const comparison_set_t *set, bool (*fits)(const size_row_t *row),
                const size_row_t *rows[3]) {
    const size_row_t **fitting = mem_zeroed(set->n_rows + 1, sizeof *fitting);
    size_t n = fitting_rows(set, fits, fitting), middle = n / 2, n_keys = 0;
    for (size_t i = 1; i < n; i++)
        if (fitting[i]->size == set->reference_size)
            middle = i;
    const size_t keys[] = {0, middle, n - 1};
    for (size_t k = 0; k < 3 && n > 0; k++)
        if (k == 0 || keys[k] > keys[k - 1])
            rows[n_keys++] = fitting[keys[k]];
    free(fitting);
    return n_keys;
}
