/* Findings: sentences made from numbers. Each function says one thing, or nothing where the run
 * does not carry it. */
#include "report_page.h"

#include "ground/memory.h"
#include "ground/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static duel_t headline_of(const batch_row_t *row) {
    return row->headline;
}
static duel_t study_total_of(const batch_row_t *row) {
    return row->study_total;
}
static bool has_headline(const batch_row_t *row) {
    return row->headline.verdict != VERDICT_NONE;
}
static bool has_study_total(const batch_row_t *row) {
    return row->study_total.verdict != VERDICT_NONE;
}
static bool has_own_gain(const batch_row_t *row) {
    return row->against_study.verdict != VERDICT_NONE && row->best != row->study;
}
static bool has_other(const batch_row_t *row) {
    return row->against_other.verdict != VERDICT_NONE;
}

static size_t count_verdicts(const family_t *family, duel_of_t duel_of, verdict_t verdict) {
    size_t n = 0;
    for (size_t i = 0; i < family->n_rows; i++)
        n += duel_of(&family->rows[i]).verdict == verdict;
    return n;
}

static void print_score(FILE *out, const family_t *family, duel_of_t duel_of, const char *ours,
                        const char *theirs) {
    size_t wins = count_verdicts(family, duel_of, VERDICT_OURS);
    size_t losses = count_verdicts(family, duel_of, VERDICT_THEIRS);
    size_t draws = count_verdicts(family, duel_of, VERDICT_NO_DIFFERENCE);
    size_t open = count_verdicts(family, duel_of, VERDICT_UNDECIDED);
    size_t missing = count_verdicts(family, duel_of, VERDICT_NONE);
    size_t n = family->n_rows - missing;
    fprintf(out, "%s is faster at %zu of the %zu batch size%s compared, %s at %zu", ours, wins, n,
            n == 1 ? "" : "s", theirs, losses);
    if (draws > 0)
        fprintf(out, ", no difference found at %zu", draws);
    if (open > 0)
        fprintf(out, ", undecided for want of rounds at %zu", open);
    if (missing > 0)
        fprintf(out, " (at %zu more, one of the two has no valid time)", missing);
    fputc('.', out);
}

/* "1, 64–256, 2^20": batches with a verdict; a dash spans those that lie next to each other. */
static char *batches_with(const family_t *family, duel_of_t duel_of, verdict_t verdict) {
    text_list_t ranges = {0};
    for (size_t i = 0; i < family->n_rows; i++) {
        size_t first = i;
        while (i < family->n_rows && duel_of(&family->rows[i]).verdict == verdict)
            i++;
        if (i == first)
            continue;
        char low[UNITS_TEXT], high[UNITS_TEXT];
        units_count(low, family->rows[first].batch);
        units_count(high, family->rows[i - 1].batch);
        text_list_add_format(&ranges, i - first > 1 ? "%s–%s" : "%s", low, high);
    }
    char *list = text_list_join(&ranges, ", ");
    text_list_free(&ranges);
    return list;
}

static void print_crossover(FILE *out, const family_t *family, duel_of_t duel_of, const char *ours,
                            const char *theirs) {
    crossover_t found = find_crossover(family, duel_of);
    char before[UNITS_TEXT], after[UNITS_TEXT];
    if (found.n_changes == 1) {
        fprintf(out,
                " **Crossover:** the lead changes once, between batch %s, where %s is faster, and "
                "batch %s, where %s is.",
                units_count(before, found.last_before),
                found.before == VERDICT_OURS ? ours : theirs, units_count(after, found.first_after),
                found.after == VERDICT_OURS ? ours : theirs);
    } else if (found.n_changes > 1) {
        char *wins = batches_with(family, duel_of, VERDICT_OURS);
        char *losses = batches_with(family, duel_of, VERDICT_THEIRS);
        fprintf(out,
                " The lead changes %zu times, so there is no single crossover batch: %s is faster "
                "at %s; %s at %s.",
                found.n_changes, ours, wins, theirs, losses);
        free(wins);
        free(losses);
    }
}

static const char *phase_in_words(const char *phase) {
    return strcmp(phase, "host_to_host") == 0
               ? "**Host to host** (input in host memory to output in host memory, set-up left out)"
               : "**By the total of all phases**";
}

static void print_headline_row(FILE *out, const batch_row_t *row, const char *name) {
    char batch[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
    char *own = shown_name(row->best), *mode = shown_name(row->fastest);
    fprintf(out, "  - Batch %s: ", units_count(batch, row->batch));
    print_verdict(out, &row->headline, name, "PyTorch");
    fprintf(out, ", %s (%s) against %s (%s).", units_time(a, row->headline.ours->summary.median),
            own, units_time(b, row->headline.theirs->summary.median), mode);
    if (row->against_eager.verdict != VERDICT_NONE && row->eager != row->fastest) {
        fprintf(out, " Against PyTorch eager, %s: ",
                units_time(a, row->against_eager.theirs->summary.median));
        print_verdict(out, &row->against_eager, name, "eager");
        fputc('.', out);
    }
    fputc('\n', out);
    free(own);
    free(mode);
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
        const batch_row_t *row = &family->rows[i];
        bool kept = false;
        for (size_t k = 0; k < family->run->n_cases && !kept; k++) {
            const case_result_t *result = &family->run->cases[k];
            kept = case_param_int(&result->spec, "batch", -1) == row->batch &&
                   result->status == CASE_OK && family_has(family, result, PARTY_OURS) &&
                   keeps_buffers(&result->spec);
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

/* The answer to the question that the report is about. */
static void finding_headline(const page_t *page, const family_t *family) {
    const batch_row_t *rows[3];
    size_t n = key_rows(family, has_headline, rows);
    if (n == 0)
        return;
    const char *name = family->side->name;
    fprintf(page->out, "- %s, the fastest %s case against PyTorch's fastest mode: ",
            phase_in_words(family->phase), name);
    print_score(page->out, family, headline_of, name, "PyTorch");
    print_crossover(page->out, family, headline_of, name, "PyTorch");
    fputc('\n', page->out);
    for (size_t i = 0; i < n; i++)
        print_headline_row(page->out, rows[i], name);
    print_unequal_setups(page->out, family);
}

/* The comparison that the study itself published. */
static void finding_study(const page_t *page, const family_t *family) {
    const batch_row_t *rows[3];
    size_t n = key_rows(family, has_study_total, rows);
    if (n == 0)
        return;
    fputs("- **The study's own question**, total against total, its CUDA set-up (rung 01, malloc, "
          "pageable copies, weights uploaded in every sample) against PyTorch eager with building "
          "the model included: ",
          page->out);
    print_score(page->out, family, study_total_of, "CUDA", "PyTorch");
    print_crossover(page->out, family, study_total_of, "CUDA", "PyTorch");
    for (size_t i = 0; i < n; i++) {
        const duel_t *duel = &rows[i]->study_total;
        char batch[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
        fprintf(page->out, "%s batch %s ", i == 0 ? " At" : "; at",
                units_count(batch, rows[i]->batch));
        print_verdict(page->out, duel, "CUDA", "PyTorch");
        fprintf(page->out, " (%s against %s)", units_time(a, duel->ours->summary.median),
                units_time(b, duel->theirs->summary.median));
    }
    fputs(".\n", page->out);
}

static void finding_own_gain(const page_t *page, const family_t *family) {
    const batch_row_t *rows[3];
    size_t n = key_rows(family, has_own_gain, rows);
    if (n == 0)
        return;
    fprintf(page->out, "- **Over the study's own set-up** (%s), the fastest CUDA case: ",
            strcmp(family->phase, "total") == 0 ? "total" : "host to host");
    for (size_t i = 0; i < n; i++) {
        char batch[UNITS_TEXT];
        fprintf(page->out, "%sat batch %s ", i > 0 ? "; " : "", units_count(batch, rows[i]->batch));
        print_verdict(page->out, &rows[i]->against_study, "it", "the study's set-up");
    }
    fputs(".\n", page->out);
}

/* Contenders that a user added. */
static void finding_others(const page_t *page, const family_t *family) {
    const batch_row_t *rows[3];
    size_t n = key_rows(family, has_other, rows);
    if (n == 0)
        return;
    const char *name = family->side->name;
    fprintf(page->out,
            "- **Other contenders**, the fastest at each batch against the fastest %s "
            "case:",
            name);
    for (size_t i = 0; i < n; i++) {
        const duel_t *duel = &rows[i]->against_other;
        char batch[UNITS_TEXT], time[UNITS_TEXT];
        char *key = contender_key(&rows[i]->other->spec), *other = markdown_text(key);
        fprintf(page->out, "%s at batch %s %s takes %s: ", i > 0 ? ";" : "",
                units_count(batch, rows[i]->batch), other,
                units_time(time, duel->theirs->summary.median));
        print_verdict(page->out, duel, name, other);
        free(key);
        free(other);
    }
    fputs(".\n", page->out);
}

/* What the run cannot say, said plainly. */
static void finding_missing(const page_t *page, const family_t *family) {
    for (party_t party = PARTY_OURS; party <= PARTY_PYTORCH; party++) {
        size_t n = 0, timed = 0;
        for (size_t i = 0; i < family->run->n_cases; i++)
            if (family_has(family, &family->run->cases[i], party)) {
                n++;
                timed += family->run->cases[i].status == CASE_OK;
            }
        if (timed > 0)
            continue;
        const char *name = party == PARTY_PYTORCH ? "PyTorch" : family->side->name;
        if (n == 0)
            fprintf(page->out, "- %s was not measured %s in this run.\n", name,
                    family->side->place);
        else
            fprintf(page->out,
                    "- None of the %zu cases of %s %s has a valid time: see the warnings.\n", n,
                    name, family->side->place);
    }
}

void mlp_infer_findings(const page_t *page, const family_t *family) {
    char *key = markdown_text(family->key);
    char *heading = mem_format("mlp_infer %s, %s", key, family->side->place);
    page_heading(page, 3, heading);
    free(heading);
    free(key);
    family_size_t size = family_size(family);
    if (size.timed == 0) {
        fprintf(page->out,
                "Nothing was measured %s: none of the %zu cases has a valid time. The reasons are "
                "among the warnings.\n\n",
                family->side->place, size.n);
        return;
    }
    finding_headline(page, family);
    finding_missing(page, family);
    finding_polling(page, family);
    mlp_infer_cost_findings(page, family);
    finding_techniques(page, family);
    finding_batch_constant(page, family);
    finding_study(page, family);
    finding_own_gain(page, family);
    finding_others(page, family);
    fputc('\n', page->out);
}
