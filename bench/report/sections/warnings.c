/* Warnings: what limits the trust in the numbers. */
#include "report/columns.h"
#include "report/sections/sections.h"

#include "analysis/boots.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups of cases ------------------------------------------------------------------------- */

typedef struct group {
    const char *label, *text; /* common to the group */
    text_list_t ids;          /* of the cases; of sanitized programs */
    const flag_t *worst;      /* of a group of flags */
    const case_result_t *example;
} group_t;

typedef struct group_list {
    group_t *items;
    size_t n, capacity;
} group_list_t;

/* Find or add a group. Texts are borrowed. */
static group_t *group_of(group_list_t *list, const char *label, const char *text) {
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].label, label) == 0 && strcmp(list->items[i].text, text) == 0)
            return &list->items[i];
    mem_grow(&list->items, list->n, &list->capacity, sizeof *list->items);
    list->items[list->n] = (group_t){.label = label, .text = text};
    return &list->items[list->n++];
}

static void add_case(group_list_t *list, const char *label, const char *text,
                     const case_result_t *result) {
    text_list_add(&group_of(list, label, text)->ids, result->spec.id);
}

static void groups_free(group_list_t *list) {
    for (size_t i = 0; i < list->n; i++)
        text_list_free(&list->items[i].ids);
    free(list->items);
}

/* Print and free the groups, with the first few ids of each. */
static void print_groups(const report_t *report, group_list_t *list, const char *first,
                         const char *second) {
    enum { SHOWN_IDS = 3 };
    const column_t columns[] = {
        {first, 'l', false}, {second, 'l', false}, {"cases", 'r', false}, {"which", 'l', false}};
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < list->n; i++) {
        const group_t *group = &list->items[i];
        text_list_t shown = {0};
        for (size_t k = 0; k < group->ids.n && k < SHOWN_IDS; k++)
            text_list_add(&shown, report_code(report, group->ids.items[k]));
        if (group->ids.n > SHOWN_IDS)
            text_list_add(&shown, "…");
        const char *const cells[] = {
            report_safe(report, group->label), reason_cell(report, group->text),
            count_cell(report, (double)group->ids.n), report_join(report, &shown, ", ")};
        columns_row(&table, cells);
    }
    columns_end(&table, "");
    groups_free(list);
}

/* Why the times are not confirmed. */
static const char *trust_reason(const case_result_t *result) {
    const double ratio = claims_ratio(&result->claims);
    return claim_agrees(ratio) ? "it was slower on new inputs, but its threads waited for cores"
           : isnan(ratio)      ? "its worker answers no audit"
           : ratio > 1         ? "by the supervisor's clock its runs take longer than it claims"
                               : "by the supervisor's clock its runs take less time than it claims";
}

/* Worst first. */
static void print_statuses(const report_t *report) {
    static const case_status_t ORDER[] = {CASE_WRONG, CASE_FAILED, CASE_IMPLAUSIBLE, CASE_THROTTLED,
                                          CASE_SKIPPED};
    group_list_t groups = {0};
    for (size_t s = 0; s < sizeof ORDER / sizeof *ORDER; s++)
        for (const case_result_t *result = NULL;
             (result = record_next(report->run, result)) != NULL;)
            if (result->status == ORDER[s] && !is_not_applicable(result))
                add_case(&groups, case_status_name(result->status),
                         result->reason != NULL ? result->reason : "no reason recorded", result);
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;)
        if (is_self_reported(result))
            add_case(&groups, trust_name(result->trust), trust_reason(result), result);
    print_groups(report, &groups, "Status", "Reason");
}

static void print_throttle_reasons(const report_t *report) {
    group_list_t groups = {0};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;)
        for (size_t k = 0; k < result->device.throttle.n; k++)
            add_case(&groups, "throttle reason", result->device.throttle.items[k], result);
    print_groups(report, &groups, "What", "Text");
}

/* A "*" in a sweep also matches variants that are designed for another dtype. */
static void print_not_applicable(const report_t *report) {
    group_list_t groups = {0};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;)
        if (is_not_applicable(result))
            add_case(&groups, result->spec.variant, result->reason, result);
    for (size_t i = 0; i < groups.n; i++) {
        const group_t *group = &groups.items[i];
        print(report, "- Not applicable by design: %zu case%s of %s (it is %s).\n", group->ids.n,
              group->ids.n == 1 ? "" : "s", report_safe(report, group->label),
              report_safe(report, group->text));
    }
    groups_free(&groups);
}

/* Each kind of flag once, with its count and its worst case. */
void section_flags(const report_t *report) {
    static const column_t COLUMNS[] = {
        {"Flag", 'l', false}, {"cases", 'r', false}, {"the worst", 'l', false}, {"in", 'l', false}};
    group_list_t groups = {0};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        for (size_t k = 0; k < result->flags.n; k++) {
            const flag_t *flag = &result->flags.items[k];
            group_t *group = group_of(&groups, report_keep(report, flag_name(flag)), "");
            text_list_add_new(&group->ids, result->spec.id);
            if (group->worst == NULL || flag_severity(flag) > flag_severity(group->worst)) {
                group->worst = flag;
                group->example = result;
            }
        }
    }
    columns_t table = columns_begin(report, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < groups.n; i++) {
        const group_t *group = &groups.items[i];
        const char *worst = report_keep(report, flag_text(group->worst));
        const char *const cells[] = {
            report_safe(report, group->label), count_cell(report, (double)group->ids.n),
            report_safe(report, worst), report_code(report, group->example->spec.id)};
        columns_row(&table, cells);
    }
    columns_end(&table, "");
    groups_free(&groups);
}

/* compute-sanitizer's verdicts on a workload's programs: one row per tool and verdict. */
void section_sanitize(const report_t *report, const char *workload) {
    static const column_t COLUMNS[] = {{"compute-sanitizer", 'l', false},
                                       {"version", 'l', false},
                                       {"verdict", 'l', false},
                                       {"programs", 'r', false},
                                       {"first seen in", 'l', false}};
    group_list_t groups = {0};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const sanitize_t *found = &result->sanitize;
        const char *program = result->resources.code_hash;
        for (size_t k = 0; k < found->tools.n && strcmp(result->spec.workload, workload) == 0;
             k++) {
            group_t *group = group_of(&groups, found->tools.items[k], found->verdicts.items[k]);
            if (group->example == NULL)
                group->example = result;
            if (program != NULL)
                text_list_add_new(&group->ids, program);
        }
    }
    columns_t table = columns_begin(report, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (size_t i = 0; i < groups.n; i++) {
        const group_t *group = &groups.items[i];
        const sanitize_t *found = &group->example->sanitize;
        const char *bold = sanitize_is_finding(group->text) ? "**" : "";
        const char *const cells[] = {
            report_safe(report, group->label),
            found->version != NULL ? report_safe(report, found->version) : "–",
            report_text(report, "%s%s%s", bold, report_safe(report, group->text), bold),
            count_cell(report, (double)group->ids.n),
            report_code(report, found->example != NULL ? found->example : group->example->spec.id),
        };
        columns_row(&table, cells);
    }
    columns_end(&table, "compute-sanitizer ran each CUDA program once, with its smallest case; "
                        "nothing was timed meanwhile.\n\n");
    groups_free(&groups);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Half the 95 % interval over the median of the compared phase; NaN without times. */
static double half_width_frac(const case_result_t *result) {
    static const char *const PHASES[] = {"host_to_host", "total"};
    for (size_t k = 0; k < sizeof PHASES / sizeof *PHASES; k++)
        if (isfinite(result_median(result, PHASES[k]))) {
            const summary_t *s = &result_phase(result, PHASES[k])->summary;
            return (s->ci95[1] - s->ci95[0]) / 2 / s->median;
        }
    return NAN;
}

/* Up to three cases, widest first. */
static void print_widest(const report_t *report) {
    enum { SHOWN = 3 };
    static const double WORTH_NAMING_FRAC = 0.05;
    double below = INFINITY;
    text_list_t names = {0};
    while (names.n < SHOWN) {
        const case_result_t *widest = NULL;
        for (const case_result_t *result = NULL;
             (result = record_next(report->run, result)) != NULL;) {
            double frac = half_width_frac(result);
            if (!is_calibration(&result->spec) && frac < below && frac > WORTH_NAMING_FRAC &&
                (widest == NULL || frac > half_width_frac(widest)))
                widest = result;
        }
        if (widest == NULL)
            break;
        below = half_width_frac(widest);
        text_list_add_format(&names, "%s ± %s", report_code(report, widest->spec.id),
                             percent_text(report, below));
    }
    const char *list = report_join(report, &names, ", ");
    if (list != NULL)
        print(report,
              "- The widest intervals: %s. `bench plot RUN --case ID` shows the cause, such as "
              "passes "
              "that differ, drift or a tail.\n",
              list);
}

static void print_stops(const report_t *report) {
    static const struct {
        stop_reason_t stop;
        const char *words;
    } STOPS[] = {
        {STOP_SPREAD, "were precise enough beside what differs between passes"},
        {STOP_NOISE_FLOOR,
         "stopped at their noise floor (more samples did not narrow the interval)"},
        {STOP_MOST_ROUNDS, "ended after the most rounds"},
        {STOP_TIME_LIMIT, "ended at the time limit"},
        {STOP_SINGLE, "are a single measurement"},
        {STOP_NONE, "have no recorded stopping reason"},
    };
    size_t counts[STOP_SINGLE + 1] = {0}, n_timed = 0, n_passes = 0, n_throttled = 0;
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        if (is_calibration(&result->spec))
            continue;
        for (size_t k = 0; k < result->n_phases; k++)
            n_throttled += result->phases[k].n_throttled;
        n_timed += result_has_times(result);
        for (size_t s = 0; s <= STOP_SINGLE && result_has_times(result); s++) {
            counts[s] += result_stops(result, (stop_reason_t)s);
            n_passes += result_stops(result, (stop_reason_t)s);
        }
    }
    if (n_timed == 0)
        return;
    if (n_passes == n_timed)
        print(report, "- Of %zu case%s with times, in one pass each,", n_timed,
              n_timed == 1 ? "" : "s");
    else
        print(report, "- Of the %zu passes of %zu case%s with times,", n_passes, n_timed,
              n_timed == 1 ? "" : "s");
    print(report, " %zu reached the requested precision", counts[STOP_PRECISE]);
    for (size_t i = 0; i < sizeof STOPS / sizeof *STOPS; i++)
        if (counts[STOPS[i].stop] > 0)
            print(report, ", %zu %s", counts[STOPS[i].stop], STOPS[i].words);
    print(report, ".\n");
    print_widest(report);
    if (n_throttled > 0)
        print(report,
              "- %zu samples taken while the clock was throttled are excluded from all times.\n",
              n_throttled);
}

/* ---- two values ------------------------------------------------------------------------------ */

/* Of the phases with two values the first of these, by which cases are compared, else any. */
static const phase_t *bimodal_phase(const case_result_t *result) {
    static const char *const PHASES[] = {"host_to_host", "step", "train", "total"};
    const phase_t *found = NULL;
    for (size_t i = result->n_phases; i-- > 0;)
        if (result->phases[i].bimodal.found)
            found = &result->phases[i];
    for (size_t k = sizeof PHASES / sizeof *PHASES; k-- > 0;) {
        const phase_t *phase = result_phase(result, PHASES[k]);
        if (phase != NULL && phase->bimodal.found)
            found = phase;
    }
    return found;
}

static const char *other_bimodal_phases(const report_t *report, const case_result_t *result,
                                        const phase_t *shown) {
    text_list_t names = {0};
    for (size_t i = 0; i < result->n_phases; i++)
        if (result->phases[i].bimodal.found && &result->phases[i] != shown)
            text_list_add(&names, result->phases[i].name);
    const char *list = report_join(report, &names, ", ");
    return list != NULL ? report_safe(report, list) : "";
}

/* One row per case. */
static void print_bimodal(const report_t *report) {
    static const column_t COLUMNS[] = {{"Two values in", 'l', false},
                                       {"phase", 'l', false},
                                       {"values", 'l', false},
                                       {"also in", 'l', false}};
    columns_t table = columns_begin(report, COLUMNS, sizeof COLUMNS / sizeof *COLUMNS);
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const phase_t *phase = result_has_times(result) ? bimodal_phase(result) : NULL;
        if (phase == NULL)
            continue;
        const char *const cells[] = {report_code(report, result->spec.id),
                                     report_safe(report, phase->name),
                                     report_keep(report, bimodal_text(&phase->bimodal)),
                                     other_bimodal_phases(report, result, phase)};
        columns_row(&table, cells);
    }
    columns_end(&table,
                "Rounds of these cases change between two values (‡), so a median is one or the "
                "other by chance. `bench plot RUN --case ID` draws them.\n\n");
}

static void print_few_samples(const report_t *report) {
    enum { FEW = 30 };
    size_t n_few = 0, fewest = FEW;
    const char *id = NULL;
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        size_t n = FEW;
        for (size_t k = 0; k < result->n_phases && result_has_times(result); k++)
            n = result->phases[k].summary.n < n ? result->phases[k].summary.n : n;
        n_few += n < FEW;
        if (n < fewest) {
            fewest = n;
            id = result->spec.id;
        }
    }
    if (id != NULL)
        print(report,
              "- **Few samples:** %zu case%s fewer than %d samples of some phase; the minimum is "
              "%zu (%s).\n",
              n_few, n_few == 1 ? " has" : "s have", FEW, fewest, report_code(report, id));
}

/* Interrupted runs of older versions have such cases. */
static void print_unchecked(const report_t *report) {
    text_list_t ids = {0};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;)
        if (result_has_times(result) && result->before.done && !result->after.done)
            text_list_add(&ids, report_code(report, result->spec.id));
    const char *list = report_join(report, &ids, ", ");
    if (list != NULL)
        print(report,
              "- **Not checked after timing:** %s. The run was interrupted first; the check before "
              "timing passed.\n",
              list);
}

static void print_header_warnings(const report_t *report) {
    const record_t *run = report->run;
    const char *dirty = environment_get(&run->environment, "git.dirty");
    const char *governor = environment_get(&run->environment, "host.governor");
    const char *isolate = environment_get(&run->environment, "measure.isolate");
    if (run->finished == NULL)
        print(report,
              "- **The run did not finish:** it has only the finished cases, and the fastest "
              "contender is the fastest of these.\n");
    if (run->n_dropped_lines > 0)
        print(report, "- The last line of `cases.jsonl` was incomplete and was dropped.\n");
    const char *machines = machines_text(report);
    if (machines != NULL)
        print(report, "- %s\n", machines);
    if (dirty != NULL && strcmp(dirty, "true") == 0)
        print(report, "- **The source tree had uncommitted changes:** the git revision alone does "
                      "not identify the measured program.\n");
    const char *other = report_keep(report, environment_other_source(&run->environment));
    if (other != NULL)
        print(report, "- **Built from another state of the source:** %s.\n",
              report_safe(report, other));
    if (governor != NULL && strcmp(governor, "performance") != 0)
        print(report,
              "- The CPU frequency governor is not known to be performance (found: %s): host times "
              "may drift.\n",
              report_safe(report, governor));
    if (isolate != NULL && text_starts(isolate, "none: "))
        print(report,
              "- **Not isolated:** with `--isolate` each contender had a process of its own, but "
              "could "
              "reach other processes and files: %s.\n",
              report_safe(report, isolate + strlen("none: ")));
    const char *busy = report_keep(report, busy_sentence(run));
    const char *load = environment_get(&run->environment, "host.load");
    if (busy != NULL)
        print(report, "- **Busy machine:** %s. Load at the start: %s. %s.\n",
              report_safe(report, busy), load != NULL ? load : "unknown",
              doc_link(report, "docs/measuring.md", "#a-busy-machine", "What to do"));
    if (environment_get(&run->environment, "gpu.name") == NULL)
        print(report, "- This run had no GPU.\n");
}

void section_warnings(const report_t *report) {
    report_heading(report, 2, "Warnings");
    print_header_warnings(report);
    section_files(report);
    print_stops(report);
    print_few_samples(report);
    print_unchecked(report);
    print_not_applicable(report);
    print(report, "\n");
    print_bimodal(report);
    print_statuses(report);
    section_flags(report);
    print_throttle_reasons(report);
}
