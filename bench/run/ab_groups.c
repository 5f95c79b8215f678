/* The groups of a run, each with the cases that another build has of it. */
#include "run/state.h"

#include <stdlib.h>
#include <string.h>

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

static void run_against_join(const run_t *run, size_t sweep, group_t *group, size_t *at) {
    group_t there;
    if (run->against == NULL)
        return;
    char *name = workload_group(group->workload, &group->cases[0]);
    group->n_visits = run->options->n_processes;
    if (find_group(&run->against->sweeps[sweep], name, at, &there)) {
        group->against = there.cases;
        group->n_against = there.n;
    }
    free(name);
}

static bool run_against_next(const run_t *run, size_t sweep, size_t *at, group_t *group) {
    size_t here = 0;
    while (run->against != NULL && *at < run->against->sweeps[sweep].n_cases) {
        group_t own, there = run_next_group(&run->against->sweeps[sweep], at);
        char *name = workload_group(there.workload, &there.cases[0]);
        bool both = find_group(&run->sweeps[sweep], name, &here, &own);
        free(name);
        if (both)
            continue;
        *group = there;
        group->against = there.cases;
        group->n_against = there.n;
        group->n = 0;
        group->n_visits = run->options->n_processes;
        return true;
    }
    return false;
}

bool run_group_at(const run_t *run, size_t sweep, size_t *at, size_t *there, group_t *group) {
    size_t n = run->sweeps[sweep].n_cases;
    if (*at == n)
        return run_against_next(run, sweep, there, group);
    *group = run_next_group(&run->sweeps[sweep], at);
    run_against_join(run, sweep, group, there);
    if (*at == n)
        *there = 0;
    return true;
}
