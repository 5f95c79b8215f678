/* One group of an --against run: paired cases of both builds, in several replicates. */
#include "run/ab.h"

#include "base/clock.h"
#include "cuda/nvtx.h"
#include "run/entrants.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups ---------------------------------------------------------------------------------- */

static bool is_same_group(const group_t *a, const group_t *b) {
    char *left = workload_group(a->workload, &a->cases[0]);
    char *right = workload_group(b->workload, &b->cases[0]);
    bool same = strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

/* The group of `sweep` with the same name; empty if it has none. The search starts at `*at` and
 * wraps around: both builds expand a sweep in the same order. */
static group_t counterpart(const sweep_t *sweep, const group_t *group, size_t *at) {
    size_t start = *at = *at < sweep->n_cases ? *at : 0;
    while (sweep->n_cases > 0) {
        group_t found = run_next_group(sweep, at);
        if (is_same_group(&found, group))
            return found;
        if (*at == sweep->n_cases)
            *at = 0;
        if (*at == start)
            break;
    }
    return (group_t){.workload = group->workload, .measure = group->measure};
}

bool ab_next_group(const ab_t *ab, size_t sweep, size_t *at, size_t *at_theirs, ab_group_t *group) {
    const sweep_t *ours = &ab->ours->sweeps[sweep], *theirs = &ab->theirs.sweeps[sweep];
    *group = (ab_group_t){.n_replicates = ab->ours->options->n_processes};
    if (*at < ours->n_cases) {
        group->ours = run_next_group(ours, at);
        group->theirs = counterpart(theirs, &group->ours, at_theirs);
        if (*at == ours->n_cases)
            *at_theirs = 0;
        return true;
    }
    for (size_t at_ours = 0; *at_theirs < theirs->n_cases;) {
        group->theirs = run_next_group(theirs, at_theirs);
        group->ours = counterpart(ours, &group->theirs, &at_ours);
        if (group->ours.n == 0)
            return true;
    }
    return false;
}

/* ---- contenders ------------------------------------------------------------------------------ */

static const case_t *find_case(const group_t *group, const char *id) {
    for (size_t i = 0; i < group->n; i++)
        if (strcmp(group->cases[i].id, id) == 0)
            return &group->cases[i];
    return NULL;
}

/* With --resume. A pair is measured together or not at all. */
static bool is_finished(const ab_t *ab, const case_t *ours, const case_t *theirs) {
    return (ours == NULL || record_find(&ab->ours->record, ours->id) != NULL) &&
           (theirs == NULL || record_find(&ab->theirs.record, theirs->id) != NULL);
}

/* The same case in both builds; either may be NULL. */
static status_t add_pair(ab_t *ab, const ab_group_t *group, const case_t *ours,
                         const case_t *theirs, entrants_t *entrants, error_t *err) {
    const case_t *either = ours != NULL ? ours : theirs;
    if (group->recheck_ids != NULL ? !text_list_has(group->recheck_ids, either->id)
                                   : is_finished(ab, ours, theirs))
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

/* ---- replicates ------------------------------------------------------------------------------ */

/* A new process gets a new memory layout, which biases all times measured in it (Mytkowicz et al.
 * 2009, Producing wrong data without doing anything obviously wrong!). */
static void end_processes(const ab_t *ab) {
    const workers_t *const sides[] = {&ab->ours->workers, &ab->theirs.workers};
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s]->n; i++)
            if (!text_ends(sides[s]->items[i]->label, "-oracle"))
                worker_link_stop(sides[s]->items[i]);
}

/* Measure both builds in new processes and add the rounds to `entrants`. On a GPU the process that
 * starts first can be a few percent slower than the second (docs/compare.md), so the start order
 * alternates between replicates. */
static status_t replicate(ab_t *ab, const ab_group_t *group, entrants_t *entrants, unsigned number,
                          bool last, error_t *err) {
    entrants_t more;
    end_processes(ab);
    status_t status = add_all(ab, group, &more, err);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < more.n; i++)
            more.contenders[i].active = more.contenders[i].active && entrants->contenders[i].active;
        more.reference = entrants->reference;
        entrants_open(&more, number % 2 == 1);
        entrants_measure(&more, false, last);
        entrants_finish(&more);
    }
    for (size_t i = 0; i < more.n && status == STATUS_OK && !*ab->ours->interrupted; i++) {
        contender_t *c = &entrants->contenders[i];
        if (!c->active)
            continue;
        c->active = more.contenders[i].active;
        result_join_rounds(&more.contenders[i].result);
        result_extend(&c->result, &more.contenders[i].result);
    }
    entrants_free(&more);
    return status;
}

/* Journal the earlier rounds of a rechecked case together with the new ones. */
static status_t extend(const ab_t *ab, entrants_t *entrants, size_t i, error_t *err) {
    run_t *side = entrants->sides[i];
    const case_result_t *more = &entrants->contenders[i].result;
    case_result_t *all = record_find(ab->rechecked[side == &ab->theirs], more->spec.id);
    side->n_bad += result_is_broken(more);
    result_extend(all, more);
    limit_set_again(all, entrants->group->workload, &entrants->run->rates);
    return journal_append(&side->journal, all, err);
}

static status_t measure_replicates(ab_t *ab, const ab_group_t *group, entrants_t *entrants,
                                   error_t *err) {
    reference_t reference;
    const volatile sig_atomic_t *interrupted = ab->ours->interrupted;
    status_t status = STATUS_OK;
    end_processes(ab);
    entrants_open(entrants, false);
    const bool any = entrants_compute_reference(entrants, &reference);
    bool last = group->n_replicates <= 1;
    if (any)
        entrants_measure(entrants, true, last);
    entrants_finish(entrants);
    for (size_t i = 0; i < entrants->n; i++)
        result_join_rounds(&entrants->contenders[i].result);
    for (unsigned i = 1; any && !last && !*interrupted && status == STATUS_OK; i++) {
        last = i + 1 == group->n_replicates ||
               (group->deadline_ns > 0 && clock_ns() > group->deadline_ns);
        status = replicate(ab, group, entrants, i, last, err);
    }
    reference_free(&reference);
    run_note_workers(ab->ours);
    run_note_workers(&ab->theirs);
    for (size_t i = 0; i < entrants->n && status == STATUS_OK && !*interrupted; i++)
        status = group->recheck_ids != NULL ? extend(ab, entrants, i, err)
                                            : entrants_write(entrants, i, err);
    return status;
}

/* The limits of one of `n` replicates. */
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
    if (status == STATUS_OK && group->recheck_ids == NULL) {
        entrants_count_finished(&entrants, ours, &group->ours);
        entrants_count_finished(&entrants, &ab->theirs, &group->theirs);
    }
    if (status == STATUS_OK && entrants.n > 0)
        status = measure_replicates(ab, group, &entrants, err);
    nvtx_pop();
    free(name);
    entrants_free(&entrants);
    return status;
}
