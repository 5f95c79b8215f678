/* Gains from host techniques, singly and together; effect of polling. */
#include "report/inference/inference.h"

#include "analysis/contenders.h"
#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A comparison set's techniques, and the batches in its findings. */
typedef struct selection {
    const comparison_set_t *set;
    technique_set_t techniques;
    size_t batches[2], n_batches; /* 64 (else the first) and the largest */
} selection_t;

/* False if there is only one combination. Call technique_set_free() in either case. */
static bool selection_of(const comparison_set_t *set, selection_t *selection) {
    const case_result_t **cases = mem_zeroed(set->run->n_cases + 1, sizeof *cases);
    const case_result_t *result = NULL;
    size_t n = 0;
    while ((result = comparison_set_next(set, result, OURS, EVERY_SIZE)) != NULL)
        if (strcmp(result->spec.engine, "cuda") == 0 && result_phase(result, set->phase) != NULL)
            cases[n++] = result;
    *selection = (selection_t){.set = set, .techniques = technique_set_of(cases, n)};
    free(cases);
    const technique_set_t *techniques = &selection->techniques;
    for (size_t b = 0; b < techniques->n_batches; b++)
        if (techniques->batches[b] == 64)
            selection->batches[0] = b;
    selection->batches[1] = techniques->n_batches - 1;
    selection->n_batches = selection->batches[1] > selection->batches[0] ? 2 : 1;
    return techniques->variant != NULL && techniques->n_rows > 1;
}

static const char *batch_name(const report_t *report, const selection_t *selection, size_t b) {
    return size_name(report, selection->set, selection->techniques.batches[b]);
}

/* ---- one step of one technique --------------------------------------------------------------- */

/* Over all pairs of cases at a batch that differ only in this step: time before over time after. */
static tally_t step_of(const selection_t *selection, size_t b, size_t t, size_t after) {
    const technique_set_t *techniques = &selection->techniques;
    const char *phase = selection->set->phase;
    tally_t step = {0};
    for (size_t r = 0; r < techniques->n_rows; r++) {
        const technique_row_t *before = &techniques->rows[r];
        const technique_row_t *sibling = technique_sibling(techniques, before, t, after);
        if (sibling == NULL || before->choices[t] + 1 != after)
            continue;
        const speedup_t speedup = speedup_make(sibling->cases[b], phase, before->cases[b], phase);
        tally_add(&step, &speedup);
    }
    return step;
}

/* "1.1–1.4×" */
static const char *range_text(const report_t *report, const tally_t *tally) {
    return report_text(report, "%s–%s×", units_two_digits(report_buffer(report), tally->least),
                       units_two_digits(report_buffer(report), tally->most));
}

/* "at batch 64 1.1–1.4× (of 6 pairs 5 faster, 1 slower)" */
static const char *step_text(const report_t *report, const tally_t *step, const char *batch) {
    if (step->n == 1)
        return report_text(report, "at %s **%s**%s", batch, ratio_cell(report, &step->last),
                           step->of[VERDICT_NO_DIFFERENCE] > 0 ? ", no difference found" : "");
    if (step->of[VERDICT_UNDECIDED] == step->n)
        return report_text(report, "at %s **≈ %s** (%zu pairs)", batch, range_text(report, step),
                           step->n);
    return report_text(report, "at %s **%s** (of %zu pairs %zu faster, %zu slower)", batch,
                       range_text(report, step), step->n, step->of[VERDICT_OURS],
                       step->of[VERDICT_THEIRS]);
}

static void print_technique(const report_t *report, const selection_t *selection, size_t t) {
    const technique_spec_t *technique = &selection->techniques.techniques[t];
    const char *const *choices = technique->choices;
    for (size_t after = 1; choices[after] != NULL; after++) {
        text_list_t steps = {0};
        for (size_t k = 0; k < selection->n_batches; k++) {
            const size_t b = selection->batches[k];
            const tally_t step = step_of(selection, b, t, after);
            if (step.n > 0)
                text_list_add(&steps, step_text(report, &step, batch_name(report, selection, b)));
        }
        const char *line = report_join(report, &steps, ", ");
        if (line != NULL)
            print(report, "  - `%s`, %s → %s: %s.\n", technique->name, choices[after - 1],
                  choices[after], line);
    }
}

static const case_result_t *fastest_at(const technique_set_t *techniques, const char *phase,
                                       size_t b) {
    const case_result_t *fastest = NULL;
    for (size_t r = 0; r < techniques->n_rows; r++)
        fastest = faster_case(fastest, techniques->rows[r].cases[b], phase);
    return fastest;
}

static void print_together(const report_t *report, const selection_t *selection) {
    const technique_row_t *first = &selection->techniques.rows[0];
    const char *phase = selection->set->phase;
    for (size_t k = 0; k < selection->n_batches; k++) {
        const size_t b = selection->batches[k];
        const case_result_t *fastest = fastest_at(&selection->techniques, phase, b);
        const speedup_t speedup = speedup_make(fastest, phase, first->cases[b], phase);
        if (fastest != first->cases[b] && speedup.verdict != VERDICT_NONE)
            print(report, "  - All together, at %s: from %s to %s (%s), %s.\n",
                  batch_name(report, selection, b), median_text(report, speedup.theirs),
                  median_text(report, speedup.ours), name_cell(report, fastest),
                  verdict_text(report, &speedup, "which", "the study's set-up"));
    }
}

void finding_techniques(const report_t *report, const comparison_set_t *set) {
    selection_t selection;
    if (selection_of(set, &selection)) {
        print(report,
              "- **What host techniques buy** (rung %s, %s). One at a time: time before over time "
              "after, over all pairs of cases that differ only in that technique.\n",
              report_safe(report, selection.techniques.variant),
              strcmp(set->phase, "total") == 0 ? "total" : "host to host");
        if (technique_row_is_default(&selection.techniques, &selection.techniques.rows[0]))
            print_together(report, &selection);
        for (size_t t = 0; t < selection.techniques.n_techniques; t++)
            print_technique(report, &selection, t);
    }
    technique_set_free(&selection.techniques);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = MAX_TECHNIQUES + TECHNIQUE_BATCHES };

static double ok_ns(const case_result_t *result, const char *phase) {
    return result != NULL && result->status == CASE_OK ? result_median(result, phase) : NAN;
}

static const char *combination_cell(const report_t *report, const technique_set_t *techniques,
                                    const case_result_t *result, const char *phase, size_t b) {
    const technique_row_t *first = &techniques->rows[0];
    const double ns = ok_ns(result, phase), by_default = ok_ns(first->cases[b], phase);
    const char *time = time_cell(report, result, phase);
    if (!technique_row_is_default(techniques, first) || !isfinite(ns) || !isfinite(by_default))
        return time;
    const char *factor = units_ratio(report_buffer(report), by_default / ns, NAN, NAN);
    bool fastest = result == fastest_at(techniques, phase, b);
    return report_text(report, fastest ? "**%s, %s**" : "%s, %s", time, factor);
}

void section_techniques(const report_t *report, const comparison_set_t *set) {
    selection_t selection;
    const technique_set_t *techniques = &selection.techniques;
    if (selection_of(set, &selection)) {
        column_t columns[MOST_COLUMNS];
        size_t n = 0;
        for (size_t t = 0; t < techniques->n_techniques; t++)
            columns[n++] = (column_t){techniques->techniques[t].name, 'l', false};
        for (size_t b = 0; b < techniques->n_batches; b++)
            columns[n++] = (column_t){batch_name(report, &selection, b), 'r', false};
        columns_t table = columns_begin(report, columns, n);
        for (size_t r = 0; r < techniques->n_rows; r++) {
            const technique_row_t *row = &techniques->rows[r];
            const char *cells[MOST_COLUMNS];
            n = 0;
            for (size_t t = 0; t < techniques->n_techniques; t++)
                cells[n++] = technique_choice(techniques, row, t);
            for (size_t b = 0; b < techniques->n_batches; b++)
                cells[n++] = combination_cell(report, techniques, row->cases[b], set->phase, b);
            columns_row(&table, cells);
        }
        columns_end_under(
            &table, 4, "Host techniques", "Medians of `%s` of rung %s%s.\n\n", set->phase,
            report_safe(report, techniques->variant),
            technique_row_is_default(techniques, &techniques->rows[0])
                ? ", and the speed-up over the study's set-up (first row) without its interval; "
                  "the shortest time at each size in bold"
                : "");
        print_passes(report);
    }
    technique_set_free(&selection.techniques);
}

/* ---- polling -------------------------------------------------------------------------------- */

static bool is_polling_mode(const case_t *spec) {
    const char *const *mode = workload_find(spec->workload)->pytorch_polling;
    if (mode == NULL || strcmp(spec->engine, "pytorch") != 0)
        return false;
    while (*mode != NULL && strcmp(*mode, spec->variant) != 0)
        mode++;
    return *mode != NULL;
}

static bool waits_by_polling(const case_result_t *result) {
    const char *wait = result != NULL ? case_technique(&result->spec, "wait") : NULL;
    return (wait != NULL && strcmp(wait, "poll") == 0) ||
           (result != NULL && is_polling_mode(&result->spec));
}

static const case_result_t *fastest_synchronising(const comparison_set_t *set, int64_t batch,
                                                  const char *whose) {
    const case_result_t *fastest = NULL, *result = NULL;
    while ((result = comparison_set_next(set, result, whose, batch)) != NULL)
        if (!waits_by_polling(result) && can_be_fastest(result))
            fastest = faster_case(fastest, result, set->phase);
    return fastest;
}

speedup_t speedup_synchronising(const comparison_set_t *set, const size_row_t *row) {
    return speedup_make(fastest_synchronising(set, row->size, OURS), set->phase,
                        fastest_synchronising(set, row->size, RIVALS), set->phase);
}

bool is_by_polling(const size_row_t *row) {
    return waits_by_polling(row->best);
}

static bool won_by_polling(const size_row_t *row) {
    return is_by_polling(row) && row->headline.verdict != VERDICT_NONE;
}

static bool both_poll(const size_row_t *row) {
    return won_by_polling(row) && waits_by_polling(row->strongest);
}

/* "At batch 64 CUDA is **3.0×** as fast, 1 µs (…) against 3 µs (graph)" */
static void print_synchronising(const report_t *report, const comparison_set_t *set,
                                const size_row_t *row) {
    const speedup_t speedup = speedup_synchronising(set, row);
    const case_result_t *ours = fastest_synchronising(set, row->size, OURS);
    const case_result_t *theirs = fastest_synchronising(set, row->size, RIVALS);
    if (speedup.verdict != VERDICT_NONE)
        print(report, "  - At %s %s, %s (%s) against %s (%s).\n", size_name(report, set, row->size),
              verdict_text(report, &speedup, "CUDA", who(report, theirs)),
              median_text(report, speedup.ours), name_cell(report, ours),
              median_text(report, speedup.theirs), their_case(report, set, theirs));
}

void finding_polling(const report_t *report, const comparison_set_t *set) {
    const size_row_t *rows[3];
    const size_t n = key_rows(set, won_by_polling, rows);
    const size_t n_won = fitting_rows(set, won_by_polling, NULL);
    const size_t n_both = fitting_rows(set, both_poll, NULL);
    tally_t tally = {0};
    if (n == 0)
        return;
    for (size_t i = 0; i < set->n_rows; i++) {
        const speedup_t speedup = speedup_synchronising(set, &set->rows[i]);
        tally_add(&tally, &speedup);
    }
    print(report,
          "- **Without polling:** at %zu %s the fastest CUDA case has `wait=poll`: the "
          "host polls its memory for the output instead of synchronising.\n",
          n_won, sizes_word(set, n_won));
    if (n_both > 0)
        print(report, "  - At %zu of these the strongest rival polls, too.\n", n_both);
    print(report, "  - With synchronisation on both sides ");
    print_tally(report, set, &tally, "CUDA", their_name(report, set));
    print(report, ".\n");
    for (size_t i = 0; i < n; i++)
        print_synchronising(report, set, rows[i]);
}

/* ---- the batch as a constant ----------------------------------------------------------------- */

static const case_result_t *default_rung(const comparison_set_t *set, int64_t batch,
                                         const char *prefix) {
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, OURS, batch)) != NULL)
        if (text_starts(result->spec.variant, prefix) && !has_changed_technique(&result->spec, ""))
            return result;
    return NULL;
}

void finding_batch_constant(const report_t *report, const comparison_set_t *set) {
    static const char PHASE[] = "kernel_graph";
    const case_result_t *constant = NULL, *run_time = NULL;
    tally_t tally = {0};
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *a = default_rung(set, set->rows[i].size, "06_batch_constant");
        const case_result_t *b = default_rung(set, set->rows[i].size, "04_");
        const speedup_t speedup = speedup_make(a, PHASE, b, PHASE);
        tally_add(&tally, &speedup);
        if (speedup.verdict != VERDICT_NONE) {
            constant = a;
            run_time = b;
        }
    }
    if (tally.n > 0) {
        print(report,
              "- **The batch as a compile-time constant** (%s) against a run-time value (%s, the "
              "same code), %s: %s as fast; ",
              report_safe(report, constant->spec.variant),
              report_safe(report, run_time->spec.variant), PHASE, range_text(report, &tally));
        print_tally(report, set, &tally, "the constant", "the run-time value");
        print(report, ".\n");
    }
}
