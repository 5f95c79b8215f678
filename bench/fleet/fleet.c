#include "fleet/fleet.h"

#include "base/memory.h"
#include "compare/comparison.h"

#include <stdlib.h>
#include <string.h>

/* ---- which runs ------------------------------------------------------------------------------ */

static const char *fact_of(const record_t *run, const char *key) {
    const char *value = environment_get(&run->environment, key);
    return value != NULL ? value : "";
}

/* Shards from several machines have different cases of each, so there is nothing to split. */
static status_t check_one_machine(const record_t *run, error_t *err) {
    for (size_t i = 0; i < run->n_passes; i++) {
        const environment_t *facts = &run->passes[i];
        if (record_pass_is_on(facts, environment_get(&run->environment, "host.name"),
                              environment_get(&run->environment, "gpu.uuid")))
            continue;
        const char *host = environment_get(facts, "host"), *gpu = environment_get(facts, "gpu");
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s: has passes of several machines (%s %s, %s %s), expected a run of one "
                         "machine: give runs that were not merged or resumed elsewhere",
                         run->folder, fact_of(run, "host.name"), fact_of(run, "gpu.uuid"),
                         host != NULL ? host : "", gpu != NULL ? gpu : "");
    }
    return STATUS_OK;
}

static bool is_same_machine(const record_t *a, const record_t *b) {
    static const char *const KEYS[] = {"host.name", "gpu.uuid"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (strcmp(fact_of(a, KEYS[i]), fact_of(b, KEYS[i])) != 0)
            return false;
    return true;
}

static status_t check_pair(const record_t *first, const record_t *run, error_t *err) {
    const char *other = record_other_sweep(first, run);
    if (other == NULL)
        other = record_other_sweep(run, first);
    if (other != NULL)
        return error_set(err, STATUS_INCOMPARABLE,
                         "%s and %s cannot be compared: %s is not in both with the same text: "
                         "expected runs of the same sweeps",
                         first->folder, run->folder, other);
    if (is_same_machine(first, run))
        return error_set(err, STATUS_USAGE,
                         "%s and %s are of the same machine (%s%s%s): expected a run of each",
                         first->folder, run->folder, fact_of(run, "host.name"),
                         fact_of(run, "gpu.uuid")[0] != '\0' ? " " : "", fact_of(run, "gpu.uuid"));
    return STATUS_OK;
}

static status_t check_runs(fleet_t *fleet, error_t *err) {
    const record_t *runs = fleet->runs;
    const text_list_t *allow = &fleet->options->allow;
    TRY(guard_check_allow(allow, err));
    for (size_t i = 0; i < fleet->evidence.n_machines; i++) {
        TRY(check_one_machine(&runs[i], err));
        for (size_t k = 0; k < i; k++)
            TRY(check_pair(&runs[k], &runs[i], err));
        if (i > 0)
            TRY(guard_runs(&runs[0], &runs[i], allow, &fleet->allowed, err));
    }
    return STATUS_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void fleet_free(fleet_t *fleet) {
    for (size_t i = 0; i < fleet->evidence.n_cells; i++)
        deviation_free(&fleet->evidence.cells[i].of);
    for (size_t i = 0; i < fleet->evidence.n_groups; i++)
        deviation_free(&fleet->evidence.groups[i].of);
    for (size_t i = 0; i < fleet->evidence.n_machines && fleet->machines != NULL; i++) {
        text_list_free(&fleet->machines[i].odd);
        text_list_free(&fleet->machines[i].left_out);
        text_list_free(&fleet->machines[i].throttle_reasons);
    }
    free(fleet->evidence.cells);
    free(fleet->evidence.groups);
    free(fleet->machines);
    text_list_free(&fleet->allowed);
    arena_free(&fleet->texts);
}

static status_t examine(fleet_t *fleet, error_t *err) {
    TRY(check_runs(fleet, err));
    TRY(fleet_collect(fleet, err));
    fleet_decide(&fleet->evidence, fleet->options->threshold_frac);
    if (fleet->options->json)
        fleet_print_json(fleet, fleet->options->print);
    else
        fleet_print_table(fleet, fleet->options->print);
    for (size_t m = 0; m < fleet->evidence.n_machines; m++)
        if (fleet_is_outlier(fleet, m))
            return STATUS_FAILED;
    return STATUS_OK;
}

status_t fleet_runs(const fleet_options_t *options, error_t *err) {
    const size_t n = options->runs->n;
    record_t *runs = mem_zeroed(n, sizeof *runs);
    text_list_t needed = {0};
    const bool only = comparison_phases(&options->phases, &needed);
    fleet_t fleet = {.options = options, .runs = runs, .evidence = {.n_machines = n}};
    size_t loaded = 0;
    status_t status = STATUS_OK;
    while (loaded < n && status == STATUS_OK) {
        status = record_load_phases(options->runs->items[loaded], only ? &needed : NULL,
                                    &runs[loaded], err);
        if (status == STATUS_OK)
            record_warn_incomplete(&runs[loaded++]);
    }
    if (status == STATUS_OK)
        status = examine(&fleet, err);
    fleet_free(&fleet);
    text_list_free(&needed);
    for (size_t i = 0; i < loaded; i++)
        record_free(&runs[i]);
    free(runs);
    return status;
}
