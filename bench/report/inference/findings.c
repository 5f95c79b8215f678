/* Findings on inference and own operators. Each function prints one, or nothing if the run lacks the data. */
#include "report/inference/inference.h"
#include "report/sections/sections.h"

#include <string.h>

static speedup_t study_total_of(const size_row_t *row) {
    return row->study_total;
}
static bool has_study_total(const size_row_t *row) {
    return row->study_total.verdict != VERDICT_NONE;
}
static bool has_own_gain(const size_row_t *row) {
    return row->against_study.verdict != VERDICT_NONE && row->best != row->study;
}

/* Does one of our cases keep its buffers between samples? */
static bool has_kept_buffers(const comparison_set_t *set, int64_t batch) {
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, OURS, batch)) != NULL) {
        const char *alloc = case_technique(&result->spec, "alloc");
        const char *copy = case_technique(&result->spec, "copy");
        if (result->status == CASE_OK && alloc != NULL && copy != NULL &&
            strcmp(alloc, "malloc") != 0 && strcmp(copy, "pageable") != 0)
            return true;
    }
    return false;
}

/* A rival may keep its buffers, pinned if useful, as PyTorch's graph mode does. Against a side that
 * allocates in every sample and copies from pageable memory, the ratio measures the set-up, not the
 * kernel. */
static void print_unequal_setups(const report_t *report, const comparison_set_t *set) {
    size_t with = 0, compared = fitting_rows(set, has_headline, NULL);
    for (size_t i = 0; i < set->n_rows; i++)
        with += has_headline(&set->rows[i]) && has_kept_buffers(set, set->rows[i].size);
    if (strcmp(set->platform->device, "cuda") != 0 || with == compared)
        return;
    print(report,
          "  - Not always like for like: a rival may keep its buffers between samples. CUDA "
          "cases that do (`alloc` not malloc, `copy` not pageable) were run at ");
    if (with == 0)
        print(report, "no %s compared: CUDA", sizes_word(set, 1));
    else
        print(report, "%zu of the %zu %s compared; at the others CUDA", with, compared,
              sizes_word(set, compared));
    print(report, " allocates or copies pageable memory in every sample.\n");
}

/* The comparison published by the study. */
static void finding_study(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_study_total, rows);
    if (n == 0)
        return;
    print(report,
          "- **The study's comparison**, by `total`: its CUDA set-up (rung 01, malloc, pageable "
          "copies, weights uploaded in every sample) against PyTorch eager including model "
          "construction:\n  - ");
    print_lead(report, set, study_total_of, "CUDA", "PyTorch");
    print(report, "\n");
    for (size_t i = 0; i < n; i++) {
        const speedup_t *speedup = &rows[i]->study_total;
        print(report, "  - At %s %s (%s against %s).\n", size_name(report, set, rows[i]->size),
              verdict_text(report, speedup, "CUDA", "PyTorch"), median_text(report, speedup->ours),
              median_text(report, speedup->theirs));
    }
}

static void finding_own_gain(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_own_gain, rows);
    if (n == 0)
        return;
    print(report, "- **Gain over the study's set-up** (%s), fastest CUDA case:\n",
          strcmp(set->phase, "total") == 0 ? "total" : "host to host");
    for (size_t i = 0; i < n; i++)
        print(report, "  - At %s %s.\n", size_name(report, set, rows[i]->size),
              verdict_text(report, &rows[i]->against_study, "it", "the study's set-up"));
}

static void finding_computation(const report_t *report, const comparison_set_t *set) {
    finding_headline(report, set,
                     "**The computation alone** (inputs and outputs in the device's memory; many "
                     "calls in one CUDA graph where that is possible, else one call)");
}

static void finding_whole(const report_t *report, const comparison_set_t *set) {
    static const char HOST_TO_HOST[] = "**Host to host** (input in host memory to output in host "
                                       "memory, without set-up)";
    const bool total = strcmp(set->phase, "host_to_host") != 0;
    finding_headline(report, set, total ? "**By the total of all phases**" : HOST_TO_HOST);
    if (fitting_rows(set, has_headline, NULL) > 0)
        print_unequal_setups(report, set);
}

static void findings_of(const report_t *report, const comparison_set_t *set) {
    const bool alone = phase_is_call(set->phase);
    comparison_set_t whole = comparison_set_by_whole(set);
    if (alone)
        finding_computation(report, set);
    finding_whole(report, &whole);
    finding_missing(report, set);
    finding_polling(report, &whole);
    finding_limit(report, set, -1);
    finding_bus(report, &whole);
    finding_outside_kernel(report, &whole);
    if (!alone)
        finding_compute(report, set);
    finding_once(report, set);
    finding_techniques(report, &whole);
    finding_batch_constant(report, set);
    finding_study(report, set);
    finding_own_gain(report, set);
    comparison_set_free_rows(&whole);
}

void inference_findings(const report_t *report, const comparison_set_list_t *sets) {
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        const comparison_set_count_t count = comparison_set_count(set);
        report_heading(report, 3,
                       report_text(report, "%s %s, %s", report_safe(report, set->workload),
                                   report_safe(report, set->key), set->platform->place));
        if (count.timed == 0) {
            print(report,
                  "Nothing was measured %s: none of the %zu cases has a valid time. See the "
                  "warnings.\n\n",
                  set->platform->place, count.n);
            continue;
        }
        findings_of(report, set);
        print(report, "\n");
    }
}
