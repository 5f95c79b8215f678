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

bool training_run_same_task(const training_run_t *a, const training_run_t *b) {
    return same_but_seed(&a->result->spec, &b->result->spec) &&
           seed_of(&a->result->spec) == seed_of(&b->result->spec);
}

const training_run_t *training_run_reference(const training_runs_t *training_runs,
                                             const training_run_t *training_run) {
    const training_run_t *best = NULL;
    for (size_t i = 0; i < training_runs->n; i++) {
        const training_run_t *other = &training_runs->items[i];
        if (other->pytorch && training_run_same_task(other, training_run) &&
            (best == NULL || (other->plain && !best->plain)))
            best = other;
    }
    return best;
}

static double loss_distance(const training_runs_t *training_runs,
                            const training_run_t *training_run) {
    const training_run_t *reference = training_run_reference(training_runs, training_run);
    if (reference == NULL || reference == training_run)
        return NAN;
    curve_t own = smooth_loss(training_run->result), other = smooth_loss(reference->result);
    const double distance = curve_distance(&own, &other);
    curve_free(&own);
    curve_free(&other);
    return distance;
}

static size_t place_of(const training_runs_t *training_runs, const case_t *spec) {
    size_t next = 0;
    for (size_t i = 0; i < training_runs->n; i++) {
        if (same_contender(&training_runs->items[i].result->spec, spec))
            return training_runs->items[i].place;
        next = training_runs->items[i].place >= next ? training_runs->items[i].place + 1 : next;
    }
    return next;
}

static int by_contender_and_seed(const void *a, const void *b) {
    const training_run_t *left = a, *right = b;
    const int64_t seeds[2] = {seed_of(&left->result->spec), seed_of(&right->result->spec)};
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    if (seeds[0] != seeds[1])
        return seeds[0] < seeds[1] ? -1 : 1;
    return strcmp(left->result->spec.id, right->result->spec.id);
}

training_runs_t training_runs_of(const training_pair_t *pair) {
    const record_t *run = pair->either->run;
    const case_t *like = any_of(pair);
    training_runs_t training_runs = {.n = 0};
    for (size_t i = 0; like != NULL && i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        const double accuracy = is_of(pair, like, result) ? result_number(result, "accuracy") : NAN;
        if (!isfinite(accuracy))
            continue;
        char *weights = weights_of(result);
        mem_grow(&training_runs.items, training_runs.n, &training_runs.capacity,
                 sizeof *training_runs.items);
        training_runs.items[training_runs.n] = (training_run_t){
            .result = result,
            .accuracy = accuracy,
            .pytorch = strcmp(result->spec.engine, "pytorch") == 0,
            .plain = weights != NULL && strcmp(weights, weights_dtype(&result->spec)) == 0,
            .place = place_of(&training_runs, &result->spec)};
        training_runs.n++;
        free(weights);
    }
    if (training_runs.n > 0)
        qsort(training_runs.items, training_runs.n, sizeof *training_runs.items,
              by_contender_and_seed);
    for (size_t i = 0; i < training_runs.n; i++)
        training_runs.items[i].distance = loss_distance(&training_runs, &training_runs.items[i]);
    return training_runs;
}

char *training_run_name(const training_run_t *training_run) {
    char label[32];
    char *name = shown_name(training_run->result);
    char *text = mem_format("%s %s", case_engine_label(&training_run->result->spec, label), name);
    free(name);
    return text;
}
