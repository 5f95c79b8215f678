#include "analysis/speedup.h"

#include "base/memory.h"
#include "results/study_csv.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== comparison sets ========================================================================= */

/* Which cases of a run are compared at each size. */

static const char *size_param_of(const char *workload) {
    const workload_t *known = workload_find(workload);
    return known != NULL && known->size_param != NULL ? known->size_param : "batch";
}

/* Its parameters but the size: "layers=4-5-1". The caller frees the list. */
static text_list_t work_of(const case_t *spec, bool with_seed) {
    const char *size_param = size_param_of(spec->workload);
    text_list_t parts = {0};
    for (size_t i = 0; i < spec->n_params; i++) {
        const char *name = spec->params[i].name;
        if (strcmp(name, size_param) == 0 || (!with_seed && strcmp(name, "seed") == 0))
            continue;
        AUTO_FREE char *value = value_text(&spec->params[i].value);
        text_list_add_format(&parts, "%s=%s", name, value);
    }
    return parts;
}

/* What must be equal, besides the size, for two cases to do the same work. */
static char *comparison_set_key(const case_t *spec, bool with_seed) {
    AUTO(text_list_free) text_list_t parts = work_of(spec, with_seed);
    text_list_add(&parts, spec->dtype);
    return text_list_join(&parts, ", ");
}

static bool is_whose(const platform_t *platform, const case_t *spec, const char *whose) {
    const bool ours = platform_is_ours(platform, spec), rival = platform_is_rival(platform, spec);
    if (strcmp(whose, ANYONE) == 0)
        return ours || rival;
    return strcmp(whose, OURS) == 0     ? ours
           : strcmp(whose, RIVALS) == 0 ? rival
                                        : (ours || rival) && strcmp(spec->engine, whose) == 0;
}

bool comparison_set_shares_work(const comparison_set_t *set, const case_t *spec) {
    if (strcmp(spec->workload, set->workload) != 0)
        return false;
    AUTO_FREE char *key = comparison_set_key(spec, true);
    return strcmp(key, set->key) == 0;
}

bool comparison_set_has(const comparison_set_t *set, const case_result_t *result,
                        const char *whose) {
    return is_whose(set->platform, &result->spec, whose) &&
           comparison_set_shares_work(set, &result->spec);
}

int64_t size_of_case(const comparison_set_t *set, const case_t *spec) {
    return case_param_int(spec, set->size_param, -1);
}

/* ---- walking over the cases ------------------------------------------------------------------ */

static int by_size_and_place(const void *a, const void *b) {
    const sized_case_t *x = a, *y = b;
    return x->size != y->size ? (x->size > y->size) - (x->size < y->size)
                              : (x->place > y->place) - (x->place < y->place);
}

/* A report asks for the cases at each of thousands of sizes. */
static void index_sizes(comparison_set_t *set) {
    set->sized = mem_zeroed(set->run->n_cases + 1, sizeof *set->sized);
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_t *spec = &set->run->cases[i].spec;
        if (comparison_set_shares_work(set, spec))
            set->sized[set->n_sized++] = (sized_case_t){size_of_case(set, spec), i};
    }
    qsort(set->sized, set->n_sized, sizeof *set->sized, by_size_and_place);
}

/* The next of the cases that share the set's work, by any contender and on any device, at one size, in logarithmic time. */
static const case_result_t *next_at(const comparison_set_t *set, const case_result_t *after,
                                    int64_t size) {
    const sized_case_t first = {size, after != NULL ? (size_t)(after - set->run->cases) + 1 : 0};
    size_t low = 0, high = set->n_sized;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_size_and_place(&set->sized[middle], &first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n_sized && set->sized[low].size == size
               ? &set->run->cases[set->sized[low].place]
               : NULL;
}

const case_result_t *comparison_set_next(const comparison_set_t *set, const case_result_t *after,
                                         const char *whose, int64_t size) {
    const case_result_t *next = after;
    if (size != EVERY_SIZE) {
        while ((next = next_at(set, next, size)) != NULL)
            if (is_whose(set->platform, &next->spec, whose))
                return next;
        return NULL;
    }
    while ((next = record_next(set->run, next)) != NULL)
        if (comparison_set_has(set, next, whose))
            return next;
    return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

comparison_set_count_t comparison_set_count(const comparison_set_t *set) {
    comparison_set_count_t count = {0};
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, ANYONE, EVERY_SIZE)) != NULL) {
        count.n++;
        count.timed += result_has_times(result);
    }
    return count;
}

/* Who stands for them by `phase` at `size`. */
static standing_t comparison_set_standing(const comparison_set_t *set, int64_t size,
                                          const char *whose, const char *phase) {
    standing_t standing = {0};
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, whose, size)) != NULL)
        standing_add(&standing, result, phase);
    return standing;
}

const case_result_t *comparison_set_fastest(const comparison_set_t *set, int64_t size,
                                            const char *whose, const char *phase) {
    return comparison_set_standing(set, size, whose, phase).fastest;
}

/* One side of a study's comparison at a size: its rung in its set-up, or PyTorch eager in any. */
static const case_result_t *of_study(const comparison_set_t *set, int64_t size, const char *whose,
                                     const char *variant, bool in_setup) {
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, whose, size)) != NULL)
        if (strcmp(variant, result->spec.variant) == 0 &&
            (!in_setup || study_is_setup(&result->spec)))
            return result;
    return NULL;
}

/* `phase` if ours and the rivals have it, as far as they were run; else the other. */
static const char *shared_phase(const comparison_set_t *set, const char *phase, const char *other) {
    static const char *const SIDES[] = {OURS, RIVALS};
    for (size_t s = 0; s < 2; s++) {
        size_t n = 0, timed = 0;
        const case_result_t *result = NULL;
        while ((result = comparison_set_next(set, result, SIDES[s], EVERY_SIZE)) != NULL) {
            n++;
            timed += timed_phase(result, phase) != NULL;
        }
        if (n > 0 && timed == 0)
            return other;
    }
    return phase;
}

static const char *whole_phase(const comparison_set_t *set) {
    return shared_phase(set, "host_to_host", "total");
}

/* Has the side a time of one call that is no eager one? */
static bool has_call_made_ahead(const comparison_set_t *set, const char *whose) {
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, whose, EVERY_SIZE)) != NULL)
        if (timed_phase(result, ONE_CALL) != NULL && timed_phase(result, EAGER_CALL) == NULL)
            return true;
    return false;
}

/* A call in a graph is never compared with one that pays for its launch, nor on a GPU an eager call of
 * a script with the replay of a graph. */
static const char *call_phase(const comparison_set_t *set) {
    const char *phase = shared_phase(set, CALL_IN_GRAPH, ONE_CALL);
    const bool scripts = strcmp(set->platform->device, "cuda") == 0 &&
                         !case_engine_is_built_in(set->platform->engine);
    const bool alike = has_call_made_ahead(set, OURS) && has_call_made_ahead(set, RIVALS);
    if (strcmp(phase, ONE_CALL) == 0 && scripts && !alike)
        return EAGER_CALL;
    /* By the name that everybody's phase has, if it is one. */
    const bool on_cpu = strcmp(set->platform->device, "cpu") == 0;
    return strcmp(phase, ONE_CALL) == 0 && on_cpu ? shared_phase(set, HOST_CALL, ONE_CALL) : phase;
}

static const char *headline_phase(const comparison_set_t *set) {
    const workload_t *workload = workload_find(set->workload);
    const char *own = workload != NULL ? workload->compared_by : NULL;
    return own == NULL ? whole_phase(set) : strcmp(own, COMPUTATION) == 0 ? call_phase(set) : own;
}

static void fill_rivals(const comparison_set_t *set, size_row_t *row) {
    const case_result_t *ours = standing_compared(&row->ours);
    row->rivals = mem_zeroed(set->n_rivals + 1, sizeof *row->rivals);
    row->theirs = (standing_t){0};
    for (size_t i = 0; i < set->n_rivals; i++) {
        rival_t *rival = &row->rivals[i];
        rival->engine = set->rivals[i];
        rival->standing = comparison_set_standing(set, row->size, rival->engine, set->phase);
        rival->speedup =
            speedup_make(ours, set->phase, standing_compared(&rival->standing), set->phase);
        standing_join(&row->theirs, &rival->standing, set->phase);
    }
    row->strongest = row->theirs.fastest;
    row->headline = speedup_make(ours, set->phase, standing_compared(&row->theirs), set->phase);
}

static const case_result_t *plain_call(const comparison_set_t *set, int64_t size) {
    const standing_t standing = comparison_set_standing(set, size, OURS, EAGER_CALL);
    return standing_compared(&standing);
}

static void fill_row(const comparison_set_t *set, size_row_t *row) {
    bool gpu = strcmp(set->platform->device, "cuda") == 0;
    const workload_t *workload = workload_find(set->workload);
    const study_t *study = gpu && workload != NULL ? workload->study : NULL;
    const char *phase = set->phase;
    row->ours = comparison_set_standing(set, row->size, OURS, phase);
    row->best = row->ours.fastest;
    fill_rivals(set, row);
    row->study =
        study != NULL ? of_study(set, row->size, OURS, study->sides[0].variant, true) : NULL;
    row->eager = of_study(set, row->size, "pytorch", "eager", false);
    if (platform_is_of_candidates(set->platform) && phase_is_call(phase))
        row->plain = plain_call(set, row->size);
    if (gpu) {
        comparison_set_t host = *set;
        host.platform = set->host;
        row->host = comparison_set_fastest(&host, row->size, OURS, phase);
        row->host_rival = comparison_set_fastest(&host, row->size, RIVALS, phase);
    }
    row->plain_against_eager = speedup_make(row->plain, EAGER_CALL, row->eager, EAGER_CALL);
}

static void find_rivals(comparison_set_t *set) {
    size_t capacity = 0;
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, RIVALS, EVERY_SIZE)) != NULL) {
        if (text_is_one_of(result->spec.engine, set->rivals, set->n_rivals))
            continue;
        mem_grow(&set->rivals, set->n_rivals, &capacity, sizeof *set->rivals);
        set->rivals[set->n_rivals++] = result->spec.engine;
    }
    sort_engines(set->rivals, set->n_rivals);
}

static void fill_rows(comparison_set_t *set) {
    size_t capacity = 0;
    for (size_t i = 0; i < set->n_sized; i++) {
        const int64_t size = set->sized[i].size;
        if (!is_whose(set->platform, &set->run->cases[set->sized[i].place].spec, ANYONE) ||
            (set->n_rows > 0 && set->rows[set->n_rows - 1].size == size))
            continue;
        mem_grow(&set->rows, set->n_rows, &capacity, sizeof *set->rows);
        set->rows[set->n_rows++] = (size_row_t){.size = size};
    }
    for (size_t i = 0; i < set->n_rows; i++)
        fill_row(set, &set->rows[i]);
}

static void add_set(comparison_set_list_t *list, const record_t *run, const platform_t *platform,
                    const case_t *spec) {
    const workload_t *known = workload_find(spec->workload);
    comparison_set_t set = {.run = run,
                            .platform = platform,
                            .workload = spec->workload,
                            .size_param = size_param_of(spec->workload),
                            .key = comparison_set_key(spec, true)};
    set.reference_size = known != NULL && known->reference_size > 0 ? known->reference_size : -1;
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].platform == platform && strcmp(list->items[i].key, set.key) == 0) {
            free(set.key);
            return;
        }
    set.shape = comparison_set_key(spec, false);
    set.host = platform_of(run, set.workload, "cpu");
    index_sizes(&set);
    set.phase = headline_phase(&set);
    find_rivals(&set);
    fill_rows(&set);
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n++] = set;
}

static const case_t *first_case(const comparison_set_t *set) {
    return &set->run->cases[set->sized[0].place].spec;
}

static bool all_have(const comparison_set_list_t *list, const char *part) {
    bool all = true;
    for (size_t i = 0; i < list->n && all; i++) {
        AUTO(text_list_free) text_list_t work = work_of(first_case(&list->items[i]), true);
        all = text_list_has(&work, part);
    }
    return all;
}

/* What of its work not all sets have, and the dtype. */
static char *label_of(const comparison_set_list_t *list, const comparison_set_t *set,
                      bool with_seed) {
    AUTO(text_list_free) text_list_t work = work_of(first_case(set), with_seed);
    AUTO(text_list_free) text_list_t own = {0};
    for (size_t i = 0; i < work.n; i++)
        if (!all_have(list, work.items[i]))
            text_list_add(&own, work.items[i]);
    text_list_add(&own, first_case(set)->dtype);
    return text_list_join(&own, ", ");
}

/* What all sets have in common is told once. */
static void name_sets(comparison_set_list_t *list) {
    AUTO(text_list_free) text_list_t common = {0};
    for (size_t i = 0; i < list->n; i++) {
        list->items[i].label = label_of(list, &list->items[i], true);
        list->items[i].shape_label = label_of(list, &list->items[i], false);
    }
    if (list->n == 0)
        return;
    AUTO(text_list_free) text_list_t work = work_of(first_case(list->items), true);
    for (size_t i = 0; i < work.n; i++)
        if (all_have(list, work.items[i]))
            text_list_add(&common, work.items[i]);
    list->common = common.n > 0 ? text_list_join(&common, ", ") : NULL;
}

comparison_set_list_t comparison_sets_of(const record_t *run, const char *workload) {
    comparison_set_list_t list = {0};
    static const char *const DEVICES[] = {"cuda", "cpu"};
    for (size_t s = 0; s < sizeof DEVICES / sizeof *DEVICES; s++) {
        const platform_t *platform = platform_of(run, workload, DEVICES[s]);
        for (size_t i = 0; i < run->n_cases; i++) {
            const case_t *spec = &run->cases[i].spec;
            if (strcmp(spec->workload, workload) == 0 && is_whose(platform, spec, ANYONE))
                add_set(&list, run, platform, spec);
        }
    }
    name_sets(&list);
    return list;
}

comparison_set_t comparison_set_by(const comparison_set_t *set, const char *phase) {
    comparison_set_t other = *set;
    other.phase = phase;
    other.rows = mem_zeroed(set->n_rows + 1, sizeof *other.rows);
    for (size_t i = 0; i < other.n_rows; i++) {
        other.rows[i].size = set->rows[i].size;
        fill_row(&other, &other.rows[i]);
    }
    return other;
}

comparison_set_t comparison_set_by_whole(const comparison_set_t *set) {
    return comparison_set_by(set, whole_phase(set));
}

void comparison_set_free_rows(comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rows; i++)
        free(set->rows[i].rivals);
    free(set->rows);
}

void comparison_set_list_free(comparison_set_list_t *list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].key);
        free(list->items[i].label);
        free(list->items[i].shape);
        free(list->items[i].shape_label);
        free(list->items[i].rivals);
        free(list->items[i].sized);
        comparison_set_free_rows(&list->items[i]);
    }
    free(list->items);
    free(list->common);
    *list = (comparison_set_list_t){0};
}

/* ==== speed-ups =============================================================================== */

verdict_t speedup_verdict(const stats_interval_t *ratio) {
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

double speedup_unreached_draw(const case_result_t *result, const phase_t *phase) {
    double least = INFINITY, most = -INFINITY;
    if (result->draw == 0 || result->draw > result->n_draws)
        return NAN;
    for (size_t p = 0; p < phase->n_passes; p++) {
        const double log_value = phase_pass(phase, p).log_value; /* NaN: it has none */
        least = fmin(least, log_value);
        most = fmax(most, log_value);
    }
    const double drawn_ns = draw_median(&result->draws[result->draw - 1], phase->name);
    return log(drawn_ns) < least - (most - least) ? drawn_ns : NAN;
}

/* The least and the most that the phase is, if that is known to be more than one value. */
static bool ends_of(const case_result_t *result, const phase_t *phase, double ends[2]) {
    const bimodal_t *two = &phase->bimodal;
    const double drawn_ns = speedup_unreached_draw(result, phase);
    ends[0] = fmin(two->found ? two->low : phase->summary.median, drawn_ns);
    ends[1] = two->found ? two->high : phase->summary.median;
    return two->found || isfinite(drawn_ns);
}

speedup_t speedup_make(const case_result_t *ours, const char *our_phase,
                       const case_result_t *theirs, const char *their_phase) {
    speedup_t speedup = {.ours = timed_phase(ours, our_phase),
                         .theirs = timed_phase(theirs, their_phase),
                         .ratio = {.centre = NAN, .low = NAN, .high = NAN}};
    if (speedup.ours == NULL || speedup.theirs == NULL)
        return speedup;
    speedup.self_reported = is_self_reported(ours) || is_self_reported(theirs);
    if (speedup.self_reported)
        return speedup;
    double above[2], below[2];
    stats_interval_t *ratio = &speedup.ratio;
    *ratio = ratio_of(speedup.theirs, speedup.ours);
    const bool theirs_vary = ends_of(theirs, speedup.theirs, above);
    const bool ours_vary = ends_of(ours, speedup.ours, below);
    if (!isfinite(ratio->centre)) /* no rounds, as in a CSV of the study */
        ratio->centre = speedup.theirs->summary.median / speedup.ours->summary.median;
    if (isfinite(ratio->low) && (ours_vary || theirs_vary)) {
        ratio->low = fmin(ratio->low, above[0] / below[1]);
        ratio->high = fmax(ratio->high, above[1] / below[0]);
    }
    speedup.verdict = speedup_verdict(ratio);
    return speedup;
}

void tally_add(tally_t *tally, const speedup_t *speedup) {
    tally->of[speedup->verdict]++;
    tally->n_self_reported += speedup->self_reported;
    if (speedup->verdict == VERDICT_NONE)
        return;
    const double ratio = speedup->ratio.centre;
    tally->n_lower += speedup->verdict == VERDICT_UNDECIDED && ratio > 1;
    tally->least = tally->n == 0 ? ratio : fmin(tally->least, ratio);
    tally->most = fmax(tally->most, ratio);
    tally->last = *speedup;
    tally->n++;
}

tally_t tally_of(const comparison_set_t *set) {
    tally_t tally = {0};
    for (size_t i = 0; i < set->n_rows; i++)
        tally_add(&tally, &set->rows[i].headline);
    return tally;
}

static int by_size(const void *a, const void *b) {
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

size_t sizes_once(int64_t *sizes, size_t n) {
    size_t n_once = 0;
    qsort(sizes, n, sizeof *sizes, by_size);
    for (size_t i = 0; i < n; i++)
        if (n_once == 0 || sizes[n_once - 1] != sizes[i])
            sizes[n_once++] = sizes[i];
    return n_once;
}

size_t sizes_spread(const int64_t *sizes, size_t n, int64_t *chosen, size_t most) {
    const size_t n_chosen = n < most ? n : most;
    for (size_t i = 0; i < n_chosen; i++)
        chosen[i] = sizes[n_chosen > 1 ? i * (n - 1) / (n_chosen - 1) : 0];
    return n_chosen;
}

size_t fitting_rows(const comparison_set_t *set, row_fits_t *fits, const size_row_t **rows) {
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++)
        if (fits(&set->rows[i])) {
            if (rows != NULL)
                rows[n] = &set->rows[i];
            n++;
        }
    return n;
}

size_t key_rows(const comparison_set_t *set, row_fits_t *fits, const size_row_t *rows[3]) {
    AUTO_FREE const size_row_t **fitting = mem_zeroed(set->n_rows + 1, sizeof *fitting);
    size_t n = fitting_rows(set, fits, fitting), middle = n / 2, n_keys = 0;
    for (size_t i = 1; i < n; i++)
        if (fitting[i]->size == set->reference_size)
            middle = i;
    const size_t keys[] = {0, middle, n - 1};
    for (size_t k = 0; k < 3 && n > 0; k++)
        if (k == 0 || keys[k] > keys[k - 1])
            rows[n_keys++] = fitting[keys[k]];
    return n_keys;
}
