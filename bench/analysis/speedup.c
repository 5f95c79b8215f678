#include "analysis/speedup.h"

#include "base/memory.h"
#include "workloads/common/workload.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 1000 resamples put the ends of a 95 % interval within a few percent of its width; the seed is
 * fixed so that a report is the same each time it is made. */
enum { RESAMPLES = 1000, RESAMPLING_SEED = 1 };

enum { SIDE_GPU, SIDE_CPU };
static const side_t SIDES[] = {
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

static verdict_t judge(const stats_ratio_t *ratio) {
    if (!isfinite(ratio->ratio))
        return VERDICT_NONE;
    if (!isfinite(ratio->low) || !isfinite(ratio->high))
        return VERDICT_UNDECIDED;
    if (ratio->low > 1)
        return VERDICT_OURS;
    return ratio->high < 1 ? VERDICT_THEIRS : VERDICT_NO_DIFFERENCE;
}

duel_t duel_make(const case_result_t *ours, const char *our_phase, const case_result_t *theirs,
                 const char *their_phase) {
    duel_t duel = {timed_phase(ours, our_phase),
                   timed_phase(theirs, their_phase),
                   {NAN, NAN, NAN},
                   VERDICT_NONE};
    if (duel.ours == NULL || duel.theirs == NULL)
        return duel;
    stats_rounds_t a = {duel.ours->samples, duel.ours->round_starts, duel.ours->n_rounds};
    stats_rounds_t b = {duel.theirs->samples, duel.theirs->round_starts, duel.theirs->n_rounds};
    if (a.n_rounds > 0 && b.n_rounds > 0)
        duel.ratio =
            stats_ratio_of_medians(&b, &a, a.n_rounds == b.n_rounds, RESAMPLES, RESAMPLING_SEED);
    else
        duel.ratio.ratio = duel.theirs->summary.median / duel.ours->summary.median;
    duel.verdict = judge(&duel.ratio);
    return duel;
}

/* A workload that this version does not know is read as mlp_infer is. */
static const char *size_param_of(const char *workload) {
    const workload_t *known = workload_find(workload);
    return known != NULL && known->size_param != NULL ? known->size_param : "batch";
}

/* The size that the published study of the workload is about. */
static int64_t told_size_of(const char *size_param) {
    static const struct {
        const char *param;
        int64_t size;
    } TOLD[] = {{"batch", 64}, {"points", 5000000}, {"hidden", 1024}, {"width", 784}};
    for (size_t i = 0; i < sizeof TOLD / sizeof *TOLD; i++)
        if (strcmp(TOLD[i].param, size_param) == 0)
            return TOLD[i].size;
    return -1;
}

/* Everything that must be equal for two cases to do the same work, but for the size. */
static char *family_key(const case_t *spec) {
    const char *size_param = size_param_of(spec->workload);
    text_list_t parts = {0};
    for (size_t i = 0; i < spec->n_params; i++) {
        const char *name = spec->params[i].name;
        char *value = value_text(&spec->params[i].value);
        if (strcmp(name, "layers") == 0)
            text_list_add(&parts, value);
        else if (strcmp(name, size_param) != 0)
            text_list_add_format(&parts, "%s=%s", name, value);
        free(value);
    }
    text_list_add(&parts, spec->dtype);
    char *key = text_list_join(&parts, ", ");
    text_list_free(&parts);
    return key;
}

static bool on_side(const side_t *side, const case_t *spec, party_t party) {
    if (strcmp(spec->device, side->device) != 0)
        return false;
    bool pytorch = strcmp(spec->engine, "pytorch") == 0;
    switch (party) {
    case PARTY_OURS:
        return strcmp(spec->engine, side->engine) == 0 &&
               (side->oracle == NULL || strcmp(spec->variant, side->oracle) != 0);
    case PARTY_PYTORCH:
        return pytorch;
    case PARTY_OTHERS:
        return !pytorch && !case_engine_is_built_in(spec->engine);
    }
    return false;
}

static bool on_any_side(const side_t *side, const case_t *spec) {
    return on_side(side, spec, PARTY_OURS) || on_side(side, spec, PARTY_PYTORCH) ||
           on_side(side, spec, PARTY_OTHERS);
}

bool family_shares_work(const family_t *family, const case_t *spec) {
    if (strcmp(spec->workload, family->workload) != 0)
        return false;
    char *key = family_key(spec);
    bool same = strcmp(key, family->key) == 0;
    free(key);
    return same;
}

bool family_has(const family_t *family, const case_result_t *result, party_t party) {
    return on_side(family->side, &result->spec, party) && family_shares_work(family, &result->spec);
}

static bool family_has_any(const family_t *family, const case_result_t *result) {
    return family_has(family, result, PARTY_OURS) || family_has(family, result, PARTY_PYTORCH) ||
           family_has(family, result, PARTY_OTHERS);
}

family_count_t family_count(const family_t *family) {
    family_count_t size = {0};
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (!family_has_any(family, result))
            continue;
        size.n++;
        size.timed += result_has_times(result);
        size.statuses[result->status]++;
    }
    return size;
}

int64_t size_of_case(const family_t *family, const case_t *spec) {
    return case_param_int(spec, family->size_param, -1);
}

const case_result_t *family_fastest(const family_t *family, int64_t size, party_t party,
                                    const char *phase) {
    const case_result_t *fastest = NULL;
    double least_ns = INFINITY;
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (size_of_case(family, &result->spec) != size || !family_has(family, result, party) ||
            result_is_algorithmic(result) || is_rougher(&result->spec))
            continue;
        const phase_t *timed = timed_phase(result, phase);
        if (timed != NULL && timed->summary.median < least_ns) {
            least_ns = timed->summary.median;
            fastest = result;
        }
    }
    return fastest;
}

/* The case of rung 01 in the study's set-up, or of PyTorch eager, at a size. */
static const case_result_t *fixed_case(const family_t *family, int64_t size, party_t party,
                                       const char *variant) {
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (size_of_case(family, &result->spec) == size &&
            fnmatch(variant, result->spec.variant, 0) == 0 && family_has(family, result, party) &&
            (party == PARTY_PYTORCH || results_is_study_setup(&result->spec)))
            return result;
    }
    return NULL;
}

static bool has_phase(const family_t *family, party_t party, const char *name) {
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (timed_phase(result, name) != NULL && family_has(family, result, party))
            return true;
    }
    return false;
}

static bool has_any(const family_t *family, party_t party) {
    for (size_t i = 0; i < family->run->n_cases; i++)
        if (family_has(family, &family->run->cases[i], party))
            return true;
    return false;
}

/* Both sides need the phase to be compared by it; a side that was not run needs nothing. */
static const char *headline_phase(const family_t *family) {
    const workload_t *workload = workload_find(family->workload);
    const char *own = workload != NULL ? workload->compared_by : NULL;
    if (own != NULL)
        return own;
    bool ours = has_phase(family, PARTY_OURS, "host_to_host") || !has_any(family, PARTY_OURS);
    bool theirs =
        has_phase(family, PARTY_PYTORCH, "host_to_host") || !has_any(family, PARTY_PYTORCH);
    return ours && theirs ? "host_to_host" : "total";
}

static void fill_row(const family_t *family, size_row_t *row) {
    bool gpu = strcmp(family->side->device, "cuda") == 0;
    bool study = gpu && strcmp(family->workload, "mlp_infer") == 0; /* its code is our rung 01 */
    row->best = family_fastest(family, row->size, PARTY_OURS, family->phase);
    row->fastest = family_fastest(family, row->size, PARTY_PYTORCH, family->phase);
    row->other = family_fastest(family, row->size, PARTY_OTHERS, family->phase);
    row->study = study ? fixed_case(family, row->size, PARTY_OURS, "01_*") : NULL;
    row->eager = fixed_case(family, row->size, PARTY_PYTORCH, "eager");
    row->headline = duel_make(row->best, family->phase, row->fastest, family->phase);
    row->against_eager = duel_make(row->best, family->phase, row->eager, family->phase);
    row->against_other = duel_make(row->best, family->phase, row->other, family->phase);
    row->against_study = duel_make(row->best, family->phase, row->study, family->phase);
    if (gpu) {
        /* The same work on the other device. */
        family_t host = *family;
        host.side = &SIDES[SIDE_CPU];
        row->host = family_fastest(&host, row->size, PARTY_OURS, family->phase);
        row->host_pytorch = family_fastest(&host, row->size, PARTY_PYTORCH, family->phase);
    }
    row->against_host = duel_make(row->best, family->phase, row->host, family->phase);
    row->against_host_pytorch =
        duel_make(row->best, family->phase, row->host_pytorch, family->phase);
    row->study_total = duel_make(row->study, "total", row->eager, "total");
}

static int by_size(const void *a, const void *b) {
    int64_t x = ((const size_row_t *)a)->size, y = ((const size_row_t *)b)->size;
    return (x > y) - (x < y);
}

static void fill_rows(family_t *family) {
    size_t capacity = 0;
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        int64_t size = size_of_case(family, &result->spec);
        if (!family_has_any(family, result))
            continue;
        size_t known = 0;
        while (known < family->n_rows && family->rows[known].size != size)
            known++;
        if (known < family->n_rows)
            continue;
        mem_grow(&family->rows, family->n_rows, &capacity, sizeof *family->rows);
        family->rows[family->n_rows++] = (size_row_t){.size = size};
    }
    qsort(family->rows, family->n_rows, sizeof *family->rows, by_size);
    for (size_t i = 0; i < family->n_rows; i++)
        fill_row(family, &family->rows[i]);
}

static void add_family(family_list_t *list, const record_t *run, const side_t *side,
                       const case_t *spec) {
    family_t family = {.run = run,
                       .side = side,
                       .workload = spec->workload,
                       .size_param = size_param_of(spec->workload),
                       .key = family_key(spec)};
    family.told_size = told_size_of(family.size_param);
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].side == side && strcmp(list->items[i].key, family.key) == 0) {
            free(family.key);
            return;
        }
    family.phase = headline_phase(&family);
    fill_rows(&family);
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = family;
}

family_list_t families_of(const record_t *run, const char *workload) {
    family_list_t list = {0};
    for (size_t s = 0; s < sizeof SIDES / sizeof *SIDES; s++)
        for (size_t i = 0; i < run->n_cases; i++) {
            const case_t *spec = &run->cases[i].spec;
            if (strcmp(spec->workload, workload) == 0 && on_any_side(&SIDES[s], spec))
                add_family(&list, run, &SIDES[s], spec);
        }
    return list;
}

void family_list_free(family_list_t *list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].key);
        free(list->items[i].rows);
    }
    free(list->items);
    *list = (family_list_t){0};
}

crossover_t find_crossover(const family_t *family, duel_of_t duel_of) {
    crossover_t found = {0};
    verdict_t leader = VERDICT_NONE;
    int64_t since = 0;
    for (size_t i = 0; i < family->n_rows; i++) {
        verdict_t verdict = duel_of(&family->rows[i]).verdict;
        if (verdict != VERDICT_OURS && verdict != VERDICT_THEIRS)
            continue;
        if (leader != VERDICT_NONE && verdict != leader) {
            found.n_changes++;
            found.last_before = since;
            found.first_after = family->rows[i].size;
            found.before = leader;
            found.after = verdict;
        }
        leader = verdict;
        since = family->rows[i].size;
    }
    return found;
}

size_t key_rows(const family_t *family, bool (*fits)(const size_row_t *row),
                const size_row_t *rows[3]) {
    const size_row_t **fitting = mem_zeroed(family->n_rows + 1, sizeof *fitting);
    size_t n = 0, middle = 0;
    for (size_t i = 0; i < family->n_rows; i++)
        if (fits(&family->rows[i]))
            fitting[n++] = &family->rows[i];
    for (size_t i = 0; i < n; i++)
        if (fitting[i]->size == family->told_size)
            middle = i;
    if (middle == 0)
        middle = n / 2;
    size_t n_keys = 0;
    if (n > 0)
        rows[n_keys++] = fitting[0];
    if (middle > 0 && middle + 1 < n)
        rows[n_keys++] = fitting[middle];
    if (n > 1)
        rows[n_keys++] = fitting[n - 1];
    free(fitting);
    return n_keys;
}
