#include "report/training/learners.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const case_t *any_of(const training_pair_t *pair) {
    const record_t *run = pair->either->run;
    for (size_t i = 0; i < run->n_cases; i++)
        if (comparison_set_shares_work(pair->either, &run->cases[i].spec))
            return &run->cases[i].spec;
    return NULL;
}

static bool is_of(const training_pair_t *pair, const case_t *like, const case_result_t *result) {
    const case_t *spec = &result->spec;
    bool same = result_has_times(result) && strcmp(spec->workload, like->workload) == 0 &&
                strcmp(spec->dtype, like->dtype) == 0;
    for (size_t i = 0; same && i < spec->n_params; i++) {
        const char *name = spec->params[i].name;
        const value_t *other = case_param(like, name);
        same = strcmp(name, "seed") == 0 || strcmp(name, pair->either->size_param) == 0 ||
               (other != NULL && value_equal(&spec->params[i].value, other));
    }
    return same;
}

bool learner_same_task(const learner_t *a, const learner_t *b) {
    return same_but_seed(&a->result->spec, &b->result->spec) &&
           seed_of(&a->result->spec) == seed_of(&b->result->spec);
}

const learner_t *learner_reference(const learners_t *learners, const learner_t *learner) {
    const learner_t *best = NULL;
    for (size_t i = 0; i < learners->n; i++) {
        const learner_t *other = &learners->items[i];
        if (other->pytorch && learner_same_task(other, learner) &&
            (best == NULL || (other->plain && !best->plain)))
            best = other;
    }
    return best;
}

static double loss_distance(const learners_t *learners, const learner_t *learner) {
    const learner_t *reference = learner_reference(learners, learner);
    if (reference == NULL || reference == learner)
        return NAN;
    curve_t own = smooth_loss(learner->result), other = smooth_loss(reference->result);
    const double distance = curve_distance(&own, &other);
    curve_free(&own);
    curve_free(&other);
    return distance;
}

static size_t place_of(const learners_t *learners, const case_t *spec) {
    size_t next = 0;
    for (size_t i = 0; i < learners->n; i++) {
        if (same_contender(&learners->items[i].result->spec, spec))
            return learners->items[i].place;
        next = learners->items[i].place >= next ? learners->items[i].place + 1 : next;
    }
    return next;
}

static int by_contender_and_seed(const void *a, const void *b) {
    const learner_t *left = a, *right = b;
    const int64_t seeds[2] = {seed_of(&left->result->spec), seed_of(&right->result->spec)};
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    if (seeds[0] != seeds[1])
        return seeds[0] < seeds[1] ? -1 : 1;
    return strcmp(left->result->spec.id, right->result->spec.id);
}

learners_t learners_of(const training_pair_t *pair) {
    const record_t *run = pair->either->run;
    const case_t *like = any_of(pair);
    learners_t learners = {.n = 0};
    for (size_t i = 0; like != NULL && i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        const double accuracy = is_of(pair, like, result) ? result_number(result, "accuracy") : NAN;
        if (!isfinite(accuracy))
            continue;
        char *weights = weights_of(result);
        mem_grow(&learners.items, learners.n, &learners.capacity, sizeof *learners.items);
        learners.items[learners.n] = (learner_t){
            .result = result,
            .accuracy = accuracy,
            .pytorch = strcmp(result->spec.engine, "pytorch") == 0,
            .plain = weights != NULL && strcmp(weights, weights_dtype(&result->spec)) == 0,
            .place = place_of(&learners, &result->spec)};
        learners.n++;
        free(weights);
    }
    if (learners.n > 0)
        qsort(learners.items, learners.n, sizeof *learners.items, by_contender_and_seed);
    for (size_t i = 0; i < learners.n; i++)
        learners.items[i].distance = loss_distance(&learners, &learners.items[i]);
    return learners;
}

char *learner_name(const learner_t *learner) {
    char label[32];
    char *name = shown_name(learner->result);
    char *text = mem_format("%s %s", case_engine_label(&learner->result->spec, label), name);
    free(name);
    return text;
}
