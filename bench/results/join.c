/* The passes of each case become one result: see record.h. */
#include "results/record_internal.h"

#include "base/memory.h"
#include "model/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int record_compare_keys(const case_result_t *a, const case_result_t *b) {
    int order = strcmp(a->spec.id, b->spec.id);
    if (order != 0 || a->pass != b->pass || a->pass > 0)
        return order != 0 ? order : (a->pass > b->pass) - (a->pass < b->pass);
    return (a->draw > b->draw) - (a->draw < b->draw);
}

static int by_keys(const void *a, const void *b) {
    return record_compare_keys(*(const case_result_t *const *)a, *(const case_result_t *const *)b);
}

/* Passes load what a draw compiled, and a later draw may find what the first one built. */
static void keep_first_compilation(case_result_t *joined) {
    size_t first = 0; /* of those that got so far */
    while (first < joined->n_draws && !isfinite(joined->draws[first].compile_ns))
        first++;
    for (size_t i = 0; i < joined->n_once && first < joined->n_draws; i++)
        if (strcmp(joined->once[i].name, "compile") == 0)
            joined->once[i].ns = joined->draws[first].compile_ns;
}

/* Join the lines of a case: first draws, then passes, ascending. False if it has only draws, as in a run
 * that was interrupted. */
static bool join(case_result_t *const *lines, size_t n, case_result_t *joined) {
    size_t first = 0;
    while (first < n && result_is_draw(lines[first]))
        first++;
    if (first < n)
        *joined = *lines[first];
    for (size_t i = 0; i < first; i++) {
        if (first < n)
            result_add_draw(joined, lines[i]);
        result_free(lines[i]);
    }
    for (size_t i = first + 1; i < n; i++) {
        result_add_passes(joined, lines[i]);
        result_free(lines[i]);
    }
    if (first == n)
        return false;
    joined->pass = 0;
    keep_first_compilation(joined);
    if (n > first + 1) {
        result_summarise(joined);
        implausible_find(joined);
    }
    return true;
}

void record_join_passes(record_t *run) {
    const size_t n = run->n_cases;
    case_result_t **order = mem_alloc((n + 1) * sizeof *order);
    size_t *starts = mem_alloc((n + 1) * sizeof *starts), n_joined = 0;
    bool *is_kept = mem_zeroed(n + 1, sizeof *is_kept);
    for (size_t i = 0; i < n; i++)
        order[i] = &run->cases[i];
    if (n > 0)
        qsort(order, n, sizeof *order, by_keys);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(order[i]->spec.id, order[i - 1]->spec.id) != 0)
            starts[n_joined++] = i;
    starts[n_joined] = n;
#pragma omp parallel for schedule(dynamic, 8)
    for (size_t k = 0; k < n_joined; k++) {
        case_result_t *first = order[starts[k]], joined;
        for (size_t i = starts[k]; i < starts[k + 1]; i++)
            first = order[i] < first ? order[i] : first;
        is_kept[first - run->cases] = join(order + starts[k], starts[k + 1] - starts[k], &joined);
        if (is_kept[first - run->cases])
            *first = joined;
    }
    run->n_cases = 0;
    for (size_t i = 0; i < n; i++)
        if (is_kept[i])
            run->cases[run->n_cases++] = run->cases[i];
    free(is_kept);
    free(starts);
    free(order);
}
