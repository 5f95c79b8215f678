/* One group of contenders in the current pass. */
#include "run/entrants.h"

#include "cuda/nvtx.h"

#include <stdlib.h>

static status_t add_all(entrants_t *entrants, const group_t *group, error_t *err) {
    run_t *run = entrants->run;
    for (size_t i = 0; i < group->n; i++)
        if (entrant_is_done(run, &group->states[i]))
            run->progress.done++;
        else
            TRY(entrants_add(entrants, run, &group->cases[i], &group->states[i], err));
    return STATUS_OK;
}

status_t run_measure(run_t *run, const group_t *group, error_t *err) {
    entrants_t entrants = entrants_make(run, group, group->n);
    char *name = workload_group(group->workload, &group->cases[0]);
    progress_now(&run->progress, name);
    nvtx_push(name);
    run->settings.measure = stopping_share(group->measure);
    status_t status = add_all(&entrants, group, err);
    if (status == STATUS_OK && entrants.n > 0)
        status = entrants_measure(&entrants, false, err);
    nvtx_pop();
    free(name);
    entrants_free(&entrants);
    return status;
}
