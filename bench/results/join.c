/* The passes of each case become one result: see record.h. */
#include "results/record_internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int by_id_and_pass(const void *a, const void *b) {
    const case_result_t *const *x = a, *const *y = b;
    int order = strcmp((*x)->spec.id, (*y)->spec.id);
    return order != 0 ? order : ((*x)->pass > (*y)->pass) - ((*x)->pass < (*y)->pass);
}

/* Join `n` passes of a case, ascending. */
static case_result_t join(case_result_t *const *passes, size_t n) {
    case_result_t joined = *passes[0];
    for (size_t p = 1; p < n; p++) {
        result_add_passes(&joined, passes[p]);
        result_free(passes[p]);
    }
    joined.pass = 0;
    if (n > 1)
        result_summarise(&joined);
    return joined;
}

void record_join_passes(record_t *run) {
    const size_t n = run->n_cases;
    case_result_t **order = mem_alloc((n + 1) * sizeof *order);
    size_t *starts = mem_alloc((n + 1) * sizeof *starts), n_joined = 0;
    bool *is_first = mem_zeroed(n + 1, sizeof *is_first);
    for (size_t i = 0; i < n; i++)
        order[i] = &run->cases[i];
    if (n > 0)
        qsort(order, n, sizeof *order, by_id_and_pass);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(order[i]->spec.id, order[i - 1]->spec.id) != 0)
            starts[n_joined++] = i;
    starts[n_joined] = n;
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t k = 0; k < n_joined; k++) {
        case_result_t *first = order[starts[k]];
        const case_result_t joined = join(order + starts[k], starts[k + 1] - starts[k]);
        for (size_t i = starts[k]; i < starts[k + 1]; i++)
            first = order[i] < first ? order[i] : first;
        *first = joined;
        is_first[first - run->cases] = true;
    }
    run->n_cases = 0;
    for (size_t i = 0; i < n; i++)
        if (is_first[i])
            run->cases[run->n_cases++] = run->cases[i];
    free(is_first);
    free(starts);
    free(order);
}
