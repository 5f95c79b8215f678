#include "report/training/training.h"

#include "analysis/epochs.h"
#include "analysis/labels.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const size_row_t *reference_row(const comparison_set_t *set) {
    const size_row_t *reference = NULL;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        if (row->size == set->reference_size && row->best != NULL)
            return row;
        if (reference == NULL || has_headline(row) || !has_headline(reference))
            reference = row;
    }
    return reference;
}

const char *training_phase(const case_result_t *result) {
    return result_phase(result, "train_device") != NULL ? "train_device" : "train";
}

double steps_of(const training_pair_t *pair, const case_result_t *result) {
    const training_t *training = pair->training;
    return fmin((double)case_param_int(&result->spec, training->steps_param, 1),
                training->most_steps);
}

static int by_variant(const void *a, const void *b) {
    const case_result_t *x = *(const case_result_t *const *)a,
                        *y = *(const case_result_t *const *)b;
    int order = strcmp(x->spec.variant, y->spec.variant);
    return order != 0 ? order : strcmp(x->spec.id, y->spec.id);
}

const case_result_t **ladder_at(const comparison_set_t *set, int64_t size, size_t *n) {
    const record_t *run = set->run;
    const case_result_t **rungs = mem_zeroed(run->n_cases + 1, sizeof *rungs);
    *n = 0;
    for (size_t i = 0; i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        if (result->status == CASE_OK && size_of_case(set, &result->spec) == size &&
            comparison_set_has(set, result, OWNER_OURS) && !result_is_algorithmic(result) &&
            !is_rougher(&result->spec) && !has_other_allocator(&result->spec) &&
            isfinite(result_median(result, training_phase(result))))
            rungs[(*n)++] = result;
    }
    qsort(rungs, *n, sizeof *rungs, by_variant);
    return rungs;
}
