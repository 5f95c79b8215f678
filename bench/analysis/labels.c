#include "analysis/labels.h"

#include "base/memory.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

/* An id names exactly the techniques that are not the workload's defaults. */
static bool is_changed(const text_list_t *id_parts, const named_value_t *technique) {
    char *choice = value_text(&technique->value);
    char *part = mem_format("%s=%s", technique->name, choice);
    bool changed = text_list_has(id_parts, part);
    free(part);
    free(choice);
    return changed;
}

static text_list_t changed_as(const case_t *spec, bool with_names) {
    text_list_t parts = text_split(spec->id, '/'), changed = {0};
    for (size_t i = 0; i < spec->n_techniques; i++) {
        const named_value_t *technique = &spec->techniques[i];
        if (!is_changed(&parts, technique))
            continue;
        char *choice = value_text(&technique->value);
        text_list_add_format(&changed, "%s%s%s", with_names ? technique->name : "",
                             with_names ? "=" : "", choice);
        free(choice);
    }
    text_list_free(&parts);
    return changed;
}

text_list_t changed_techniques(const case_t *spec) {
    return changed_as(spec, true);
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

bool is_calibration(const case_t *spec) {
    return strcmp(spec->engine, "cuda") == 0 &&
           (strcmp(spec->workload, "device") == 0 || strcmp(spec->workload, "null") == 0);
}

bool is_cold_start(const case_result_t *result) {
    return result_phase(result, "cold_first_answer") != NULL;
}

bool is_rougher(const case_t *spec) {
    const workload_t *workload = workload_find(spec->workload);
    if (workload == NULL || workload->tolerance == NULL)
        return false;
    case_t plain = case_copy(spec);
    for (size_t i = 0; i < plain.n_techniques; i++) {
        free(plain.techniques[i].name);
        value_free(&plain.techniques[i].value);
    }
    plain.n_techniques = 0;
    workload_complete(workload, &plain);
    const bool rougher = workload->tolerance(spec) > workload->tolerance(&plain);
    case_free(&plain);
    return rougher;
}
