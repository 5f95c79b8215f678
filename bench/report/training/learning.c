/* What trainings of a network ended at: that all contenders learn the same is what makes their
 * times comparable. */
#include "report/training/learners.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "width 128, seed 1"; `text` has 2 * UNITS_TEXT bytes. */
static const char *task_text(char *text, const training_pair_t *pair, const learner_t *learner) {
    char size[UNITS_TEXT];
    const case_t *spec = &learner->result->spec;
    snprintf(text, 2 * UNITS_TEXT, "%s, seed %lld",
             named_size(size, pair->either, size_of_case(pair->either, spec)),
             (long long)seed_of(spec));
    return text;
}

/* ---- accuracy -----------------------------------------------------------------------------------
 */

typedef struct spread {
    const learner_t *low, *high; /* the two farthest apart of one task; NULL: none has two */
    size_t n_tasks;              /* sizes and seeds that several were trained at */
} spread_t;

static double width_of(const spread_t *spread) {
    return spread->low != NULL ? spread->high->accuracy - spread->low->accuracy : -1;
}

/* Of all that have plain weights and do what `like` does. */
static spread_t spread_at(const learners_t *learners, const learner_t *like) {
    spread_t spread = {.n_tasks = 1};
    size_t n = 0;
    for (size_t i = 0; i < learners->n; i++) {
        const learner_t *learner = &learners->items[i];
        if (!learner->plain || !learner_same_task(learner, like))
            continue;
        if (n++ == 0 || learner->accuracy < spread.low->accuracy)
            spread.low = learner;
        if (n == 1 || learner->accuracy > spread.high->accuracy)
            spread.high = learner;
    }
    return n > 1 ? spread : (spread_t){.n_tasks = 0};
}

static spread_t widest_spread(const learners_t *learners) {
    spread_t widest = {.n_tasks = 0};
    for (size_t i = 0; i < learners->n; i++) {
        bool met = false;
        for (size_t k = 0; k < i && !met; k++)
            met = learner_same_task(&learners->items[k], &learners->items[i]);
        if (met)
            continue;
        const spread_t spread = spread_at(learners, &learners->items[i]);
        const size_t n_tasks = widest.n_tasks + spread.n_tasks;
        if (width_of(&spread) > width_of(&widest))
            widest = spread;
        widest.n_tasks = n_tasks;
    }
    return widest;
}

static void print_accuracies(const report_t *report, const training_pair_t *pair,
                             const learners_t *learners) {
    const spread_t spread = widest_spread(learners);
    if (spread.low == NULL)
        return;
    char task[2 * UNITS_TEXT];
    char *low = learner_name(spread.low), *high = learner_name(spread.high);
    fprintf(report->out,
            "- **The same learning:** contenders whose weights are all %s recognise the same share "
            "of the test images within **%.2f points**, at each of the %zu pairs of %s and seed "
            "that several of them were trained at",
            weights_dtype(&spread.low->result->spec), 100 * width_of(&spread), spread.n_tasks,
            sizes_word(pair->either, 1));
    if (width_of(&spread) > 0)
        fprintf(report->out, " (most at %s: %s %.2f %%, %s %.2f %%)",
                task_text(task, pair, spread.low), low, 100 * spread.low->accuracy, high,
                100 * spread.high->accuracy);
    fputs(".\n", report->out);
    free(low);
    free(high);
}

/* Modes that keep better weights, or do not tell. */
static void print_other_weights(const report_t *report, const learners_t *learners) {
    text_list_t names = {0};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < learners->n; i++) {
        const learner_t *learner = &learners->items[i];
        if (learner->plain)
            continue;
        char *name = learner_name(learner);
        if (!text_list_has(&names, name))
            text_list_add(&names, name);
        free(name);
        low = fmin(low, learner->accuracy);
        high = fmax(high, learner->accuracy);
    }
    char *list = text_list_join(&names, ", ");
    if (names.n > 0)
        fprintf(
            report->out,
            "- **Another training:** %s multipl%s in that precision and keep%s better weights "
            "(autocast: in float32), in which small updates are not rounded away. Accuracies of "
            "%.2f %% to %.2f %% are not held against those above.\n",
            list, names.n == 1 ? "ies" : "y", names.n == 1 ? "s" : "", 100 * low, 100 * high);
    free(list);
    text_list_free(&names);
}

/* ---- losses -------------------------------------------------------------------------------------
 */

/* NULL if there is none. */
static const learner_t *farthest(const learners_t *learners, bool pytorch, bool plain) {
    const learner_t *worst = NULL;
    for (size_t i = 0; i < learners->n; i++) {
        const learner_t *learner = &learners->items[i];
        if (learner->pytorch == pytorch && learner->plain == plain && isfinite(learner->distance) &&
            (worst == NULL || learner->distance > worst->distance))
            worst = learner;
    }
    return worst;
}

static void print_farthest(const report_t *report, const training_pair_t *pair,
                           const learner_t *learner) {
    char task[2 * UNITS_TEXT];
    char *name = learner_name(learner);
    fprintf(report->out, "**%.2g** (%s, %s)", learner->distance, name,
            task_text(task, pair, learner));
    free(name);
}

/* Of losses about 2, in float32. */
static const double FEW_ROUNDINGS = 1e-6;

/* PyTorch's modes with the same weights are what ours are held against. */
static void print_their_spread(const report_t *report, const training_pair_t *pair,
                               const learners_t *learners, const learner_t *ours) {
    const learner_t *theirs = farthest(learners, true, true);
    const learner_t *others = farthest(learners, true, false);
    if (theirs != NULL) {
        fprintf(report->out,
                " among our contenders; PyTorch's other modes with %s weights differ from it by up "
                "to ",
                weights_dtype(&ours->result->spec));
        print_farthest(report, pair, theirs);
        if (ours->distance > theirs->distance && ours->distance < FEW_ROUNDINGS)
            fputs(": ours lie within a few roundings of float32", report->out);
        else
            fprintf(report->out, ": ours lie %s that spread",
                    ours->distance <= theirs->distance ? "inside" : "**not inside**");
    }
    if (others != NULL) {
        fputs(theirs != NULL ? "; those with other weights by up to "
                             : " among our contenders; PyTorch's modes with other weights differ "
                               "from it by up to ",
              report->out);
        print_farthest(report, pair, others);
    }
}

static void print_losses(const report_t *report, const training_pair_t *pair,
                         const learners_t *learners) {
    const learner_t *ours = farthest(learners, false, true);
    if (ours == NULL)
        return;
    char *reference = learner_name(learner_reference(learners, ours));
    fprintf(report->out,
            "- **The same losses:** of the running mean of the loss, the largest difference from "
            "%s at the same %s and seed is ",
            reference, sizes_word(pair->either, 1));
    free(reference);
    print_farthest(report, pair, ours);
    print_their_spread(report, pair, learners, ours);
    fputs(".\n", report->out);
}

/* ---- the same again ---------------------------------------------------------------------------
 */

static void print_repeated(const report_t *report, const learners_t *learners) {
    size_t n[2] = {0}, n_equal[2] = {0};
    for (size_t i = 0; i < learners->n; i++) {
        const check_t *before = &learners->items[i].result->before;
        const check_t *after = &learners->items[i].result->after;
        if (!before->done || !after->done)
            continue;
        const bool pytorch = learners->items[i].pytorch;
        n[pytorch]++;
        n_equal[pytorch] += before->rel_l2 == after->rel_l2 && before->max_abs == after->max_abs;
    }
    if (n[0] == 0)
        return;
    fprintf(report->out,
            "- **The same again:** the check before timing and the one after it, each from the "
            "start weights, found the same error to the last digit in %zu of %zu cases of ours",
            n_equal[0], n[0]);
    if (n[1] > 0)
        fprintf(report->out, " and in %zu of %zu of PyTorch's", n_equal[1], n[1]);
    fputs(".\n", report->out);
}

static void print_dataset(const report_t *report, const learners_t *learners) {
    text_list_t names = {0};
    for (size_t i = 0; i < learners->n; i++) {
        char *name = result_string(learners->items[i].result, "dataset");
        if (name != NULL && !text_list_has(&names, name))
            text_list_add(&names, name);
        free(name);
    }
    char *list = text_list_join(&names, ", "), *safe = markdown_text(list);
    if (names.n > 0)
        fprintf(report->out, "- **Data set:** dataset=%s.%s\n", safe,
                text_list_has(&names, "synthetic")
                    ? " **The images are made up, in MNIST's shape and number**, since its files "
                      "were not there: accuracies say nothing about digits."
                    : "");
    free(safe);
    free(list);
    text_list_free(&names);
}

void finding_learning(const report_t *report, const training_pair_t *pair) {
    learners_t learners = learners_of(pair);
    print_dataset(report, &learners);
    print_accuracies(report, pair, &learners);
    print_other_weights(report, &learners);
    print_losses(report, pair, &learners);
    print_repeated(report, &learners);
    free(learners.items);
}

/* ---- the table ----------------------------------------------------------------------------------
 */

static bool same_row(const learner_t *a, const learner_t *b) {
    return a->place == b->place && seed_of(&a->result->spec) == seed_of(&b->result->spec);
}

/* "97.12 %, 0.0031": accuracy; the largest difference of the loss, but for the reference. */
static void add_cell(table_t *table, const training_pair_t *pair, const learners_t *learners,
                     const learner_t *row, int64_t size) {
    const learner_t *learner = NULL;
    for (size_t i = 0; i < learners->n && learner == NULL; i++)
        if (same_row(&learners->items[i], row) &&
            size_of_case(pair->either, &learners->items[i].result->spec) == size)
            learner = &learners->items[i];
    if (learner == NULL)
        table_add(table, "–");
    else if (isfinite(learner->distance))
        table_add_format(table, "%.2f %%, %.2g", 100 * learner->accuracy, learner->distance);
    else
        table_add_format(table, "%.2f %%", 100 * learner->accuracy);
}

static void init_table(table_t *table, const comparison_set_t *set) {
    const char **headings = mem_zeroed(set->n_rows + 3, sizeof *headings);
    text_list_t sizes = {0};
    headings[0] = "Contender";
    headings[1] = "weights";
    headings[2] = "seed";
    for (size_t i = 0; i < set->n_rows; i++) {
        char text[UNITS_TEXT];
        text_list_add(&sizes, named_size(text, set, set->rows[i].size));
        headings[i + 3] = sizes.items[i];
    }
    table_init(table, headings, set->n_rows + 3);
    for (size_t i = 2; i < set->n_rows + 3; i++)
        table->align[i] = ALIGN_RIGHT;
    text_list_free(&sizes);
    free(headings);
}

static void add_row(table_t *table, const training_pair_t *pair, const learners_t *learners,
                    const learner_t *row) {
    char *name = learner_name(row), *weights = weights_of(row->result);
    table_add(table, name);
    table_add(table, weights != NULL ? weights : "not told");
    table_add_format(table, "%lld", (long long)seed_of(&row->result->spec));
    for (size_t i = 0; i < pair->either->n_rows; i++)
        add_cell(table, pair, learners, row, pair->either->rows[i].size);
    free(name);
    free(weights);
}

void table_of_learning(const report_t *report, const training_pair_t *pair) {
    learners_t learners = learners_of(pair);
    table_t table;
    init_table(&table, pair->either);
    for (size_t i = 0; i < learners.n; i++) /* sorted by rows */
        if (i == 0 || !same_row(&learners.items[i], &learners.items[i - 1]))
            add_row(&table, pair, &learners, &learners.items[i]);
    free(learners.items);
    if (table_rows(&table) == 0) {
        table_free(&table);
        return;
    }
    report_heading(report, 4, "What was learnt");
    fputs("The share of the test images that is recognised after all steps; behind it, the largest "
          "difference of the running mean of the loss from that of PyTorch with weights of the "
          "case's own precision (of another, where no mode has them) at the same size and seed. "
          "*weights*: the precision in which they are kept from step to step.\n\n",
          report->out);
    report_table(report, &table);
}
