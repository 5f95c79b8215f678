#include "analysis/learning.h"

#include "analysis/labels.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

int64_t seed_of(const case_t *spec) {
    return case_param_int(spec, "seed", 0);
}

bool same_but_seed_and(const case_t *a, const case_t *b, const char *other) {
    bool same = strcmp(a->workload, b->workload) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
                a->n_params == b->n_params;
    for (size_t i = 0; same && i < a->n_params; i++) {
        const char *name = a->params[i].name;
        const value_t *value = case_param(b, name);
        same = strcmp(name, "seed") == 0 || (other != NULL && strcmp(name, other) == 0) ||
               (value != NULL && value_equal(&a->params[i].value, value));
    }
    return same;
}

bool same_contender(const case_t *a, const case_t *b) {
    if (strcmp(a->engine, b->engine) != 0 || strcmp(a->device, b->device) != 0)
        return false;
    char *left = contender_name(a), *right = contender_name(b);
    bool same = strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

static bool has_loss(const case_result_t *result) {
    curve_t curve = curve_of(result, "loss");
    bool has = curve.n > 0;
    curve_free(&curve);
    return has;
}

static int by_seed(const void *a, const void *b) {
    int64_t left = seed_of(&(*(const case_result_t *const *)a)->spec);
    int64_t right = seed_of(&(*(const case_result_t *const *)b)->spec);
    return (left > right) - (left < right);
}

seeds_t seeds_of(const record_t *run, const case_t *like) {
    seeds_t seeds = {.n = 0};
    for (size_t i = 0; i < run->n_cases && seeds.n < MOST_SEEDS; i++) {
        const case_result_t *result = &run->cases[i];
        if (same_but_seed_and(&result->spec, like, NULL) && same_contender(&result->spec, like) &&
            has_loss(result))
            seeds.cases[seeds.n++] = result;
    }
    if (seeds.n > 0)
        qsort(seeds.cases, seeds.n, sizeof seeds.cases[0], by_seed);
    return seeds;
}

const char *weights_dtype(const case_t *spec) {
    const bool of_products = strcmp(spec->dtype, "tf32") == 0 || strcmp(spec->dtype, "mixed") == 0;
    return of_products ? "f32" : spec->dtype;
}

char *weights_of(const case_result_t *result) {
    char *stored = result_string(result, "weights");
    const bool plain = strcmp(result->spec.dtype, "f16") != 0;
    if (stored != NULL || !(plain || case_engine_is_built_in(result->spec.engine)))
        return stored;
    return mem_text(weights_dtype(&result->spec));
}

curve_t smooth_loss(const case_result_t *result) {
    curve_t curve = curve_of(result, "loss");
    curve_t smooth = curve_smooth(&curve, curve_window(&curve));
    curve_free(&curve);
    return smooth;
}
