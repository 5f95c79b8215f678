#include "report/learning.h"

#include "analysis/learning.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In saved runs contenders were 0.1 points apart, and 36 from one that rounded its weights less often. */
static const double SAME_ACCURACY = 0.03;
typedef struct training {
    const case_result_t *result;
    const char *name, *task; /* "PyTorch graph"; "width 128, seed 1" */
    double accuracy;
    bool plain; /* weights in the case's precision; a better one is a different training */
} training_t;

/* All trainings of a set's shape at any size and seed. */
typedef struct trainings {
    training_t *items; /* owned by the report */
    size_t n;
} trainings_t;

static training_t training_of(const report_t *report, const comparison_set_t *set,
                              const case_result_t *result) {
    const char *weights = report_keep(report, weights_of(result));
    return (training_t){
        .result = result,
        .name = who_and_name(report, result),
        .task = report_text(report, "%s, seed %lld",
                            size_name(report, set, size_of_case(set, &result->spec)),
                            (long long)seed_of(&result->spec)),
        .accuracy = result_number(result, "accuracy"),
        .plain = weights != NULL && strcmp(weights, weights_dtype(&result->spec)) == 0,
    };
}

static trainings_t trainings_of(const report_t *report, const comparison_set_t *set) {
    const record_t *run = set->run;
    const case_result_t *like = comparison_set_next(set, NULL, ANYONE, EVERY_SIZE);
    trainings_t all = {report_array(report, run->n_cases, sizeof *all.items), 0};
    for (size_t i = 0; like != NULL && i < run->n_cases; i++) {
        const case_result_t *result = &run->cases[i];
        if (result_has_times(result) && isfinite(result_number(result, "accuracy")) &&
            same_but_seed_and(&result->spec, &like->spec, set->size_param))
            all.items[all.n++] = training_of(report, set, result);
    }
    return all;
}

/* ---- accuracy -------------------------------------------------------------------------------- */

/* The lowest and the highest of those with plain weights that do the task of `like`; false: there are not two, or
 * an earlier one has the same task. */
static bool extremes_at(const trainings_t *all, size_t like, const training_t *ends[2]) {
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const training_t *training = &all->items[i];
        if (strcmp(training->task, all->items[like].task) != 0)
            continue;
        if (i < like)
            return false;
        if (!training->plain)
            continue;
        if (n == 0 || training->accuracy < ends[0]->accuracy)
            ends[0] = training;
        if (n++ == 0 || training->accuracy > ends[1]->accuracy)
            ends[1] = training;
    }
    return n > 1;
}

static void print_accuracies(const report_t *report, const trainings_t *all) {
    const training_t *widest[2] = {NULL, NULL};
    double most = -1;
    size_t n_tasks = 0;
    for (size_t i = 0; i < all->n; i++) {
        const training_t *ends[2];
        if (!extremes_at(all, i, ends))
            continue;
        n_tasks++;
        if (ends[1]->accuracy - ends[0]->accuracy > most) {
            most = ends[1]->accuracy - ends[0]->accuracy;
            memcpy(widest, ends, sizeof widest);
        }
    }
    if (n_tasks > 0)
        print(
            report,
            "- **%s accuracy**: with %s weights, contenders are within **%.2f percentage points** "
            "on the test images, with equal size and seed (%zu pairs); the widest at %s: %s %.2f "
            "%%, "
            "%s %.2f %%.\n",
            most <= SAME_ACCURACY ? "Same" : "Not the same",
            weights_dtype(&widest[0]->result->spec), 100 * most, n_tasks, widest[0]->task,
            widest[0]->name, 100 * widest[0]->accuracy, widest[1]->name, 100 * widest[1]->accuracy);
}

/* Modes with more precise weights, or with weights of unknown precision. */
static void print_other_weights(const report_t *report, const trainings_t *all) {
    text_list_t names = {0};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < all->n; i++) {
        const training_t *training = &all->items[i];
        if (training->plain)
            continue;
        text_list_add_new(&names, training->name);
        low = fmin(low, training->accuracy);
        high = fmax(high, training->accuracy);
    }
    const char *list = report_join(report, &names, ", ");
    if (list != NULL)
        print(
            report,
            "- **Different training**: more precise weights between steps (autocast: float32), so "
            "that small updates are not rounded away: %s; their accuracies, %.2f %% to %.2f %%, "
            "are not compared with those above.\n",
            list, 100 * low, 100 * high);
}

void finding_dataset(const report_t *report) {
    text_list_t names = {0};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const char *name =
            result_has_times(result) ? report_keep(report, result_string(result, "dataset")) : NULL;
        if (name != NULL)
            text_list_add_new(&names, name);
    }
    const bool synthetic = text_list_has(&names, "synthetic");
    const char *list = report_join(report, &names, ", ");
    if (list != NULL)
        print(report, "- Data set: dataset=%s.%s\n", report_safe(report, list),
              synthetic
                  ? " **Synthetic images in MNIST's shape and number**, because MNIST was not "
                    "found: accuracies say nothing about digits."
                  : "");
}

void findings_on_learning(const report_t *report, const comparison_set_t *set) {
    const trainings_t all = trainings_of(report, set);
    print_accuracies(report, &all);
    print_other_weights(report, &all);
}
