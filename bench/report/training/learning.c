/* Accuracies and losses of network trainings: times are comparable only if all contenders learn the
 * same. Trainings with weights in another precision are reported separately. */
#include "report/training/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- trainings and their references ---------------------------------------------------------- */

static bool same_task(const training_run_t *a, const training_run_t *b) {
    return a->size == b->size && a->seed == b->seed;
}

double loss_distance(const training_run_t *a, const training_run_t *b) {
    curve_t one = smooth_loss(a->result), other = smooth_loss(b->result);
    const double distance = curve_distance(&one, &other);
    curve_free(&one);
    curve_free(&other);
    return distance;
}

static size_t place_of(const training_runs_t *runs, const case_t *spec) {
    for (const training_run_t *run = runs->first; run < runs->end; run++)
        if (same_contender(&run->result->spec, spec))
            return run->place;
    return (size_t)(runs->end - runs->first);
}

static int by_contender_and_seed(const void *a, const void *b) {
    const training_run_t *left = a, *right = b;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    if (left->seed != right->seed)
        return left->seed < right->seed ? -1 : 1;
    return strcmp(left->result->spec.id, right->result->spec.id);
}

static training_run_t run_of(const report_t *report, const training_pair_t *pair,
                             const case_result_t *result) {
    const char *weights = report_keep(report, weights_of(result));
    const char *size = size_name_of(report, pair->either, result);
    const int64_t seed = seed_of(&result->spec);
    return (training_run_t){
        .result = result,
        .name = contender_text(report, result),
        .task = report_text(report, "%s, seed %lld", size, (long long)seed),
        .size = size_of_case(pair->either, &result->spec),
        .seed = seed,
        .accuracy = result_number(result, "accuracy"),
        .rival = engine_is_rival(result->spec.engine),
        .weights = weights,
        .plain = weights != NULL && strcmp(weights, weights_dtype(&result->spec)) == 0,
        .distance = NAN,
    };
}

static bool is_better_reference(const training_run_t *a, const training_run_t *b) {
    return a->plain != b->plain ? a->plain
                                : engine_order(a->result->spec.engine, b->result->spec.engine) < 0;
}

static void set_reference(training_run_t *run, const training_runs_t *runs) {
    for (const training_run_t *other = runs->first; other < runs->end; other++)
        if (other->rival && same_task(other, run) &&
            (run->reference == NULL || is_better_reference(other, run->reference)))
            run->reference = other;
    if (run->reference != NULL && run->reference != run)
        run->distance = loss_distance(run, run->reference);
}

training_runs_t training_runs_of(const report_t *report, const training_pair_t *pair) {
    const record_t *record = pair->either->run;
    const case_result_t *like = next_case(pair->either, OF_ANYONE, ANY_SIZE, NULL);
    training_run_t *first = report_array(report, record->n_cases, sizeof *first);
    training_runs_t runs = {.first = first, .end = first};
    for (size_t i = 0; like != NULL && i < record->n_cases; i++) {
        const case_result_t *result = &record->cases[i];
        if (!result_has_times(result) || !isfinite(result_number(result, "accuracy")) ||
            !same_but_seed_and(&result->spec, &like->spec, pair->either->size_param))
            continue;
        *runs.end = run_of(report, pair, result);
        runs.end->place = place_of(&runs, &result->spec);
        runs.end++;
    }
    qsort(first, (size_t)(runs.end - first), sizeof *first, by_contender_and_seed);
    for (training_run_t *run = first; run < runs.end; run++)
        set_reference(run, &runs);
    return runs;
}

/* In saved runs contenders were 0.1 points apart, and 36 from one that rounded its weights less often. */
static const double SAME_ACCURACY = 0.03;

/* ---- accuracy -------------------------------------------------------------------------------- */

/* Accuracies of the trainings with plain weights at one size and seed. */
typedef struct spread {
    const training_run_t *low, *high; /* the extremes */
    size_t n;
} spread_t;

static double width_of(const spread_t *spread) {
    return spread->n > 1 ? spread->high->accuracy - spread->low->accuracy : -1;
}

/* Empty if a training before `like` has the same task. */
static spread_t spread_at(const training_runs_t *runs, const training_run_t *like) {
    spread_t spread = {.n = 0};
    for (const training_run_t *run = runs->first; run < runs->end; run++) {
        if (!same_task(run, like))
            continue;
        if (run < like)
            return (spread_t){.n = 0};
        if (!run->plain)
            continue;
        if (spread.n == 0 || run->accuracy < spread.low->accuracy)
            spread.low = run;
        if (spread.n++ == 0 || run->accuracy > spread.high->accuracy)
            spread.high = run;
    }
    return spread;
}

static void print_accuracies(const report_t *report, const training_pair_t *pair,
                             const training_runs_t *runs) {
    spread_t widest = {.n = 0};
    size_t n_tasks = 0; /* with several trainings */
    for (const training_run_t *run = runs->first; run < runs->end; run++) {
        const spread_t spread = spread_at(runs, run);
        n_tasks += spread.n > 1;
        if (width_of(&spread) > width_of(&widest))
            widest = spread;
    }
    if (n_tasks == 0)
        return;
    const bool same = width_of(&widest) <= SAME_ACCURACY;
    print(report,
          "- **%s accuracy:** contenders with %s weights %s in accuracy on the test images %s "
          "**%.2f percentage points** at %s of %s and seed with several of them",
          same ? "Same" : "Not the same", weights_dtype(&widest.low->result->spec),
          same ? "agree" : "differ", same ? "within" : "by up to", 100 * width_of(&widest),
          n_tasks > 1 ? report_text(report, "%sthe %zu pairs", same ? "each of " : "", n_tasks)
                      : "the one pair",
          sizes_word(pair->either, 1));
    if (width_of(&widest) > 0)
        print(report, " (largest difference at %s: %s %.2f %%, %s %.2f %%)", widest.low->task,
              widest.low->name, 100 * widest.low->accuracy, widest.high->name,
              100 * widest.high->accuracy);
    print(report, ".\n");
}

/* Modes with more precise weights, or with weights of unknown precision. */
static void print_other_weights(const report_t *report, const training_runs_t *runs) {
    text_list_t names = {0};
    double low = INFINITY, high = -INFINITY;
    for (const training_run_t *run = runs->first; run < runs->end; run++) {
        if (run->plain)
            continue;
        if (!text_list_has(&names, run->name))
            text_list_add(&names, run->name);
        low = fmin(low, run->accuracy);
        high = fmax(high, run->accuracy);
    }
    const bool one = names.n == 1;
    if (names.n > 0)
        print(report,
              "- **Different training:** %s multipl%s in that precision but keep%s more precise "
              "weights (autocast: float32), so small updates are not rounded away. Their "
              "accuracies, %.2f %% to %.2f %%, are not compared with those above.\n",
              report_join(report, &names, ", "), one ? "ies" : "y", one ? "s" : "", 100 * low,
              100 * high);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* A rival that learns otherwise is no yardstick. */
static bool learns_the_same(const training_run_t *run) {
    return run->reference == NULL || !run->plain ||
           fabs(run->accuracy - run->reference->accuracy) <= SAME_ACCURACY;
}

static const training_run_t *farthest(const training_runs_t *runs, bool rival, bool plain) {
    const training_run_t *worst = NULL;
    for (const training_run_t *run = runs->first; run < runs->end; run++) {
        if (run->rival == rival && run->plain == plain && isfinite(run->distance) &&
            (!rival || learns_the_same(run)) && (worst == NULL || run->distance > worst->distance))
            worst = run;
    }
    return worst;
}

static const char *distance_text(const report_t *report, const training_run_t *run) {
    return report_text(report, "**%.2g** (%s, %s)", run->distance, run->name, run->task);
}

/* For float32 losses of about 2. */
static const double FEW_ROUNDINGS = 1e-6;

/* The spread of the rivals with the same weights is the yardstick for ours. */
static void print_their_spread(const report_t *report, const training_runs_t *runs,
                               const training_run_t *ours) {
    const training_run_t *theirs = farthest(runs, true, true);
    const training_run_t *others = farthest(runs, true, false);
    if (theirs != NULL) {
        const char *where = ours->distance <= theirs->distance ? "inside that spread"
                            : ours->distance < FEW_ROUNDINGS   ? "within a few roundings of float32"
                                                               : "**not inside** that spread";
        print(report,
              "  - The rivals' other cases with %s weights differ from it by up to %s: ours are "
              "%s.\n",
              weights_dtype(&ours->result->spec), distance_text(report, theirs), where);
    }
    if (others != NULL)
        print(report, "  - Rivals with other weights differ from it by up to %s.\n",
              distance_text(report, others));
}

static void print_losses(const report_t *report, const training_pair_t *pair,
                         const training_runs_t *runs) {
    const training_run_t *ours = farthest(runs, false, true);
    if (ours == NULL)
        return;
    print(report,
          "- **Same losses:** in the running mean of the loss, the largest difference from %s at "
          "the same %s and seed is %s among our contenders.\n",
          ours->reference->name, sizes_word(pair->either, 1), distance_text(report, ours));
    print_their_spread(report, runs, ours);
}

/* ---- reproducibility ------------------------------------------------------------------------- */

/* The check before timing is from the same weights in every pass; the one after is not. */
static void print_repeated(const report_t *report, const training_runs_t *runs) {
    size_t n[2] = {0}, n_equal[2] = {0};
    size_t most = 0;
    for (const training_run_t *run = runs->first; run < runs->end; run++) {
        const phase_t *whole = result_whole_phase(run->result);
        if (!run->result->before.done || whole == NULL || whole->n_passes < 2)
            continue;
        n[run->rival]++;
        n_equal[run->rival] += !run->result->before.varies;
        most = whole->n_passes > most ? whole->n_passes : most;
    }
    if (n[0] == 0)
        return;
    print(report,
          "- **Reproducible:** the check before timing, in up to %zu processes from the same "
          "weights, "
          "found exactly the same error in %zu of %zu of our cases",
          most, n_equal[0], n[0]);
    if (n[1] > 0)
        print(report, " and in %zu of %zu of the rivals'", n_equal[1], n[1]);
    print(report, ".\n");
}

static void print_dataset(const report_t *report, const training_runs_t *runs) {
    text_list_t names = {0};
    for (const training_run_t *run = runs->first; run < runs->end; run++) {
        const char *name = report_keep(report, result_string(run->result, "dataset"));
        if (name != NULL && !text_list_has(&names, name))
            text_list_add(&names, name);
    }
    const char *caveat = text_list_has(&names, "synthetic")
                             ? " **Synthetic images in MNIST's shape and number**, because MNIST "
                               "was not found: accuracies say nothing about digits."
                             : "";
    if (names.n > 0)
        print(report, "- **Data set:** dataset=%s.%s\n",
              report_safe(report, report_join(report, &names, ", ")), caveat);
}

void finding_learning(const report_t *report, const training_pair_t *pair) {
    const training_runs_t runs = training_runs_of(report, pair);
    print_dataset(report, &runs);
    print_accuracies(report, pair, &runs);
    print_other_weights(report, &runs);
    print_losses(report, pair, &runs);
    print_repeated(report, &runs);
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool same_row(const training_run_t *a, const training_run_t *b) {
    return a->place == b->place && a->seed == b->seed;
}

/* "97.12 %, 0.0031": accuracy; the largest difference of the loss, except for the reference. */
static const char *accuracy_cell(const report_t *report, const training_runs_t *runs,
                                 const training_run_t *row, int64_t size) {
    for (const training_run_t *run = runs->first; run < runs->end; run++) {
        if (!same_row(run, row) || run->size != size)
            continue;
        const char *distance =
            isfinite(run->distance) ? report_text(report, ", %.2g", run->distance) : "";
        return report_text(report, "%.2f %%%s", 100 * run->accuracy, distance);
    }
    return "–";
}

/* ", then the largest difference … of pytorch-cuda graph …"; "" if there is nothing to compare with. */
static const char *references_text(const report_t *report, const training_runs_t *runs) {
    text_list_t names = {0};
    for (const training_run_t *run = runs->first; run < runs->end; run++)
        if (isfinite(run->distance))
            text_list_add_new(&names, run->reference->name);
    const char *list = report_join(report, &names, " or ");
    return list != NULL ? report_text(report,
                                      ", then the largest difference of the running mean of the "
                                      "loss from that of %s at the same size and seed",
                                      list)
                        : "";
}

void table_of_learning(const report_t *report, const training_pair_t *pair) {
    static const column_t FIRST[] = {
        {"Contender", 'l', false}, {"weights", 'l', false}, {"seed", 'r', false}};
    const comparison_set_t *set = pair->either;
    const training_runs_t runs = training_runs_of(report, pair);
    columns_t table = columns_by_size(report, set, FIRST, 3);
    const char **cells = report_array(report, table.n_columns, sizeof *cells);
    for (const training_run_t *run = runs.first; run < runs.end; run++) { /* sorted by rows */
        if (run > runs.first && same_row(run, run - 1))
            continue;
        cells[0] = run->name;
        cells[1] = run->weights != NULL ? run->weights : "not recorded";
        cells[2] = report_text(report, "%lld", (long long)run->seed);
        for (size_t r = 0; r < set->n_rows; r++)
            cells[3 + r] = accuracy_cell(report, &runs, run, set->rows[r].size);
        columns_row(&table, cells);
    }
    columns_end_under(
        &table, 4, "Accuracy and loss",
        "Test accuracy after all steps%s. *weights*: the precision in which they are kept between "
        "steps.\n\n",
        references_text(report, &runs));
}
