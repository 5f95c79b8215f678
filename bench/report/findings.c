#include "report/findings.h"

#include "analysis/contenders.h"
#include "analysis/learning.h"
#include "base/memory.h"
#include "base/units.h"
#include "limits/limits.h"
#include "report/learning.h"
#include "report/shown.h"
#include "workloads/common/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- who is faster --------------------------------------------------------------------------- */

/* "4.99 ms (CUDA 04_four_in_flight)" */
static const char *side_text(const report_t *report, const case_result_t *result,
                             const phase_t *phase) {
    return report_text(report, "%s (%s)", case_link(report, result, median_text(report, phase)),
                       who_and_name(report, result));
}

/* "- **SUBJECT**: CUDA 1.64× (1.58–1.70) at batch 64, 6.2 µs (CUDA …) against 10.2 µs (PyTorch …); faster at 8 of 9 …" */
static bool print_comparison(const report_t *report, const comparison_set_t *set,
                             const char *subject) {
    const size_row_t *row = set_reference(set);
    if (row == NULL || !has_headline(row))
        return false;
    const case_result_t *faster = standing_faster(&row->theirs, set->phase);
    print(report, "- **%s**: **%s** at %s, %s against %s; %s.", subject,
          faster_text(report, &row->headline, who(report, row->best), who(report, row->strongest)),
          size_name(report, set, row->size), side_text(report, row->best, row->headline.ours),
          side_text(report, row->strongest, row->headline.theirs), tally_text(report, set));
    if (faster != NULL)
        print(report, " %s takes %s and is not compared: it %s.",
              report_safe(report, contender_text(report, faster)),
              time_cell(report, faster, set->phase),
              report_keep(report, exclusion_text(faster, set->phase)));
    print(report, "\n");
    return true;
}

/* Without a time of ours: the rivals' fastest. */
static void print_rivals_alone(const report_t *report, const comparison_set_t *set,
                               const char *subject) {
    const size_row_t *row = set_reference(set);
    text_list_t times = {0};
    for (size_t i = 0; row != NULL && i < set->n_rivals; i++)
        if (row->rivals[i].fastest != NULL)
            text_list_add_format(&times, "%s %s", who_and_name(report, row->rivals[i].fastest),
                                 time_cell(report, row->rivals[i].fastest, set->phase));
    const char *list = report_join(report, &times, ", ");
    if (list != NULL)
        print(report, "- **%s**, rivals alone at %s: %s.\n", subject,
              size_name(report, set, row->size), list);
}

/* Nothing if it has a valid time. */
static void print_missing(const report_t *report, const comparison_set_t *set, const char *whose,
                          const char *name) {
    size_t n = 0, timed = 0, claimed = 0;
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, whose, EVERY_SIZE)) != NULL) {
        n++;
        timed += result->status == CASE_OK;
        claimed += result->status == CASE_OK && is_self_reported(result);
    }
    if (n == 0)
        print(report, "- %s was not measured %s in this run.\n", name, set->platform->place);
    else if (timed == 0)
        print(report, "- None of the %zu cases of %s %s has a valid time: see the warnings.\n", n,
              name, set->platform->place);
    else if (claimed == timed)
        print(report,
              "- %s %s is not compared: each of its %zu times is self-reported, and the "
              "supervisor's clock did not confirm it. See the warnings.\n",
              name, set->platform->place, claimed);
}

/* Sides without times. */
static void finding_missing(const report_t *report, const comparison_set_t *set) {
    print_missing(report, set, OURS, set->platform->name);
    if (set->n_rivals == 0)
        print(report, "- No rival was measured %s in this run.\n", set->platform->place);
    for (size_t i = 0; i < set->n_rivals; i++)
        print_missing(report, set, set->rivals[i],
                      report_safe(report, engine_name(set->rivals[i])));
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
 * allocates in every sample and copies from pageable memory, the ratio measures the set-up. */
static void print_unequal_setups(const report_t *report, const comparison_set_t *set) {
    size_t with = 0, compared = fitting_rows(set, has_headline, NULL);
    for (size_t i = 0; i < set->n_rows; i++)
        with += has_headline(&set->rows[i]) && has_kept_buffers(set, set->rows[i].size);
    if (strcmp(set->platform->device, "cuda") == 0 && with < compared &&
        fitting_rows(set, has_study, NULL) > 0)
        print(report,
              "- Not always like for like: a rival may keep its buffers between samples; of ours, "
              "cases that do were run at %zu of %zu sizes.\n",
              with, compared);
}

/* ---- limits ---------------------------------------------------------------------------------- */

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

static void add_share(const report_t *report, text_list_t *sides, const comparison_set_t *set,
                      const case_result_t *result) {
    if (result != NULL)
        text_list_add_format(
            sides, "%s **%s** at %s (`%s`, bound: %s)", who_and_name(report, result),
            limit_cell(report, result), size_name(report, set, size_of_case(set, &result->spec)),
            report_safe(report, result->limit.phase),
            report_safe(report, result->limit.bound != NULL ? result->limit.bound : "not named"));
}

/* Where ours is nearest, and the rivals there. More than 100 % is no error if data stay on the chip, which the
 * limit takes for moved once a pass. */
static void finding_limit(const report_t *report, const comparison_set_t *set) {
    const case_result_t *ours = NULL;
    text_list_t sides = {0};
    for (size_t i = 0; i < set->n_rows; i++) {
        const case_result_t *nearest = nearest_to_limit(set, set->rows[i].size, OURS);
        if (nearest != NULL && (ours == NULL || nearest->limit.frac > ours->limit.frac))
            ours = nearest;
    }
    if (ours == NULL)
        return;
    add_share(report, &sides, set, ours);
    for (size_t i = 0; i < set->n_rivals; i++)
        add_share(report, &sides, set,
                  nearest_to_limit(set, size_of_case(set, &ours->spec), set->rivals[i]));
    print(report, "- **Of the limit**, computation alone, where ours is nearest: %s.%s\n",
          report_join(report, &sides, ", "),
          flag_list_find(&ours->flags, FLAG_OVER_LIMIT) != NULL
              ? " **No kernel can be that fast on this chip: the time is wrong.**"
              : "");
}

/* At the largest size, where copies are nearly all of the time. */
static void finding_bus(const report_t *report, const comparison_set_t *set) {
    const device_rates_t rates = device_rates_of_record(set->run);
    for (size_t i = set->n_rows; i-- > 0 && strcmp(set->platform->device, "cuda") == 0;) {
        const size_row_t *row = &set->rows[i];
        const case_result_t *ours = comparison_set_fastest(set, row->size, OURS, "host_to_host");
        if (ours == NULL)
            continue;
        const workload_cost_t cost = workload_find(set->workload)->cost(&ours->spec);
        const double least_ns = bus_limit_ns(&cost, &rates);
        text_list_t sides = {0};
        for (size_t r = 0; r <= set->n_rivals && isfinite(least_ns); r++) {
            const case_result_t *side =
                r == 0 ? ours
                       : comparison_set_fastest(set, row->size, set->rivals[r - 1], "host_to_host");
            if (side != NULL)
                text_list_add_format(
                    &sides, "%s **%s**", who_and_name(report, side),
                    percent_text(report, least_ns / result_median(side, "host_to_host")));
        }
        const char *list = report_join(report, &sides, ", ");
        if (list != NULL)
            print(report, "- **Of the bus**, host to host at %s, at least %s: %s.\n",
                  size_name(report, set, row->size), time_text(report, least_ns), list);
        return;
    }
}

/* ---- what host techniques bring --------------------------------------------------------------- */

/* Over all pairs of cases at a batch that differ only in this step: time before over time after. */
static const char *step_text(const report_t *report, const comparison_set_t *set,
                             const technique_set_t *techniques, size_t b, size_t t, size_t after) {
    tally_t step = {0};
    for (size_t r = 0; r < techniques->n_rows; r++) {
        const technique_row_t *before = &techniques->rows[r];
        const technique_row_t *sibling = technique_sibling(techniques, before, t, after);
        if (sibling == NULL || before->choices[t] + 1 != after)
            continue;
        const speedup_t speedup =
            speedup_make(sibling->cases[b], set->phase, before->cases[b], set->phase);
        tally_add(&step, &speedup);
    }
    const char *size = size_name(report, set, techniques->batches[b]);
    return step.n == 0 ? NULL
           : step.n == 1
               ? report_text(report, "%s %s", size, ratio_cell(report, &step.last))
               : report_text(report, "%s %s (%zu pairs)", size,
                             units_range(report_buffer(report), step.least, step.most), step.n);
}

static void print_steps(const report_t *report, const comparison_set_t *set,
                        const technique_set_t *techniques, size_t t, text_list_t *lines) {
    const char *const *choices = techniques->techniques[t].choices;
    for (size_t after = 1; choices[after] != NULL; after++) {
        text_list_t steps = {0};
        for (size_t b = 0; b < techniques->n_batches; b++) {
            const char *text = step_text(report, set, techniques, b, t, after);
            if (text != NULL && (b == 0 || b + 1 == techniques->n_batches))
                text_list_add(&steps, text);
        }
        const char *list = report_join(report, &steps, ", ");
        if (list != NULL)
            text_list_add_format(lines, "  - `%s`, %s → %s: %s.\n", techniques->techniques[t].name,
                                 choices[after - 1], choices[after], list);
    }
}

static void finding_techniques(const report_t *report, const comparison_set_t *set) {
    const case_result_t **cases = report_array(report, set->run->n_cases, sizeof *cases);
    const case_result_t *result = NULL;
    text_list_t lines = {0};
    size_t n = 0;
    while ((result = comparison_set_next(set, result, OURS, EVERY_SIZE)) != NULL)
        if (strcmp(result->spec.engine, "cuda") == 0 && result_phase(result, set->phase) != NULL)
            cases[n++] = result;
    technique_set_t techniques = technique_set_of(cases, n);
    if (techniques.variant != NULL && techniques.n_rows > 1)
        for (size_t t = 0; t < techniques.n_techniques; t++)
            print_steps(report, set, &techniques, t, &lines);
    const char *list = report_join(report, &lines, "");
    if (list != NULL)
        print(
            report,
            "- **Host techniques**, rung %s, `%s`: time before over time after, the range over all "
            "pairs of cases that differ only in it.\n%s",
            report_safe(report, techniques.variant), set->phase, list);
    technique_set_free(&techniques);
}

/* ---- driver calls of allocators --------------------------------------------------------------- */

/* "- **Driver calls** of allocators, the most in a first epoch and in a later one: caching 30 and 0, …" */
static void finding_driver_calls(const report_t *report, const comparison_set_t *set) {
    text_list_t names = {0}, texts = {0};
    double *most = report_array(report, 2 * set->run->n_cases, sizeof *most);
    const case_result_t *result = NULL;
    while ((result = comparison_set_next(set, result, ANYONE, EVERY_SIZE)) != NULL) {
        const char *own = allocator_of(&result->spec);
        epoch_list_t epochs = epochs_of(result);
        const double later = later_driver_calls(&epochs);
        if (result->status == CASE_OK && isfinite(later)) {
            const char *name =
                own != NULL ? own
                            : report_text(report, "%s's own", engine_name(result->spec.engine));
            text_list_add_new(&names, name);
            size_t at = 0;
            while (strcmp(names.items[at], name) != 0)
                at++;
            most[2 * at] = fmax(most[2 * at], epochs.items[0].driver_calls);
            most[2 * at + 1] = fmax(most[2 * at + 1], later);
        }
        epoch_list_free(&epochs);
    }
    for (size_t i = 0; i < names.n; i++)
        text_list_add_format(&texts, "%s %.0f and %.0f", report_safe(report, names.items[i]),
                             most[2 * i], most[2 * i + 1]);
    text_list_free(&names);
    const char *list = report_join(report, &texts, ", ");
    if (list != NULL)
        print(
            report,
            "- **Calls of the driver's allocator**, the most in a first epoch and in a later one: "
            "%s.\n",
            list);
}

/* ---- boots ----------------------------------------------------------------------------------- */

/* "`boot2`, 14 cases, 6 passes, on GPUs 0,1 at once, git 1a2b3c". */
static const char *boot_text(const report_t *report, const record_t *boot) {
    const passes_t passes = passes_of(boot);
    return report_text(report, "%s, %zu cases, %s%s, %s", report_code(report, boot->name),
                       boots_shared_cases(report->run, boot, NULL), passes_counted(report, passes),
                       passes.devices != NULL ? "" : ", on one GPU at a time",
                       revision_text(report, boot));
}

static void finding_boots(const report_t *report) {
    const boots_t *boots = report->boots;
    text_list_t names = {0};
    if (boots == NULL || boots->n == 0)
        return;
    for (size_t i = 0; i < boots->n; i++)
        text_list_add(&names, boot_text(report, boots->runs[i]));
    print(report,
          "- **%zu starts** of machines of this kind. All times are of the first; the interval "
          "of a ratio over a rival covers that ratio in all. The others: %s.\n",
          boots->n + 1, report_join(report, &names, "; "));
}

static void finding_disagreement(const report_t *report, const view_t *view) {
    const comparison_set_t *set = view->set;
    for (size_t i = 0; i < set->n_rows && report->boots != NULL; i++) {
        const size_row_t *row = &set->rows[i];
        const boots_range_t range =
            boots_range(report->boots, row->best, row->strongest, set->phase);
        if (boots_disagree(&range))
            print(report, "- **The starts disagree** on the faster side: %s, %s: %s.\n", view->name,
                  size_name(report, set, row->size),
                  units_range(report_buffer(report), range.least, range.most));
    }
}

/* ---- the section ----------------------------------------------------------------------------- */

static const char *about(const report_t *report, const view_t *view, const char *what) {
    return report_text(report, "%s, %s", view->name, what);
}

static void findings_of_view(const report_t *report, const view_t *view) {
    const comparison_set_t *set = view->set;
    if (!print_comparison(report, set, view->name))
        print_rivals_alone(report, set, view->name);
    finding_disagreement(report, view);
    if (fitting_rows(set, is_by_polling, NULL) > 0) {
        const comparison_set_t waiting = set_without_polling(report, set);
        print_comparison(report, &waiting, about(report, view, "both sides without polling"));
    }
    const comparison_set_t host = set_against_host(report, set, false),
                           rival = set_against_host(report, set, true);
    print_comparison(report, &host, about(report, view, "against C on the CPU"));
    print_comparison(report, &rival, about(report, view, "against rivals on the CPU"));
    print_unequal_setups(report, set);
    if (!phase_is_call(set->phase)) /* its copies are in the view by the whole */
        finding_bus(report, set);
}

/* Of a set that is shown by two phases, once. */
static void findings_of_set(const report_t *report, const view_t *view) {
    const comparison_set_t *set = view->set;
    finding_missing(report, set);
    finding_limit(report, set);
    finding_techniques(report, set);
    finding_driver_calls(report, set);
    if (workload_find(set->workload)->folder == NULL) {
        const comparison_set_t study = set_of_study(report, set);
        print_comparison(
            report, &study,
            report_text(report, "%s, the study's set-ups by `total`", set_name(report, set)));
    }
}

static bool is_first_of_shape(const comparison_set_list_t *sets, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(sets->items[i].shape, sets->items[index].shape) == 0)
            return false;
    return true;
}

void section_findings(const report_t *report, const comparison_set_list_t *sets,
                      const views_t *views) {
    report_heading(report, 2, "Findings");
    finding_boots(report);
    for (size_t v = 0; v < views->n; v++) {
        findings_of_view(report, &views->items[v]);
        if (v + 1 == views->n || views->items[v + 1].set->key != views->items[v].set->key)
            findings_of_set(report, &views->items[v]);
    }
    for (size_t i = 0; i < sets->n; i++) {
        const comparison_set_t *set = &sets->items[i];
        const comparison_set_count_t count = comparison_set_count(set);
        if (count.timed == 0)
            print(report, "- %s: none of the %zu cases has a valid time. See the warnings.\n",
                  set_name(report, set), count.n);
        else if (is_first_of_shape(sets, i))
            findings_on_learning(report, set);
    }
    print(report, "\n");
}
