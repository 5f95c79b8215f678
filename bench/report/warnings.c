#include "report/shown.h"

#include "analysis/boots.h"
#include "analysis/contenders.h"
#include "base/memory.h"
#include "plot/folder.h"
#include "results/record.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- statuses -------------------------------------------------------------------------------- */

void count_status(status_counts_t *counts, const case_result_t *result) {
    if (is_calibration(&result->spec) || is_not_applicable(result))
        return;
    counts->of[result->status]++;
    counts->all++;
}

status_counts_t count_statuses(const record_t *run) {
    status_counts_t counts = {0};
    for (const case_result_t *result = NULL; (result = record_next(run, result)) != NULL;)
        count_status(&counts, result);
    return counts;
}

const char *statuses_text(const report_t *report, const status_counts_t *counts) {
    text_list_t parts = {0};
    for (size_t s = 0; s <= CASE_IMPLAUSIBLE; s++)
        if (counts->of[s] > 0)
            text_list_add_format(&parts, "%zu %s", counts->of[s],
                                 case_status_name((case_status_t)s));
    return report_join(report, &parts, ", ");
}

/* ---- groups of cases with one text ----------------------------------------------------------- */

typedef struct group {
    const char *label, *text; /* common to the group */
    text_list_t ids;          /* of the cases; of sanitized programs */
    const flag_t *worst;      /* of a group of flags */
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
    text_list_add_new(&group_of(list, label, text)->ids, result->spec.id);
}

/* The beginning: what a worker printed before it died can be a page. */
static const char *reason_text(const report_t *report, const char *reason) {
    enum { MOST = 300 };
    size_t n = strlen(reason);
    if (n > MOST)
        for (n = MOST; n > 0 && reason[n] != ' '; n--)
            ;
    if (reason[n] == '\0' || n == 0)
        return report_safe(report, reason);
    return report_safe(report,
                       report_text(report, "%.*s … (the rest: cases.jsonl)", (int)n, reason));
}

static const char *first_codes(const report_t *report, text_list_t *items) {
    text_list_t codes = {0};
    for (size_t i = 0; i < items->n; i++)
        text_list_add(&codes, report_code(report, items->items[i]));
    text_list_free(items);
    return report_first_few(report, &codes);
}

/* "- **skipped**: no JAX here (cases: 3): `a`, `b`, `c`." Frees the groups. */
static void print_groups(const report_t *report, group_list_t *list) {
    for (size_t i = 0; i < list->n; i++) {
        group_t *group = &list->items[i];
        const size_t n = group->ids.n;
        if (group->worst != NULL) {
            group->label = report_keep(report, flag_text(group->worst));
            group->text = "at its worst, of the first";
        }
        print(report, "- **%s**: %s (cases: %zu): %s.\n", report_safe(report, group->label),
              reason_text(report, group->text), n, first_codes(report, &group->ids));
    }
    free(list->items);
}

/* Why the times are not confirmed. */
static const char *trust_reason(const case_result_t *result) {
    const double ratio = claims_ratio(&result->claims);
    return claims_agree(&result->claims)
               ? "it was slower on new inputs, but its threads waited for cores"
           : isnan(ratio) ? "its worker answers no audit"
           : ratio > 1    ? "by the supervisor's clock its runs take longer than it claims"
                          : "by the supervisor's clock its runs take less time than it claims";
}

/* Worst first. */
static void add_statuses(const report_t *report, group_list_t *groups) {
    static const case_status_t ORDER[] = {CASE_WRONG, CASE_FAILED, CASE_IMPLAUSIBLE, CASE_THROTTLED,
                                          CASE_SKIPPED};
    for (size_t s = 0; s < sizeof ORDER / sizeof *ORDER; s++)
        for (const case_result_t *result = NULL;
             (result = record_next(report->run, result)) != NULL;)
            if (result->status == ORDER[s])
                add_case(groups,
                         is_not_applicable(result) ? "not applicable by design"
                                                   : case_status_name(result->status),
                         result->reason != NULL ? result->reason : "no reason recorded", result);
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        if (is_self_reported(result))
            add_case(groups, trust_name(result->trust), trust_reason(result), result);
        for (size_t k = 0; k < result->device.throttle.n; k++)
            add_case(groups, "throttle reason", result->device.throttle.items[k], result);
    }
}

static void put_first(text_list_t *ids, const char *id) {
    text_list_add_new(ids, id);
    for (size_t i = 1; i < ids->n; i++)
        if (strcmp(ids->items[i], id) == 0) {
            char *first = ids->items[0];
            ids->items[0] = ids->items[i];
            ids->items[i] = first;
        }
}

/* Each kind of flag once, with its worst. compute-sanitizer ran each program once, with its smallest case. */
static void add_flags(const report_t *report, group_list_t *groups) {
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        for (size_t k = 0; k < result->flags.n; k++) {
            const flag_t *flag = &result->flags.items[k];
            group_t *group = group_of(groups, report_keep(report, flag_name(flag)), "");
            if (group->worst == NULL || flag_severity(flag) > flag_severity(group->worst)) {
                group->worst = flag;
                put_first(&group->ids, result->spec.id);
            } else {
                text_list_add_new(&group->ids, result->spec.id);
            }
        }
        const sanitize_t *found = &result->sanitize;
        for (size_t k = 0; k < found->tools.n; k++) {
            const char *label = report_text(report, "compute-sanitizer %s", found->tools.items[k]);
            text_list_add_new(&group_of(groups, label, found->verdicts.items[k])->ids,
                              found->example != NULL ? found->example : result->spec.id);
        }
    }
}

/* The fewest samples of a phase. */
static size_t fewest_samples(const case_result_t *result) {
    size_t n = SIZE_MAX;
    for (size_t k = 0; k < result->n_phases; k++)
        n = result->phases[k].summary.n < n ? result->phases[k].summary.n : n;
    return n;
}

static void add_doubts(const report_t *report, group_list_t *groups) {
    enum { FEW = 30 };
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        if (!result_has_times(result))
            continue;
        if (has_two_values(result))
            add_case(groups, "two values ‡",
                     "rounds change between them, so a median is one or the other by chance",
                     result);
        if (fewest_samples(result) < FEW)
            add_case(groups, "few samples", "fewer than 30 of some phase", result);
        if (result->before.done && !result->after.done) /* interrupted runs of older versions */
            add_case(groups, "not checked after timing",
                     "the run was interrupted first; the check before timing passed", result);
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

/* "Passes ended: 811 precise, 12 time_limit" */
static void print_stops(const report_t *report) {
    size_t counts[STOP_SINGLE + 1] = {0}, n_throttled = 0;
    text_list_t stops = {0};
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        if (is_calibration(&result->spec))
            continue;
        for (size_t k = 0; k < result->n_phases; k++)
            n_throttled += result->phases[k].n_throttled;
        for (size_t s = 0; s <= STOP_SINGLE && result_has_times(result); s++)
            counts[s] += result_stops(result, (stop_reason_t)s);
    }
    for (size_t s = 0; s <= STOP_SINGLE; s++)
        if (counts[s] > 0)
            text_list_add_format(&stops, "%zu %s", counts[s], stop_reason_name((stop_reason_t)s));
    const char *list = report_join(report, &stops, ", ");
    if (list != NULL)
        print(report, "- Why passes ended: %s.\n", report_safe(report, list));
    if (n_throttled > 0)
        print(report,
              "- %zu samples taken while the clock was throttled are excluded from all times.\n",
              n_throttled);
}

/* ---- the run --------------------------------------------------------------------------------- */

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

/* ---- its files: edited since, and cases without a line ---------------------------------------- */

static const record_t *whole_run(const report_t *report) {
    return report->whole != NULL ? report->whole : report->run;
}

static void print_edits(const report_t *report) {
    const record_t *run = whole_run(report);
    if (run->finished != NULL && record_seal(run) == SEAL_NONE)
        print(report,
              "- Unsealed: `run.json` has no digest of the run's lines and charts, so that later "
              "edits cannot be told.\n");
    if (report->root == NULL || run->name == NULL)
        return;
    AUTO_FREE char *charts = charts_folder(report->root, NULL, run);
    text_list_t edits = record_edits(run, charts);
    if (edits.n > 0)
        print(report, "- **Files are not those that the run was closed with:** %s.\n",
              first_codes(report, &edits));
}

static const char *workload_of(const record_t *run) {
    const case_result_t *result = record_next(run, NULL);
    while (result != NULL && is_calibration(&result->spec))
        result = record_next(run, result);
    return result != NULL ? result->spec.workload : NULL;
}

/* Of a variant that the sweep does not name: "*" is what the folder has today. */
static bool is_of_today(const record_t *run, const char *text, const case_t *spec) {
    AUTO_FREE char *name = mem_format("\"%s\"", spec->variant);
    bool known = strstr(text, name) != NULL;
    for (size_t i = 0; i < run->n_cases && !known; i++)
        known = strcmp(run->cases[i].spec.variant, spec->variant) == 0 &&
                strcmp(run->cases[i].spec.engine, spec->engine) == 0 &&
                strcmp(run->cases[i].spec.workload, spec->workload) == 0;
    return !known;
}

static void add_missing(const record_t *run, const sweep_t *sweep, text_list_t *missing) {
    for (size_t i = 0; i < sweep->n_cases; i++) {
        const case_t *spec = &sweep->cases[i];
        if (record_find(run, spec->id) == NULL && !text_list_has(&run->left_out, spec->engine) &&
            !is_of_today(run, sweep->text, spec))
            text_list_add_new(missing, spec->id);
    }
}

/* Of a run that says it is complete. A sweep that this version does not read names none. */
static void print_missing(const report_t *report) {
    const record_t *run = whole_run(report);
    const char *workload = workload_of(report->run);
    if (run->finished == NULL || run->shard != NULL || workload == NULL || report->root == NULL)
        return;
    text_list_t missing = {0};
    for (size_t i = 0; i < run->n_sweeps; i++) {
        error_t none = ERROR_INIT;
        AUTO(sweep_free) sweep_t sweep = {0};
        if (sweep_parse(run->sweeps[i].path, run->sweeps[i].text, report->root, &sweep, &none) ==
                STATUS_OK &&
            strcmp(sweep.workload->name, workload) == 0)
            add_missing(run, &sweep, &missing);
    }
    const size_t n = missing.n;
    if (n > 0)
        print(report, "- **Missing**: in the sweeps, without a line (cases: %zu): %s.\n", n,
              first_codes(report, &missing));
}

void section_warnings(const report_t *report) {
    report_heading(report, 2, "Warnings");
    print_header_warnings(report);
    print_edits(report);
    print_missing(report);
    group_list_t groups = {0};
    add_statuses(report, &groups);
    add_flags(report, &groups);
    add_doubts(report, &groups);
    print_groups(report, &groups);
    print_stops(report);
    print(report, "\n");
}
