#include "emulate/examples.h"

#include "base/memory.h"
#include "workloads/operator/operators.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ARRAY_BYTES = 65536 }; /* of all arrays: a CUDA thread takes microseconds here */

case_t example_case(const workload_t *workload, const char *dtype, bool smallest) {
    const operator_description_t *d = operators_find(workload->name);
    case_t spec = {.engine = mem_text("pytorch"),
                   .device = mem_text("cpu"),
                   .variant = mem_text(""),
                   .dtype = mem_text(dtype)};
    for (size_t i = 0; smallest && i < d->params.n; i++)
        case_add_param(&spec, d->params.items[i],
                       &(value_t){.kind = VALUE_INT, .integer = d->least[i]});
    workload_complete(workload, &spec);
    return spec;
}

char *example_sizes_text(const case_t *spec) {
    text_list_t parts = {0};
    for (size_t i = 0; i < spec->n_params; i++)
        text_list_add_format(&parts, "%s=%lld", spec->params[i].name,
                             (long long)spec->params[i].value.integer);
    text_list_add(&parts, spec->dtype);
    char *joined = text_list_join(&parts, " ");
    text_list_free(&parts);
    return joined;
}

static int64_t value_of(const case_t *spec, const operator_description_t *d, size_t param) {
    return case_param_int(spec, d->params.items[param], d->defaults[param]);
}

case_t example_with(const workload_t *workload, const case_t *spec, size_t param, int64_t value) {
    const operator_description_t *d = operators_find(workload->name);
    case_t changed = example_case(workload, spec->dtype, true);
    for (size_t i = 0; i < d->params.n; i++)
        for (size_t p = 0; p < changed.n_params; p++)
            if (strcmp(changed.params[p].name, d->params.items[i]) == 0)
                changed.params[p].value.integer = i == param ? value : value_of(spec, d, i);
    workload_complete(workload, &changed);
    return changed;
}

bool example_is_possible(const workload_t *workload, const case_t *spec) {
    error_t ignored = ERROR_INIT;
    return workload->allows(spec) && workload->validate(spec, &ignored) == STATUS_OK;
}

static void replace(case_t *spec, case_t by) {
    case_free(spec);
    *spec = by;
}

/* The default sizes, of which the largest is halved until the arrays are small. */
static case_t small_case(const workload_t *workload, const char *dtype) {
    const operator_description_t *d = operators_find(workload->name);
    case_t spec = example_case(workload, dtype, false);
    for (;;) {
        size_t largest = d->params.n;
        if (operators_cost(&spec).device_bytes <= MOST_ARRAY_BYTES &&
            example_is_possible(workload, &spec))
            return spec;
        for (size_t i = 0; i < d->params.n; i++)
            if (value_of(&spec, d, i) / 2 >= d->least[i] &&
                (largest == d->params.n || value_of(&spec, d, i) > value_of(&spec, d, largest)))
                largest = i;
        if (largest == d->params.n)
            return spec;
        replace(&spec, example_with(workload, &spec, largest, value_of(&spec, d, largest) / 2));
    }
}

/* Each size is one less, where that is possible: no multiple of a block. */
static case_t uneven_case(const workload_t *workload, const char *dtype) {
    const operator_description_t *d = operators_find(workload->name);
    case_t spec = small_case(workload, dtype);
    for (size_t i = 0; i < d->params.n; i++) {
        const int64_t less = value_of(&spec, d, i) - 1;
        if (less < d->least[i])
            continue;
        case_t changed = example_with(workload, &spec, i, less);
        if (example_is_possible(workload, &changed))
            replace(&spec, changed);
        else
            case_free(&changed);
    }
    return spec;
}

case_t example_small(const workload_t *workload, const char *dtype, size_t which) {
    return which == 0   ? example_case(workload, dtype, true)
           : which == 1 ? small_case(workload, dtype)
                        : uneven_case(workload, dtype);
}
