/* One group: contenders opened together, checked, sampled in turns, checked again, written down.
 * With another build, in several visits, each to fresh processes of both. */
#include "run/state.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cuda/nvtx.h"
#include "measure/cold_start.h"
#include "measure/schedule.h"

#include <stdlib.h>
#include <string.h>

/* Contenders of a group, and whose they are: this build's or, right behind the one it is paired
 * with, the other's.
 */
typedef struct entrants {
    contender_t *contenders;
    run_t **sides;
    size_t n;
} entrants_t;

static const case_t *find_case(const case_t *cases, size_t n, const char *id) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(cases[i].id, id) == 0)
            return &cases[i];
    return NULL;
}

/* Finished before: --resume. Twins are measured together or not at all. */
static bool is_finished(const run_t *run, const case_t *own, const case_t *other) {
    return (own == NULL || record_find(&run->record, own->id) != NULL) &&
           (other == NULL || record_find(&run->against->record, other->id) != NULL);
}

static status_t enter(run_t *side, const case_t *spec, entrants_t *entrants, error_t *err) {
    TRY(run_enter(side, spec, &entrants->contenders[entrants->n], err));
    entrants->sides[entrants->n++] = side;
    return STATUS_OK;
}

/* The same case in this build and in the other; either may be NULL. */
static status_t enter_pair(run_t *run, const group_t *group, const char *id, const case_t *own,
                           const case_t *other, entrants_t *entrants, error_t *err) {
    if (group->again != NULL ? !text_list_has(group->again, id) : is_finished(run, own, other))
        return STATUS_OK;
    if (own != NULL)
        TRY(enter(run, own, entrants, err));
    if (other != NULL)
        TRY(enter(run->against, other, entrants, err));
    if (own != NULL && other != NULL) {
        contender_t *last = &entrants->contenders[entrants->n - 1];
        last->paired = last - 1;
        last[-1].paired = last;
    }
    return STATUS_OK;
}

static status_t entrants_make(run_t *run, const group_t *group, entrants_t *entrants,
                              error_t *err) {
    size_t most = group->n + group->n_against;
    *entrants = (entrants_t){.contenders = mem_zeroed(most, sizeof *entrants->contenders),
                             .sides = mem_zeroed(most, sizeof *entrants->sides)};
    for (size_t i = 0; i < group->n; i++)
        TRY(enter_pair(run, group, group->cases[i].id, &group->cases[i],
                       find_case(group->against, group->n_against, group->cases[i].id), entrants,
                       err));
    for (size_t i = 0; i < group->n_against; i++)
        if (find_case(group->cases, group->n, group->against[i].id) == NULL)
            TRY(enter_pair(run, group, group->against[i].id, NULL, &group->against[i], entrants,
                           err));
    return STATUS_OK;
}

static bool entrants_have(const entrants_t *entrants, const run_t *side, const char *id) {
    for (size_t i = 0; i < entrants->n; i++)
        if (entrants->sides[i] == side && strcmp(entrants->contenders[i].result.spec.id, id) == 0)
            return true;
    return false;
}

/* Cases that were finished before are done, and as bad as they were then. */
static void count_finished(run_t *side, const case_t *cases, size_t n, const entrants_t *entrants) {
    for (size_t i = 0; i < n; i++) {
        if (entrants_have(entrants, side, cases[i].id))
            continue;
        const case_result_t *before = record_find(&side->record, cases[i].id);
        side->n_bad += before != NULL && result_is_broken(before);
        side->progress.done++;
    }
}

static void entrants_free(entrants_t *entrants) {
    for (size_t i = 0; i < entrants->n; i++)
        contender_free(&entrants->contenders[i]);
    free(entrants->contenders);
    free(entrants->sides);
}

/* Journal the case with the rounds that it had before and those of `more`. */
static status_t run_extend(run_t *side, const workload_t *workload, const case_result_t *more,
                           const device_rates_t *rates, error_t *err) {
    case_result_t *whole = record_find(side->again, more->spec.id);
    result_extend(whole, more);
    limit_set_again(whole, workload, rates);
    return journal_append(&side->journal, whole, err);
}

static status_t write_one(run_t *run, const group_t *group, run_t *side, contender_t *contender,
                          error_t *err) {
    case_result_t *result = &contender->result;
    side->n_bad += result_is_broken(result);
    if (group->again != NULL)
        return run_extend(side, group->workload, result, &run->rates, err);
    limit_set(result, group->workload, &run->rates);
    plausibility_check(result, &run->rates);
    device_rates_calibrate(result, &run->rates);
    run_note_sanitized(side, contender);
    TRY(journal_append(&side->journal, result, err));
    progress_case(&side->progress, result);
    return STATUS_OK;
}

static status_t write_down(run_t *run, const group_t *group, entrants_t *entrants,
                           const volatile sig_atomic_t *interrupted, error_t *err) {
    for (size_t i = 0; i < entrants->n; i++) {
        contender_t *contender = &entrants->contenders[i];
        if (*interrupted && (group->n_visits > 0 || !contender_is_finished(contender)))
            continue;
        TRY(write_one(run, group, entrants->sides[i], contender, err));
    }
    return STATUS_OK;
}

/* In every second visit from the last to the first. On a GPU the process that was there first can
 * be some percent slower than the second (docs/compare.md); that must not fall to one build alone.
 */
static void open_in_turn(contender_t *contenders, size_t n, unsigned visit,
                         const volatile sig_atomic_t *interrupted) {
    for (size_t i = 0; i < n && !*interrupted; i++) {
        contender_t *contender = &contenders[visit % 2 == 0 ? i : n - 1 - i];
        if (contender->active)
            contender_open(contender);
    }
}

/* Open every contender and ask the oracle; without its word nothing can be checked, so nothing is
 * timed. True when there is something to measure. */
static bool open_all(run_t *run, const group_t *group, contender_t *contenders, size_t n,
                     reference_t *reference, const volatile sig_atomic_t *interrupted) {
    bool any = false;
    open_in_turn(contenders, n, 0, interrupted);
    for (size_t i = 0; i < n; i++)
        any = any || contenders[i].active;
    *reference = (reference_t){0};
    error_t why = ERROR_INIT;
    if (!any || run_ask_oracle(run, group, reference, &why) == STATUS_OK)
        return any;
    for (size_t i = 0; i < n; i++)
        if (contenders[i].active)
            contender_drop(&contenders[i], CASE_FAILED, why.text);
    return false;
}

static void check_all(contender_t *contenders, size_t n, const group_t *group,
                      const reference_t *reference, bool after,
                      const volatile sig_atomic_t *interrupted) {
    for (size_t i = 0; i < n && !*interrupted; i++) {
        case_result_t *result = &contenders[i].result;
        contender_check(&contenders[i], reference, group->workload->tolerance(&result->spec),
                        after ? &result->after : &result->before);
    }
}

/* Fresh processes: what depends on how memory happened to be laid out in one is another thing in
 * the next (Mytkowicz et al. 2009, Producing wrong data without doing anything obviously wrong!).
 */
static void end_processes(const run_t *run) {
    const workers_t *const sides[] = {&run->workers, &run->against->workers};
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s]->n; i++)
            if (!text_ends(sides[s]->items[i]->label, "-oracle"))
                worker_link_stop(sides[s]->items[i]);
}

/* Check, rounds in turns, check. */
static void measure_open(run_t *run, const group_t *group, entrants_t *entrants,
                         const reference_t *reference, bool first, bool last,
                         const volatile sig_atomic_t *interrupted) {
    contender_t *contenders = entrants->contenders;
    size_t n = entrants->n;
    bool check = !run->options->profile;
    if (check && first)
        check_all(contenders, n, group, reference, false, interrupted);
    if (run->options->cold)
        cold_rounds(contenders, n, &run->workers, run->options->seed, run->n_groups++, interrupted);
    else
        schedule_rounds(contenders, n, run->options->seed, run->n_groups++, interrupted);
    if (check && last)
        check_all(contenders, n, group, reference, true, interrupted);
}

static void finish_all(entrants_t *entrants) {
    for (size_t i = 0; i < entrants->n; i++)
        if (entrants->contenders[i].worker != NULL)
            contender_finish(&entrants->contenders[i]);
}

/* Both builds once more, in fresh processes; `whole` gets what comes of it. */
static status_t visit_again(run_t *run, const group_t *group, entrants_t *whole,
                            const reference_t *reference, unsigned n_before, bool last,
                            const volatile sig_atomic_t *interrupted, error_t *err) {
    entrants_t visit;
    end_processes(run);
    status_t status = entrants_make(run, group, &visit, err);
    for (size_t i = 0; i < visit.n && status == STATUS_OK; i++)
        visit.contenders[i].active = visit.contenders[i].active && whole->contenders[i].active;
    if (status == STATUS_OK) {
        open_in_turn(visit.contenders, visit.n, n_before, interrupted);
        measure_open(run, group, &visit, reference, false, last, interrupted);
        finish_all(&visit);
    }
    for (size_t i = 0; i < visit.n && status == STATUS_OK && !*interrupted; i++) {
        contender_t *c = &whole->contenders[i];
        if (!c->active)
            continue;
        c->active = visit.contenders[i].active;
        result_join_rounds(&visit.contenders[i].result);
        result_extend(&c->result, &visit.contenders[i].result);
    }
    entrants_free(&visit);
    return status;
}

static status_t measure_entrants(run_t *run, const group_t *group, entrants_t *entrants,
                                 const volatile sig_atomic_t *interrupted, error_t *err) {
    reference_t reference;
    unsigned n_visits = group->n_visits;
    status_t status = STATUS_OK;
    if (n_visits > 0)
        end_processes(run);
    bool any = open_all(run, group, entrants->contenders, entrants->n, &reference, interrupted);
    if (any)
        measure_open(run, group, entrants, &reference, true, n_visits <= 1, interrupted);
    finish_all(entrants);
    for (size_t i = 0; i < entrants->n && n_visits > 0; i++)
        result_join_rounds(&entrants->contenders[i].result);
    bool last = false;
    for (unsigned v = 1; any && v < n_visits && !last && !*interrupted && status == STATUS_OK;
         v++) {
        last = v + 1 == n_visits || (group->deadline_ns > 0 && clock_ns() > group->deadline_ns);
        status = visit_again(run, group, entrants, &reference, v, last, interrupted, err);
    }
    reference_free(&reference);
    run_note_workers(run);
    if (run->against != NULL)
        run_note_workers(run->against);
    return status == STATUS_OK ? write_down(run, group, entrants, interrupted, err) : status;
}

/* What one of `n` visits takes of it. */
static measure_options_t share_of(const measure_options_t *measure, unsigned n) {
    measure_options_t share = *measure;
    share.time_limit_s /= n;
    share.min_rounds = (measure->min_rounds + n - 1) / n;
    share.min_samples = 1;
    return share;
}

status_t run_measure(run_t *run, const group_t *group, const volatile sig_atomic_t *interrupted,
                     error_t *err) {
    entrants_t entrants;
    char *name = workload_group(group->workload, &group->cases[0]);
    progress_now(&run->progress, name);
    nvtx_push(name);
    run->settings.measure = *group->measure;
    if (group->n_visits > 0)
        run->settings.measure = share_of(group->measure, run->options->n_processes);
    if (run->against != NULL)
        run->against->settings.measure = run->settings.measure;
    status_t status = entrants_make(run, group, &entrants, err);
    if (status == STATUS_OK && group->again == NULL) {
        count_finished(run, group->cases, group->n, &entrants);
        if (run->against != NULL)
            count_finished(run->against, group->against, group->n_against, &entrants);
    }
    if (status == STATUS_OK && entrants.n > 0)
        status = measure_entrants(run, group, &entrants, interrupted, err);
    nvtx_pop();
    free(name);
    entrants_free(&entrants);
    return status;
}

/* ---- the device itself: cases that come before all others --------------------------------------
 */

/* The buffer that calibration copies: far larger than any L2. */
enum { IN_DRAM_BYTES = 1 << 30 };

static status_t calibrate_with(run_t *run, const char *workload_name, const char *variant,
                               const char *param, int64_t value,
                               const volatile sig_atomic_t *interrupted, error_t *err) {
    static const measure_options_t MEASURE = MEASURE_DEFAULTS;
    measure_options_t measure = MEASURE;
    measure.time_limit_s = 2;
    const workload_t *workload = workload_find(workload_name);
    case_t spec = {.workload = mem_text(workload_name),
                   .engine = mem_text("cuda"),
                   .device = mem_text("cuda"),
                   .variant = mem_text(variant)};
    case_add_param(&spec, param, &(value_t){.kind = VALUE_INT, .integer = value});
    workload_complete(workload, &spec);
    const group_t group = {.workload = workload, .cases = &spec, .n = 1, .measure = &measure};
    run->progress.total++;
    status_t status = STATUS_OK;
    const case_result_t *before = record_find(&run->record, spec.id);
    if (before != NULL)
        device_rates_calibrate(before, &run->rates);
    status = run_measure(run, &group, interrupted, err);
    case_free(&spec);
    return status;
}

status_t run_calibrate(run_t *run, const volatile sig_atomic_t *interrupted, error_t *err) {
    if (run->arch == NULL || run->options->profile || run->options->cold)
        return STATUS_OK; /* nothing will be held against them */
    int64_t in_l2 = (int64_t)(run->rates.l2_bytes / 4);
    TRY(calibrate_with(run, "device", "copy", "bytes", IN_DRAM_BYTES, interrupted, err));
    if (run->no_compiler != NULL)
        return STATUS_OK;
    if (in_l2 > 0)
        TRY(calibrate_with(run, "device", "01_read", "bytes", in_l2, interrupted, err));
    TRY(calibrate_with(run, "device", "02_barrier", "bytes", 1, interrupted, err));
    TRY(calibrate_with(run, "null", "01_empty", "work_ns", 0, interrupted, err));
    return STATUS_OK;
}
