/* What a training's numbers say beyond who is faster: against the CPU, rung by rung, against what
 * the hardware allows. */
#include "report/training/training.h"

#include "base/memory.h"
#include "base/units.h"
#include "limits/training_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- against the CPU ----------------------------------------------------------------------------
 */

static speedup_t host_of(const size_row_t *row) {
    return row->against_host;
}

static void print_against(FILE *out, const speedup_t *speedup, const case_result_t *theirs,
                          const char *name) {
    if (speedup->verdict == VERDICT_NONE)
        return;
    char time[UNITS_TEXT];
    char *variant = shown_name(theirs);
    fprintf(out, " %s, %s (%s): ", name, units_time(time, speedup->theirs->summary.median),
            variant);
    print_verdict(out, speedup, "CUDA", name);
    fputc('.', out);
    free(variant);
}

static void print_host_row(FILE *out, const comparison_set_t *set, const size_row_t *row) {
    char size[UNITS_TEXT], time[UNITS_TEXT];
    char *name = shown_name(row->best);
    double best_ns = result_median(row->best, set->phase);
    fprintf(out, "  - %s, where CUDA takes %s (%s).", named_size(size, set, row->size),
            units_time(time, best_ns), name);
    print_against(out, &row->against_host, row->host, "C");
    print_against(out, &row->against_host_pytorch, row->host_pytorch, "PyTorch on the CPU");
    fputc('\n', out);
    free(name);
}

static bool has_host(const size_row_t *row) {
    return row->against_host.verdict != VERDICT_NONE ||
           row->against_host_pytorch.verdict != VERDICT_NONE;
}

void finding_host(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const size_row_t *reference = reference_row(set), *rows[3];
    size_t n = key_rows(set, has_host, rows);
    if (n == 0)
        return;
    fputs("- **Against the CPU**, the fastest CUDA case against the fastest in C there: ",
          report->out);
    print_score(report->out, set, host_of, "CUDA", "C");
    print_crossover(report->out, set, host_of, "CUDA", "C");
    fputc('\n', report->out);
    print_host_row(report->out, set, rows[0]);
    const size_row_t *second = has_host(reference) ? reference : rows[n - 1];
    if (second != rows[0])
        print_host_row(report->out, set, second);
}

/* ---- the ladder ---------------------------------------------------------------------------------
 */

static double step_ns(const training_pair_t *pair, const case_result_t *result) {
    return result_median(result, training_phase(result)) / steps_of(pair, result);
}

static speedup_t speedup_alone(const case_result_t *ours, const case_result_t *theirs) {
    return speedup_make(ours, training_phase(ours), theirs, training_phase(theirs));
}

static void print_gain(FILE *out, const speedup_t *speedup, const char *than) {
    char text[2 * UNITS_TEXT];
    ratio_text(text, sizeof text, speedup);
    if (speedup->verdict == VERDICT_NO_DIFFERENCE)
        fprintf(out, ", no difference to %s found, %s", than, text);
    else
        fprintf(out, ", **%s** as fast as %s", text, than);
}

void finding_ladder(const report_t *report, const training_pair_t *pair) {
    const size_row_t *row = reference_row(pair->gpu);
    size_t n = 0;
    const case_result_t **rungs = row != NULL ? ladder_at(pair->gpu, row->size, &n) : NULL;
    if (n > 1) {
        char text[UNITS_TEXT], ratio[2 * UNITS_TEXT];
        fprintf(report->out, "- **What each rung of the ladder buys** at %s, `%s` a%s %s:",
                named_size(text, pair->gpu, row->size), training_phase(rungs[0]),
                strchr("aeiou", pair->training->step[0]) != NULL ? "n" : "", pair->training->step);
        for (size_t i = 0; i < n; i++) {
            char *name = shown_name(rungs[i]);
            fprintf(report->out, "%s %s %s", i > 0 ? ";" : "", name,
                    units_time(text, step_ns(pair, rungs[i])));
            free(name);
            if (i > 0) {
                speedup_t speedup = speedup_alone(rungs[i], rungs[i - 1]);
                print_gain(report->out, &speedup, "the rung before");
            }
        }
        speedup_t whole = speedup_alone(rungs[n - 1], rungs[0]);
        char *first = shown_name(rungs[0]), *last = shown_name(rungs[n - 1]);
        fprintf(report->out, ". From end to end, %s is **%s** as fast as %s.\n", last,
                ratio_text(ratio, sizeof ratio, &whole), first);
        free(first);
        free(last);
    }
    free(rungs);
}

/* ---- the floor of a rung that streams -----------------------------------------------------------
 */

static void print_floor(FILE *out, const training_pair_t *pair, const streaming_floor_t *floor) {
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    const training_t *training = pair->training;
    fprintf(out, "%.0f %s × %.0f B = %s; ", floor->bytes / training->streamed_bytes,
            training->streamed, training->streamed_bytes, units_bytes(a, floor->bytes));
    fprintf(out, "%s / %s, which copying within DRAM reached in this run, = %s", a,
            units_rate(b, floor->dram_rate), units_time(c, floor->dram_ns));
    if (floor->fits)
        fprintf(out, "; the L2 (%s) holds them: %s / %s, which reading it reached, = %s",
                units_bytes(b, floor->l2_bytes), a,
                units_rate((char[UNITS_TEXT]){0}, floor->l2_rate), units_time(c, floor->l2_ns));
    fputs(". ", out);
}

/* Above the floor, nearest first, stands the rung that streams best; below it are those that do
 * not stream all. */
static void print_rungs_against(FILE *out, const training_pair_t *pair,
                                const streaming_floor_t *floor, const case_result_t **rungs,
                                size_t n) {
    const double floor_ns = floor->fits ? floor->l2_ns : floor->dram_ns;
    const case_result_t *nearest = NULL;
    char text[UNITS_TEXT], share[UNITS_TEXT];
    size_t n_below = 0;
    for (size_t i = 0; i < n; i++)
        if (step_ns(pair, rungs[i]) >= floor_ns &&
            (nearest == NULL || step_ns(pair, rungs[i]) < step_ns(pair, nearest)))
            nearest = rungs[i];
    if (nearest != NULL) {
        char *name = shown_name(nearest);
        fprintf(out, "%s comes nearest to it from above with %s (the floor is %s of that)", name,
                units_time(text, step_ns(pair, nearest)),
                units_percent(share, floor_ns / step_ns(pair, nearest)));
        free(name);
    }
    for (size_t i = 0; i < n; i++) {
        if (step_ns(pair, rungs[i]) >= floor_ns)
            continue;
        char *name = shown_name(rungs[i]);
        if (n_below++ > 0)
            fputs(", ", out);
        else
            fprintf(out, "%s, and so without reading all of it again%s, come ",
                    nearest != NULL ? "; below it" : "Below it",
                    floor->fits ? "" : " from DRAM (or faster than copying moves it)");
        fprintf(out, "%s with %s", name, units_time(text, step_ns(pair, rungs[i])));
        free(name);
    }
    fputs(nearest != NULL || n_below > 0 ? "." : "", out);
}

static bool print_floor_at(FILE *out, const training_pair_t *pair, const size_row_t *row,
                           bool first) {
    size_t n;
    const case_result_t **rungs = ladder_at(pair->gpu, row->size, &n);
    streaming_floor_t floor = {0};
    if (n > 0)
        floor = streaming_floor(pair->gpu->run, &rungs[0]->spec);
    bool known = n > 0 && isfinite(floor.dram_ns);
    if (known) {
        char size[UNITS_TEXT];
        fprintf(out,
                first ? "- **The floor of a rung that reads the data again in each %s.** " : "",
                pair->training->step);
        fprintf(out, "%sAt %s: ", first ? "" : " ", named_size(size, pair->gpu, row->size));
        print_floor(out, pair, &floor);
        print_rungs_against(out, pair, &floor, rungs, n);
    }
    free(rungs);
    return known;
}

void finding_floor(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const size_row_t *reference = reference_row(set), *last = &set->rows[set->n_rows - 1];
    if (reference == NULL || !print_floor_at(report->out, pair, reference, true))
        return;
    double barrier_ns = recorded_number(report->run, "measured.grid_barrier_ns");
    char text[UNITS_TEXT];
    if (isfinite(barrier_ns))
        fprintf(report->out,
                " For a rung that keeps the data on the chip the floor is another: all blocks have "
                "to hear of each other once in each %s, and a barrier of the whole grid took %s "
                "in this run.",
                pair->training->step, units_time(text, barrier_ns));
    if (last != reference)
        print_floor_at(report->out, pair, last, false);
    fputc('\n', report->out);
}

/* ---- another algorithm --------------------------------------------------------------------------
 */

static const case_result_t *algorithmic_at(const comparison_set_t *set, int64_t size) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (result->status == CASE_OK && size_of_case(set, &result->spec) == size &&
            comparison_set_has(set, result, OWNER_OURS) && result_is_algorithmic(result))
            return result;
    }
    return NULL;
}

/* At the reference size, and the smallest and largest that it was run at. */
void finding_algorithm(const report_t *report, const training_pair_t *pair) {
    const comparison_set_t *set = pair->gpu;
    const size_row_t *reference = reference_row(set);
    size_t n = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        const case_result_t *result = algorithmic_at(set, row->size);
        if (result == NULL || (i > 0 && i + 1 < set->n_rows && row != reference))
            continue;
        char size[UNITS_TEXT], time[UNITS_TEXT];
        char *name = markdown_text(result->spec.variant);
        if (n == 0)
            fprintf(report->out,
                    "- **Another algorithm with the same result**, marked *algorithmic* and in no "
                    "comparison, ratio or best of this report: %s (%s) takes",
                    name, pair->training->algorithm);
        fprintf(report->out, "%s %s at %s", n++ > 0 ? "," : "",
                units_time(time, result_median(result, set->phase)),
                named_size(size, set, row->size));
        free(name);
    }
    if (n > 0)
        fputs(".\n", report->out);
}
