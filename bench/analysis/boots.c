#include "analysis/boots.h"

#include "base/memory.h"
#include "base/units.h"
#include "results/conditions.h"
#include "stats/passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== was the machine busy? =================================================================== */

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

/* ==== how precise is a run? =================================================================== */

/* What all cases with an interval have. */
typedef struct precision {
    double *widths; /* half of each interval, as a part of the median */
    size_t n, n_reached, n_asked;
    double asked, widest;
    const char *widest_id;
} precision_t;

static double asked_of(const record_t *run) {
    double asked = NAN;
    for (size_t i = 0; i < run->n_sweeps; i++)
        if (run->sweeps[i].least_passes < run->sweeps[i].passes)
            asked = fmin(asked, run->sweeps[i].interval_frac); /* ignores NaN */
    return asked;
}

static void add_case(precision_t *all, const case_result_t *result, double asked) {
    const phase_t *phase = result_has_times(result) ? compared_phase(result) : NULL;
    if (phase == NULL || is_calibration(&result->spec) || !isfinite(phase->summary.ci95[0]))
        return;
    const summary_t *summary = &phase->summary;
    const double width = (summary->ci95[1] - summary->ci95[0]) / 2 / summary->median;
    all->widths = mem_resize(all->widths, all->n + 1, sizeof *all->widths);
    all->widths[all->n++] = width;
    all->n_asked += isfinite(asked);
    all->n_reached += width <= asked; /* false: nothing was asked */
    if (all->widest_id == NULL || width > all->widest) {
        all->widest = width;
        all->widest_id = result->spec.id;
    }
}

char *precision_text(const record_t *const *runs, size_t n) {
    precision_t all = {.asked = NAN};
    char median[UNITS_TEXT], widest[UNITS_TEXT], asked[UNITS_TEXT];
    for (size_t r = 0; r < n; r++) {
        const double of_run = asked_of(runs[r]);
        all.asked = fmin(all.asked, of_run);
        for (const case_result_t *result = NULL; (result = record_next(runs[r], result)) != NULL;)
            add_case(&all, result, of_run);
    }
    if (all.n == 0)
        return NULL;
    AUTO_FREE char *reached =
        all.n_asked > 0 ? mem_format("; asked: ±%s, reached in %zu of %zu cases",
                                     units_percent(asked, all.asked), all.n_reached, all.n_asked)
                        : mem_text("");
    AUTO_FREE double *widths = all.widths;
    return mem_format("median interval ±%s, widest ±%s (%s)%s",
                      units_percent(median, stats_median(widths, all.n)),
                      units_percent(widest, all.widest), all.widest_id, reached);
}

/* ==== other boots ============================================================================= */

static bool same_fact(const record_t *a, const record_t *b, const char *key) {
    const char *x = environment_get(&a->environment, key),
               *y = environment_get(&b->environment, key);
    return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

/* The workload's description, and the files beside it. */
static bool same_code(const record_t *a, const record_t *b, const char *workload) {
    AUTO_FREE char *key = mem_format("operators.%s", workload);
    return same_fact(a, b, key);
}

static bool same_machine(const record_t *a, const record_t *b) {
    const bool gpu = environment_get(&a->environment, "gpu.name") != NULL;
    return same_fact(a, b, "gpu.name") && (gpu || same_fact(a, b, "host.cpu"));
}

/* Not our own git.revision: each change to a document has another. The report names it, as a change of this program may
 * be part of the range. Of descriptions, which are each workload's own matter, only if `with_code`. */
static text_list_t differences_of(const record_t *a, const record_t *b, bool with_code) {
    text_list_t list = {0};
    AUTO(conditions_free)
    run_differences_t broken = conditions_broken(&a->environment, &b->environment, BOOTS);
    for (size_t i = 0; i < broken.n; i++) {
        const run_difference_t *one = &broken.items[i];
        if (!with_code && text_starts(one->key, "operators."))
            continue;
        text_list_add_format(&list, "%s: %s and %s", one->key,
                             one->first != NULL ? one->first : "none",
                             one->other != NULL ? one->other : "none");
    }
    if (a->schema != b->schema)
        text_list_add_format(&list, "schema: %d and %d", a->schema, b->schema);
    return list;
}

bool boots_same_sweeps(const record_t *first, const record_t *run) {
    bool same = same_machine(first, run) && first->n_sweeps == run->n_sweeps && run->n_sweeps > 0;
    for (size_t i = 0; same && i < run->n_sweeps; i++)
        same = strcmp(first->sweeps[i].text, run->sweeps[i].text) == 0;
    return same;
}

size_t boots_shared_cases(const record_t *first, const record_t *run, bool *shared) {
    if (!same_machine(first, run))
        return 0;
    AUTO(text_list_free) text_list_t differences = differences_of(first, run, false);
    if (differences.n > 0)
        return 0;
    size_t n = 0;
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_t *spec = &run->cases[i].spec;
        if (is_calibration(spec) || record_find(first, spec->id) == NULL)
            continue;
        n += same_code(first, run, spec->workload);
        if (shared != NULL)
            shared[i] = true;
    }
    return n;
}

/* A copy would look like a start of the machine in which nothing moves. By what this program's clock has
 * measured, in ns, two runs differ; their starts, in seconds, may not. */
static bool is_same_run(const record_t *a, const record_t *b) {
    bool same = a->n_cases == b->n_cases;
    size_t n_timed = 0;
    for (size_t i = 0; same && i < a->n_cases; i++) {
        const double one_ns = a->cases[i].worker_ns, other_ns = b->cases[i].worker_ns;
        same = one_ns == other_ns || (isnan(one_ns) && isnan(other_ns));
        n_timed += one_ns > 0;
    }
    return same && n_timed > 0;
}

static status_t refuse_copy(const boots_t *boots, const record_t *first, const record_t *run,
                            error_t *err) {
    const record_t *same = is_same_run(first, run) ? first : NULL;
    for (size_t i = 0; i < boots->n && same == NULL; i++)
        same = is_same_run(boots->runs[i], run) ? boots->runs[i] : NULL;
    return same == NULL ? STATUS_OK
                        : error_set(err, STATUS_USAGE, "%s and %s are the same run, not two boots",
                                    same->folder, run->folder);
}

static bool is_earlier(const record_t *a, const record_t *b) {
    return a->started != NULL && b->started != NULL && strcmp(a->started, b->started) < 0;
}

status_t boots_add(boots_t *boots, const record_t *first, const record_t *run, error_t *err) {
    TRY(refuse_copy(boots, first, run, err));
    const bool with_code = boots_shared_cases(first, run, NULL) == 0;
    AUTO(text_list_free) text_list_t differences = differences_of(first, run, with_code);
    if (differences.n > 0) {
        AUTO_FREE char *list = text_list_join(&differences, "; ");
        return error_set(
            err, STATUS_INCOMPARABLE,
            "%s and %s have the same sweeps on the same device, but cannot be boots of one "
            "machine: %s",
            first->folder, run->folder, list);
    }
    boots->runs = mem_resize(boots->runs, boots->n + 1, sizeof *boots->runs);
    size_t at = boots->n++;
    for (; at > 0 && is_earlier(run, boots->runs[at - 1]); at--)
        boots->runs[at] = boots->runs[at - 1];
    boots->runs[at] = run;
    boots->first = first;
    return STATUS_OK;
}

bool boots_same_code(const boots_t *boots, size_t i, const char *workload) {
    return same_code(boots->first, boots->runs[i], workload);
}

boots_t boots_with(const boots_t *boots, const char *workload) {
    boots_t found = {.first = boots->first, .runs = mem_zeroed(boots->n + 1, sizeof *found.runs)};
    for (size_t i = 0; i < boots->n; i++) {
        const case_result_t *result = NULL;
        while ((result = record_next(boots->runs[i], result)) != NULL &&
               (is_calibration(&result->spec) || strcmp(result->spec.workload, workload) != 0))
            ;
        if (result != NULL && boots_same_code(boots, i, workload))
            found.runs[found.n++] = boots->runs[i];
    }
    return found;
}

void boots_free(boots_t *boots) {
    free(boots->runs);
    *boots = (boots_t){0};
}

/* Two results of a case: may they stand for one another, in this phase? */
static bool are_comparable(const case_result_t *first, const case_result_t *found,
                           const char *phase) {
    static const char *const NAMES[] = {"", ""};
    AUTO(text_list_free) text_list_t phases = {0};
    text_list_add(&phases, phase);
    AUTO_FREE char *obstacle = conditions_of_pair(first, found, &phases, NULL, NAMES);
    return obstacle == NULL;
}

/* The same case of another boot; NULL if it has none that can be compared, or runs other machine code. */
static const case_result_t *same_case(const boots_t *boots, size_t i, const case_result_t *first,
                                      const char *phase) {
    const case_result_t *found = first != NULL ? record_find(boots->runs[i], first->spec.id) : NULL;
    if (found == NULL || !boots_same_code(boots, i, first->spec.workload) ||
        !are_comparable(first, found, phase))
        return NULL;
    const char *hash = first->resources.code_hash;
    if (hash == NULL || found->resources.code_hash == NULL)
        return found;
    return strcmp(hash, found->resources.code_hash) == 0 ? found : NULL;
}

/* The ratio of the same cases of another boot; NaN: it has none. */
static double ratio_in(const boots_t *boots, size_t i, const case_result_t *ours,
                       const case_result_t *theirs, const char *phase) {
    return speedup_make(same_case(boots, i, ours, phase), phase, same_case(boots, i, theirs, phase),
                        phase)
        .ratio.centre;
}

boots_range_t boots_range(const boots_t *boots, const case_result_t *ours,
                          const case_result_t *theirs, const char *phase) {
    const double first = speedup_make(ours, phase, theirs, phase).ratio.centre;
    boots_range_t range = {.n = isfinite(first), .least = first, .most = first};
    for (size_t i = 0; i < boots->n; i++) {
        const double ratio = ratio_in(boots, i, ours, theirs, phase);
        range.least = fmin(range.least, ratio); /* ignores NaN */
        range.most = fmax(range.most, ratio);
        range.n += isfinite(ratio);
    }
    return range;
}

void boots_widen(const boots_t *boots, const case_result_t *ours, const case_result_t *theirs,
                 const char *phase, speedup_t *speedup) {
    stats_interval_t *ratio = &speedup->ratio;
    if (speedup->verdict == VERDICT_NONE || speedup->verdict == VERDICT_UNDECIDED)
        return;
    for (size_t i = 0; i < boots->n; i++) {
        const double other = ratio_in(boots, i, ours, theirs, phase);
        ratio->low = fmin(ratio->low, other); /* ignores NaN */
        ratio->high = fmax(ratio->high, other);
    }
    speedup->verdict = speedup_verdict(ratio);
}

void boots_widen_set(const boots_t *boots, comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rows; i++) {
        size_row_t *row = &set->rows[i];
        boots_widen(boots, row->best, row->strongest, set->phase, &row->headline);
        for (size_t r = 0; r < set->n_rivals; r++)
            boots_widen(boots, row->best, row->rivals[r].standing.fastest, set->phase,
                        &row->rivals[r].speedup);
    }
}

bool boots_disagree(const boots_range_t *range) {
    return range->n > 1 && range->least < 1 && range->most > 1;
}
