/* One pass of an --against run: groups of paired cases of both builds. */
#include "run/against/ab.h"

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

/* The group of sweep `s` with the same name; empty if it has none. The search starts at `*at` and
 * wraps around: both builds expand a sweep in the same order. */
static group_t counterpart(const run_t *run, size_t s, const group_t *group, size_t *at) {
    const size_t n = run->sweeps[s].n_cases, start = *at = *at < n ? *at : 0;
    while (n > 0) {
        group_t found = run_next_group(run, s, at);
        if (is_same_group(&found, group))
            return found;
        if (*at == n)
            *at = 0;
        if (*at == start)
            break;
    }
    return (group_t){.workload = group->workload, .measure = group->measure};
}

/* The next group of a sweep: our groups first, each with its counterpart, then the groups that only
 * the other build has. `*at` and `*at_theirs` start at 0. False when there are no more. */
static bool next_group(const ab_t *ab, size_t s, size_t *at, size_t *at_theirs, ab_group_t *group) {
    const size_t n = ab->ours->sweeps[s].n_cases;
    if (*at < n) {
        group->ours = run_next_group(ab->ours, s, at);
        group->theirs = counterpart(&ab->theirs, s, &group->ours, at_theirs);
        if (*at == n)
            *at_theirs = 0;
        return true;
    }
    for (size_t at_ours = 0; *at_theirs < ab->theirs.sweeps[s].n_cases;) {
        group->theirs = run_next_group(&ab->theirs, s, at_theirs);
        group->ours = counterpart(ab->ours, s, &group->theirs, &at_ours);
        if (group->ours.n == 0)
            return true;
    }
    return false;
}

/* ---- contenders ------------------------------------------------------------------------------ */

/* Index of the case; group->n if the group lacks it. */
static size_t find_case(const group_t *group, const char *id) {
    size_t i = 0;
    while (i < group->n && strcmp(group->cases[i].id, id) != 0)
        i++;
    return i;
}

static bool is_done(const run_t *side, const group_t *group, size_t i) {
    return i == group->n || entrant_is_done(side, &group->states[i]);
}

static bool is_dropped(const group_t *group, size_t i) {
    return i < group->n && group->states[i].dropped;
}

static status_t add_side(run_t *side, const group_t *group, size_t i, entrants_t *entrants,
                         error_t *err) {
    return i == group->n ? STATUS_OK : entrants_add(entrants, side, group, i, err);
}

/* The same case in both builds, by its index; either may lack it. A pair is measured together or not
 * at all: with --resume one side may be finished. */
static status_t add_pair(ab_t *ab, const ab_group_t *group, size_t ours, size_t theirs,
                         entrants_t *entrants, error_t *err) {
    const bool in_both = ours < group->ours.n && theirs < group->theirs.n;
    const case_t *either =
        ours < group->ours.n ? &group->ours.cases[ours] : &group->theirs.cases[theirs];
    if (group->recheck_ids != NULL && !text_list_has(group->recheck_ids, either->id))
        return STATUS_OK;
    const bool done =
        is_done(ab->ours, &group->ours, ours) && is_done(&ab->theirs, &group->theirs, theirs);
    if (done || is_dropped(&group->ours, ours) || is_dropped(&group->theirs, theirs)) {
        ab->ours->progress.done += ours < group->ours.n;
        ab->theirs.progress.done += theirs < group->theirs.n;
        run_skip_case(ab->ours, either);
        return STATUS_OK;
    }
    TRY(add_side(ab->ours, &group->ours, ours, entrants, err));
    TRY(add_side(&ab->theirs, &group->theirs, theirs, entrants, err));
    if (in_both) {
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
        TRY(add_pair(ab, group, i, find_case(theirs, ours->cases[i].id), entrants, err));
    for (size_t i = 0; i < theirs->n; i++)
        if (find_case(ours, theirs->cases[i].id) == ours->n)
            TRY(add_pair(ab, group, ours->n, i, entrants, err));
    return STATUS_OK;
}

/* ---- a pass ---------------------------------------------------------------------------------- */

/* On a GPU the process that starts first can be a few percent slower than the second
 * (docs/compare.md), so every second pass starts them in reverse. */
static status_t measure(ab_t *ab, const ab_group_t *group, error_t *err) {
    run_t *ours = ab->ours;
    const group_t *any = group->ours.n > 0 ? &group->ours : &group->theirs;
    ours->settings.measure = ab->theirs.settings.measure = stopping_share(any->measure);
    entrants_t entrants;
    status_t status = add_all(ab, group, &entrants, err);
    nvtx_push(entrants.name);
    if (group->recheck_ids != NULL)
        for (size_t i = 0; i < entrants.n; i++)
            entrants.sides[i]->progress.total++;
    if (status == STATUS_OK && entrants.n > 0)
        status = entrants_measure(&entrants, ours->settings.pass % 2 == 0, err);
    else
        run_skip_group(ours, any);
    nvtx_pop();
    entrants_free(&entrants);
    return status;
}

static bool goes_on(const ab_t *ab, int64_t deadline_ns) {
    return !*ab->ours->interrupted && (deadline_ns == 0 || clock_ns() < deadline_ns);
}

status_t ab_measure_pass(ab_t *ab, unsigned number, const text_list_t *recheck_ids,
                         int64_t deadline_ns, error_t *err) {
    /* In turns, as in entrants_measure(): it matters which process starts first. */
    run_start_pass(number % 2 == 0 ? &ab->theirs : ab->ours, number);
    run_start_pass(number % 2 == 0 ? ab->ours : &ab->theirs, number);
    if (recheck_ids == NULL)
        TRY(run_calibrate(ab->ours, err));
    for (size_t s = 0; s < ab->ours->n_sweeps; s++) {
        ab_group_t group = {.recheck_ids = recheck_ids};
        size_t at = 0, at_theirs = 0;
        while (goes_on(ab, deadline_ns) && next_group(ab, s, &at, &at_theirs, &group))
            TRY(measure(ab, &group, err));
    }
    TRY(run_end_pass(ab->ours, err));
    return run_end_pass(&ab->theirs, err);
}
