/* Groups of cases that do the same work on the same data: which they are, who can run them here,
 * and what the oracle says. */
#include "run/state.h"

#include "base/memory.h"
#include "cuda/nvtx.h"
#include "io/fs.h"
#include "measure/cold_start.h"
#include "measure/schedule.h"

#include <stdlib.h>
#include <string.h>

group_t run_next_group(const sweep_t *sweep, size_t *at) {
    group_t group = {
        .workload = sweep->workload, .cases = &sweep->cases[*at], .measure = &sweep->measure};
    char *first = workload_group(sweep->workload, &sweep->cases[*at]);
    bool same = true;
    while (same) {
        group.n++;
        if (++*at == sweep->n_cases)
            break;
        char *next = workload_group(sweep->workload, &sweep->cases[*at]);
        same = strcmp(first, next) == 0;
        free(next);
    }
    free(first);
    return group;
}

char *run_drop_reason(const run_t *run, const case_t *spec, case_status_t *status) {
    *status = CASE_SKIPPED;
    if (strcmp(spec->engine, "cuda") != 0)
        return NULL;
    if (run->no_gpu == NULL)
        return mem_text(run->no_compiler);
    if (run->gpu_broken)
        *status = CASE_FAILED;
    return mem_text(run->no_gpu);
}

/* The oracle: float64 on the CPU, or `noop` for the null workload. False when there is none. */
static bool oracle_case(const group_t *group, case_t *oracle) {
    const workload_t *workload = group->workload;
    const char *variant = NULL, *engine = "cpu";
    if (workload->cpu_variants != NULL && strcmp(workload->cpu_variants[0], "ref") == 0)
        variant = "ref";
    else if (workload->null_variants != NULL && strcmp(group->cases[0].engine, "null") == 0)
        variant = workload->null_variants[0], engine = "null";
    if (variant == NULL)
        return false;
    *oracle = case_copy(&group->cases[0]);
    free(oracle->engine);
    free(oracle->device);
    free(oracle->variant);
    oracle->engine = mem_text(engine);
    oracle->device = mem_text("cpu");
    oracle->variant = mem_text(variant);
    return true;
}

static status_t ask_oracle_once(run_t *run, const case_t *spec, worker_link_t *worker,
                                reference_t *reference, error_t *err) {
    contender_t oracle;
    contender_init(&oracle, spec, worker, NULL, &run->settings);
    status_t status = worker_link_start(worker, run->options->timeout_s, err);
    if (status == STATUS_OK)
        status = contender_reference(&oracle, reference, err);
    contender_finish(&oracle);
    contender_free(&oracle);
    return status;
}

status_t run_ask_oracle(run_t *run, const group_t *group, reference_t *reference, error_t *err) {
    case_t spec;
    *reference = (reference_t){0};
    if (run->options->profile || !oracle_case(group, &spec))
        return STATUS_OK;
    worker_link_t *worker;
    status_t status = workers_find(&run->workers, &spec, "oracle", &worker, err);
    if (status == STATUS_OK) {
        error_t why = ERROR_INIT;
        status = ask_oracle_once(run, &spec, worker, reference, &why);
        /* A whole group waits for its word: one that was killed, by whatever takes memory back, is
         * asked again. */
        if (status != STATUS_OK && !worker->running) {
            progress_note(&run->progress, "the oracle is asked again: %s", why.text);
            error_clear(&why);
            status = ask_oracle_once(run, &spec, worker, reference, &why);
        }
        if (status != STATUS_OK)
            error_set(err, status, "%s", why.text);
    }
    case_free(&spec);
    return status == STATUS_OK ? status : error_within(err, "the oracle");
}

status_t run_enter(run_t *run, const case_t *spec, contender_t *contender, error_t *err) {
    const program_t *program = NULL;
    worker_link_t *worker = NULL;
    case_status_t fate;
    char *reason = run_drop_reason(run, spec, &fate);
    error_t why = ERROR_INIT;
    status_t status = STATUS_OK;
    if (reason == NULL)
        status = workers_find(&run->workers, spec, "", &worker, &why);
    if (reason == NULL && status == STATUS_OK)
        TRY(run_find_program(run, spec, &program, err));
    contender_init(contender, spec, worker, program, &run->settings);
    if (status != STATUS_OK)
        reason = mem_text(why.text);
    if (reason != NULL)
        contender_drop(contender, fate, reason);
    free(reason);
    return STATUS_OK;
}
