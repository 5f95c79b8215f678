/* Which case is the oracle of a group, and what its process makes for all contenders. */
#include "base/memory.h"
#include "run/state.h"

#include <stdlib.h>
#include <string.h>

bool run_oracle_of(const group_t *group, case_t *oracle) {
    const workload_t *workload = group->workload;
    const char *engine, *variant;
    if (workload->c_oracle != NULL) {
        engine = "cpu";
        variant = workload->c_oracle;
    } else if (workload->pytorch_oracle != NULL) {
        engine = "pytorch";
        variant = workload->pytorch_oracle;
    } else if (workload->cpu_variants != NULL && strcmp(workload->cpu_variants[0], "ref") == 0) {
        engine = "cpu";
        variant = "ref";
    } else if (workload->null_variants != NULL && strcmp(group->cases[0].engine, "null") == 0) {
        engine = "null";
        variant = workload->null_variants[0];
    } else {
        return false;
    }
    *oracle = case_copy(&group->cases[0]);
    case_drop_techniques(oracle);
    free(oracle->engine);
    free(oracle->device);
    free(oracle->variant);
    oracle->engine = mem_text(engine);
    oracle->device = mem_text("cpu");
    oracle->variant = mem_text(variant);
    return true;
}

/* What a function of reference.py makes, its process does: also beside a reference in C. */
static void take_maker(case_t *oracle) {
    const workload_t *workload = workload_find(oracle->workload);
    if (workload->c_oracle == NULL || !made_inputs_exist(oracle->workload, MADE_BY_FUNCTION))
        return;
    free(oracle->engine);
    free(oracle->variant);
    oracle->engine = mem_text("pytorch");
    oracle->variant = mem_text(workload->pytorch_oracle);
}

status_t run_make_inputs(run_t *run, const case_t *spec, made_inputs_t *made, error_t *err) {
    const group_t group = {
        .workload = workload_find(spec->workload), .cases = (case_t *)spec, .n = 1};
    AUTO(case_free) case_t oracle = {0};
    worker_link_t *worker;
    *made = (made_inputs_t){0};
    if (!made_inputs_exist(spec->workload, MADE_ALL) || !run_oracle_of(&group, &oracle))
        return STATUS_OK;
    take_maker(&oracle);
    TRY(workers_find(&run->workers, &oracle, ORACLE, &worker, err));
    return made_inputs_open(&oracle, worker, run->settings.seed, run->settings.timeout_s, made,
                            err);
}
