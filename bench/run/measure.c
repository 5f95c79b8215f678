/* Measure one group after another: open its contenders together, verify, sample in turns, verify
 * again, write the results. */
#include "run/entrants.h"

#include "cuda/nvtx.h"

#include <stdlib.h>

static status_t write_all(entrants_t *entrants, error_t *err) {
    for (size_t i = 0; i < entrants->n; i++)
        if (!*entrants->run->interrupted || contender_is_finished(&entrants->contenders[i]))
            TRY(entrants_write(entrants, i, err));
    return STATUS_OK;
}

static status_t measure_entrants(entrants_t *entrants, error_t *err) {
    reference_t reference;
    entrants_open(entrants, false);
    if (entrants_compute_reference(entrants, &reference))
        entrants_measure(entrants, true, true);
    entrants_finish(entrants);
    reference_free(&reference);
    run_note_workers(entrants->run);
    return write_all(entrants, err);
}

status_t run_measure(run_t *run, const group_t *group, error_t *err) {
    entrants_t entrants = entrants_make(run, group, group->n);
    status_t status = STATUS_OK;
    char *name = workload_group(group->workload, &group->cases[0]);
    progress_now(&run->progress, name);
    nvtx_push(name);
    run->settings.measure = *group->measure;
    for (size_t i = 0; i < group->n && status == STATUS_OK; i++)
        if (record_find(&run->record, group->cases[i].id) ==
            NULL) /* else finished before --resume */
            status = entrants_add(&entrants, run, &group->cases[i], err);
    entrants_count_finished(&entrants, run, group);
    if (status == STATUS_OK && entrants.n > 0)
        status = measure_entrants(&entrants, err);
    nvtx_pop();
    free(name);
    entrants_free(&entrants);
    return status;
}

static bool is_last_of_workload(const run_t *run, size_t sweep) {
    for (size_t s = sweep + 1; s < run->n_sweeps; s++)
        if (run->sweeps[s].workload == run->sweeps[sweep].workload)
            return false;
    return true;
}

status_t run_measure_all(run_t *run, error_t *err) {
    for (size_t s = 0; s < run->n_sweeps; s++) {
        for (size_t at = 0; at < run->sweeps[s].n_cases && !*run->interrupted;) {
            const group_t group = run_next_group(&run->sweeps[s], &at);
            TRY(run_measure(run, &group, err));
        }
        if (is_last_of_workload(run, s))
            TRY(run_print_workload(run, run->sweeps[s].workload->name, err));
    }
    return STATUS_OK;
}
