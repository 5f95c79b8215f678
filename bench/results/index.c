/* Cases of a run by id: see record.h. */
#include "results/record.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b) {
    const case_result_t *const *x = a, *const *y = b;
    return strcmp((*x)->spec.id, (*y)->spec.id);
}

record_index_t record_index_make(const record_t *run) {
    record_index_t index = {mem_alloc((run->n_cases + 1) * sizeof *index.cases), run->n_cases};
    for (size_t i = 0; i < run->n_cases; i++)
        index.cases[i] = &run->cases[i];
    qsort(index.cases, index.n, sizeof *index.cases, by_id);
    return index;
}

static int compare_id(const void *id, const void *item) {
    const case_result_t *const *result = item;
    return strcmp(id, (*result)->spec.id);
}

const case_result_t *record_index_find(const record_index_t *index, const char *id) {
    const case_result_t **found =
        bsearch(id, index->cases, index->n, sizeof *index->cases, compare_id);
    return found != NULL ? *found : NULL;
}

void record_index_free(record_index_t *index) {
    free(index->cases);
    *index = (record_index_t){0};
}
