/* Findings: sentences made from numbers. Each function says one thing, or nothing where the run
 * does not carry it. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
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
static const char *phase_in_words(const char *phase) {
    return strcmp(phase, "host_to_host") == 0
               ? "**Host to host** (input in host memory to output in host memory, set-up left out)"
               : "**By the total of all phases**";
}

static bool keeps_buffers(const case_t *spec) {
    const char *alloc = case_technique(spec, "alloc"), *copy = case_technique(spec, "copy");
    return alloc != NULL && copy != NULL && strcmp(alloc, "malloc") != 0 &&
           strcmp(copy, "pageable") != 0;
}

/* PyTorch's graph mode works in buffers that it keeps, pinned where that helps. Against it, a
 * side that allocates in every sample and copies from pageable memory is another set-up, not
 * another kernel. */
static void print_unequal_setups(FILE *out, const comparison_set_t *set) {
    size_t with = 0, rivals = 0;
    for (size_t i = 0; i < set->n_rows; i++) {
        const size_row_t *row = &set->rows[i];
        bool kept = false;
        for (size_t k = 0; k < set->run->n_cases && !kept; k++) {
            const case_result_t *result = &set->run->cases[k];
            kept = size_of_case(set, &result->spec) == row->size && result->status == CASE_OK &&
                   comparison_set_has(set, result, OWNER_OURS) && keeps_buffers(&result->spec);
        }
        bool rival = row->fastest != NULL && strcmp(row->fastest->spec.variant, "graph") == 0;
        rivals += rival;
        with += rival && kept;
    }
    if (strcmp(set->platform->device, "cuda") == 0 && with < rivals)
        fprintf(out,
                "  - Not like for like everywhere: PyTorch's graph mode keeps its buffers between "
                "samples. CUDA cases that do so too (`alloc` not malloc, `copy` not pageable) were "
                "run at %zu of the %zu batches where graph is PyTorch's fastest; at the others "
                "CUDA allocates, or copies pageable memory, in every sample.\n",
                with, rivals);
}

/* The comparison that the study itself published. */
static void finding_study(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_study_total, rows);
    if (n == 0)
        return;
    fputs("- **The study's own question**, total against total, its CUDA set-up (rung 01, malloc, "
          "pageable copies, weights uploaded in every sample) against PyTorch eager with building "
          "the model included: ",
          report->out);
    print_score(report->out, set, study_total_of, "CUDA", "PyTorch");
    print_crossover(report->out, set, study_total_of, "CUDA", "PyTorch");
    for (size_t i = 0; i < n; i++) {
        const speedup_t *speedup = &rows[i]->study_total;
        char batch[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
        fprintf(report->out, "%s batch %s ", i == 0 ? " At" : "; at",
                units_count(batch, rows[i]->size));
        print_verdict(report->out, speedup, "CUDA", "PyTorch");
        fprintf(report->out, " (%s against %s)", units_time(a, speedup->ours->summary.median),
                units_time(b, speedup->theirs->summary.median));
    }
    fputs(".\n", report->out);
}

static void finding_own_gain(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, has_own_gain, rows);
    if (n == 0)
        return;
    fprintf(report->out, "- **Over the study's own set-up** (%s), the fastest CUDA case: ",
            strcmp(set->phase, "total") == 0 ? "total" : "host to host");
    for (size_t i = 0; i < n; i++) {
        char batch[UNITS_TEXT];
        fprintf(report->out, "%sat batch %s ", i > 0 ? "; " : "",
                units_count(batch, rows[i]->size));
        print_verdict(report->out, &rows[i]->against_study, "it", "the study's set-up");
    }
    fputs(".\n", report->out);
}

/* The answer to the question that the report is about. */
static void finding_host_to_host(const report_t *report, const comparison_set_t *set) {
    char *subject = mem_format("%s, the fastest %s case against PyTorch's fastest mode",
                               phase_in_words(set->phase), set->platform->name);
    finding_headline(report, set, subject);
    free(subject);
    const size_row_t *rows[3];
    if (key_rows(set, has_headline, rows) > 0)
        print_unequal_setups(report->out, set);
}

static void comparison_set_findings(const report_t *report, const comparison_set_t *set) {
    char *key = markdown_text(set->key);
    char *heading = mem_format("mlp_infer %s, %s", key, set->platform->place);
    report_heading(report, 3, heading);
    free(heading);
    free(key);
    comparison_set_count_t size = comparison_set_count(set);
    if (size.timed == 0) {
        fprintf(report->out,
                "Nothing was measured %s: none of the %zu cases has a valid time. The reasons are "
                "among the warnings.\n\n",
                set->platform->place, size.n);
        return;
    }
    finding_host_to_host(report, set);
    finding_missing(report, set);
    finding_polling(report, set);
    mlp_infer_cost_findings(report, set);
    finding_techniques(report, set);
    finding_batch_constant(report, set);
    finding_study(report, set);
    finding_own_gain(report, set);
    finding_others(report, set);
    fputc('\n', report->out);
}

void mlp_infer_findings(const report_t *report, const comparison_set_list_t *sets) {
    for (size_t i = 0; i < sets->n; i++)
        comparison_set_findings(report, &sets->items[i]);
}
