/* Trainings by whole epochs: what an epoch takes with its validation, and what was learnt. */
#include "report/training/learners.h"
#include "report/training/training.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A training that recognises fewer of the test images after so many epochs is not what the study
 * trains, however fast it is. */
static const double LEAST_ACCURACY = 0.96;
enum { LEARNT_AFTER = 3 };

static const char VALIDATED[] = "total";

/* ---- with the validation ------------------------------------------------------------------------
 */

static speedup_t validated_at(const comparison_set_t *set, int64_t size, const case_result_t **ours,
                              const case_result_t **theirs) {
    *ours = comparison_set_fastest(set, size, OWNER_OURS, VALIDATED);
    *theirs = comparison_set_fastest(set, size, OWNER_PYTORCH, VALIDATED);
    return speedup_make(*ours, VALIDATED, *theirs, VALIDATED);
}

void finding_validated(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *ours, *theirs;
        const speedup_t speedup = validated_at(set, set->rows[i].size, &ours, &theirs);
        if (speedup.verdict == VERDICT_NONE)
            continue;
        char size[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
        char *our_name = shown_name(ours), *their_name = shown_name(theirs);
        fprintf(report->out, "%s%s: ",
                n++ == 0 ? "- **An epoch and the validation behind it** (`total`): at " : "; at ",
                named_size(size, set, set->rows[i].size));
        print_verdict(report->out, &speedup, set->platform->name, "PyTorch");
        fprintf(report->out, ", %s (%s) against %s (%s)",
                units_time(a, result_median(ours, VALIDATED)), our_name,
                units_time(b, result_median(theirs, VALIDATED)), their_name);
        free(our_name);
        free(their_name);
    }
    fputs(n > 0 ? ".\n" : "", report->out);
}

void table_of_validated(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    char size[UNITS_TEXT], text[2 * UNITS_TEXT];
    const char *const headings[] = {size_heading(size, set), "Best CUDA", "Case",
                                    "PyTorch best",          "Mode",      "vs best"};
    table_t table;
    table_init(&table, headings, sizeof headings / sizeof *headings);
    table_set_align(&table, "rrlrlr");
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *ours, *theirs;
        const speedup_t speedup = validated_at(set, set->rows[i].size, &ours, &theirs);
        char *our_name = ours != NULL ? shown_name(ours) : mem_text("–");
        char *their_name = theirs != NULL ? shown_name(theirs) : mem_text("–");
        table_add(&table, size_text(text, set, set->rows[i].size));
        add_time(&table, ours, VALIDATED);
        table_add(&table, our_name);
        add_time(&table, theirs, VALIDATED);
        table_add(&table, their_name);
        table_add(&table, ratio_text(text, sizeof text, &speedup));
        free(our_name);
        free(their_name);
    }
    report_heading(report, 4, "With the validation");
    fputs("Medians of `total`: the training of one epoch and the validation on all test images "
          "behind it.\n\n",
          report->out);
    report_table(report, &table);
}

/* ---- what was learnt ----------------------------------------------------------------------------
 */

static void print_training_run(FILE *out, const training_pair_t *pair,
                               const training_run_t *training_run) {
    char size[UNITS_TEXT];
    char *name = training_run_name(training_run);
    fprintf(out, "%s %.2f %% (%s, seed %lld)", name, 100 * training_run->accuracy,
            named_size(size, pair->either, size_of_case(pair->either, &training_run->result->spec)),
            (long long)seed_of(&training_run->result->spec));
    free(name);
}

static void print_enough(const report_t *report, const training_pair_t *pair,
                         const training_runs_t *training_runs) {
    const training_run_t *worst = NULL;
    size_t n_few = 0;
    for (size_t i = 0; i < training_runs->n; i++) {
        const training_run_t *training_run = &training_runs->items[i];
        n_few += training_run->accuracy < LEAST_ACCURACY;
        if (worst == NULL || training_run->accuracy < worst->accuracy)
            worst = training_run;
    }
    if (worst == NULL)
        return;
    const long long epochs = (long long)case_param_int(&worst->result->spec, "epochs", 0);
    if (epochs < LEARNT_AFTER) {
        fprintf(report->out, "- **Validation accuracy** after %lld epoch%s: the least is ", epochs,
                epochs == 1 ? "" : "s");
        print_training_run(report->out, pair, worst);
        fputs(".\n", report->out);
        return;
    }
    fprintf(report->out,
            "- **Validation accuracy** after %lld epochs: %s%zu of %zu trainings reach %g %%%s",
            epochs, n_few > 0 ? "⚠ only " : "", training_runs->n - n_few, training_runs->n,
            100 * LEAST_ACCURACY, n_few > 0 ? "; below it: " : "; the least is ");
    size_t n = 0;
    for (size_t i = 0; i < training_runs->n; i++) {
        const training_run_t *training_run = &training_runs->items[i];
        if (n_few > 0 ? training_run->accuracy >= LEAST_ACCURACY : training_run != worst)
            continue;
        fputs(n++ > 0 ? ", " : "", report->out);
        print_training_run(report->out, pair, training_run);
    }
    fputs(".\n", report->out);
}

/* Two trainings by one mode of PyTorch that differ in nothing but the seed. */
typedef struct seed_pair {
    const training_run_t *one, *other; /* NULL: no such two */
    double distance;                   /* of their losses */
} seed_pair_t;

static bool only_the_seed_differs(const training_run_t *a, const training_run_t *b) {
    return a->pytorch && a->plain && a->place == b->place &&
           same_but_seed(&a->result->spec, &b->result->spec);
}

static double distance_of(const training_run_t *a, const training_run_t *b) {
    curve_t one = smooth_loss(a->result), other = smooth_loss(b->result);
    const double distance = curve_distance(&one, &other);
    curve_free(&one);
    curve_free(&other);
    return distance;
}

/* Of all such pairs the two that are closest to each other. */
static seed_pair_t closest_seeds(const training_runs_t *training_runs) {
    seed_pair_t closest = {.distance = INFINITY};
    for (size_t i = 0; i < training_runs->n; i++)
        for (size_t k = 0; k < i; k++) {
            const training_run_t *a = &training_runs->items[k], *b = &training_runs->items[i];
            const double distance = only_the_seed_differs(a, b) ? distance_of(a, b) : NAN;
            if (distance < closest.distance)
                closest = (seed_pair_t){.one = a, .other = b, .distance = distance};
        }
    return closest;
}

/* Rounding makes trainings differ, and so does the seed; who differs by less than two seeds do
 * trains the same. */
static void print_seed_noise(const report_t *report, const training_pair_t *pair,
                             const training_runs_t *training_runs) {
    const seed_pair_t seeds = closest_seeds(training_runs);
    double ours = NAN;
    for (size_t i = 0; i < training_runs->n; i++)
        if (!training_runs->items[i].pytorch)
            ours =
                fmax(ours, training_runs->items[i].distance); /* of a number and NaN: the number */
    if (seeds.one == NULL || !isfinite(ours))
        return;
    char size[UNITS_TEXT];
    char *name = training_run_name(seeds.one);
    const case_t *spec = &seeds.one->result->spec;
    fprintf(report->out,
            "- **Against the noise of the seed:** of the same running mean, trainings by %s from "
            "two seeds differ by at least **%.2g** (%s, seeds %lld and %lld), ours from PyTorch's "
            "of the same seed by up to **%.2g**: %s what the seed does.\n",
            name, seeds.distance, named_size(size, pair->either, size_of_case(pair->either, spec)),
            (long long)seed_of(spec), (long long)seed_of(&seeds.other->result->spec), ours,
            ours < seeds.distance ? "within" : "⚠ **not within**");
    free(name);
}

/* Before timing; the tolerance is of the same dtype for all. */
static void print_first_steps(const report_t *report, const training_runs_t *training_runs) {
    const training_run_t *worst = NULL;
    for (size_t i = 0; i < training_runs->n; i++) {
        const training_run_t *training_run = &training_runs->items[i];
        if (training_run->result->before.done &&
            (worst == NULL || training_run->result->before.rel_l2 > worst->result->before.rel_l2))
            worst = training_run;
    }
    if (worst == NULL)
        return;
    char *name = training_run_name(worst);
    fprintf(report->out,
            "- **The first steps:** gradients and losses are those of the float64 oracle within "
            "**%.2g** relative (%s; tolerance %.2g).\n",
            worst->result->before.rel_l2, name, worst->result->before.tolerance);
    free(name);
}

void finding_epochs(const report_t *report, const training_pair_t *pair) {
    training_runs_t training_runs = training_runs_of(pair);
    finding_learning(report, pair);
    print_seed_noise(report, pair, &training_runs);
    print_enough(report, pair, &training_runs);
    print_first_steps(report, &training_runs);
    free(training_runs.items);
    if (pair->gpu != NULL)
        finding_allocators(report, pair);
}

void table_of_epochs(const report_t *report, const training_pair_t *pair) {
    table_of_learning(report, pair);
    if (pair->gpu != NULL)
        table_of_allocators(report, pair);
}
