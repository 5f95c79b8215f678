/* Warnings: everything that a reader should hold against the numbers. */
#include "report/page.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cases that share a text (a reason, a flag), with the first few ids. */
typedef struct group {
    const char *label, *text; /* borrowed */
    text_list_t ids;
} group_t;

typedef struct group_list {
    group_t *items;
    size_t n, capacity;
} group_list_t;

static void add_to_group(group_list_t *list, const char *label, const char *text, const char *id) {
    size_t i = 0;
    while (i < list->n &&
           (strcmp(list->items[i].label, label) != 0 || strcmp(list->items[i].text, text) != 0))
        i++;
    if (i == list->n) {
        mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
        list->items[list->n++] = (group_t){.label = label, .text = text};
    }
    text_list_add(&list->items[i].ids, id);
}

static void print_groups(const report_t *report, group_list_t *list, const char *first,
                         const char *second) {
    enum { SHOWN_IDS = 3 };
    const char *headings[] = {first, second, "cases", "which"};
    table_t table;
    table_init(&table, headings, 4);
    table_set_align(&table, "llr");
    for (size_t i = 0; i < list->n; i++) {
        group_t *group = &list->items[i];
        char *label = markdown_text(group->label), *text = markdown_text(group->text);
        table_add(&table, label);
        table_add(&table, text);
        table_add_format(&table, "%zu", group->ids.n);
        text_list_t shown = {0};
        for (size_t k = 0; k < group->ids.n && k < SHOWN_IDS; k++) {
            char *id = markdown_code(group->ids.items[k]);
            text_list_add(&shown, id);
            free(id);
        }
        char *ids = text_list_join(&shown, ", ");
        table_add_format(&table, "%s%s", ids, group->ids.n > SHOWN_IDS ? ", …" : "");
        free(ids);
        free(label);
        free(text);
        text_list_free(&shown);
        text_list_free(&group->ids);
    }
    if (list->n > 0)
        report_table(report, &table);
    else
        table_free(&table);
    free(list->items);
}

/* Worst first. */
static void print_statuses(const report_t *report) {
    static const case_status_t ORDER[] = {CASE_WRONG, CASE_FAILED, CASE_THROTTLED, CASE_SKIPPED};
    group_list_t groups = {0};
    for (size_t s = 0; s < sizeof ORDER / sizeof *ORDER; s++)
        for (size_t i = 0; i < report->run->n_cases; i++) {
            const case_result_t *result = &report->run->cases[i];
            if (result->status == ORDER[s] && !is_not_applicable(result))
                add_to_group(&groups, case_status_name(result->status),
                             result->reason != NULL ? result->reason : "no reason was recorded",
                             result->spec.id);
        }
    print_groups(report, &groups, "Status", "Reason");
}

/* Variants that are for another dtype by design were asked for by a "*" and left out. */
static void print_not_applicable(const report_t *report) {
    group_list_t groups = {0};
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_result_t *result = &report->run->cases[i];
        if (is_not_applicable(result))
            add_to_group(&groups, result->spec.variant, result->reason, result->spec.id);
    }
    for (size_t i = 0; i < groups.n; i++) {
        group_t *group = &groups.items[i];
        char *variant = markdown_text(group->label), *reason = markdown_text(group->text);
        fprintf(report->out,
                "- Nothing is missing here: %zu case%s of %s did not apply by design (it is %s).\n",
                group->ids.n, group->ids.n == 1 ? "" : "s", variant, reason);
        free(variant);
        free(reason);
        text_list_free(&group->ids);
    }
    free(groups.items);
}

static void print_throttle_reasons(const report_t *report) {
    group_list_t groups = {0};
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_result_t *result = &report->run->cases[i];
        for (size_t k = 0; k < result->device.throttle.n; k++)
            add_to_group(&groups, "throttle reason seen", result->device.throttle.items[k],
                         result->spec.id);
    }
    print_groups(report, &groups, "What", "Text");
}

/* Half the 95 % interval over the median, of what the case is compared by; NaN without times. */
static double half_width_frac(const case_result_t *result) {
    static const char *const PHASES[] = {"host_to_host", "total"};
    for (size_t k = 0; k < sizeof PHASES / sizeof *PHASES; k++)
        if (isfinite(result_median(result, PHASES[k]))) {
            const summary_t *s = &result_phase(result, PHASES[k])->summary;
            return (s->ci95[1] - s->ci95[0]) / 2 / s->median;
        }
    return NAN;
}

/* Up to three cases, the widest first, that missed the precision asked for by much. */
static void print_widest(const report_t *report) {
    enum { SHOWN = 3 };
    static const double WORTH_NAMING_FRAC = 0.01;
    double below = INFINITY;
    size_t n = 0;
    while (n < SHOWN) {
        const case_result_t *widest = NULL;
        for (size_t i = 0; i < report->run->n_cases; i++) {
            const case_result_t *result = &report->run->cases[i];
            double frac = half_width_frac(result);
            if (!is_calibration(&result->spec) && result->stop != STOP_PRECISE && frac < below &&
                frac > WORTH_NAMING_FRAC && (widest == NULL || frac > half_width_frac(widest)))
                widest = result;
        }
        if (widest == NULL)
            break;
        char width[UNITS_TEXT], *id = markdown_code(widest->spec.id);
        below = half_width_frac(widest);
        fprintf(report->out, "%s%s ± %s", n++ == 0 ? "- The widest intervals: " : ", ", id,
                units_percent(width, below));
        free(id);
    }
    if (n > 0)
        fputs(". `bench plot RUN --case ID` shows why: two clock states, a drift, a tail.\n",
              report->out);
}

static void print_stops(const report_t *report) {
    size_t counts[STOP_SINGLE + 1] = {0}, timed = 0, set_apart = 0;
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_result_t *result = &report->run->cases[i];
        if (is_calibration(&result->spec))
            continue;
        for (size_t k = 0; k < result->n_phases; k++)
            set_apart += result->phases[k].n_throttled;
        if (!result_has_times(result))
            continue;
        timed++;
        counts[result->stop]++;
    }
    if (timed == 0)
        return;
    fprintf(report->out, "- Of %zu cases with times, %zu reached the precision asked for", timed,
            counts[STOP_PRECISE]);
    if (counts[STOP_NOISE_FLOOR] > 0)
        fprintf(report->out,
                ", %zu stopped at their noise floor (more samples did not narrow the "
                "interval)",
                counts[STOP_NOISE_FLOOR]);
    if (counts[STOP_TIME_LIMIT] > 0)
        fprintf(report->out, ", %zu stopped at the time limit", counts[STOP_TIME_LIMIT]);
    if (counts[STOP_SINGLE] > 0)
        fprintf(report->out, ", %zu are a single measurement", counts[STOP_SINGLE]);
    if (counts[STOP_NONE] > 0)
        fprintf(report->out, ", %zu do not say why they stopped", counts[STOP_NONE]);
    fputs(".\n", report->out);
    print_widest(report);
    if (set_apart > 0)
        fprintf(report->out,
                "- %zu samples were taken while the clock was throttled; they were set "
                "apart and are in no time here.\n",
                set_apart);
}

/* Few samples make wide intervals, and a bootstrap over few rounds is no better than they are. */
static void print_few_samples(const report_t *report) {
    enum { FEW = 30 };
    size_t n_few = 0, fewest = FEW;
    const char *id = NULL;
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_result_t *result = &report->run->cases[i];
        size_t n = FEW;
        for (size_t k = 0; k < result->n_phases && result_has_times(result); k++)
            n = result->phases[k].summary.n < n ? result->phases[k].summary.n : n;
        n_few += n < FEW;
        if (n < fewest) {
            fewest = n;
            id = result->spec.id;
        }
    }
    if (id == NULL)
        return;
    char *safe = markdown_code(id);
    fprintf(report->out,
            "- **Few samples:** %zu case%s fewer than %d of some phase, the fewest %zu (%s). Read "
            "their intervals, not their medians.\n",
            n_few, n_few == 1 ? " has" : "s have", FEW, fewest, safe);
    free(safe);
}

/* Runs of older versions that were interrupted hold such cases. */
static void print_unchecked(const report_t *report) {
    text_list_t ids = {0};
    for (size_t i = 0; i < report->run->n_cases; i++) {
        const case_result_t *result = &report->run->cases[i];
        if (!result_has_times(result) || !result->before.done || result->after.done)
            continue;
        char *id = markdown_code(result->spec.id);
        text_list_add(&ids, id);
        free(id);
    }
    char *list = text_list_join(&ids, ", ");
    if (ids.n > 0)
        fprintf(report->out,
                "- **Not checked after timing:** %s. The run was interrupted before that; the "
                "check before timing was passed.\n",
                list);
    free(list);
    text_list_free(&ids);
}

static bool fact_is(const record_t *run, const char *key, const char *value) {
    const char *found = environment_get(&run->environment, key);
    return found != NULL && strcmp(found, value) == 0;
}

/* A saved run's own device against what its name promises is the run's matter; here only what the
 * header says. */
static void print_header_warnings(const report_t *report) {
    const record_t *run = report->run;
    if (run->finished == NULL)
        fputs("- **The run did not finish:** it holds the cases that had ended, and its fastest "
              "contender is the fastest of those.\n",
              report->out);
    if (run->n_dropped_lines > 0)
        fputs("- The last line of `cases.jsonl` was half-written and was dropped.\n", report->out);
    if (fact_is(run, "git.dirty", "true"))
        fputs("- **The source tree had uncommitted changes:** the git revision alone does not give "
              "the program that was measured.\n",
              report->out);
    const char *governor = environment_get(&run->environment, "host.governor");
    if (governor != NULL && strcmp(governor, "performance") != 0) {
        char *safe = markdown_text(governor);
        fprintf(report->out,
                "- The CPU's frequency governor is not known to be performance (found: %s): host "
                "times may drift.\n",
                safe);
        free(safe);
    }
    if (environment_get(&run->environment, "gpu.name") == NULL)
        fputs("- No GPU was there in this run.\n", report->out);
}

void section_warnings(const report_t *report) {
    report_heading(report, 2, "Warnings");
    print_header_warnings(report);
    print_stops(report);
    print_few_samples(report);
    print_unchecked(report);
    print_not_applicable(report);
    fputc('\n', report->out);
    print_statuses(report);
    section_flags(report);
    print_throttle_reasons(report);
}
