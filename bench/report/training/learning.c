/* What trainings of a network ended at: that all contenders learn the same is what makes their
 * times comparable. */
#include "report/training/learners.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "width 128, seed 1"; `text` has 2 * UNITS_TEXT bytes. */
static const char *task_text(char *text, const training_pair_t *pair,
                             const training_run_t *training_run) {
    char size[UNITS_TEXT];
    const case_t *spec = &training_run->result->spec;
    snprintf(text, 2 * UNITS_TEXT, "%s, seed %lld",
             named_size(size, pair->either, size_of_case(pair->either, spec)),
             (long long)seed_of(spec));
    return text;
}

/* ---- accuracy -----------------------------------------------------------------------------------
 */

typedef struct spread {
    const training_run_t *low, *high; /* the two farthest apart of one task; NULL: none has two */
    size_t n_tasks;                   /* sizes and seeds that several were trained at */
} spread_t;

static double width_of(const spread_t *spread) {
    return spread->low != NULL ? spread->high->accuracy - spread->low->accuracy : -1;
}

/* Of all that have plain weights and do what `like` does. */
static spread_t spread_at(const training_runs_t *training_runs, const training_run_t *like) {
    spread_t spread = {.n_tasks = 1};
    size_t n = 0;
    for (size_t i = 0; i < training_runs->n; i++) {
        const training_run_t *training_run = &training_runs->items[i];
        if (!training_run->plain || !training_run_same_task(training_run, like))
            continue;
        if (n++ == 0 || training_run->accuracy < spread.low->accuracy)
            spread.low = training_run;
        if (n == 1 || training_run->accuracy > spread.high->accuracy)
            spread.high = training_run;
    }
    return n > 1 ? spread : (spread_t){.n_tasks = 0};
}

static spread_t widest_spread(const training_runs_t *training_runs) {
    spread_t widest = {.n_tasks = 0};
    for (size_t i = 0; i < training_runs->n; i++) {
        bool met = false;
        for (size_t k = 0; k < i && !met; k++)
            met = training_run_same_task(&training_runs->items[k], &training_runs->items[i]);
        if (met)
            continue;
        const spread_t spread = spread_at(training_runs, &training_runs->items[i]);
        const size_t n_tasks = widest.n_tasks + spread.n_tasks;
        if (width_of(&spread) > width_of(&widest))
            widest = spread;
        widest.n_tasks = n_tasks;
    }
    return widest;
}

static void print_accuracies(const report_t *report, const training_pair_t *pair,
                             const training_runs_t *training_runs) {
    const spread_t spread = widest_spread(training_runs);
    if (spread.low == NULL)
        return;
    char task[2 * UNITS_TEXT];
    char *low = training_run_name(spread.low), *high = training_run_name(spread.high);
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
static void print_other_weights(const report_t *report, const training_runs_t *training_runs) {
    text_list_t names = {0};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < training_runs->n; i++) {
        const training_run_t *training_run = &training_runs->items[i];
        if (training_run->plain)
            continue;
        char *name = training_run_name(training_run);
        if (!text_list_has(&names, name))
            text_list_add(&names, name);
        free(name);
        low = fmin(low, training_run->accuracy);
        high = fmax(high, training_run->accuracy);
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
static const training_run_t *farthest(const training_runs_t *training_runs, bool pytorch,
                                      bool plain) {
    const training_run_t *worst = NULL;
    for (size_t i = 0; i < training_runs->n; i++) {
        const training_run_t *training_run = &training_runs->items[i];
        if (training_run->pytorch == pytorch && training_run->plain == plain &&
            isfinite(training_run->distance) &&
            (worst == NULL || training_run->distance > worst->distance))
            worst = training_run;
    }
    return worst;
}

static void print_farthest(const report_t *report, const training_pair_t *pair,
                           const training_run_t *training_run) {
    char task[2 * UNITS_TEXT];
    char *name = training_run_name(training_run);
    fprintf(report->out, "**%.2g** (%s, %s)", training_run->distance, name,
            task_text(task, pair, training_run));
    free(name);
}

/* Of losses about 2, in float32. */
static const double FEW_ROUNDINGS = 1e-6;

/* PyTorch's modes with the same weights are what ours are held against. */
static void print_their_spread(const report_t *report, const training_pair_t *pair,
                               const training_runs_t *training_runs, const training_run_t *ours) {
    const training_run_t *theirs = farthest(training_runs, true, true);
    const training_run_t *others = farthest(training_runs, true, false);
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
                         const training_runs_t *training_runs) {
    const training_run_t *ours = farthest(training_runs, false, true);
    if (ours == NULL)
        return;
    char *reference = training_run_name(training_run_reference(training_runs, ours));
    fprintf(report->out,
            "- **The same losses:** of the running mean of the loss, the largest difference from "
            "%s at the same %s and seed is ",
            reference, sizes_word(pair->either, 1));
    free(reference);
    print_farthest(report, pair, ours);
    print_their_spread(report, pair, training_runs, ours);
    fputs(".\n", report->out);
}

/* ---- the same again ---------------------------------------------------------------------------
 */

static void print_repeated(const report_t *report, const training_runs_t *training_runs) {
    size_t n[2] = {0}, n_equal[2] = {0};
    for (size_t i = 0; i < training_runs->n; i++) {
        const check_t *before = &training_runs->items[i].result->before;
        const check_t *after = &training_runs->items[i].result->after;
        if (!before->done || !after->done)
            continue;
        const bool pytorch = training_runs->items[i].pytorch;
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

static void print_dataset(const report_t *report, const training_runs_t *training_runs) {
    text_list_t names = {0};
    for (size_t i = 0; i < training_runs->n; i++) {
        char *name = result_string(training_runs->items[i].result, "dataset");
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
    training_runs_t training_runs = training_runs_of(pair);
    print_dataset(report, &training_runs);
    print_accuracies(report, pair, &training_runs);
    print_other_weights(report, &training_runs);
    print_losses(report, pair, &training_runs);
    print_repeated(report, &training_runs);
    free(training_runs.items);
}

/* ---- the table ----------------------------------------------------------------------------------
 */

static bool same_row(const training_run_t *a, const training_run_t *b) {
    return a->place == b->place && seed_of(&a->result->spec) == seed_of(&b->result->spec);
}

/* "97.12 %, 0.0031": accuracy; the largest difference of the loss, but for the reference. */
static void add_cell(table_t *table, const training_pair_t *pair,
                     const training_runs_t *training_runs, const training_run_t *row,
                     int64_t size) {
    const training_run_t *training_run = NULL;
    for (size_t i = 0; i < training_runs->n && training_run == NULL; i++)
        if (same_row(&training_runs->items[i], row) &&
            size_of_case(pair->either, &training_runs->items[i].result->spec) == size)
            training_run = &training_runs->items[i];
    if (training_run == NULL)
        table_add(table, "–");
    else if (isfinite(training_run->distance))
        table_add_format(table, "%.2f %%, %.2g", 100 * training_run->accuracy,
                         training_run->distance);
    else
        table_add_format(table, "%.2f %%", 100 * training_run->accuracy);
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

static void add_row(table_t *table, const training_pair_t *pair,
                    const training_runs_t *training_runs, const training_run_t *row) {
    char *name = training_run_name(row), *weights = weights_of(row->result);
    table_add(table, name);
    table_add(table, weights != NULL ? weights : "not told");
    table_add_format(table, "%lld", (long long)seed_of(&row->result->spec));
    for (size_t i = 0; i < pair->either->n_rows; i++)
        add_cell(table, pair, training_runs, row, pair->either->rows[i].size);
    free(name);
    free(weights);
}

void table_of_learning(const report_t *report, const training_pair_t *pair) {
    training_runs_t training_runs = training_runs_of(pair);
    table_t table;
    init_table(&table, pair->either);
    for (size_t i = 0; i < training_runs.n; i++) /* sorted by rows */
        if (i == 0 || !same_row(&training_runs.items[i], &training_runs.items[i - 1]))
            add_row(&table, pair, &training_runs, &training_runs.items[i]);
    free(training_runs.items);
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
