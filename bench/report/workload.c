#include "report/workload.h"

#include "report/inference/inference.h"
#include "report/rivals.h"
#include "report/sections/sections.h"
#include "report/training/training.h"

#include "workloads/common/workload.h"
#include "workloads/operator/operators.h"

#include <string.h>

/* Sections for specific workloads. Other workloads get only the common ones. */
static const struct workload_sections {
    const char *name;
    void (*findings)(const report_t *report, const comparison_set_list_t *sets);
    void (*tables)(const report_t *report, const comparison_set_list_t *sets);
} WORKLOADS[] = {
    {"mlp_infer", inference_findings, inference_tables},
    {"linreg_train", training_findings, training_tables},
    {"mnist_train", training_findings, training_tables},
    {"mlp_train", training_findings, training_tables},
    {"allocate", block_findings, block_tables},
};

static const struct workload_sections OPERATORS = {NULL, inference_findings, inference_tables};

static const struct workload_sections *sections_of(const char *workload) {
    for (size_t i = 0; i < sizeof WORKLOADS / sizeof *WORKLOADS; i++)
        if (strcmp(WORKLOADS[i].name, workload) == 0)
            return &WORKLOADS[i];
    return operators_find(workload) != NULL ? &OPERATORS : NULL;
}

/* All times of a workload without specific tables. */
static void plain_tables(const report_t *report, const char *workload) {
    const column_t columns[] = {
        {"Case", 'l', false},
        {"total", 'r', false},
        {"95 % interval over passes", 'r', !passes_have_intervals(passes_of(report->run))}};
    columns_t table = columns_begin(report, columns, sizeof columns / sizeof *columns);
    for (const case_result_t *result = NULL; (result = record_next(report->run, result)) != NULL;) {
        const phase_t *total = result_has_times(result) ? result_phase(result, "total") : NULL;
        if (strcmp(result->spec.workload, workload) != 0)
            continue;
        columns_row(&table, (const char *const[]){
                                report_code(report, result->spec.id),
                                report_text(report, "%s%s", time_cell(report, result, "total"),
                                            trust_mark(result)),
                                total != NULL ? interval_cell(report, total) : NULL,
                            });
    }
    columns_end(&table, "");
    print_passes(report);
}

static void print_title(const report_t *report, const shown_part_t *part) {
    const workload_t *known = workload_find(part->workload);
    const char *rivals = rivals_of_sets(report, &part->sets);
    print(report, REPORT_TITLE "%s%s: %s on %s, %s\n\n", rivals != NULL ? " against " : "",
          rivals != NULL ? rivals : "", report_safe(report, part->workload),
          shown_machine(report, report->run), shown_date(report, report->run));
    if (known != NULL)
        print(report, "%s: %s. ", report_safe(report, part->workload),
              report_safe(report, known->summary));
    print(report, "From the run %s.\n\n", report_code(report, report->run->name));
    print_passes(report);
}

static void section_findings(const report_t *report, const shown_part_t *part,
                             const struct workload_sections *sections) {
    report_heading(report, 2, "Findings");
    if (part->n_cases == 0)
        print(report, "None: the run has only cold starts.\n\n");
    finding_boots(report);
    finding_disagreement(report, &part->sets);
    if (sections != NULL)
        sections->findings(report, &part->sets);
}

void workload_page(report_t *report, const shown_run_t *shown, const shown_part_t *part) {
    const struct workload_sections *sections = sections_of(part->workload);
    const char *workload = part->workload;
    report->run = &part->steady;
    report->whole = &shown->whole;
    report->boots = &part->boots;
    print_title(report, part);
    section_findings(report, part, sections);
    report_heading(report, 2, "Cases");
    section_cases(report);
    report_heading(report, 2, "Tables");
    if (part->sets.n > 0 && sections != NULL)
        sections->tables(report, &part->sets);
    else
        plain_tables(report, workload);
    section_once(report, workload);
    section_checks(report, workload);
    section_sanitize(report, workload);
    section_resources(report, workload);
    section_draws(report);
    section_cold(report, workload);
    section_charts(report, workload);
    section_warnings(report);
    section_environment(report);
    section_device(report);
    section_reproduce(report);
}
