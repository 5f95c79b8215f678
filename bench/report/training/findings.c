/* A training's findings: against the CPU, rung by rung, against hardware limits. */
#include "report/training/training.h"

#include "base/units.h"
#include "limits/limits.h"

#include <math.h>
#include <string.h>

/* ---- against the CPU ------------------------------------------------------------------------- */

static speedup_t host_of(const size_row_t *row) {
    return row->against_host;
}

/* "  - 5 M points, CUDA 430 µs (06_persistent) against C, 11.6 ms (omp): CUDA is **27×** as fast." */
static void print_against(const report_t *report, const comparison_set_t *set,
                          const size_row_t *row, bool rival) {
    const speedup_t *speedup = rival ? &row->against_host_rival : &row->against_host;
    const case_result_t *theirs = rival ? row->host_rival : row->host;
    if (speedup->verdict == VERDICT_NONE)
        return;
    const char *name = report_text(report, "%s%s", who(report, theirs), rival ? " on the CPU" : "");
    print(report, "  - %s, CUDA %s (%s) against %s, %s (%s): %s.\n",
          size_name(report, set, row->size), time_cell(report, row->best, set->phase),
          name_cell(report, row->best), name, median_text(report, speedup->theirs),
          name_cell(report, theirs), verdict_text(report, speedup, "CUDA", name));
}

static void print_host_row(const report_t *report, const comparison_set_t *set,
                           const size_row_t *row) {
    print_against(report, set, row, false);
    print_against(report, set, row, true);
}

static bool has_host(const size_row_t *row) {
    return row->against_host.verdict != VERDICT_NONE ||
           row->against_host_rival.verdict != VERDICT_NONE;
}

void finding_host(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const size_row_t *reference = reference_row(set), *rows[3];
    size_t n = key_rows(set, has_host, rows);
    if (n == 0)
        return;
    print(report, "- **Against the CPU**, the fastest CUDA case against the fastest C case:\n  - ");
    print_lead(report, set, host_of, "CUDA", "C");
    print(report, "\n");
    print_host_row(report, set, rows[0]);
    const size_row_t *second = has_host(reference) ? reference : rows[n - 1];
    if (second != rows[0])
        print_host_row(report, set, second);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

static speedup_t speedup_alone(const case_result_t *ours, const case_result_t *theirs) {
    return speedup_make(ours, training_phase(ours), theirs, training_phase(theirs));
}

/* "03_fused 4.51 µs" */
static const char *rung_text(const report_t *report, const training_pair_t *pair,
                             const case_result_t *rung, const char *between) {
    return report_text(report, "%s%s%s%s", name_cell(report, rung), between,
                       time_text(report, step_ns(pair, rung)),
                       bimodal_mark(result_phase(rung, training_phase(rung))));
}

void finding_ladder(const report_t *report, const training_pair_t *pair) {
    const size_row_t *row = reference_row(pair->gpu);
    size_t n = 0;
    const case_result_t **rungs = row != NULL ? ladder_at(report, pair->gpu, row->size, &n) : NULL;
    if (n < 2)
        return;
    print(report, "- **What each rung gains** at %s, `%s` per %s:\n  - %s.\n",
          size_name(report, pair->gpu, row->size), training_phase(rungs[0]), pair->training->step,
          rung_text(report, pair, rungs[0], " "));
    for (size_t i = 1; i < n; i++) {
        const speedup_t speedup = speedup_alone(rungs[i], rungs[i - 1]);
        print(report,
              speedup.verdict == VERDICT_NO_DIFFERENCE
                  ? "  - %s, no difference from the previous rung found, %s.\n"
                  : "  - %s, **%s** as fast as the previous rung.\n",
              rung_text(report, pair, rungs[i], " "), ratio_cell(report, &speedup));
    }
    const case_result_t *fastest = rungs[0];
    for (size_t i = 1; i < n; i++)
        if (step_ns(pair, rungs[i]) < step_ns(pair, fastest))
            fastest = rungs[i];
    if (fastest == rungs[0])
        return;
    const speedup_t whole = speedup_alone(fastest, rungs[0]);
    print(report, "  - Overall, the fastest, %s, is **%s** as fast as %s",
          name_cell(report, fastest), ratio_cell(report, &whole), name_cell(report, rungs[0]));
    if (whole.verdict == VERDICT_UNDECIDED)
        print(report, ", in %s", passes_word(report, whole.ratio.n_passes));
    print(report, ".\n");
}

/* ---- lower bound of a rung that streams ------------------------------------------------------ */

/* The closest rung above the bound streams best; rungs below it do not stream all data. */
static void print_rungs_against(const report_t *report, const training_pair_t *pair,
                                const streaming_floor_t *floor, const case_result_t **rungs,
                                size_t n) {
    const double floor_ns = floor->fits ? floor->l2_ns : floor->dram_ns;
    const case_result_t *nearest = NULL;
    text_list_t below = {0};
    for (size_t i = 0; i < n; i++) {
        const double ns = step_ns(pair, rungs[i]);
        if (!(ns >= floor_ns))
            text_list_add(&below, rung_text(report, pair, rungs[i], " with "));
        else if (nearest == NULL || ns < step_ns(pair, nearest))
            nearest = rungs[i];
    }
    if (nearest != NULL)
        print(report, "  - The closest above it is %s (the bound is %s of that).\n",
              rung_text(report, pair, nearest, " with "),
              percent_text(report, floor_ns / step_ns(pair, nearest)));
    if (below.n > 0)
        print(report, "  - Rungs below it do not read all data again%s: %s.\n",
              floor->fits ? "" : " from DRAM (or read it faster than the copy rate)",
              report_join(report, &below, ", "));
}

enum { POINT_BYTES = 8 };

/* Below `opening`, if there is one to print. */
static bool print_floor_at(const report_t *report, const training_pair_t *pair,
                           const size_row_t *row, const char *opening) {
    size_t n;
    const case_result_t **rungs = ladder_at(report, pair->gpu, row->size, &n);
    if (n == 0)
        return false;
    const streaming_floor_t floor = streaming_floor(pair->gpu->run, &rungs[0]->spec);
    if (!isfinite(floor.dram_ns))
        return false;
    const char *bytes = bytes_text(report, floor.bytes);
    print(
        report,
        "%s  - At %s: %.0f training points × %d B = %s; %s / %s (DRAM copy rate of this run) = %s",
        opening, size_name(report, pair->gpu, row->size), floor.bytes / POINT_BYTES, POINT_BYTES,
        bytes, bytes, units_rate(report_buffer(report), floor.dram_rate),
        time_text(report, floor.dram_ns));
    if (floor.fits)
        print(report, "; they fit into the L2 (%s): %s / %s (L2 read rate) = %s",
              bytes_text(report, floor.l2_bytes), bytes,
              units_rate(report_buffer(report), floor.l2_rate), time_text(report, floor.l2_ns));
    print(report, ".\n");
    print_rungs_against(report, pair, &floor, rungs, n);
    return true;
}

void finding_floor(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const size_row_t *reference = reference_row(set), *last = &set->rows[set->n_rows - 1];
    const char *opening =
        report_text(report, "- **Lower bound of a rung that reads all data in each %s:**\n",
                    pair->training->step);
    if (reference == NULL || !print_floor_at(report, pair, reference, opening))
        return;
    const double barrier_ns = recorded_number(report->run, "measured.grid_barrier_ns");
    if (isfinite(barrier_ns))
        print(report,
              "  - For a rung that keeps the data on the chip, the lower bound is one grid barrier "
              "per %s, %s in this run.\n",
              pair->training->step, time_text(report, barrier_ns));
    if (last != reference)
        print_floor_at(report, pair, last, "");
}

/* ---- lower bound of a step that moves all weights -------------------------------------------- */

static const char STEP_PHASE[] = "step_device";

typedef struct weights_row {
    device_rates_t rates;
    int64_t size;
    const case_result_t *best;
    double best_ns, weights_bytes, passes;
    double dram_ns, kept_ns; /* bounds; NaN where a rate was not measured */
} weights_row_t;

static weights_row_t weights_row(const training_pair_t *pair, const size_row_t *row) {
    weights_row_t found = {.rates = device_rates_of_record(pair->gpu->run),
                           .size = row->size,
                           .best = comparison_set_fastest(pair->gpu, row->size, OURS, STEP_PHASE)};
    if (found.best == NULL)
        return found;
    const case_t *spec = &found.best->spec;
    found.best_ns = result_median(found.best, STEP_PHASE);
    found.weights_bytes = workload_find(spec->workload)->cost(spec).working_set_bytes;
    found.passes = training_passes(spec);
    found.dram_ns = training_bound_ns(BOUND_WEIGHTS, spec, &found.rates);
    found.kept_ns = training_bound_ns(BOUND_KEPT, spec, &found.rates);
    return found;
}

/* "3·84.0 MB / 4.30 TB/s = 58.6 µs (73 % reached)" */
static const char *bound_text(const report_t *report, const weights_row_t *row,
                              training_bound_t bound, double ns) {
    const char *arithmetic =
        report_keep(report, training_bound_arithmetic(bound, &row->best->spec, &row->rates));
    return report_text(report, "%s (%s reached)", arithmetic,
                       share_cell(report, ns / row->best_ns));
}

void finding_weights(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    size_t n = 0;
    for (size_t i = set->n_rows; i-- > 0 && n < 3;) {
        const weights_row_t row = weights_row(pair, &set->rows[i]);
        if (row.best == NULL || !isfinite(row.dram_ns) || !isfinite(row.kept_ns))
            continue;
        if (n++ == 0)
            print(report,
                  "- **Lower bound %g·W**, W being the bytes of all weights: a step reads %s "
                  "forward, reads them backward and writes them.\n",
                  row.passes, strcmp(row.best->spec.dtype, "mixed") == 0 ? "half of them" : "them");
        print(report, "  - At %s, %s takes %s%s: ", size_name(report, set, row.size),
              name_cell(report, row.best), time_text(report, row.best_ns),
              bimodal_mark(result_phase(row.best, STEP_PHASE)));
        const char *l2 = bytes_text(report, row.rates.l2_bytes);
        const char *kept = bound_text(report, &row, BOUND_KEPT, row.kept_ns);
        if (row.weights_bytes < row.rates.l2_bytes)
            print(report, "all weights fit into the L2 (%s), which allows %s.\n", l2, kept);
        else
            print(report, "%s; if the L2 (%s) kept as many weights as fit, %s.\n",
                  bound_text(report, &row, BOUND_WEIGHTS, row.dram_ns), l2, kept);
    }
}

void table_of_weights(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const double passes = training_passes(&next_case(set, OF_ANYONE, ANY_SIZE, NULL)->spec);
    const char *from_dram = report_text(report, "%g·W in DRAM", passes);
    const column_t columns[] = {
        {size_title(report, set), 'r', false},
        {"W", 'r', false},
        {from_dram, 'r', false},
        {"less what the L2 keeps", 'r', false},
        {"Best rung", 'r', false},
        {"Case", 'l', false},
        {report_text(report, "of %s", from_dram), 'r', false},
        {"of the lower bound", 'r', false},
    };
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < set->n_rows; i++) {
        const weights_row_t row = weights_row(pair, &set->rows[i]);
        if (row.best == NULL)
            continue;
        const char *const cells[] = {
            size_cell(report, set, row.size),
            bytes_text(report, row.weights_bytes),
            time_text(report, row.dram_ns),
            time_text(report, row.kept_ns),
            time_text(report, row.best_ns),
            name_cell(report, row.best),
            share_cell(report, row.dram_ns / row.best_ns),
            share_cell(report, row.kept_ns / row.best_ns),
        };
        columns_row(&table, cells);
    }
    columns_end_under(
        &table, 4, "Lower bound",
        "W: bytes of all weights. *%s*: %g·W over this run's DRAM copy rate; a rung can be faster "
        "if the weights fit into the L2. *less what the L2 keeps*: without the part of W that fits "
        "into the L2, but not below %g·W at the L2's rate. *Best rung*: `%s`.\n\n",
        from_dram, passes, passes, STEP_PHASE);
}

/* ---- another algorithm ----------------------------------------------------------------------- */

/* At the reference size, the smallest and the largest. */
void finding_algorithm(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const size_row_t *reference = reference_row(set);
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const case_result_t *result =
            find_case(set, OF_OURS | ONLY_OK, row->size, result_is_algorithmic);
        if (result == NULL || (i > 0 && i + 1 < set->n_rows && row != reference))
            continue;
        if (n == 0)
            print(report,
                  "- **Another algorithm with the same result**, marked *algorithmic* and not "
                  "compared: %s (%s) takes",
                  report_safe(report, result->spec.variant), pair->training->algorithm);
        print(report, "%s %s at %s", n++ > 0 ? "," : "", time_cell(report, result, set->phase),
              size_name(report, set, row->size));
    }
    print(report, "%s", n > 0 ? ".\n" : "");
}
