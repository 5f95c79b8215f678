/* Results of trainings by epochs. */
#include "report/training/training.h"

#include <math.h>
#include <string.h>

/* A training with a lower accuracy after so many epochs is not the study's training. */
static const double LEAST_ACCURACY = 0.96;
enum { LEARNT_AFTER = 3 };

/* "cuda 05_persistent 97.12 % (width 128, seed 1)" */
static const char *accuracy_text(const report_t *report, const training_run_t *run) {
    return report_text(report, "%s %.2f %% (%s)", run->name, 100 * run->accuracy, run->task);
}

static void print_enough(const report_t *report, const training_runs_t *runs) {
    const training_run_t *worst = NULL;
    text_list_t few = {0};
    for (const training_run_t *run = runs->first; run < runs->end; run++) {
        if (run->accuracy < LEAST_ACCURACY)
            text_list_add(&few, accuracy_text(report, run));
        if (worst == NULL || run->accuracy < worst->accuracy)
            worst = run;
    }
    if (worst == NULL)
        return;
    size_t n_same = 0; /* as it is printed */
    for (const training_run_t *run = runs->first; run < runs->end; run++)
        n_same += round(1e4 * run->accuracy) == round(1e4 * worst->accuracy);
    const size_t n = (size_t)(runs->end - runs->first), n_few = few.n;
    const char *below = report_join(report, &few, ", ");
    const long long epochs = (long long)case_param_int(&worst->result->spec, "epochs", 0);
    print(report, "- **Validation accuracy**, on the test images, after %lld epoch%s: ", epochs,
          epochs == 1 ? "" : "s");
    if (epochs >= LEARNT_AFTER)
        print(report, "%s%zu of %zu trainings reach %g %%; ", n_few > 0 ? "⚠ only " : "", n - n_few,
              n, 100 * LEAST_ACCURACY);
    if (epochs >= LEARNT_AFTER && n_few > 0)
        print(report, "below: %s.\n", below);
    else
        print(report, "the lowest is %s%s.\n", accuracy_text(report, worst),
              n_same > 1 ? report_text(report, ", which %zu more share", n_same - 1) : "");
}

/* The two seeds of one rival's case whose losses are closest; their distance, or infinity. */
static double seed_noise(const training_runs_t *runs, const training_run_t **one,
                         const training_run_t **other) {
    double noise = INFINITY;
    for (const training_run_t *run = runs->first; run < runs->end; run++)
        for (const training_run_t *before = runs->first; before < run; before++) {
            const bool only_seed_differs = before->rival && before->plain &&
                                           before->place == run->place && before->size == run->size;
            const double distance = only_seed_differs ? loss_distance(before, run) : NAN;
            if (distance < noise) {
                noise = distance;
                *one = before;
                *other = run;
            }
        }
    return noise;
}

/* Trainings of one size that differ by less than two seeds do are considered equal. */
static void print_seed_noise(const report_t *report, const training_pair_t *pair,
                             const training_runs_t *runs) {
    const training_run_t *one = NULL, *other = NULL, *ours = NULL;
    const double noise = seed_noise(runs, &one, &other);
    for (const training_run_t *run = runs->first; one != NULL && run < runs->end; run++)
        if (!run->rival && run->size == one->size && isfinite(run->distance) &&
            (ours == NULL || run->distance > ours->distance))
            ours = run;
    if (ours == NULL)
        return;
    print(report,
          "- **Against seed noise** at %s: in the running mean of the loss, seeds %lld and %lld of "
          "%s differ by **%.2g**; ours differ from a rival's of the same seed by up to **%.2g** "
          "(%s), %s the seed noise.\n",
          size_name(report, pair->either, one->size), (long long)one->seed, (long long)other->seed,
          one->name, noise, ours->distance, ours->name,
          ours->distance < noise ? "within" : "⚠ **not within**");
}

static void print_first_steps(const report_t *report, const training_runs_t *runs) {
    const training_run_t *worst = NULL;
    for (const training_run_t *run = runs->first; run < runs->end; run++)
        if (run->result->before.done &&
            (worst == NULL || run->result->before.rel_l2 > worst->result->before.rel_l2))
            worst = run;
    if (worst != NULL)
        print(report,
              "- **First steps:** gradients and losses match the float64 reference output within a "
              "relative error of **%.2g** (%s; tolerance %.2g).\n",
              worst->result->before.rel_l2, worst->name, worst->result->before.tolerance);
}

void finding_epochs(const report_t *report, const training_pair_t *pair) {
    const training_runs_t runs = training_runs_of(report, pair);
    finding_learning(report, pair);
    print_seed_noise(report, pair, &runs);
    print_enough(report, &runs);
    print_first_steps(report, &runs);
    if (pair->gpu != NULL)
        finding_allocators(report, pair);
}

void table_of_epochs(const report_t *report, const training_pair_t *pair) {
    table_of_learning(report, pair);
    if (pair->gpu != NULL)
        table_of_allocators(report, pair);
}
