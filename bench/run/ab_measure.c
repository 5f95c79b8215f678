/* One group of an --against run: cases of both builds in pairs, in several visits. */
#include "run/ab.h"

#include "base/clock.h"
#include "cuda/nvtx.h"
#include "run/entrants.h"

#include <stdlib.h>
#include <string.h>

/* ---- which group ----------------------------------------------------------------------------- */

/* Look for the group `name` from `*at` on, once around: both builds expand a sweep in one order. */
static bool find_group(const sweep_t *sweep, const char *name, size_t *at, group_t *found) {
    size_t start = *at < sweep->n_cases ? *at : 0;
    *at = start;
    do {
        if (sweep->n_cases == 0)
            return false;
        *found = run_next_group(sweep, at);
        char *other = workload_group(found->workload, &found->cases[0]);
        bool same = strcmp(name, other) == 0;
        free(other);
        if (same)
            return true;
        if (*at == sweep->n_cases)
            *at = 0;
    } while (*at != start);
    return false;
}

/* The group of `sweep` that does the work of `group`; empty where there is none. */
static group_t counterpart(const sweep_t *sweep, const group_t *group, size_t *at) {
    group_t found = {.workload = group->workload, .measure = group->measure};
    char *name = workload_group(group->workload, &group->cases[0]);
    group_t same;
    if (find_group(sweep, name, at, &same))
        found = same;
    free(name);
    return found;
}

bool ab_next_group(const ab_t *ab, size_t sweep, size_t *at, size_t *there, ab_group_t *group) {
    const sweep_t *ours = &ab->ours->sweeps[sweep], *theirs = &ab->theirs.sweeps[sweep];
    *group = (ab_group_t){.n_visits = ab->ours->options->n_processes};
    if (*at < ours->n_cases) {
        group->ours = run_next_group(ours, at);
        group->theirs = counterpart(theirs, &group->ours, there);
        if (*at == ours->n_cases)
            *there = 0;
        return true;
    }
    for (size_t here = 0; *there < theirs->n_cases;) {
        group->theirs = run_next_group(theirs, there);
        group->ours = counterpart(ours, &group->theirs, &here);
        if (group->ours.n == 0)
            return true;
    }
    return false;
}

/* ---- who takes part -------------------------------------------------------------------------- */

static const case_t *find_case(const group_t *group, const char *id) {
    for (size_t i = 0; i < group->n; i++)
        if (strcmp(group->cases[i].id, id) == 0)
            return &group->cases[i];
    return NULL;
}

/* Finished before: --resume. Both are measured together or not at all. */
static bool is_finished(const ab_t *ab, const case_t *ours, const case_t *theirs) {
    return (ours == NULL || record_find(&ab->ours->record, ours->id) != NULL) &&
           (theirs == NULL || record_find(&ab->theirs.record, theirs->id) != NULL);
}

/* The same case in this build and in the other; either may be NULL. */
static status_t add_pair(ab_t *ab, const ab_group_t *group, const case_t *ours,
                         const case_t *theirs, entrants_t *entrants, error_t *err) {
    const char *id = ours != NULL ? ours->id : theirs->id;
    if (group->again != NULL ? !text_list_has(group->again, id) : is_finished(ab, ours, theirs))
        return STATUS_OK;
    if (ours != NULL)
        TRY(entrants_add(entrants, ab->ours, ours, err));
    if (theirs != NULL)
        TRY(entrants_add(entrants, &ab->theirs, theirs, err));
    if (ours != NULL && theirs != NULL) {
        contender_t *last = &entrants->contenders[entrants->n - 1];
        last->paired = last - 1;
        last[-1].paired = last;
    }
    return STATUS_OK;
}

static status_t add_all(ab_t *ab, const ab_group_t *group, entrants_t *entrants, error_t *err) {
    const group_t *ours = &group->ours, *theirs = &group->theirs;
    *entrants = entrants_make(ab->ours, ours->n > 0 ? ours : theirs, ours->n + theirs->n);
    for (size_t i = 0; i < ours->n; i++)
        TRY(add_pair(ab, group, &ours->cases[i], find_case(theirs, ours->cases[i].id), entrants,
                     err));
    for (size_t i = 0; i < theirs->n; i++)
        if (find_case(ours, theirs->cases[i].id) == NULL)
            TRY(add_pair(ab, group, NULL, &theirs->cases[i], entrants, err));
    return STATUS_OK;
}

/* ---- visits ---------------------------------------------------------------------------------- */

/* Fresh processes: what depends on how memory happened to be laid out in one is another thing in
 * the next (Mytkowicz et al. 2009, Producing wrong data without doing anything obviously wrong!).
 */
static void end_processes(const ab_t *ab) {
    const workers_t *const sides[] = {&ab->ours->workers, &ab->theirs.workers};
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s]->n; i++)
            if (!text_ends(sides[s]->items[i]->label, "-oracle"))
                worker_link_stop(sides[s]->items[i]);
}

/* Both builds once more, in fresh processes; `entrants` gets what comes of it. On a GPU the process
 * that was there first can be some percent slower than the second (docs/compare.md), so every other
 * visit opens them from the last to the first. */
static status_t visit_again(ab_t *ab, const ab_group_t *group, entrants_t *entrants,
                            unsigned n_before, bool last, error_t *err) {
    entrants_t visit;
    end_processes(ab);
    status_t status = add_all(ab, group, &visit, err);
    for (size_t i = 0; i < visit.n && status == STATUS_OK; i++)
        visit.contenders[i].active = visit.contenders[i].active && entrants->contenders[i].active;
    if (status == STATUS_OK) {
        visit.reference = entrants->reference;
        entrants_open(&visit, n_before % 2 == 1);
        entrants_measure(&visit, false, last);
        entrants_finish(&visit);
    }
    for (size_t i = 0; i < visit.n && status == STATUS_OK && !*ab->ours->interrupted; i++) {
        contender_t *c = &entrants->contenders[i];
        if (!c->active)
            continue;
        c->active = visit.contenders[i].active;
        result_join_rounds(&visit.contenders[i].result);
        result_extend(&c->result, &visit.contenders[i].result);
    }
    entrants_free(&visit);
    return status;
}

/* Journal the case with the rounds that it had before and those of this time. */
static status_t extend(const ab_t *ab, entrants_t *entrants, size_t i, error_t *err) {
    run_t *side = entrants->sides[i];
    const case_result_t *more = &entrants->contenders[i].result;
    case_result_t *all = record_find(ab->again[side == &ab->theirs], more->spec.id);
    side->n_bad += result_is_broken(more);
    result_extend(all, more);
    limit_set_again(all, entrants->group->workload, &entrants->run->rates);
    return journal_append(&side->journal, all, err);
}

static status_t measure_visits(ab_t *ab, const ab_group_t *group, entrants_t *entrants,
                               error_t *err) {
    reference_t reference;
    const volatile sig_atomic_t *interrupted = ab->ours->interrupted;
    status_t status = STATUS_OK;
    end_processes(ab);
    entrants_open(entrants, false);
    const bool any = entrants_ask_oracle(entrants, &reference);
    bool last = group->n_visits <= 1;
    if (any)
        entrants_measure(entrants, true, last);
    entrants_finish(entrants);
    for (size_t i = 0; i < entrants->n; i++)
        result_join_rounds(&entrants->contenders[i].result);
    for (unsigned v = 1; any && !last && !*interrupted && status == STATUS_OK; v++) {
        last =
            v + 1 == group->n_visits || (group->deadline_ns > 0 && clock_ns() > group->deadline_ns);
        status = visit_again(ab, group, entrants, v, last, err);
    }
    reference_free(&reference);
    run_note_workers(ab->ours);
    run_note_workers(&ab->theirs);
    for (size_t i = 0; i < entrants->n && status == STATUS_OK && !*interrupted; i++)
        status =
            group->again != NULL ? extend(ab, entrants, i, err) : entrants_write(entrants, i, err);
    return status;
}

/* What one of `n` visits takes of it. */
static measure_options_t share_of(const measure_options_t *measure, unsigned n) {
    measure_options_t share = *measure;
    share.time_limit_s /= n;
    share.min_rounds = (measure->min_rounds + n - 1) / n;
    share.min_samples = 1;
    return share;
}

status_t ab_measure(ab_t *ab, const ab_group_t *group, error_t *err) {
    run_t *ours = ab->ours;
    const group_t *any = group->ours.n > 0 ? &group->ours : &group->theirs;
    char *name = workload_group(any->workload, &any->cases[0]);
    progress_now(&ours->progress, name);
    nvtx_push(name);
    ours->settings.measure = share_of(any->measure, ours->options->n_processes);
    ab->theirs.settings.measure = ours->settings.measure;
    entrants_t entrants;
    status_t status = add_all(ab, group, &entrants, err);
    if (status == STATUS_OK && group->again == NULL) {
        entrants_count_finished(&entrants, ours, &group->ours);
        entrants_count_finished(&entrants, &ab->theirs, &group->theirs);
    }
    if (status == STATUS_OK && entrants.n > 0)
        status = measure_visits(ab, group, &entrants, err);
    nvtx_pop();
    free(name);
    entrants_free(&entrants);
    return status;
}
