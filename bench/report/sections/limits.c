/* Findings on what the time is spent on: how far the computation is from the limit, how much lies
 * outside it, and what is paid once. */
#include "analysis/labels.h"
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"
#include "limits/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool share_is_known(const case_result_t *result) {
    return result != NULL && result->status == CASE_OK &&
           result_median(result, "kernel") <= result_median(result, "total");
}
static bool has_share(const size_row_t *row) {
    return share_is_known(row->study) || share_is_known(row->best);
}

/* The ok case at a size that comes nearest to its limit. */
static const case_result_t *nearest_to_limit(const comparison_set_t *set, int64_t size,
                                             owner_t owner) {
    const case_result_t *nearest = NULL;
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (result->status == CASE_OK && isfinite(result->limit.frac) &&
            size_of_case(set, &result->spec) == size && comparison_set_has(set, result, owner) &&
            !result_is_algorithmic(result) && !is_rougher(&result->spec) &&
            (nearest == NULL || result->limit.frac > nearest->limit.frac))
            nearest = result;
    }
    return nearest;
}

/* "23.2 µs (`kernel_graph`, 3.62 TB/s)"; the rate only where moving bytes is what binds. */
static void print_measured(FILE *out, const limit_t *limit) {
    char time[UNITS_TEXT], rate[UNITS_TEXT];
    double ns = limit->limit_ns / limit->frac;
    bool moves = limit->bound != NULL &&
                 (strcmp(limit->bound, "dram") == 0 || strcmp(limit->bound, "l2") == 0);
    char *phase = markdown_text(limit->phase != NULL ? limit->phase : "compute");
    fprintf(out, "%s (%s", units_time(time, ns), phase);
    if (moves && limit->bytes > 0)
        fprintf(out, ", %s", units_rate(rate, limit->bytes / ns * 1e9));
    fputc(')', out);
    free(phase);
}

/* " where its 84.0 MB take at least 19.5 µs"; what binds is what is named. */
static void print_least(FILE *out, const limit_t *limit) {
    char time[UNITS_TEXT], bytes[UNITS_TEXT];
    units_time(time, limit->limit_ns);
    if (limit->bound != NULL && strcmp(limit->bound, "fp32") == 0)
        fprintf(out, " where its %.3g billion operations take at least %s", limit->flops / 1e9,
                time);
    else if (limit->bound != NULL && strcmp(limit->bound, "launch") == 0)
        fprintf(out, " where one launch takes at least %s", time);
    else
        fprintf(out, " where its %s take at least %s", units_bytes(bytes, limit->bytes), time);
}

/* Two measurements are never the same; where they differ by more, one of them is wrong. */
static void print_excess(FILE *out, const limit_t *limit) {
    if (limit->frac > PLAUSIBILITY_MOST_OF_LIMIT)
        fputs(" **So much more than all cannot be: the limit or the time is wrong.**", out);
    else if (limit->frac > 1 && limit->bound != NULL && strcmp(limit->bound, "dram") == 0)
        fputs(" (Up to 105 % can be: DRAM's rate is that of a copy, half of which are writes, and "
              "what mostly reads may come out a little above it.)",
              out);
    else if (limit->frac > 1)
        fputs(" (Up to 105 % is taken for the difference of two ways to measure.)", out);
}

static void print_limit(const report_t *report, const comparison_set_t *set,
                        const case_result_t *ours, const case_result_t *theirs) {
    const limit_t *limit = &ours->limit;
    char text[UNITS_TEXT], share[UNITS_TEXT];
    char *name = shown_name(ours);
    char *bound = markdown_text(limit->bound != NULL ? limit->bound : "not named");
    fprintf(report->out,
            "- **Against the limit** at %s, computation alone: %s's %s comes to **%s** of "
            "what the hardware allows, ",
            named_size(text, set, size_of_case(set, &ours->spec)), set->platform->name, name,
            units_percent(share, limit->frac));
    print_measured(report->out, limit);
    print_least(report->out, limit);
    fprintf(report->out, " (bound: %s).", bound);
    print_excess(report->out, limit);
    if (theirs != NULL) {
        char *mode = shown_name(theirs);
        fprintf(report->out, " PyTorch's nearest, %s: %s, ", mode,
                units_percent(share, theirs->limit.frac));
        print_measured(report->out, &theirs->limit);
        fputc('.', report->out);
        free(mode);
    }
    free(name);
    free(bound);
}

static void print_limit_in_brief(const report_t *report, const comparison_set_t *set,
                                 int64_t size) {
    const case_result_t *nearest = nearest_to_limit(set, size, OWNER_OURS);
    if (nearest == NULL)
        return;
    char text[UNITS_TEXT], share[UNITS_TEXT];
    char *name = shown_name(nearest);
    char *bound = markdown_text(nearest->limit.bound != NULL ? nearest->limit.bound : "not named");
    fprintf(report->out, " At %s: %s, %s (bound: %s).", named_size(text, set, size), name,
            units_percent(share, nearest->limit.frac), bound);
    free(name);
    free(bound);
}

/* The size asked for, else the largest; in brief the smallest and the largest, which other things
 * bind. */
void finding_limit(const report_t *report, const comparison_set_t *set, int64_t reference) {
    size_t i = set->n_rows;
    while (i > 0 && nearest_to_limit(set, set->rows[i - 1].size, OWNER_OURS) == NULL)
        i--;
    if (i == 0)
        return;
    const int64_t smallest = set->rows[0].size, largest = set->rows[i - 1].size;
    const int64_t size = nearest_to_limit(set, reference, OWNER_OURS) != NULL ? reference : largest;
    print_limit(report, set, nearest_to_limit(set, size, OWNER_OURS),
                nearest_to_limit(set, size, OWNER_PYTORCH));
    if (smallest != size)
        print_limit_in_brief(report, set, smallest);
    if (largest != size)
        print_limit_in_brief(report, set, largest);
    fputc('\n', report->out);
}

/* Phases of one computation that are measured alike: by the device's clock, between two events,
 * where both sides have that; else each side's own. */
typedef struct like_phases {
    const char *ours, *theirs;
} like_phases_t;

static bool compare_computation(const report_t *report, const comparison_set_t *set,
                                const size_row_t *row, like_phases_t phases) {
    const case_result_t *ours = comparison_set_fastest(set, row->size, OWNER_OURS, phases.ours);
    const case_result_t *theirs =
        comparison_set_fastest(set, row->size, OWNER_PYTORCH, phases.theirs);
    if (ours == NULL || theirs == NULL)
        return false;
    speedup_t speedup = speedup_make(ours, phases.ours, theirs, phases.theirs);
    clock_domain_t own = speedup.ours->clock, other = speedup.theirs->clock;
    char size[UNITS_TEXT], x[UNITS_TEXT], y[UNITS_TEXT];
    char *name = shown_name(ours), *mode = shown_name(theirs);
    fprintf(report->out, "- **Computation alone** at %s: ", named_size(size, set, row->size));
    print_verdict(report->out, &speedup, set->platform->name, "PyTorch");
    fprintf(report->out, ", %s (%s, %s, %s clock) against %s (%s, %s, %s clock).%s\n",
            units_time(x, speedup.ours->summary.median), name, phases.ours, clock_domain_name(own),
            units_time(y, speedup.theirs->summary.median), mode, phases.theirs,
            clock_domain_name(other),
            own != other ? " The host's clock includes launching the work, the device's does not."
                         : "");
    free(name);
    free(mode);
    return true;
}

/* At the largest size that both have. */
void finding_compute(const report_t *report, const comparison_set_t *set) {
    static const like_phases_t LIKE[] = {
        {"kernel", "forward_device"}, {"kernel", "forward"}, {"forward", "forward"}};
    for (size_t k = 0; k < sizeof LIKE / sizeof *LIKE; k++)
        for (size_t i = set->n_rows; i-- > 0;)
            if (compare_computation(report, set, &set->rows[i], LIKE[k]))
                return;
}

static const char *largest_other_phase(const case_result_t *result, double *median_ns) {
    static const char *const PARTS[] = {"malloc", "h2d", "d2h", "free", "residual"};
    const char *largest = NULL;
    *median_ns = -INFINITY;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        double ns = result_median(result, PARTS[i]);
        if (isfinite(ns) && ns > *median_ns) {
            *median_ns = ns;
            largest = PARTS[i];
        }
    }
    return largest;
}

static void print_outside(FILE *out, const case_result_t *result, int64_t batch, size_t n_before) {
    double total_ns = result_median(result, "total"), part_ns;
    const char *part = largest_other_phase(result, &part_ns);
    char share[UNITS_TEXT], text[UNITS_TEXT], time[UNITS_TEXT];
    fprintf(out, "%s%s at batch %s", n_before > 0 ? ", " : "",
            part_text(share, 1 - result_median(result, "kernel") / total_ns),
            units_count(text, batch));
    if (part != NULL)
        fprintf(out, " (most: %s, %s)", part, units_time(time, part_ns));
}

static void finding_outside_kernel(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_share, rows), n_study = 0, n_best = 0;
    if (n == 0)
        return;
    fputs("- **Outside the kernel**, of `total`: ", report->out);
    for (size_t i = 0; i < n; i++)
        if (share_is_known(rows[i]->study)) {
            if (n_study == 0)
                fputs("in the study's set-up ", report->out);
            print_outside(report->out, rows[i]->study, rows[i]->size, n_study++);
        }
    for (size_t i = 0; i < n; i++)
        if (share_is_known(rows[i]->best) && rows[i]->best != rows[i]->study) {
            if (n_best == 0)
                fprintf(report->out, "%sin the fastest case ", n_study > 0 ? "; " : "");
            print_outside(report->out, rows[i]->best, rows[i]->size, n_best++);
        }
    fputs(".\n", report->out);
}

static void print_once(FILE *out, const case_result_t *result, const char *prefix,
                       const char *separator) {
    double sum_ns = 0;
    text_list_t parts = {0};
    for (size_t i = 0; i < result->n_once; i++) {
        char text[UNITS_TEXT];
        char *name = markdown_text(result->once[i].name);
        sum_ns += result->once[i].ns;
        if (result->once[i].ns > 0)
            text_list_add_format(&parts, "%s %s", name, units_time(text, result->once[i].ns));
        free(name);
    }
    char *name = markdown_text(result->spec.variant), *list = text_list_join(&parts, ", ");
    char text[UNITS_TEXT];
    fprintf(out, "%s%s %s %s (%s)", separator, prefix, name, units_time(text, sum_ns), list);
    text_list_free(&parts);
    free(name);
    free(list);
}

void finding_once(const report_t *report, const comparison_set_t *set) {
    if (set->n_rows == 0)
        return;
    const size_row_t *row = &set->rows[0];
    for (size_t i = set->n_rows; i-- > 0;)
        if (has_headline(&set->rows[i]))
            row = &set->rows[i];
    bool ours = row->best != NULL && row->best->n_once > 0;
    bool theirs = row->fastest != NULL && row->fastest->n_once > 0;
    if (!ours && !theirs)
        return;
    char size[UNITS_TEXT];
    fprintf(report->out,
            "- **Paid once**, in none of the times above (%s): ", named_size(size, set, row->size));
    if (ours)
        print_once(report->out, row->best, set->platform->name, "");
    if (theirs)
        print_once(report->out, row->fastest, "PyTorch", ours ? "; " : "");
    fputs(".\n", report->out);
}

void mlp_infer_cost_findings(const report_t *report, const comparison_set_t *set) {
    finding_limit(report, set, -1);
    finding_outside_kernel(report, set);
    finding_compute(report, set);
    finding_once(report, set);
}
