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
static bool has_study_share(const batch_row_t *row) {
    return row->study != NULL && row->study->status == CASE_OK &&
           result_median(row->study, "kernel") <= result_median(row->study, "total");
}

/* "CUDA is 3.4× (3.3–3.6) as fast", for whoever is the faster. */
static void print_verdict(FILE *out, const duel_t *duel, const char *ours, const char *theirs) {
    char text[UNITS_TEXT];
    const stats_ratio_t *r = &duel->ratio;
    switch (duel->verdict) {
    case VERDICT_OURS:
        fprintf(out, "%s is **%s** as fast", ours, units_ratio(text, r->ratio, r->low, r->high));
        break;
    case VERDICT_THEIRS:
        fprintf(out, "%s is **%s** as fast", theirs,
                units_ratio(text, 1 / r->ratio, 1 / r->high, 1 / r->low));
        break;
    case VERDICT_NO_DIFFERENCE:
        fprintf(out, "no difference found, %s", units_ratio(text, r->ratio, r->low, r->high));
        break;
    case VERDICT_UNDECIDED:
        fprintf(out, "the ratio is %s, but from too few rounds for an interval, so nobody wins",
                units_ratio(text, r->ratio, NAN, NAN));
        break;
    case VERDICT_NONE:
        break;
    }
}

static void print_pair(FILE *out, const batch_row_t *row, const char *ours, const duel_t *duel,
                       const char *theirs) {
    char batch[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT];
    fprintf(out, "  - Batch %s: %s %s, %s %s: ", units_count(batch, row->batch), ours,
            units_time(a, duel->ours->summary.median), theirs,
            units_time(b, duel->theirs->summary.median));
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

static void print_crossover(FILE *out, const family_t *family, duel_of_t duel_of, const char *ours,
                            const char *theirs) {
    crossover_t found = find_crossover(family, duel_of);
    char before[UNITS_TEXT], after[UNITS_TEXT];
    if (found.n_changes == 1)
        fprintf(out,
                " **Crossover:** the lead changes once, between batch %s, where %s is faster, and "
                "batch %s, where %s is.",
                units_count(before, found.last_before),
                found.before == VERDICT_OURS ? ours : theirs, units_count(after, found.first_after),
                found.after == VERDICT_OURS ? ours : theirs);
    else if (found.n_changes > 1)
        fprintf(out, " The lead changes %zu times, so there is no single crossover batch.",
                found.n_changes);
}

static const char *phase_in_words(const char *phase) {
    return strcmp(phase, "host_to_host") == 0 ? "**Host to host** (from input in host memory to "
                                                "output in host memory, set-up left "
                                                "out)"
                                              : "**By the total of all phases**";
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
    for (size_t i = 0; i < n; i++) {
        const batch_row_t *row = rows[i];
        char *own = shown_name(row->best), *mode = shown_name(row->fastest);
        char *ours = mem_format("%s %s", name, own), *other = mem_format("PyTorch %s", mode);
        print_pair(page->out, row, ours, &row->headline, other);
        print_verdict(page->out, &row->headline, name, other);
        if (row->against_eager.verdict != VERDICT_NONE && row->eager != row->fastest) {
            char time[UNITS_TEXT];
            fprintf(page->out, ". Against PyTorch eager, %s: ",
                    units_time(time, row->against_eager.theirs->summary.median));
            print_verdict(page->out, &row->against_eager, name, "PyTorch eager");
        }
        fputs(".\n", page->out);
        free(own);
        free(mode);
        free(ours);
        free(other);
    }
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
    fputc('\n', page->out);
    for (size_t i = 0; i < n; i++) {
        char *own = shown_name(rows[i]->study);
        char *ours = mem_format("CUDA %s", own);
        print_pair(page->out, rows[i], ours, &rows[i]->study_total, "PyTorch eager");
        print_verdict(page->out, &rows[i]->study_total, "CUDA", "PyTorch eager");
        fputs(".\n", page->out);
        free(own);
        free(ours);
    }
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
        char *own = shown_name(rows[i]->best);
        fprintf(page->out, "%sat batch %s ", i > 0 ? "; " : "", units_count(batch, rows[i]->batch));
        print_verdict(page->out, &rows[i]->against_study, own, "the study's set-up");
        free(own);
    }
    fputs(".\n", page->out);
}

/* The ok case at a batch that comes nearest to its limit. */
static const case_result_t *nearest_to_limit(const family_t *family, int64_t batch, bool pytorch) {
    const case_result_t *nearest = NULL;
    for (size_t i = 0; i < family->run->n_cases; i++) {
        const case_result_t *result = &family->run->cases[i];
        if (result->status == CASE_OK && isfinite(result->limit.frac) &&
            case_param_int(&result->spec, "batch", -1) == batch &&
            family_has(family, result, pytorch) &&
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

static void print_limit(const page_t *page, const family_t *family, const case_result_t *ours,
                        const case_result_t *theirs) {
    const limit_t *limit = &ours->limit;
    char text[UNITS_TEXT], bytes[UNITS_TEXT], share[UNITS_TEXT];
    char *name = shown_name(ours);
    char *bound = markdown_text(limit->bound != NULL ? limit->bound : "not named");
    fprintf(page->out,
            "- **Against the limit** at batch %s: %s comes to %s of what the hardware "
            "allows, the nearest of %s's cases. It takes ",
            units_count(text, case_param_int(&ours->spec, "batch", 0)), name,
            units_percent(share, limit->frac), family->side->name);
    print_measured(page->out, limit);
    fprintf(page->out, ", and its %s take at least %s (bound: %s).",
            units_bytes(bytes, limit->bytes), units_time(text, limit->limit_ns), bound);
    if (limit->frac > 1)
        fputs(" **More than all cannot be: the limit or the time is wrong.**", page->out);
    if (theirs != NULL) {
        char *mode = shown_name(theirs);
        fprintf(page->out, " PyTorch's nearest, %s, comes to %s, with ", mode,
                units_percent(share, theirs->limit.frac));
        print_measured(page->out, &theirs->limit);
        fputc('.', page->out);
        free(mode);
    }
    fputc('\n', page->out);
    free(name);
    free(bound);
}

static void finding_limit(const page_t *page, const family_t *family) {
    for (size_t i = family->n_rows; i-- > 0;) {
        int64_t batch = family->rows[i].batch;
        const case_result_t *ours = nearest_to_limit(family, batch, false);
        if (ours != NULL) {
            print_limit(page, family, ours, nearest_to_limit(family, batch, true));
            return;
        }
    }
}

/* Kernel against forward: computation alone, at the largest batch that both have. */
static void finding_compute(const page_t *page, const family_t *family) {
    for (size_t i = family->n_rows; i-- > 0;) {
        const batch_row_t *row = &family->rows[i];
        const case_result_t *ours = family_fastest(family, row->batch, false, NULL);
        const case_result_t *theirs = family_fastest(family, row->batch, true, NULL);
        if (ours == NULL || theirs == NULL)
            continue;
        const phase_t *a = result_compute_phase(ours), *b = result_compute_phase(theirs);
        duel_t duel = duel_make(ours, a->name, theirs, b->name);
        char batch[UNITS_TEXT], x[UNITS_TEXT], y[UNITS_TEXT];
        char *own = shown_name(ours), *mode = shown_name(theirs);
        char *name = mem_format("PyTorch %s", mode);
        fprintf(page->out,
                "- **Computation alone** at batch %s: %s's %s takes %s (%s clock), %s's %s %s "
                "(%s clock): ",
                units_count(batch, row->batch), own, a->name, units_time(x, a->summary.median),
                clock_domain_name(a->clock), name, b->name, units_time(y, b->summary.median),
                clock_domain_name(b->clock));
        print_verdict(page->out, &duel, own, name);
        fprintf(page->out, ".%s\n",
                a->clock != b->clock
                    ? " The host's clock includes launching the work, the device's "
                      "does not."
                    : "");
        free(own);
        free(mode);
        free(name);
        return;
    }
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

static void finding_outside_kernel(const page_t *page, const family_t *family) {
    const batch_row_t *rows[3];
    size_t n = key_rows(family, has_study_share, rows);
    if (n == 0)
        return;
    fputs("- **Outside the kernel**, in the study's set-up: ", page->out);
    for (size_t i = 0; i < n; i++) {
        const case_result_t *study = rows[i]->study;
        double total_ns = result_median(study, "total"), part_ns;
        const char *part = largest_other_phase(study, &part_ns);
        char share[UNITS_TEXT], batch[UNITS_TEXT], time[UNITS_TEXT];
        fprintf(page->out, "%s%s of the total at batch %s", i > 0 ? ", " : "",
                units_percent(share, 1 - result_median(study, "kernel") / total_ns),
                units_count(batch, rows[i]->batch));
        if (part != NULL)
            fprintf(page->out, " (its largest part: %s, %s)", part, units_time(time, part_ns));
    }
    fputs(".\n", page->out);
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
    char *name = shown_name(result), *list = text_list_join(&parts, ", ");
    char text[UNITS_TEXT];
    fprintf(out, "%s%s %s %s (%s)", separator, prefix, name, units_time(text, sum_ns), list);
    text_list_free(&parts);
    free(name);
    free(list);
}

static void finding_once(const page_t *page, const family_t *family) {
    if (family->n_rows == 0)
        return;
    const batch_row_t *row = &family->rows[0];
    bool ours = row->best != NULL && row->best->n_once > 0;
    bool theirs = row->fastest != NULL && row->fastest->n_once > 0;
    if (!ours && !theirs)
        return;
    char batch[UNITS_TEXT];
    fprintf(page->out, "- **Paid once**, in none of the times above (batch %s): ",
            units_count(batch, row->batch));
    if (ours)
        print_once(page->out, row->best, family->side->name, "");
    if (theirs)
        print_once(page->out, row->fastest, "PyTorch", ours ? "; " : "");
    fputs(".\n", page->out);
}

/* What the run cannot say, said plainly. */
static void finding_missing(const page_t *page, const family_t *family) {
    for (int pytorch = 0; pytorch < 2; pytorch++) {
        size_t n = 0, timed = 0;
        for (size_t i = 0; i < family->run->n_cases; i++)
            if (family_has(family, &family->run->cases[i], pytorch)) {
                n++;
                timed += family->run->cases[i].status == CASE_OK;
            }
        if (timed > 0)
            continue;
        const char *name = pytorch ? "PyTorch" : family->side->name;
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
    finding_headline(page, family);
    finding_missing(page, family);
    finding_study(page, family);
    finding_own_gain(page, family);
    finding_limit(page, family);
    finding_compute(page, family);
    finding_outside_kernel(page, family);
    finding_once(page, family);
    fputc('\n', page->out);
}
