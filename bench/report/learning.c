#include "report/learning.h"

#include "analysis/learning.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In saved runs contenders were 0.1 points apart, and 36 from one that rounded its weights less often. */
static const double SAME_ACCURACY = 0.03;
/* For float32 losses of about 2. */
static const double FEW_ROUNDINGS = 1e-6;

typedef struct training {
    const case_result_t *result;
    const char *name, *task; /* "PyTorch graph"; "width 128, seed 1" */
    int64_t size, seed;
    double accuracy;
    bool rival;
    bool plain; /* weights in the case's precision; a better one is a different training */
    /* A rival with plain weights, else any rival, at the same task, the first by engine_order(); and
     * the largest difference of the losses from it, NaN without one and for the reference itself. */
    const struct training *reference;
    double distance;
} training_t;

/* All trainings of a set's shape at any size and seed. */
typedef struct trainings {
    training_t *items; /* owned by the report */
    size_t n;
} trainings_t;

/* ---- trainings and their references ---------------------------------------------------------- */

static training_t training_of(const report_t *report, const comparison_set_t *set,
                              const case_result_t *result) {
    const char *weights = report_keep(report, weights_of(result));
    const int64_t size = size_of_case(set, &result->spec), seed = seed_of(&result->spec);
    return (training_t){
        .result = result,
        .name = who_and_name(report, result),
        .task = report_text(report, "%s, seed %lld", size_name(report, set, size), (long long)seed),
        .size = size,
        .seed = seed,
        .accuracy = result_number(result, "accuracy"),
        .rival = engine_is_rival(result->spec.engine),
        .plain = weights != NULL && strcmp(weights, weights_dtype(&result->spec)) == 0,
        .distance = NAN,
    };
}

static bool same_task(const training_t *a, const training_t *b) {
    return a->size == b->size && a->seed == b->seed;
}

static bool is_better_reference(const training_t *a, const training_t *b) {
    return a->plain != b->plain ? a->plain
                                : engine_order(a->result->spec.engine, b->result->spec.engine) < 0;
}

static double loss_distance(const training_t *a, const training_t *b) {
    curve_t one = smooth_loss(a->result), other = smooth_loss(b->result);
    const double distance = curve_distance(&one, &other);
    curve_free(&one);
    curve_free(&other);
    return distance;
}

static void find_reference(training_t *training, const trainings_t *all) {
    for (size_t i = 0; i < all->n; i++) {
        const training_t *other = &all->items[i];
        if (other->rival && same_task(other, training) &&
            (training->reference == NULL || is_better_reference(other, training->reference)))
            training->reference = other;
    }
    if (training->reference != NULL && training->reference != training)
        training->distance = loss_distance(training, training->reference);
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
    for (size_t i = 0; i < all.n; i++)
        find_reference(&all.items[i], &all);
    return all;
}

/* ---- accuracy -------------------------------------------------------------------------------- */

/* The lowest and the highest of those with plain weights that do the task of `like`; false: there are not two, or
 * an earlier one has the same task. */
static bool extremes_at(const trainings_t *all, size_t like, const training_t *ends[2]) {
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const training_t *training = &all->items[i];
        if (!same_task(training, &all->items[like]))
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

static void print_accuracies(const report_t *report, const comparison_set_t *set,
                             const trainings_t *all) {
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
            "on the test images, compared at %zu of %s and seed; the widest at %s: %s %.2f %%, "
            "%s %.2f %%.\n",
            most <= SAME_ACCURACY ? "Same" : "Not the same",
            weights_dtype(&widest[0]->result->spec), 100 * most, n_tasks, set->size_param,
            widest[0]->task, widest[0]->name, 100 * widest[0]->accuracy, widest[1]->name,
            100 * widest[1]->accuracy);
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

/* ---- losses ---------------------------------------------------------------------------------- */

/* A rival that learns otherwise is no yardstick. */
static bool learns_the_same(const training_t *training) {
    return training->reference == NULL || !training->plain ||
           fabs(training->accuracy - training->reference->accuracy) <= SAME_ACCURACY;
}

static const training_t *farthest(const trainings_t *all, bool rival) {
    const training_t *worst = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const training_t *training = &all->items[i];
        if (training->rival == rival && training->plain && isfinite(training->distance) &&
            (!rival || learns_the_same(training)) &&
            (worst == NULL || training->distance > worst->distance))
            worst = training;
    }
    return worst;
}

/* The spread of the rivals with the same weights is the yardstick for ours. */
static void print_losses(const report_t *report, const trainings_t *all) {
    const training_t *ours = farthest(all, false), *theirs = farthest(all, true);
    if (ours == NULL)
        return;
    const char *where = theirs == NULL                       ? "no other rival to compare with"
                        : ours->distance <= theirs->distance ? "inside the rivals' own spread"
                        : ours->distance < FEW_ROUNDINGS     ? "within a few roundings of float32"
                                                         : "**not inside** the rivals' own spread";
    print(report,
          "- **Losses**: ours differ from %s at the same size and seed by at most **%.2g** in the "
          "running mean (%s, %s): %s",
          ours->reference->name, ours->distance, ours->name, ours->task, where);
    if (theirs != NULL)
        print(report, ", %.2g (%s, %s)", theirs->distance, theirs->name, theirs->task);
    print(report, ".\n");
}

/* ---- the same again, and on what ------------------------------------------------------------- */

/* The check before timing is from the same weights in every pass; the one after is not. */
static void print_repeated(const report_t *report, const trainings_t *all) {
    size_t n[2] = {0}, n_equal[2] = {0};
    for (size_t i = 0; i < all->n; i++) {
        const training_t *training = &all->items[i];
        const phase_t *whole = result_whole_phase(training->result);
        if (!training->result->before.done || whole == NULL || whole->n_passes < 2)
            continue;
        n[training->rival]++;
        n_equal[training->rival] += !training->result->before.varies;
    }
    if (n[0] > 0)
        print(report,
              "- **Reproducible**: from the same weights every process found the same error in %zu "
              "of %zu of our cases and %zu of %zu of the rivals'.\n",
              n_equal[0], n[0], n_equal[1], n[1]);
}

static void print_dataset(const report_t *report, const trainings_t *all) {
    text_list_t names = {0};
    for (size_t i = 0; i < all->n; i++) {
        const char *name = report_keep(report, result_string(all->items[i].result, "dataset"));
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

/* ---- fitted values of y = w·x + b ------------------------------------------------------------- */

static bool is_float64(const case_result_t *result) {
    return strcmp(result->spec.engine, "cpu") == 0 && strcmp(result->spec.variant, "ref") == 0 &&
           result_has_times(result);
}

static double reference_value(const comparison_set_t *set, int64_t size, const char *key) {
    const case_result_t *result = NULL;
    while ((result = comparison_set_next_at(set, result, size)) != NULL)
        if (is_float64(result))
            return result_number(result, key);
    return NAN;
}

/* The largest distance from the float64 reference of the same size. */
static void print_fit(const report_t *report, const comparison_set_t *set, const char *key) {
    const case_result_t *worst = NULL, *result = NULL;
    double most = NAN;
    size_t n = 0;
    while ((result = record_next(set->run, result)) != NULL) {
        if (!comparison_set_shares_work(set, &result->spec) || !result_has_times(result) ||
            is_float64(result))
            continue;
        const double distance = fabs(result_number(result, key) -
                                     reference_value(set, size_of_case(set, &result->spec), key));
        n += isfinite(distance);
        if (isfinite(distance) && !(distance <= most)) { /* true for the first */
            most = distance;
            worst = result;
        }
    }
    if (worst != NULL)
        print(report, "- **Same fit**: |%s − %s64| is at most **%.1e** in %zu cases (%s%s, %s).\n",
              key, key, most, n, who_and_name(report, worst), algorithmic_mark(worst),
              size_name(report, set, size_of_case(set, &worst->spec)));
}

void findings_on_learning(const report_t *report, const comparison_set_t *set) {
    const trainings_t all = trainings_of(report, set);
    print_dataset(report, &all);
    print_accuracies(report, set, &all);
    print_other_weights(report, &all);
    print_losses(report, &all);
    print_repeated(report, &all);
    print_fit(report, set, "w");
    print_fit(report, set, "b");
}
