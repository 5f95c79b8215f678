#include "analysis/technique_set.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int64_t batch_of(const case_result_t *result) {
    return case_param_int(&result->spec, "batch", 0);
}

/* A technique missing in a run of another version has its default. False for an unknown choice. */
static bool read_choices(const technique_set_t *set, const case_t *spec, size_t *choices) {
    for (size_t t = 0; t < set->n_techniques; t++) {
        const char *const *known = set->techniques[t].choices;
        const char *choice = case_technique(spec, set->techniques[t].name);
        choices[t] = 0;
        while (choice != NULL && known[choices[t]] != NULL &&
               strcmp(known[choices[t]], choice) != 0)
            choices[t]++;
        if (known[choices[t]] == NULL)
            return false;
    }
    return true;
}

/* Each case is one combination: ids are unique in a run. */
static size_t combinations(const case_result_t *const *cases, size_t n, const char *variant,
                           int64_t batch) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += batch_of(cases[i]) == batch && strcmp(cases[i]->spec.variant, variant) == 0 &&
                 result_has_times(cases[i]);
    return found;
}

static int by_integer(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void choose_batches(technique_set_t *set, const case_result_t *const *cases, size_t n,
                           size_t most) {
    int64_t *full = mem_zeroed(n, sizeof *full);
    size_t n_full = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t batch = batch_of(cases[i]);
        size_t known = 0;
        while (known < n_full && full[known] != batch)
            known++;
        if (known == n_full && 2 * combinations(cases, n, set->variant, batch) > most)
            full[n_full++] = batch;
    }
    qsort(full, n_full, sizeof *full, by_integer);
    set->n_batches = n_full < TECHNIQUE_BATCHES ? n_full : TECHNIQUE_BATCHES;
    for (size_t b = 0; b < set->n_batches; b++)
        set->batches[b] = full[set->n_batches > 1 ? b * (n_full - 1) / (set->n_batches - 1) : 0];
    free(full);
}

static void add_case(technique_set_t *set, const case_result_t *result) {
    size_t b = 0, r = 0;
    while (b < set->n_batches && set->batches[b] != batch_of(result))
        b++;
    technique_row_t row = {0};
    if (b == set->n_batches || strcmp(result->spec.variant, set->variant) != 0 ||
        !read_choices(set, &result->spec, row.choices))
        return;
    while (r < set->n_rows && memcmp(set->rows[r].choices, row.choices, sizeof row.choices) != 0)
        r++;
    if (r == set->n_rows) {
        mem_grow(&set->rows, set->n_rows, &set->capacity, sizeof *set->rows);
        set->rows[set->n_rows++] = row;
    }
    set->rows[r].cases[b] = result;
}

static int by_choices(const void *a, const void *b) {
    const technique_row_t *left = a, *right = b;
    for (size_t t = 0; t < MAX_TECHNIQUES; t++)
        if (left->choices[t] != right->choices[t])
            return left->choices[t] < right->choices[t] ? -1 : 1;
    return 0;
}

technique_set_t technique_set_of(const case_result_t *const *cases, size_t n) {
    technique_set_t set = {0};
    const workload_t *workload = n > 0 ? workload_find(cases[0]->spec.workload) : NULL;
    if (workload == NULL)
        return set;
    set.techniques = workload->techniques;
    set.n_techniques =
        workload->n_techniques < MAX_TECHNIQUES ? workload->n_techniques : MAX_TECHNIQUES;
    size_t most = 1;
    for (size_t i = 0; i < n; i++) {
        size_t found = combinations(cases, n, cases[i]->spec.variant, batch_of(cases[i]));
        if (found > most) {
            most = found;
            set.variant = cases[i]->spec.variant;
        }
    }
    if (set.variant == NULL)
        return set;
    choose_batches(&set, cases, n, most);
    for (size_t i = 0; i < n; i++)
        add_case(&set, cases[i]);
    if (set.n_rows > 0)
        qsort(set.rows, set.n_rows, sizeof *set.rows, by_choices);
    return set;
}

void technique_set_free(technique_set_t *set) {
    free(set->rows);
    *set = (technique_set_t){0};
}

const char *technique_choice(const technique_set_t *set, const technique_row_t *row, size_t t) {
    return set->techniques[t].choices[row->choices[t]];
}

bool technique_row_is_default(const technique_set_t *set, const technique_row_t *row) {
    for (size_t t = 0; t < set->n_techniques; t++)
        if (row->choices[t] != 0)
            return false;
    return true;
}

const technique_row_t *technique_sibling(const technique_set_t *set, const technique_row_t *row,
                                         size_t t, size_t choice) {
    technique_row_t sibling = *row;
    sibling.choices[t] = choice;
    for (size_t r = 0; r < set->n_rows; r++)
        if (memcmp(set->rows[r].choices, sibling.choices, sizeof sibling.choices) == 0)
            return &set->rows[r];
    return NULL;
}
