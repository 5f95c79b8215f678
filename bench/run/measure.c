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

/* Contenders of a group, and whose they are: this build's or, right behind its twin, the other's.
 */
typedef struct lineup {
    contender_t *contenders;
    run_t **sides;
    size_t n;
} lineup_t;

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

static status_t enter(run_t *side, const case_t *spec, lineup_t *lineup, error_t *err) {
    TRY(run_enter(side, spec, &lineup->contenders[lineup->n], err));
    lineup->sides[lineup->n++] = side;
    return STATUS_OK;
}

/* The same case in this build and in the other; either may be NULL. */
static status_t enter_pair(run_t *run, const group_t *group, const char *id, const case_t *own,
                           const case_t *other, lineup_t *lineup, error_t *err) {
    if (group->again != NULL ? !text_list_has(group->again, id) : is_finished(run, own, other))
        return STATUS_OK;
    if (own != NULL)
        TRY(enter(run, own, lineup, err));
    if (other != NULL)
        TRY(enter(run->against, other, lineup, err));
    if (own != NULL && other != NULL) {
        contender_t *last = &lineup->contenders[lineup->n - 1];
        last->twin = last - 1;
        last[-1].twin = last;
    }
    return STATUS_OK;
}

static status_t line_up(run_t *run, const group_t *group, lineup_t *lineup, error_t *err) {
    size_t most = group->n + group->n_against;
    *lineup = (lineup_t){.contenders = mem_zeroed(most, sizeof *lineup->contenders),
                         .sides = mem_zeroed(most, sizeof *lineup->sides)};
    for (size_t i = 0; i < group->n; i++)
        TRY(enter_pair(run, group, group->cases[i].id, &group->cases[i],
                       find_case(group->against, group->n_against, group->cases[i].id), lineup,
                       err));
    for (size_t i = 0; i < group->n_against; i++)
        if (find_case(group->cases, group->n, group->against[i].id) == NULL)
            TRY(enter_pair(run, group, group->against[i].id, NULL, &group->against[i], lineup,
                           err));
    return STATUS_OK;
}

static bool lines_up(const lineup_t *lineup, const run_t *side, const char *id) {
    for (size_t i = 0; i < lineup->n; i++)
        if (lineup->sides[i] == side && strcmp(lineup->contenders[i].result.spec.id, id) == 0)
            return true;
    return false;
}

/* Cases that were finished before are done, and as bad as they were then. */
static void count_finished(run_t *side, const case_t *cases, size_t n, const lineup_t *lineup) {
    for (size_t i = 0; i < n; i++) {
        if (lines_up(lineup, side, cases[i].id))
            continue;
        const case_result_t *before = record_find(&side->record, cases[i].id);
        side->n_bad += before != NULL && result_is_broken(before);
        side->progress.done++;
    }
}

static void lineup_free(lineup_t *lineup) {
    for (size_t i = 0; i < lineup->n; i++)
        contender_free(&lineup->contenders[i]);
    free(lineup->contenders);
    free(lineup->sides);
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

static status_t write_down(run_t *run, const group_t *group, lineup_t *lineup,
                           const volatile sig_atomic_t *interrupted, error_t *err) {
    for (size_t i = 0; i < lineup->n; i++) {
        contender_t *contender = &lineup->contenders[i];
        if (*interrupted && (group->n_visits > 0 || !contender_is_finished(contender)))
            continue;
        TRY(write_one(run, group, lineup->sides[i], contender, err));
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
        if (contender->live)
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
        any = any || contenders[i].live;
    *reference = (reference_t){0};
    error_t why = ERROR_INIT;
    if (!any || run_ask_oracle(run, group, reference, &why) == STATUS_OK)
        return any;
    for (size_t i = 0; i < n; i++)
        if (contenders[i].live)
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
static void measure_open(run_t *run, const group_t *group, lineup_t *lineup,
                         const reference_t *reference, bool first, bool last,
                         const volatile sig_atomic_t *interrupted) {
    contender_t *contenders = lineup->contenders;
    size_t n = lineup->n;
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

static void finish_all(lineup_t *lineup) {
    for (size_t i = 0; i < lineup->n; i++)
        if (lineup->contenders[i].worker != NULL)
            contender_finish(&lineup->contenders[i]);
}

/* Both builds once more, in fresh processes; `whole` gets what comes of it. */
static status_t visit_again(run_t *run, const group_t *group, lineup_t *whole,
                            const reference_t *reference, unsigned n_before, bool last,
                            const volatile sig_atomic_t *interrupted, error_t *err) {
    lineup_t visit;
    end_processes(run);
    status_t status = line_up(run, group, &visit, err);
    for (size_t i = 0; i < visit.n && status == STATUS_OK; i++)
        visit.contenders[i].live = visit.contenders[i].live && whole->contenders[i].live;
    if (status == STATUS_OK) {
        open_in_turn(visit.contenders, visit.n, n_before, interrupted);
        measure_open(run, group, &visit, reference, false, last, interrupted);
        finish_all(&visit);
    }
    for (size_t i = 0; i < visit.n && status == STATUS_OK && !*interrupted; i++) {
        contender_t *c = &whole->contenders[i];
        if (!c->live)
            continue;
        c->live = visit.contenders[i].live;
        result_join_rounds(&visit.contenders[i].result);
        result_extend(&c->result, &visit.contenders[i].result);
    }
    lineup_free(&visit);
    return status;
}

static status_t measure_lineup(run_t *run, const group_t *group, lineup_t *lineup,
                               const volatile sig_atomic_t *interrupted, error_t *err) {
    reference_t reference;
    unsigned n_visits = group->n_visits;
    status_t status = STATUS_OK;
    if (n_visits > 0)
        end_processes(run);
    bool any = open_all(run, group, lineup->contenders, lineup->n, &reference, interrupted);
    if (any)
        measure_open(run, group, lineup, &reference, true, n_visits <= 1, interrupted);
    finish_all(lineup);
    for (size_t i = 0; i < lineup->n && n_visits > 0; i++)
        result_join_rounds(&lineup->contenders[i].result);
    bool last = false;
    for (unsigned v = 1; any && v < n_visits && !last && !*interrupted && status == STATUS_OK;
         v++) {
        last = v + 1 == n_visits || (group->deadline_ns > 0 && clock_ns() > group->deadline_ns);
        status = visit_again(run, group, lineup, &reference, v, last, interrupted, err);
    }
    reference_free(&reference);
    run_note_workers(run);
    if (run->against != NULL)
        run_note_workers(run->against);
    return status == STATUS_OK ? write_down(run, group, lineup, interrupted, err) : status;
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
    lineup_t lineup;
    char *name = workload_group(group->workload, &group->cases[0]);
    progress_now(&run->progress, name);
    nvtx_push(name);
    run->settings.measure = *group->measure;
    if (group->n_visits > 0)
        run->settings.measure = share_of(group->measure, run->options->n_processes);
    if (run->against != NULL)
        run->against->settings.measure = run->settings.measure;
    status_t status = line_up(run, group, &lineup, err);
    if (status == STATUS_OK && group->again == NULL) {
        count_finished(run, group->cases, group->n, &lineup);
        if (run->against != NULL)
            count_finished(run->against, group->against, group->n_against, &lineup);
    }
    if (status == STATUS_OK && lineup.n > 0)
        status = measure_lineup(run, group, &lineup, interrupted, err);
    nvtx_pop();
    free(name);
    lineup_free(&lineup);
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
