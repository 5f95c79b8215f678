/* What each host technique buys, on its own and together, and what a technique that only one side
 * has does to the comparison. */
#include "report/page.h"

#include "analysis/technique_set.h"
#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static technique_set_t techniques_of(const comparison_set_t *set) {
    const record_t *run = set->run;
    const case_result_t **cases = mem_zeroed(run->n_cases + 1, sizeof *cases);
    size_t n = 0;
    for (size_t i = 0; i < run->n_cases; i++)
        if (strcmp(run->cases[i].spec.engine, "cuda") == 0 &&
            comparison_set_has(set, &run->cases[i], OWNER_OURS) &&
            result_phase(&run->cases[i], set->phase) != NULL)
            cases[n++] = &run->cases[i];
    technique_set_t techniques = technique_set_of(cases, n);
    free(cases);
    return techniques;
}

/* ---- one step of one technique, everything else held fixed ----------------------------------- */

/* All pairs of cases at a batch that differ in that step only. */
typedef struct step {
    size_t n, faster, slower;
    double least, most; /* ratio: time before over time after */
    speedup_t only;     /* of the last pair: the one, when there is one */
} step_t;

static step_t step_of(const technique_set_t *techniques, const char *phase, size_t b, size_t t,
                      size_t after) {
    step_t step = {.least = INFINITY};
    for (size_t r = 0; r < techniques->n_rows; r++) {
        const technique_row_t *before = &techniques->rows[r];
        const technique_row_t *sibling = before->choices[t] + 1 == after
                                             ? technique_sibling(techniques, before, t, after)
                                             : NULL;
        if (sibling == NULL)
            continue;
        speedup_t speedup = speedup_make(sibling->cases[b], phase, before->cases[b], phase);
        if (speedup.verdict == VERDICT_NONE)
            continue;
        step.n++;
        step.faster += speedup.verdict == VERDICT_OURS;
        step.slower += speedup.verdict == VERDICT_THEIRS;
        step.least = fmin(step.least, speedup.ratio.ratio);
        step.most = fmax(step.most, speedup.ratio.ratio);
        step.only = speedup;
    }
    return step;
}

/* "batch 64 1.1–1.4× (of 6 pairs 5 faster, 1 slower)" */
static void print_step(FILE *out, const step_t *step, int64_t batch) {
    char text[UNITS_TEXT], ratio[UNITS_TEXT];
    fprintf(out, "at batch %s ", units_count(text, batch));
    if (step->n == 1) {
        const stats_ratio_t *r = &step->only.ratio;
        fprintf(out, "**%s**%s", units_ratio(ratio, r->ratio, r->low, r->high),
                step->faster + step->slower == 0 ? ", no difference found" : "");
        return;
    }
    fprintf(out, "**%.2f–%.2f×** (of %zu pairs %zu faster, %zu slower)", step->least, step->most,
            step->n, step->faster, step->slower);
}

static void print_technique(const report_t *report, const comparison_set_t *set,
                            const technique_set_t *techniques, size_t t, const size_t *shown,
                            size_t n_shown) {
    const technique_spec_t *technique = &techniques->techniques[t];
    bool any = false;
    for (size_t after = 1; technique->choices[after] != NULL; after++) {
        size_t n = 0;
        for (size_t k = 0; k < n_shown; k++) {
            step_t step = step_of(techniques, set->phase, shown[k], t, after);
            if (step.n == 0)
                continue;
            if (n == 0 && !any)
                fprintf(report->out, "  - `%s`: ", technique->name);
            fprintf(report->out, n > 0 ? ", " : "%s%s → %s ", any ? "; " : "",
                    technique->choices[after - 1], technique->choices[after]);
            print_step(report->out, &step, techniques->batches[shown[k]]);
            any = true;
            n++;
        }
    }
    if (any)
        fputs(".\n", report->out);
}

/* Batch 64 and the largest; the first where 64 is not there. */
static size_t batches_shown(const technique_set_t *techniques, size_t *shown) {
    size_t small = 0;
    for (size_t b = 0; b < techniques->n_batches; b++)
        if (techniques->batches[b] == 64)
            small = b;
    shown[0] = small;
    shown[1] = techniques->n_batches - 1;
    return techniques->n_batches - 1 > small ? 2 : 1;
}

static double row_ns(const technique_row_t *row, const char *phase, size_t b) {
    const case_result_t *result = row->cases[b];
    return result != NULL && result->status == CASE_OK ? result_median(result, phase) : NAN;
}

static const technique_row_t *fastest_at(const technique_set_t *techniques, const char *phase,
                                         size_t b) {
    const technique_row_t *fastest = NULL;
    for (size_t r = 0; r < techniques->n_rows; r++)
        if (isfinite(row_ns(&techniques->rows[r], phase, b)) &&
            (fastest == NULL || row_ns(&techniques->rows[r], phase, b) < row_ns(fastest, phase, b)))
            fastest = &techniques->rows[r];
    return fastest;
}

static void print_together(const report_t *report, const comparison_set_t *set,
                           const technique_set_t *techniques, const size_t *shown, size_t n_shown) {
    const technique_row_t *by_default = &techniques->rows[0];
    size_t n = 0;
    for (size_t k = 0; k < n_shown && technique_row_is_default(techniques, by_default); k++) {
        const technique_row_t *fastest = fastest_at(techniques, set->phase, shown[k]);
        if (fastest == NULL || fastest == by_default)
            continue;
        speedup_t speedup = speedup_make(fastest->cases[shown[k]], set->phase,
                                         by_default->cases[shown[k]], set->phase);
        if (speedup.verdict == VERDICT_NONE)
            continue;
        char batch[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
        char *name = shown_name(fastest->cases[shown[k]]);
        fprintf(report->out, "%s at batch %s %s to %s (%s), ",
                n++ > 0 ? ";" : " Together:", units_count(batch, techniques->batches[shown[k]]),
                units_time(a, speedup.theirs->summary.median),
                units_time(b, speedup.ours->summary.median), name);
        print_verdict(report->out, &speedup, "which", "the study's set-up");
        free(name);
    }
    if (n > 0)
        fputc('.', report->out);
}

void finding_techniques(const report_t *report, const comparison_set_t *set) {
    technique_set_t techniques = techniques_of(set);
    if (techniques.variant != NULL && techniques.n_rows > 1) {
        size_t shown[2], n_shown = batches_shown(&techniques, shown);
        char *variant = markdown_text(techniques.variant);
        fprintf(report->out, "- **What host techniques buy** (rung %s, %s).", variant,
                strcmp(set->phase, "total") == 0 ? "total" : "host to host");
        print_together(report, set, &techniques, shown, n_shown);
        fputs(" One by one, as time before over time after with all else held fixed, over every "
              "pair of cases that differ in it alone:\n",
              report->out);
        for (size_t t = 0; t < techniques.n_techniques; t++)
            print_technique(report, set, &techniques, t, shown, n_shown);
        free(variant);
    }
    technique_set_free(&techniques);
}

/* ---- the table --------------------------------------------------------------------------------
 */

static void add_combination(table_t *table, const technique_set_t *techniques,
                            const technique_row_t *row, const char *phase) {
    for (size_t t = 0; t < techniques->n_techniques; t++)
        table_add(table, technique_choice(techniques, row, t));
    for (size_t b = 0; b < techniques->n_batches; b++) {
        char text[UNITS_TEXT];
        double ns = row_ns(row, phase, b), by_default = row_ns(&techniques->rows[0], phase, b);
        bool fastest = row == fastest_at(techniques, phase, b);
        if (row->cases[b] == NULL)
            table_add(table, "–");
        else if (!isfinite(ns))
            add_time(table, row->cases[b], phase);
        else if (!technique_row_is_default(techniques, &techniques->rows[0]) ||
                 !isfinite(by_default))
            table_add(table, units_time(text, ns));
        else
            table_add_format(table, fastest ? "**%s, %.2f×**" : "%s, %.2f×", units_time(text, ns),
                             by_default / ns);
    }
}

void section_techniques(const report_t *report, const comparison_set_t *set) {
    technique_set_t techniques = techniques_of(set);
    if (techniques.variant != NULL && techniques.n_rows > 1) {
        const char *headings[MAX_TECHNIQUES + TECHNIQUE_BATCHES];
        char *batches[TECHNIQUE_BATCHES], align[MAX_TECHNIQUES + TECHNIQUE_BATCHES + 1] = "";
        size_t n = 0;
        for (size_t t = 0; t < techniques.n_techniques; t++) {
            align[n] = 'l';
            headings[n++] = techniques.techniques[t].name;
        }
        for (size_t b = 0; b < techniques.n_batches; b++) {
            char text[UNITS_TEXT];
            batches[b] = mem_format("batch %s", units_count(text, techniques.batches[b]));
            align[n] = 'r';
            headings[n++] = batches[b];
        }
        table_t table;
        table_init(&table, headings, n);
        table_set_align(&table, align);
        for (size_t r = 0; r < techniques.n_rows; r++)
            add_combination(&table, &techniques, &techniques.rows[r], set->phase);
        char *variant = markdown_text(techniques.variant);
        report_heading(report, 4, "Host techniques");
        fprintf(report->out, "Medians of `%s` of rung %s%s.\n\n", set->phase, variant,
                technique_row_is_default(&techniques, &techniques.rows[0])
                    ? ", and how many times as fast as the study's set-up, which is the first "
                      "row; the fastest of a batch in bold"
                    : "");
        report_table(report, &table);
        free(variant);
        for (size_t b = 0; b < techniques.n_batches; b++)
            free(batches[b]);
    }
    technique_set_free(&techniques);
}

/* ---- a technique that PyTorch does not have ---------------------------------------------------
 */

static bool waits_by_polling(const case_result_t *result) {
    const char *wait = result != NULL ? case_technique(&result->spec, "wait") : NULL;
    return wait != NULL && strcmp(wait, "poll") == 0;
}

static const case_result_t *fastest_synchronising(const comparison_set_t *set, int64_t batch) {
    const case_result_t *fastest = NULL;
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        if (result->status != CASE_OK || waits_by_polling(result) ||
            size_of_case(set, &result->spec) != batch ||
            !comparison_set_has(set, result, OWNER_OURS))
            continue;
        double ns = result_median(result, set->phase);
        if (isfinite(ns) && (fastest == NULL || ns < result_median(fastest, set->phase)))
            fastest = result;
    }
    return fastest;
}

speedup_t speedup_synchronising(const comparison_set_t *set, const size_row_t *row) {
    return speedup_make(fastest_synchronising(set, row->size), set->phase, row->fastest,
                        set->phase);
}

bool comparison_set_polls(const comparison_set_t *set) {
    for (size_t i = 0; i < set->n_rows; i++)
        if (waits_by_polling(set->rows[i].best))
            return true;
    return false;
}

static bool won_by_polling(const size_row_t *row) {
    return waits_by_polling(row->best) && row->headline.verdict != VERDICT_NONE;
}

/* A sceptic asks what is left without it. */
void finding_polling(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    size_t n = key_rows(set, won_by_polling, rows), n_won = 0;
    size_t counts[VERDICT_UNDECIDED + 1] = {0};
    if (n == 0)
        return;
    for (size_t i = 0; i < set->n_rows; i++) {
        n_won += won_by_polling(&set->rows[i]);
        counts[speedup_synchronising(set, &set->rows[i]).verdict]++;
    }
    fprintf(report->out,
            "- **Without polling:** at %zu batch size%s the fastest CUDA case has `wait=poll`: the "
            "host watches its own memory for the output instead of synchronising, which PyTorch "
            "does not offer. With `wait=sync` on both sides CUDA's fastest is faster at %zu of the "
            "%zu compared, PyTorch's at %zu, no difference found at %zu",
            n_won, n_won == 1 ? "" : "s", counts[VERDICT_OURS], set->n_rows - counts[VERDICT_NONE],
            counts[VERDICT_THEIRS], counts[VERDICT_NO_DIFFERENCE]);
    for (size_t i = 0; i < n; i++) {
        const case_result_t *ours = fastest_synchronising(set, rows[i]->size);
        speedup_t speedup = speedup_synchronising(set, rows[i]);
        if (speedup.verdict == VERDICT_NONE)
            continue;
        char batch[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
        char *name = shown_name(ours), *mode = shown_name(rows[i]->fastest);
        fprintf(report->out, "; at batch %s ", units_count(batch, rows[i]->size));
        print_verdict(report->out, &speedup, "CUDA", "PyTorch");
        fprintf(report->out, ", %s (%s) against %s (%s)",
                units_time(a, speedup.ours->summary.median), name,
                units_time(b, speedup.theirs->summary.median), mode);
        free(name);
        free(mode);
    }
    fputs(".\n", report->out);
}

/* ---- the batch as a constant ------------------------------------------------------------------
 */

static const case_result_t *default_rung(const comparison_set_t *set, int64_t batch,
                                         const char *prefix) {
    for (size_t i = 0; i < set->run->n_cases; i++) {
        const case_result_t *result = &set->run->cases[i];
        text_list_t changed = changed_techniques(&result->spec);
        bool by_default = changed.n == 0;
        text_list_free(&changed);
        if (by_default && size_of_case(set, &result->spec) == batch &&
            text_starts(result->spec.variant, prefix) &&
            comparison_set_has(set, result, OWNER_OURS))
            return result;
    }
    return NULL;
}

void finding_batch_constant(const report_t *report, const comparison_set_t *set) {
    static const char PHASE[] = "kernel_graph";
    size_t counts[VERDICT_UNDECIDED + 1] = {0}, n = 0;
    double least = INFINITY, most = 0;
    const case_result_t *constant = NULL, *run_time = NULL;
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *a = default_rung(set, set->rows[i].size, "06_batch_constant");
        const case_result_t *b = default_rung(set, set->rows[i].size, "04_");
        speedup_t speedup = speedup_make(a, PHASE, b, PHASE);
        if (speedup.verdict == VERDICT_NONE)
            continue;
        counts[speedup.verdict]++;
        least = fmin(least, speedup.ratio.ratio);
        most = fmax(most, speedup.ratio.ratio);
        constant = a;
        run_time = b;
        n++;
    }
    if (n == 0)
        return;
    char *a = markdown_text(constant->spec.variant), *b = markdown_text(run_time->spec.variant);
    fprintf(report->out,
            "- **The batch as a compile-time constant** (%s) against a run-time value (%s, the "
            "same code), %s: %.2f–%.2f× as fast over %zu batch size%s; faster at %zu, slower at "
            "%zu, no difference found at %zu.\n",
            a, b, PHASE, least, most, n, n == 1 ? "" : "s", counts[VERDICT_OURS],
            counts[VERDICT_THEIRS], counts[VERDICT_NO_DIFFERENCE]);
    free(a);
    free(b);
}
