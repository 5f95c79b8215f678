/* Findings on where the time goes: computation and its limit, time outside it, one-time costs. */
#include "report/rivals.h"
#include "report/sections/sections.h"

#include "base/units.h"
#include "limits/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The ok case at a size with the largest share of its limit. */
static const case_result_t *nearest_to_limit(const comparison_set_t *set, int64_t size,
                                             const char *whose) {
    const case_result_t *nearest = NULL, *result = NULL;
    while ((result = comparison_set_next(set, result, whose, size)) != NULL)
        if (isfinite(result->limit.frac) && can_be_fastest(result) &&
            (nearest == NULL || result->limit.frac > nearest->limit.frac))
            nearest = result;
    return nearest;
}

static bool is_bound_by(const limit_t *limit, const char *bound) {
    return limit->bound != NULL && strcmp(limit->bound, bound) == 0;
}

static const char *bound_text(const report_t *report, const limit_t *limit) {
    return report_safe(report, limit->bound != NULL ? limit->bound : "not named");
}

/* "23.2 µs (kernel_graph, 3.62 TB/s)"; the rate only if memory is the bound. */
static const char *measured_text(const report_t *report, const case_result_t *result) {
    const limit_t *limit = &result->limit;
    const double ns = limit->limit_ns / limit->frac;
    const bool moves = is_bound_by(limit, "dram") || is_bound_by(limit, "l2");
    const char *rate = units_rate(report_buffer(report), limit->bytes / ns * 1e9);
    return report_text(report, "%s%s (%s%s%s)", time_text(report, ns), limit_mark(result),
                       report_safe(report, limit->phase != NULL ? limit->phase : "compute"),
                       moves && limit->bytes > 0 ? ", " : "",
                       moves && limit->bytes > 0 ? rate : "");
}

/* " at 51.2 TFLOP/s, the rate of cuBLASLt": the roof that was measured. */
static const char *matmul_text(const report_t *report, const case_result_t *result) {
    const device_rates_t rates = device_rates_of_record(report->whole);
    const matmul_type_t type = matmul_type_of(&result->spec);
    const bool is_own =
        type < MATMUL_TYPES && rates.own_flops_per_s[type] > rates.library_flops_per_s[type];
    return report_text(
        report, " at %s, the rate of %s",
        units_flops(report_buffer(report), result->limit.flops / result->limit.limit_ns * 1e9),
        is_own ? "this run's fastest CUDA case" : "cuBLASLt");
}

/* "its 84.0 MB take at least 19.5 µs": the binding resource. */
static const char *least_text(const report_t *report, const case_result_t *result) {
    const limit_t *limit = &result->limit;
    const char *time = time_text(report, limit->limit_ns);
    if (is_bound_by(limit, "matmul"))
        return report_text(report, "its %.3g billion operations take at least %s%s",
                           limit->flops / 1e9, time, matmul_text(report, result));
    if (is_bound_by(limit, "fp32"))
        return report_text(report, "its %.3g billion operations take at least %s",
                           limit->flops / 1e9, time);
    if (is_bound_by(limit, "launch"))
        return report_text(report, "one launch takes at least %s", time);
    return report_text(report, "its %s take at least %s",
                       units_bytes(report_buffer(report), limit->bytes), time);
}

/* A larger share of the limit has another reason than noise. */
static const double MOST_BY_NOISE = 1.05;

static bool is_over_limit(const case_result_t *result) {
    return flag_list_find(&result->flags, FLAG_OVER_LIMIT) != NULL;
}

static const char *excess_text(const case_result_t *result) {
    const limit_t *limit = &result->limit;
    if (is_over_limit(result))
        return " **No kernel can be that fast on this chip: the time is wrong.**";
    if (!(limit->frac > 1))
        return "";
    if (limit->frac > MOST_BY_NOISE && is_bound_by(limit, "fp32"))
        return " (Tensor cores compute float32 products in TF32 parts faster than the FP32 lanes.)";
    if (limit->frac > MOST_BY_NOISE && !is_bound_by(limit, "matmul"))
        return " (Data that stay on the chip from pass to pass are not moved again.)";
    if (is_bound_by(limit, "dram"))
        return " (Up to 105 % is plausible: the DRAM rate comes from a copy, and a kernel that "
               "mostly "
               "reads can be slightly faster.)";
    return " (Up to 105 % is within the error of comparing two measurements.)";
}

static void print_limit(const report_t *report, const comparison_set_t *set,
                        const case_result_t *ours) {
    const limit_t *limit = &ours->limit;
    print(report,
          "- **Against the limit**, computation alone:\n  - At %s %s %s reaches **%s** of the "
          "hardware limit with %s; %s (bound: %s).%s\n",
          size_name(report, set, size_of_case(set, &ours->spec)), set->platform->name,
          name_cell(report, ours), percent_text(report, limit->frac), measured_text(report, ours),
          least_text(report, ours), bound_text(report, limit), excess_text(ours));
    for (size_t i = 0; i < set->n_rivals; i++) {
        const case_result_t *theirs =
            nearest_to_limit(set, size_of_case(set, &ours->spec), set->rivals[i]);
        if (theirs != NULL)
            print(report, "  - %s's best there, %s, reaches %s with %s.\n", who(report, theirs),
                  name_cell(report, theirs), percent_text(report, theirs->limit.frac),
                  measured_text(report, theirs));
    }
}

/* At the requested size, else the largest; briefly at both ends, where other bounds apply. */
void finding_limit(const report_t *report, const comparison_set_t *set, int64_t reference) {
    size_t i = set->n_rows;
    while (i > 0 && nearest_to_limit(set, set->rows[i - 1].size, OURS) == NULL)
        i--;
    if (i == 0)
        return;
    const int64_t ends[] = {set->rows[0].size, set->rows[i - 1].size};
    const int64_t size = nearest_to_limit(set, reference, OURS) != NULL ? reference : ends[1];
    print_limit(report, set, nearest_to_limit(set, size, OURS));
    for (size_t k = 0; k < 2; k++) {
        const case_result_t *nearest = nearest_to_limit(set, ends[k], OURS);
        if (ends[k] != size && nearest != NULL)
            print(report, "  - At %s %s %s reaches %s (bound: %s).\n",
                  size_name(report, set, ends[k]), set->platform->name, name_cell(report, nearest),
                  percent_text(report, nearest->limit.frac), bound_text(report, &nearest->limit));
    }
}

/* Phases of the computation alone, of ours and of theirs; a device's clock is preferred. */
static const struct alike {
    const char *ours, *theirs;
} ALIKE[] = {{"kernel_graph", "forward_graph"},
             {"kernel", "forward_device"},
             {"kernel", "kernel"},
             {"kernel", "forward"},
             {"forward", "forward"}};

static const char *computed_text(const report_t *report, const phase_t *phase, const char *name) {
    return report_text(report, "%s (%s, %s, %s clock)", median_text(report, phase), name,
                       phase->name, clock_domain_name(phase->clock));
}

static void print_computation(const report_t *report, const comparison_set_t *set,
                              const case_result_t *ours, const case_result_t *theirs,
                              const struct alike *alike) {
    const speedup_t speedup = speedup_make(ours, alike->ours, theirs, alike->theirs);
    const char *our = computed_text(report, speedup.ours, name_cell(report, ours));
    const char *their = computed_text(report, speedup.theirs, their_case(report, set, theirs));
    print(report, "- **Computation alone** at %s: ",
          size_name(report, set, size_of_case(set, &ours->spec)));
    if (speedup.ours->clock != speedup.theirs->clock)
        print(report,
              "not compared, %s and %s: the host's clock includes launching the work, the "
              "device's does not.\n",
              our, their);
    else
        print(report, "%s, %s against %s.\n",
              verdict_text(report, &speedup, set->platform->name, who(report, theirs)), our, their);
}

/* At the largest size common to both sides, with the first pair of phases that both have. */
static void finding_compute_against(const report_t *report, const comparison_set_t *set,
                                    const char *rival) {
    for (size_t k = 0; k < sizeof ALIKE / sizeof *ALIKE; k++)
        for (size_t i = set->n_rows; i-- > 0;) {
            const int64_t size = set->rows[i].size;
            const case_result_t *ours = comparison_set_fastest(set, size, OURS, ALIKE[k].ours);
            const case_result_t *theirs = comparison_set_fastest(set, size, rival, ALIKE[k].theirs);
            if (ours == NULL || theirs == NULL)
                continue;
            print_computation(report, set, ours, theirs, &ALIKE[k]);
            return;
        }
}

void finding_compute(const report_t *report, const comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rivals; i++)
        finding_compute_against(report, set, set->rivals[i]);
}

static bool share_is_known(const case_result_t *result) {
    return result != NULL && result->status == CASE_OK &&
           result_median(result, "kernel") <= result_median(result, "total");
}

static bool has_share(const size_row_t *row) {
    return share_is_known(row->study) || share_is_known(row->best);
}

static const char *largest_other_phase(const case_result_t *result) {
    static const char *const PARTS[] = {"malloc", "h2d", "d2h", "free", "residual"};
    const char *largest = NULL;
    double most_ns = -INFINITY;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (result_median(result, PARTS[i]) > most_ns) {
            most_ns = result_median(result, PARTS[i]);
            largest = PARTS[i];
        }
    return largest;
}

/* "88 % at batch 64 (most: h2d, 12.0 µs)" */
static void add_outside(const report_t *report, const comparison_set_t *set, text_list_t *parts,
                        const case_result_t *result) {
    const double frac = 1 - result_median(result, "kernel") / result_median(result, "total");
    const char *size = size_name(report, set, size_of_case(set, &result->spec));
    const char *share = report_text(report, "%s at %s", share_cell(report, frac), size);
    const char *most = largest_other_phase(result);
    if (most != NULL)
        text_list_add_format(parts, "%s (most: %s, %s)", share, most,
                             time_text(report, result_median(result, most)));
    else
        text_list_add(parts, share);
}

void finding_outside_kernel(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    const size_t n = key_rows(set, has_share, rows);
    text_list_t study = {0}, best = {0};
    for (size_t i = 0; i < n; i++) {
        if (share_is_known(rows[i]->study))
            add_outside(report, set, &study, rows[i]->study);
        if (share_is_known(rows[i]->best) && rows[i]->best != rows[i]->study)
            add_outside(report, set, &best, rows[i]->best);
    }
    const char *in_study = report_join(report, &study, ", ");
    const char *in_best = report_join(report, &best, ", ");
    if (in_study != NULL)
        print(report, "- **Outside the kernel** in the study's set-up, share of `total`: %s.\n",
              in_study);
    if (in_best != NULL)
        print(report, "- **Outside the kernel** in the fastest case, share of `total`: %s.\n",
              in_best);
}

/* What was cached was compiled for another case, or in an earlier run. */
static void add_compilation(const report_t *report, text_list_t *parts,
                            const case_result_t *result) {
    if (strcmp(result->spec.engine, "cuda") != 0 || isfinite(result_once(result, "compile")))
        return;
    double ns = NAN;
    for (const case_result_t *other = NULL; (other = record_next(report->run, other)) != NULL;)
        if (strcmp(other->spec.engine, "cuda") == 0 &&
            strcmp(other->spec.workload, result->spec.workload) == 0 &&
            strcmp(other->spec.variant, result->spec.variant) == 0 &&
            strcmp(other->spec.dtype, result->spec.dtype) == 0)
            ns = fmax(ns, result_once(other, "compile"));
    text_list_add_format(parts, "without its compilation, which was cached%s",
                         isfinite(ns) ? report_text(report, " and took up to %s in other cases",
                                                    time_text(report, ns))
                                      : "");
}

/* "CUDA 03_vectorized 205 ms (context 181 ms, …)"; nothing if no cost is known. */
static void add_once(const report_t *report, text_list_t *sides, const case_result_t *result) {
    double sum_ns = 0;
    text_list_t parts = {0};
    for (size_t i = 0; result != NULL && i < result->n_once; i++) {
        const named_ns_t *once = &result->once[i];
        sum_ns += once->ns;
        if (once->ns > 0)
            text_list_add_format(&parts, "%s %s", report_safe(report, once->name),
                                 time_text(report, once->ns));
    }
    if (result != NULL && result->n_once > 0)
        add_compilation(report, &parts, result);
    const char *list = report_join(report, &parts, ", ");
    if (result != NULL && result->n_once > 0)
        text_list_add_format(sides, "%s %s %s (%s)", who(report, result),
                             report_safe(report, result->spec.variant), time_text(report, sum_ns),
                             list != NULL ? list : "");
}

void finding_once(const report_t *report, const comparison_set_t *set) {
    const size_row_t *row = NULL;
    for (size_t i = set->n_rows; i-- > 0;)
        if (has_headline(&set->rows[i]) || (i == 0 && row == NULL))
            row = &set->rows[i];
    text_list_t sides = {0};
    if (row != NULL) {
        add_once(report, &sides, row->best);
        for (size_t i = 0; i < set->n_rivals; i++)
            add_once(report, &sides, row->rivals[i].fastest);
    }
    if (sides.n > 0)
        print(report, "- **One-time costs**, not included above (%s):\n  - %s.\n",
              size_name(report, set, row->size), report_join(report, &sides, ".\n  - "));
}
