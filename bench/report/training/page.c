/* The trainings known to the report, and the order of their sections. */
#include "report/sections/sections.h"
#include "report/training/training.h"

#include "workloads/mnist/data.h"

#include <math.h>
#include <string.h>

static const training_t TRAININGS[] = {
    {.workload = "linreg_train",
     .steps_param = "epochs",
     .step = "epoch",
     .most_steps = INFINITY,
     .timed = "of a whole training",
     .least = "read the data once, plus in each further step what does not fit on the chip, and "
              "do the arithmetic",
     .floor = finding_floor,
     .outcome = finding_fit,
     .outcome_table = table_of_fits,
     .gpu_task = "from start values to fitted values, both in host memory; the points are on the "
                 "device before the clock starts",
     .cpu_task = "the points are in memory before the clock starts",
     .algorithm = "one pass over the points, then all epochs on five sums"},
    {.workload = "mnist_train",
     .steps_param = "steps",
     .step = "step",
     .most_steps = MNIST_SAMPLE_STEPS,
     .timed = "of one step",
     .gpu_task = "one step by the host's clock: the first 200 steps from the start weights, or all "
                 "if there are fewer, divided by their number; images, weights and order are on "
                 "the device before the clock starts",
     .cpu_task = "one step; images and weights are in memory before the clock starts",
     .least =
         "read all weights forward, read them backward and write them, at the rate of DRAM, or "
         "of the L2 if all fit into it",
     .operations =
         " *forward* and *backward* are sums over the layers. A single *fused* step has what a "
         "training does once, such as loading the weights to the multiprocessors. Contenders "
         "without a time for the loss or the update do that work in the backward pass.",
     .algorithm = "other arithmetic",
     .floor = finding_weights,
     .floor_table = table_of_weights,
     .outcome = finding_learning,
     .outcome_table = table_of_learning},
    {.workload = "mlp_train",
     .steps_param = "epochs",
     .step = "epoch",
     .most_steps = 1, /* in one sample */
     .timed = "of one epoch",
     .gpu_task =
         "one training epoch by the host's clock, from the image order in host memory until "
         "the device is done; images and weights are on the device before the clock "
         "starts, except with PyTorch's dataloader",
     .cpu_task = "one training epoch; images and weights are in memory before the clock starts",
     .least =
         "do the arithmetic of all products in float32, or move all weights three times a step",
     .algorithm = "other arithmetic",
     .floor = finding_validated,
     .floor_table = table_of_validated,
     .outcome = finding_epochs,
     .outcome_table = table_of_epochs},
};

static const training_t *training_of(const char *workload) {
    for (size_t i = 0; i < sizeof TRAININGS / sizeof *TRAININGS; i++)
        if (strcmp(TRAININGS[i].workload, workload) == 0)
            return &TRAININGS[i];
    return NULL;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static bool is_on_gpu(const comparison_set_t *set) {
    return strcmp(set->platform->device, "cuda") == 0;
}

/* GPU sets come first, so a shape is seen on the GPU before the CPU. */
static bool was_seen(const comparison_set_list_t *sets, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(sets->items[i].shape, sets->items[index].shape) == 0)
            return true;
    return false;
}

/* Shapes that differ only in the seed share a pair. */
static void for_each_pair(const report_t *report, const comparison_set_list_t *sets,
                          pair_section_t *section) {
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        if (was_seen(sets, i))
            continue;
        training_pair_t pair = {.training = training_of(set->workload), .either = set};
        for (size_t k = i; k < sets->n; k++)
            if (strcmp(sets->items[k].key, set->key) == 0)
                *(is_on_gpu(&sets->items[k]) ? &pair.gpu : &pair.cpu) = &sets->items[k];
        if (pair.training != NULL)
            section(report, &pair);
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

static void print_heading(const report_t *report, const training_pair_t *pair, const char *what) {
    report_heading(report, 3,
                   report_text(report, "%s %s%s", pair->training->workload,
                               report_safe(report, pair->either->key), what));
}

static void findings_on_device(const report_t *report, const training_pair_t *pair,
                               const comparison_set_t *set) {
    if (!is_timed(set)) {
        print(report,
              "- Nothing was measured %s: none of the %zu cases has a valid time. See the "
              "warnings.\n",
              set->platform->place, comparison_set_count(set).n);
        return;
    }
    const char *spans = "the total of all phases";
    if (strcmp(set->phase, "total") != 0)
        spans = set == pair->gpu ? pair->training->gpu_task : pair->training->cpu_task;
    finding_headline(report, set,
                     report_text(report, "**Training %s** (%s)", set->platform->place, spans));
    finding_missing(report, set);
    if (set != pair->gpu)
        return;
    finding_host(report, pair);
    finding_ladder(report, pair);
    finding_limit(report, set, set->reference_size);
    pair->training->floor(report, pair);
    finding_algorithm(report, pair);
}

static void pair_findings(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *sets[] = {pair->gpu, pair->cpu};
    if (has_operations(pair)) {
        print_heading(report, pair, ": operations");
        finding_operations(report, pair);
    } else {
        print_heading(report, pair, "");
        for (size_t i = 0; i < 2; i++)
            if (sets[i] != NULL)
                findings_on_device(report, pair, sets[i]);
        pair->training->outcome(report, pair);
        for (size_t i = 0; i < 2; i++)
            if (is_timed(sets[i]))
                finding_once(report, sets[i]);
    }
    print(report, "\n");
}

void training_findings(const report_t *report, const comparison_set_list_t *sets) {
    for_each_pair(report, sets, pair_findings);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void pair_tables(const report_t *report, const training_pair_t *pair) {
    if (!is_timed(timed_set(pair)))
        return;
    print_heading(report, pair, ": tables");
    if (has_operations(pair)) {
        table_of_operations(report, pair);
        return;
    }
    table_by_size(report, pair);
    if (pair->gpu != NULL)
        table_of_ladder(report, pair);
    if (pair->training->floor_table != NULL && pair->gpu != NULL)
        pair->training->floor_table(report, pair);
    pair->training->outcome_table(report, pair);
}

void training_tables(const report_t *report, const comparison_set_list_t *sets) {
    for_each_pair(report, sets, pair_tables);
}
