/* Cost of allocators: in each epoch of a training, and in the workload allocate. */
#include "analysis/learning.h"
#include "report/training/training.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

static const unsigned REPORTED = OF_OURS | OF_RIVALS | ONLY_OK;

/* The same rung at the same size with another allocator; NULL if none. */
static const case_result_t *sibling(const comparison_set_t *set, const case_result_t *result,
                                    const char *allocator) {
    const int64_t size = size_of_case(set, &result->spec);
    const case_result_t *other = NULL;
    while ((other = next_case(set, OF_OURS | ONLY_OK, size, other)) != NULL) {
        const char *own = allocator_of(&other->spec);
        if (own != NULL && strcmp(own, allocator) == 0 &&
            strcmp(other->spec.variant, result->spec.variant) == 0)
            break;
    }
    return other;
}

/* ---- who calls the driver -------------------------------------------------------------------- */

typedef struct kind_calls {
    const char *name;    /* of the allocator, or "PyTorch's own"; NULL ends the list */
    double first, later; /* most calls of any case: first epoch, a later one */
    size_t n_cases;
} kind_calls_t;

static kind_calls_t *kind_of(kind_calls_t *kinds, const char *name) {
    while (kinds->name != NULL && strcmp(kinds->name, name) != 0)
        kinds++;
    kinds->name = name;
    return kinds;
}

static kind_calls_t *kinds_of(const report_t *report, const comparison_set_t *set) {
    kind_calls_t *kinds = report_array(report, set->run->n_cases, sizeof *kinds);
    const case_result_t *result = NULL;
    while ((result = next_case(set, REPORTED, ANY_SIZE, result)) != NULL) {
        const char *own = allocator_of(&result->spec);
        epoch_list_t epochs = epochs_of(result);
        const double later = later_driver_calls(&epochs);
        if (isfinite(later)) {
            kind_calls_t *kind =
                kind_of(kinds, own != NULL ? own
                                           : report_text(report, "%s's own",
                                                         engine_name(result->spec.engine)));
            kind->first = fmax(kind->first, epochs.items[0].driver_calls);
            kind->later = fmax(kind->later, later);
            kind->n_cases++;
        }
        epoch_list_free(&epochs);
    }
    return kinds;
}

static void print_driver_calls(const report_t *report, const comparison_set_t *set) {
    const kind_calls_t *kinds = kinds_of(report, set);
    for (const kind_calls_t *kind = kinds; kind->name != NULL; kind++) {
        print(report, "%s%s: %.0f in the first epoch",
              kind == kinds ? "- **Driver allocator calls**, maximum over all cases:\n  - "
                            : "  - ",
              report_safe(report, kind->name), kind->first);
        if (kind->later > 0)
            print(report, ", **%.0f in a later one**.\n", kind->later);
        else
            print(report, " and **none later** (%zu case%s).\n", kind->n_cases,
                  kind->n_cases == 1 ? "" : "s");
    }
}

/* ---- cost in a training ---------------------------------------------------------------------- */

/* The goal: a planned arena gains no more than this over caching. */
static const double CLOSE = 0.02;

/* "**+1.2 % (+0.7 to +1.6)**" */
static const char *change_text(const report_t *report, const stats_interval_t *ratio) {
    return report_text(report, "**%s**",
                       units_change(report_buffer(report), ratio->centre, ratio->low, ratio->high));
}

/* " arena 56.8 ms, caching relative to it **+1.2 % (+0.7 to +1.6)**: within 2 %" */
static void add_arena(const report_t *report, text_list_t *costs, const comparison_set_t *set,
                      const case_result_t *caching) {
    const case_result_t *arena = sibling(set, caching, "arena");
    const speedup_t speedup = speedup_make(arena, set->phase, caching, set->phase);
    const stats_interval_t *ratio = &speedup.ratio;
    if (speedup.verdict == VERDICT_NONE)
        return;
    const char *how_close = ratio->high <= 1 + CLOSE ? "within"
                            : ratio->low > 1 + CLOSE ? "**not within**"
                                                     : "undecided whether within";
    text_list_add_format(costs, " arena %s, caching relative to it %s",
                         time_cell(report, arena, set->phase),
                         speedup.verdict == VERDICT_UNDECIDED
                             ? change_text(report, ratio)
                             : report_text(report, "%s: %s %g %%", change_text(report, ratio),
                                           how_close, 100 * CLOSE));
}

/* " malloc 2.18 s, 38.0× (…) the time, 94.1 µs more per block" */
static void add_cost(const report_t *report, text_list_t *costs, const comparison_set_t *set,
                     const case_result_t *caching, const char *allocator) {
    const case_result_t *other = sibling(set, caching, allocator);
    const speedup_t speedup = speedup_make(caching, set->phase, other, set->phase);
    const stats_interval_t *ratio = &speedup.ratio;
    if (speedup.verdict == VERDICT_NONE)
        return;
    const bool near = fabs(ratio->centre - 1) < 0.1; /* a percentage is easier to read */
    const char *factor = units_ratio(report_buffer(report), ratio->centre, ratio->low, ratio->high);
    const char *number =
        near ? change_text(report, ratio) : report_text(report, "**%s** the time", factor);
    const char *cost = speedup.verdict != VERDICT_NO_DIFFERENCE
                           ? number
                           : report_text(report, "no difference found, %s", number);
    epoch_list_t epochs = epochs_of(other);
    const double blocks = epochs.n > 0 ? epochs.items[epochs.n - 1].calls : NAN; /* asked for */
    epoch_list_free(&epochs);
    const double more_ns = (speedup.theirs->summary.median - speedup.ours->summary.median) / blocks;
    const char *more = "";
    if (more_ns > 0 && isfinite(more_ns) && speedup.verdict != VERDICT_NO_DIFFERENCE)
        more = report_text(report, ", %s more per block", time_text(report, more_ns));
    text_list_add_format(costs, " %s %s, %s%s", allocator, time_cell(report, other, set->phase),
                         cost, more);
}

static void print_costs(const report_t *report, const comparison_set_t *set) {
    size_t n_lines = 0;
    const case_result_t *result = NULL;
    while ((result = next_case(set, OF_OURS | ONLY_OK, ANY_SIZE, result)) != NULL) {
        const char *own = allocator_of(&result->spec);
        if (own == NULL || strcmp(own, "caching") != 0)
            continue;
        text_list_t costs = {0};
        add_arena(report, &costs, set, result);
        add_cost(report, &costs, set, result, "async");
        add_cost(report, &costs, set, result, "malloc");
        if (costs.n == 0)
            continue;
        if (n_lines++ == 0)
            print(report, "- **Cost of the allocator**, `%s` relative to caching:\n", set->phase);
        print(report, "  - %s, %s: caching %s;%s.\n", name_cell(report, result),
              size_name_of(report, set, result), time_cell(report, result, set->phase),
              report_join(report, &costs, ";"));
    }
}

void finding_allocators(const report_t *report, const training_pair_t *pair) {
    print_driver_calls(report, pair->gpu);
    print_costs(report, pair->gpu);
}

/* ---- epoch by epoch -------------------------------------------------------------------------- */

enum { FIRST_EPOCHS = 3 }; /* shown, with the last one */

static void add_epochs(columns_t *table, const comparison_set_t *set, const case_result_t *result) {
    const report_t *report = table->report;
    const char *allocator = allocator_of(&result->spec);
    time_split_t split;
    const double busy = time_split_of(result, &split) ? split.kernels_ns / split.epoch_ns : NAN;
    char label[32];
    epoch_list_t epochs = epochs_of(result);
    for (size_t e = 0; e < epochs.n && isfinite(epochs.items[e].driver_calls); e++) {
        const epoch_t *epoch = &epochs.items[e];
        if (e >= FIRST_EPOCHS && e + 1 < epochs.n)
            continue;
        const char *const cells[] = {
            size_cell(report, set, size_of_case(set, &result->spec)),
            report_text(report, "%s %s",
                        report_safe(report, case_engine_label(&result->spec, label)),
                        report_safe(report, result->spec.variant)),
            allocator != NULL ? allocator : "built-in",
            count_cell(report, epoch->number),
            count_cell(report, epoch->calls),
            count_cell(report, epoch->hits),
            count_cell(report, epoch->driver_calls),
            time_text(report, epoch->driver_ns),
            bytes_text(report, epoch->reserved_bytes),
            bytes_text(report, epoch->peak_bytes),
            percent_text(report, epoch->fragmentation),
            percent_text(report, busy),
        };
        columns_row(table, cells);
    }
    epoch_list_free(&epochs);
}

void table_of_allocators(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const char *size = size_title(report, set);
    const column_t columns[] = {
        {size, 'r', false},           {"Contender", 'l', false},     {"Allocator", 'l', false},
        {"Epoch", 'r', false},        {"Calls", 'r', false},         {"Hits", 'r', false},
        {"Driver calls", 'r', false}, {"in the driver", 'r', false}, {"Reserved", 'r', false},
        {"Peak in use", 'r', false},  {"Fragmentation", 'r', false}, {"GPU busy", 'r', false},
    };
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (size_t r = 0; r < set->n_rows; r++) {
        const case_result_t *result = NULL;
        while ((result = next_case(set, REPORTED, set->rows[r].size, result)) != NULL)
            add_epochs(&table, set, result);
    }
    columns_end_under(
        &table, 4, "Allocators by epoch",
        "The whole training; each epoch includes its validation. *Hits*: blocks served without the "
        "driver. *Driver calls*: the driver's allocations and frees; *in the driver*: the host's "
        "time in them. *Fragmentation*: the share of the peak reserved bytes beyond the peak in "
        "use. *GPU busy*: the share of one more epoch, traced with CUPTI, in which a kernel or "
        "copy ran. A rival's bytes include weights and images.\n\n");
}

/* ---- the workload allocate ------------------------------------------------------------------- */

static const char PHASE[] = "total";

/* The time of a rival's call has what Python adds to it: see reference_pytorch/allocate.py. */
static const char FROM_PYTHON[] =
    "A rival's allocator is called from Python, ours from C: the time of an empty loop is "
    "subtracted, what a call itself costs in Python is not";

static const case_result_t *our_allocator(const comparison_set_t *set, int64_t size,
                                          const char *variant) {
    const case_result_t *result = NULL;
    while ((result = next_case(set, OF_OURS, size, result)) != NULL &&
           strcmp(result->spec.variant, variant) != 0)
        ;
    return result;
}

static void print_block_ratio(const report_t *report, const case_result_t *caching,
                              const case_result_t *other, const char *name) {
    const speedup_t speedup = speedup_make(caching, PHASE, other, PHASE);
    if (speedup.verdict == VERDICT_NONE)
        return;
    const bool rival = engine_is_rival(other->spec.engine);
    print(report, "  - %s %s%s: ", name, median_text(report, speedup.theirs),
          rival ? " (called from Python)" : "");
    print(report, "%s.\n",
          verdict_text(report, &speedup, rival ? "caching (called from C)" : "caching", name));
}

static void print_blocks(const report_t *report, const comparison_set_t *set,
                         const size_row_t *row) {
    const case_result_t *caching = our_allocator(set, row->size, "caching");
    if (caching == NULL || caching->status != CASE_OK)
        return;
    print(
        report,
        "- **%s block%s in use**, %s: freeing one block and allocating another takes caching %s.\n",
        size_cell(report, set, row->size), row->size == 1 ? "" : "s", set->platform->place,
        time_cell(report, caching, PHASE));
    print_block_ratio(report, caching, our_allocator(set, row->size, "async"), "cudaMallocAsync");
    for (size_t i = 0; i < set->n_rivals; i++)
        if (row->rivals[i].fastest != NULL)
            print_block_ratio(report, caching, row->rivals[i].fastest,
                              report_text(report, "%s's", who(report, row->rivals[i].fastest)));
    print_block_ratio(report, caching, our_allocator(set, row->size, "malloc"), "cudaMalloc");
}

void block_findings(const report_t *report, const comparison_set_list_t *sets) {
    report_heading(report, 3, "allocate");
    for (size_t i = 0; i < sets->n; i++)
        for (size_t r = 0; r < sets->items[i].n_rows; r++)
            print_blocks(report, &sets->items[i], &sets->items[i].rows[r]);
    if (rivals_of_sets(report, sets) != NULL)
        print(report, "- %s.\n", FROM_PYTHON);
    print(report, "\n");
}

static void add_blocks(columns_t *table, const comparison_set_t *set, const size_row_t *row) {
    const report_t *report = table->report;
    const case_result_t *result = NULL;
    while ((result = next_case(set, OF_OURS | OF_RIVALS, row->size, result)) != NULL) {
        const bool competes = engine_is_ours(result->spec.engine) && can_be_fastest(result);
        const speedup_t speedup =
            speedup_make(competes ? result : NULL, PHASE, row->strongest, PHASE);
        const char *const cells[] = {
            size_cell(report, set, row->size),
            report_text(report, "%s%s", contender_text(report, result), algorithmic_mark(result)),
            time_cell(report, result, "allocate"),
            time_cell(report, result, "free"),
            time_cell(report, result, PHASE),
            ratio_cell(report, &speedup),
        };
        columns_row(table, cells);
    }
}

void block_tables(const report_t *report, const comparison_set_list_t *sets) {
    static const column_t COLUMNS[] = {
        {"Live", 'r', false}, {"Allocator", 'l', false}, {"allocation", 'r', false},
        {"free", 'r', false}, {"both", 'r', false},      {"vs the rival's", 'r', false},
    };
    columns_t table = columns_begin(report, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < sets->n; i++)
        for (size_t r = 0; r < sets->items[i].n_rows; r++)
            add_blocks(&table, &sets->items[i], &sets->items[i].rows[r]);
    columns_end(
        &table,
        report_text(
            report,
            "*Live*: blocks in use. Medians of freeing one of them, chosen at random, and "
            "allocating another on an idle device. *vs the rival's*: the time of the strongest "
            "rival over it%s. %s. *(algorithmic)*: planned from a first round of the same "
            "requests, so it knows all of them in advance and is not compared. CPU cases time the "
            "bookkeeping alone, with a driver that only counts addresses.\n\n",
            ratio_meaning(report, "ours"), FROM_PYTHON));
    print_passes(report);
}
