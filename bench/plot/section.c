#include "plot/section.h"

#include "base/memory.h"
#include "model/chart_kinds.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool has_cuda_total(const workload_section_t *section) {
    for (size_t i = 0; i < section->n; i++)
        if (plot_fastest_series(&section->shapes[i], "cuda", "total") != NULL)
            return true;
    return false;
}

static bool is_training(const workload_t *workload) {
    for (size_t i = 0; i < workload->n_params; i++)
        if (strcmp(workload->params[i].name, "rate") == 0)
            return true;
    return false;
}

static bool has_allocators(const workload_t *workload) {
    for (size_t t = 0; t < workload->n_techniques; t++)
        if (strcmp(workload->techniques[t].name, "allocator") == 0)
            return true;
    return false;
}

bool section_allows(const workload_section_t *section, const char *chart, applies_t applies) {
    if (section->families.n > 0 &&
        !text_list_has(&section->families, chart_kind_find(chart)->family))
        return false;
    const bool study_csv = section->n > 0 && section->shapes[0].study_csv;
    const bool by_epochs = has_allocators(section->workload);
    const bool by_blocks = strcmp(section->workload->size_param, "live") == 0;
    switch (applies) {
    case TO_RUNS:
        return !study_csv;
    case TO_TRAININGS:
        return !study_csv && is_training(section->workload);
    case TO_STEPS:
        return !study_csv && is_training(section->workload) && !by_epochs;
    case TO_EPOCHS:
        return by_epochs;
    case TO_BLOCKS:
        return by_blocks;
    case TO_RUNS_WITHOUT_CUDA:
        return !study_csv && !by_epochs && !has_cuda_total(section);
    case ALWAYS:
        break;
    }
    return !by_epochs && !by_blocks; /* their samples are not sums of phases */
}

/* The chart families that the run's sweeps request for a workload; none if one of the sweeps
 * requests none or cannot be read. */
static text_list_t requested_families(const record_t *run, const workload_t *workload) {
    text_list_t families = {0};
    for (size_t i = 0; i < run->n_sweeps; i++) {
        json_t *sweep = json_loads(run->sweeps[i].text, 0, NULL);
        const char *of = json_string_value(json_object_get(sweep, "workload"));
        const json_t *names = json_object_get(sweep, "charts");
        bool matches = of == NULL || strcmp(of, workload->name) == 0;
        bool requests_all = json_array_size(names) == 0;
        for (size_t k = 0; matches && k < json_array_size(names); k++) {
            const char *name = json_string_value(json_array_get(names, k));
            if (name != NULL)
                text_list_add(&families, name);
        }
        json_decref(sweep);
        if (matches && requests_all) {
            text_list_free(&families);
            break;
        }
    }
    return families;
}

void section_free(workload_section_t *section) {
    for (size_t i = 0; i < section->n; i++)
        free(section->settings[i]);
    free(section->settings);
    text_list_free(&section->families);
}

workload_section_t section_of(const plot_source_t *source, const workload_t *workload) {
    workload_section_t section = {.workload = workload,
                                  .families = requested_families(&source->run, workload)};
    for (size_t i = 0; i < source->n_shapes; i++)
        if (source->shapes[i].workload == workload) {
            section.shapes = section.n == 0 ? &source->shapes[i] : section.shapes;
            section.n++;
        }
    section.settings = mem_zeroed(section.n + 1, sizeof *section.settings);
    for (size_t i = 0; i < section.n; i++)
        section.settings[i] = plot_setting(&section.shapes[i], &section.shapes[0]);
    return section;
}
