/* Findings: sentences made from numbers. Each function says one thing, or nothing where the run
 * does not carry it. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static duel_t study_total_of(const size_row_t *row) {
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
static void print_unequal_setups(FILE *out, const family_t *family) {
    size_t with = 0, rivals = 0;
    for (size_t i = 0; i < family->n_rows; i++) {
        const size_row_t *row = &family->rows[i];
        bool kept = false;
        for (size_t k = 0; k < family->run->n_cases && !kept; k++) {
            const case_result_t *result = &family->run->cases[k];
            kept = size_of_case(family, &result->spec) == row->size && result->status == CASE_OK &&
                   family_has(family, result, PARTY_OURS) && keeps_buffers(&result->spec);
        }
        bool rival = row->fastest != NULL && strcmp(row->fastest->spec.variant, "graph") == 0;
        rivals += rival;
        with += rival && kept;
    }
    if (strcmp(family->side->device, "cuda") == 0 && with < rivals)
        fprintf(out,
                "  - Not like for like everywhere: PyTorch's graph mode keeps its buffers between "
                "samples. CUDA cases that do so too (`alloc` not malloc, `copy` not pageable) were "
                "run at %zu of the %zu batches where graph is PyTorch's fastest; at the others "
                "CUDA allocates, or copies pageable memory, in every sample.\n",
                with, rivals);
}

/* The comparison that the study itself published. */
static void finding_study(const report_t *report, const family_t *family) {
    const size_row_t *rows[3];
    size_t n = key_rows(family, has_study_total, rows);
    if (n == 0)
        return;
    fputs("- **The study's own question**, total against total, its CUDA set-up (rung 01, malloc, "
          "pageable copies, weights uploaded in every sample) against PyTorch eager with building "
          "the model included: ",
          report->out);
    print_score(report->out, family, study_total_of, "CUDA", "PyTorch");
    print_crossover(report->out, family, study_total_of, "CUDA", "PyTorch");
    for (size_t i = 0; i < n; i++) {
        const duel_t *duel = &rows[i]->study_total;
        char batch[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
        fprintf(report->out, "%s batch %s ", i == 0 ? " At" : "; at",
                units_count(batch, rows[i]->size));
        print_verdict(report->out, duel, "CUDA", "PyTorch");
        fprintf(report->out, " (%s against %s)", units_time(a, duel->ours->summary.median),
                units_time(b, duel->theirs->summary.median));
    }
    fputs(".\n", report->out);
}

static void finding_own_gain(const report_t *report, const family_t *family) {
    const size_row_t *rows[3];
    size_t n = key_rows(family, has_own_gain, rows);
    if (n == 0)
        return;
    fprintf(report->out, "- **Over the study's own set-up** (%s), the fastest CUDA case: ",
            strcmp(family->phase, "total") == 0 ? "total" : "host to host");
    for (size_t i = 0; i < n; i++) {
        char batch[UNITS_TEXT];
        fprintf(report->out, "%sat batch %s ", i > 0 ? "; " : "",
                units_count(batch, rows[i]->size));
        print_verdict(report->out, &rows[i]->against_study, "it", "the study's set-up");
    }
    fputs(".\n", report->out);
}

/* The answer to the question that the report is about. */
static void finding_host_to_host(const report_t *report, const family_t *family) {
    char *subject = mem_format("%s, the fastest %s case against PyTorch's fastest mode",
                               phase_in_words(family->phase), family->side->name);
    finding_headline(report, family, subject);
    free(subject);
    const size_row_t *rows[3];
    if (key_rows(family, has_headline, rows) > 0)
        print_unequal_setups(report->out, family);
}

static void family_findings(const report_t *report, const family_t *family) {
    char *key = markdown_text(family->key);
    char *heading = mem_format("mlp_infer %s, %s", key, family->side->place);
    report_heading(report, 3, heading);
    free(heading);
    free(key);
    family_count_t size = family_count(family);
    if (size.timed == 0) {
        fprintf(report->out,
                "Nothing was measured %s: none of the %zu cases has a valid time. The reasons are "
                "among the warnings.\n\n",
                family->side->place, size.n);
        return;
    }
    finding_host_to_host(report, family);
    finding_missing(report, family);
    finding_polling(report, family);
    mlp_infer_cost_findings(report, family);
    finding_techniques(report, family);
    finding_batch_constant(report, family);
    finding_study(report, family);
    finding_own_gain(report, family);
    finding_others(report, family);
    fputc('\n', report->out);
}

void mlp_infer_findings(const report_t *report, const family_list_t *families) {
    for (size_t i = 0; i < families->n; i++)
        family_findings(report, &families->items[i]);
}
