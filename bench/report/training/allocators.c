/* What the allocator did in each epoch of a training, and what it cost. */
#include "analysis/epochs.h"
#include "report/training/training.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ok cases on the GPU, of the set's own seed, at all sizes. */
static bool is_told(const comparison_set_t *set, const case_result_t *result) {
    return result->status == CASE_OK && (comparison_set_has(set, result, OWNER_OURS) ||
                                         comparison_set_has(set, result, OWNER_PYTORCH));
}

/* The same contender at the same size with another allocator; NULL when there is none. */
static const case_result_t *sibling(const comparison_set_t *set, const case_result_t *result,
                                    const char *allocator) {
    const int64_t size = size_of_case(set, &result->spec);
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *other = &set->run->cases[i];
        const char *own = allocator_of(&other->spec);
        if (other->status == CASE_OK && comparison_set_has(set, other, OWNER_OURS) &&
            strcmp(other->spec.variant, result->spec.variant) == 0 &&
            size_of_case(set, &other->spec) == size && own != NULL && strcmp(own, allocator) == 0)
            return other;
    }
    return NULL;
}

/* ---- who calls the driver -----------------------------------------------------------------------
 */

typedef struct kind_calls {
    char *name;          /* of the allocator, or "PyTorch's" */
    double first, later; /* the most calls of any of its cases: first epoch, a later one */
    size_t n_cases;
} kind_calls_t;

typedef struct kinds {
    kind_calls_t items[8];
    size_t n;
} kinds_t;

static kind_calls_t *kind_of(kinds_t *kinds, const char *name) {
    for (size_t i = 0; i < kinds->n; i++)
        if (strcmp(kinds->items[i].name, name) == 0)
            return &kinds->items[i];
    if (kinds->n == sizeof kinds->items / sizeof *kinds->items)
        return NULL;
    kinds->items[kinds->n] = (kind_calls_t){.name = mem_text(name)};
    return &kinds->items[kinds->n++];
}

static kinds_t kinds_at(const comparison_set_t *set) {
    kinds_t kinds = {.n = 0};
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        epoch_list_t epochs = is_told(set, result) ? epochs_of(result) : (epoch_list_t){.n = 0};
        const double later = later_driver_calls(&epochs);
        const char *own = allocator_of(&result->spec);
        kind_calls_t *kind =
            isfinite(later) ? kind_of(&kinds, own != NULL ? own : "PyTorch's own") : NULL;
        if (kind != NULL) {
            kind->first = fmax(kind->first, epochs.items[0].driver_calls);
            kind->later = fmax(kind->later, later);
            kind->n_cases++;
        }
        epoch_list_free(&epochs);
    }
    return kinds;
}

static void print_driver_calls(const report_t *report, const comparison_set_t *set) {
    kinds_t kinds = kinds_at(set);
    for (size_t i = 0; i < kinds.n; i++) {
        const kind_calls_t *kind = &kinds.items[i];
        char *name = markdown_text(kind->name);
        fprintf(report->out, "%s%s: ",
                i == 0 ? "- **Calls of the driver's allocator**, at most in any case: " : "; ",
                name);
        if (kind->later > 0)
            fprintf(report->out, "%.0f in the first epoch, **%.0f in a later one**", kind->first,
                    kind->later);
        else
            fprintf(report->out, "%.0f in the first epoch and **none after it** (%zu case%s)",
                    kind->first, kind->n_cases, kind->n_cases == 1 ? "" : "s");
        free(name);
        free(kind->name);
    }
    fputs(kinds.n > 0 ? ".\n" : "", report->out);
}

/* ---- what it costs ------------------------------------------------------------------------------
 */

/* The goal is that planning beforehand buys no more than this. */
static const double CLOSE = 0.02;

/* "arena 56.8 ms, beside which caching takes +1.17 % (+0.70 to +1.61): within 2 %" */
static void print_arena(const report_t *report, const comparison_set_t *set,
                        const case_result_t *default_case, size_t *n) {
    const case_result_t *arena = sibling(set, default_case, "arena");
    const speedup_t speedup = speedup_make(arena, set->phase, default_case, set->phase);
    const stats_ratio_t *ratio = &speedup.ratio;
    char time[UNITS_TEXT];
    if (speedup.verdict == VERDICT_NONE)
        return;
    fprintf(report->out, "%s arena %s, beside which caching takes **%+.2f %%**",
            (*n)++ > 0 ? ";" : "", units_time(time, speedup.ours->summary.median),
            100 * (ratio->ratio - 1));
    if (speedup.verdict == VERDICT_UNDECIDED)
        return;
    fprintf(report->out, " (%+.2f to %+.2f): %s %g %%", 100 * (ratio->low - 1),
            100 * (ratio->high - 1),
            ratio->high <= 1 + CLOSE ? "within"
            : ratio->low > 1 + CLOSE ? "**not within**"
                                     : "undecided whether within",
            100 * CLOSE);
}

/* What an allocator costs beyond another, over the blocks asked for in an epoch; NaN: not told. */
static double more_a_block_ns(const speedup_t *speedup, const case_result_t *other) {
    epoch_list_t epochs = epochs_of(other);
    const double calls = epochs.n > 0 ? epochs.items[epochs.n - 1].calls : NAN;
    epoch_list_free(&epochs);
    return (speedup->theirs->summary.median - speedup->ours->summary.median) / calls;
}

/* "malloc 2.18 s, 38.0× (…) the time, 94.1 µs more a block" */
static void print_cost(const report_t *report, const comparison_set_t *set,
                       const case_result_t *default_case, const char *allocator, size_t *n) {
    const case_result_t *other = sibling(set, default_case, allocator);
    const speedup_t speedup = speedup_make(default_case, set->phase, other, set->phase);
    char time[UNITS_TEXT], ratio[UNITS_TEXT];
    if (speedup.verdict == VERDICT_NONE)
        return;
    fprintf(report->out, "%s %s %s, ", (*n)++ > 0 ? ";" : "", allocator,
            units_time(time, speedup.theirs->summary.median));
    if (fabs(speedup.ratio.ratio - 1) < 0.1) /* a percentage is easier to read */
        fprintf(report->out, "**%+.2f %%** (%+.2f to %+.2f)", 100 * (speedup.ratio.ratio - 1),
                100 * (speedup.ratio.low - 1), 100 * (speedup.ratio.high - 1));
    else
        fprintf(report->out, "**%s** the time",
                units_ratio(ratio, speedup.ratio.ratio, speedup.ratio.low, speedup.ratio.high));
    const double more_ns = more_a_block_ns(&speedup, other);
    if (more_ns > 0 && isfinite(more_ns))
        fprintf(report->out, ", %s more a block", units_time(time, more_ns));
}

static void print_costs(const report_t *report, const comparison_set_t *set) {
    static const char *const OTHERS[] = {"async", "malloc"};
    size_t n_lines = 0;
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        const char *own = allocator_of(&result->spec);
        if (own == NULL || strcmp(own, "caching") != 0 || result->status != CASE_OK ||
            !comparison_set_has(set, result, OWNER_OURS))
            continue;
        bool any = sibling(set, result, "arena") != NULL;
        for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++)
            any = any || sibling(set, result, OTHERS[k]) != NULL;
        if (!any)
            continue;
        char size[UNITS_TEXT], time[UNITS_TEXT];
        char *name = shown_name(result);
        size_t n = 0;
        fprintf(report->out,
                n_lines++ == 0 ? "- **What the allocator costs**, `%s` with each of them against "
                                 "caching:\n"
                               : "",
                set->phase);
        fprintf(report->out, "  - %s, %s: caching %s;", name,
                named_size(size, set, size_of_case(set, &result->spec)),
                units_time(time, result_median(result, set->phase)));
        print_arena(report, set, result, &n);
        for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++)
            print_cost(report, set, result, OTHERS[k], &n);
        fputs(".\n", report->out);
        free(name);
    }
}

void finding_allocators(const report_t *report, const training_pair_t *pair) {
    print_driver_calls(report, pair->gpu);
    print_costs(report, pair->gpu);
}

/* ---- the table ----------------------------------------------------------------------------------
 */

static void add_count(table_t *table, double count) {
    if (isfinite(count))
        table_add_format(table, "%.0f", count);
    else
        table_add(table, "–");
}

static void add_epoch(table_t *table, const epoch_t *epoch) {
    char text[UNITS_TEXT];
    table_add_format(table, "%.0f", epoch->number);
    add_count(table, epoch->calls);
    add_count(table, epoch->hits);
    add_count(table, epoch->driver_calls);
    table_add(table, units_time(text, epoch->driver_ns));
    table_add(table, units_bytes(text, epoch->reserved_bytes));
    table_add(table, units_bytes(text, epoch->peak_bytes));
    table_add(table,
              isfinite(epoch->fragmentation) ? units_percent(text, epoch->fragmentation) : "–");
}

/* "91 %" of the epoch that was watched: kernels ran. */
static void add_busy(table_t *table, const case_result_t *result) {
    time_split_t split;
    char text[UNITS_TEXT];
    table_add(table, time_split_of(result, &split)
                         ? units_percent(text, split.kernels_ns / split.epoch_ns)
                         : "–");
}

enum { FIRST_EPOCHS = 3 }; /* of a long training these are shown, and the last one */

static void add_case(table_t *table, const comparison_set_t *set, const case_result_t *result) {
    epoch_list_t epochs = epochs_of(result);
    for (size_t e = 0; e < epochs.n && isfinite(epochs.items[e].driver_calls); e++) {
        if (e >= FIRST_EPOCHS && e + 1 < epochs.n)
            continue;
        char label[32], size[UNITS_TEXT];
        char *variant = markdown_text(result->spec.variant);
        const char *allocator = allocator_of(&result->spec);
        table_add(table, size_text(size, set, size_of_case(set, &result->spec)));
        table_add_format(table, "%s %s", case_engine_label(&result->spec, label), variant);
        table_add(table, allocator != NULL ? allocator : "its own");
        add_epoch(table, &epochs.items[e]);
        add_busy(table, result);
        free(variant);
    }
    epoch_list_free(&epochs);
}

void table_of_allocators(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    char size[UNITS_TEXT];
    const char *const headings[] = {size_heading(size, set),
                                    "Contender",
                                    "Allocator",
                                    "Epoch",
                                    "Calls",
                                    "Hits",
                                    "Driver calls",
                                    "in the driver",
                                    "Reserved",
                                    "Peak in use",
                                    "Fragmentation",
                                    "GPU busy"};
    table_t table;
    table_init(&table, headings, sizeof headings / sizeof *headings);
    table_set_align(&table, "rllrrrrrrrrr");
    for (size_t r = 0; r < set->n_rows; r++)
        for (size_t i = 0; i < set->run->n_cases; i++) {
            const case_result_t *result = &set->run->cases[i];
            if (is_told(set, result) && size_of_case(set, &result->spec) == set->rows[r].size)
                add_case(&table, set, result);
        }
    if (table_rows(&table) == 0) {
        table_free(&table);
        return;
    }
    report_heading(report, 4, "Allocators, epoch by epoch");
    fputs("Of the whole training, each epoch with its validation. *Hits*: blocks served without "
          "the driver. *Driver calls*: the driver's allocations and frees, and the host's time in "
          "them. *Fragmentation*: of what was reserved at its peak, the share beyond the peak in "
          "use. *GPU busy*: the share of one more epoch, watched by CUPTI, in which some kernel or "
          "copy ran. PyTorch's bytes are of all that the case holds, weights and images too.\n\n",
          report->out);
    report_table(report, &table);
}
