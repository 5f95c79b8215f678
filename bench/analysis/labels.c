#include "analysis/labels.h"

#include "base/memory.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An id has exactly the techniques that differ from the workload's defaults. */
static text_list_t changed_as(const case_t *spec, bool with_names) {
    text_list_t parts = text_split(spec->id, '/'), changed = {0};
    for (size_t i = 0; i < spec->n_techniques; i++) {
        char *choice = value_text(&spec->techniques[i].value);
        char *setting = mem_format("%s=%s", spec->techniques[i].name, choice);
        if (text_list_has(&parts, setting))
            text_list_add(&changed, with_names ? setting : choice);
        free(setting);
        free(choice);
    }
    text_list_free(&parts);
    return changed;
}

text_list_t changed_techniques(const case_t *spec) {
    return changed_as(spec, true);
}

bool has_changed_technique(const case_t *spec, const char *prefix) {
    text_list_t changed = changed_techniques(spec);
    bool has = false;
    for (size_t i = 0; i < changed.n; i++)
        has = has || text_starts(changed.items[i], prefix);
    text_list_free(&changed);
    return has;
}

char *contender_name(const case_t *spec) {
    text_list_t choices = changed_as(spec, false);
    char *list = text_list_join(&choices, ", ");
    char *name =
        choices.n > 0 ? mem_format("%s + %s", spec->variant, list) : mem_text(spec->variant);
    text_list_free(&choices);
    free(list);
    return name;
}

bool is_cold_start(const case_result_t *result) {
    return result_phase(result, "cold_first_answer") != NULL;
}

const phase_t *compared_phase(const case_result_t *result) {
    const workload_t *workload = workload_find(result->spec.workload);
    const char *const names[] = {workload != NULL ? workload->compared_by : NULL, "host_to_host",
                                 "total", "cold_first_answer"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] != NULL && isfinite(result_median(result, names[i])))
            return result_phase(result, names[i]);
    return NULL;
}

bool is_rougher(const case_t *spec) {
    const workload_t *workload = workload_find(spec->workload);
    if (workload == NULL || workload->tolerance == NULL)
        return false;
    case_t bare = *spec;
    bare.n_techniques = 0;
    case_t plain = case_copy(&bare);
    workload_complete(workload, &plain);
    const bool rougher = workload->tolerance(spec) > workload->tolerance(&plain);
    case_free(&plain);
    return rougher;
}
