#include "report/workload.h"

#include "base/memory.h"
#include "io/fs.h"
#include "model/chart_kinds.h"
#include "plot/folder.h"
#include "report/environment.h"
#include "report/findings.h"
#include "report/tables.h"
#include "report/warnings.h"
#include "workloads/common/workload.h"

#include <stdlib.h>
#include <string.h>

/* ---- charts in plots/<run>/ ------------------------------------------------------------------- */

static const char *after_prefix(const char *name, const char *workload) {
    size_t length = strlen(workload);
    return strncmp(name, workload, length) == 0 && name[length] == '_' ? name + length + 1 : NULL;
}

static bool is_of_a_workload(const char *name) {
    const workload_t *workload;
    for (size_t i = 0; (workload = workload_at(i)) != NULL; i++)
        if (after_prefix(name, workload->name) != NULL)
            return true;
    return false;
}

/* A chart's name without that of its workload; NULL: it is another one's, or no chart that this program draws. */
static const char *name_in(const report_t *report, const char *file, const char *workload) {
    const workload_t *known = workload_find(workload);
    const char *rest = after_prefix(file, workload);
    if (rest == NULL && known != NULL && known->study != NULL && !is_of_a_workload(file))
        rest = file;
    return rest != NULL ? report_keep(report, fs_stem(rest)) : NULL;
}

typedef struct charts {
    const char *folder; /* plots/<run> */
    text_list_t files;  /* of the page, in the order of their kinds; unknown kinds are last */
    size_t n_left_out;
} charts_t;

static charts_t charts_of(const report_t *report, const char *workload) {
    const record_t *run = report->whole;
    charts_t charts = {.folder = report_keep(report, charts_folder(report->root, NULL, run))};
    text_list_t all = {0};
    size_t n;
    error_t none = ERROR_INIT; /* an unreadable folder has no charts */
    const chart_kind_t *kinds = chart_kinds(&n);
    if (fs_is_folder(charts.folder) && fs_list(charts.folder, ".svg", &all, &none) != STATUS_OK)
        text_list_free(&all);
    for (size_t k = 0; k <= n; k++)
        for (size_t i = 0; i < all.n; i++) {
            const char *name = name_in(report, all.items[i], workload);
            if (name == NULL || chart_kind_find(name) != (k < n ? &kinds[k] : NULL))
                continue;
            if (charts_have(charts.folder, run, all.items[i]))
                text_list_add(&charts.files, all.items[i]);
            else
                charts.n_left_out++;
        }
    text_list_free(&all);
    return charts;
}

/* Why charts that a reader may look for are not shown, and how to get them. */
static void print_left_out(const report_t *report, const charts_t *charts) {
    const record_t *run = report->whole;
    const char *draw = report_text(report, "%s plot %s", report->program, run->folder);
    AUTO_FREE char *other =
        fs_is_folder(charts->folder) ? NULL : charts_other_run(report->root, run);
    if (charts->n_left_out > 0)
        print(report,
              "Left out: charts in `plots/` that were not drawn from this run as it is (%zu). %s "
              "draws its own.\n\n",
              charts->n_left_out, report_code(report, draw));
    else if (other != NULL)
        print(report,
              "Left out: the charts of its name in `plots/`, drawn from %s. %s draws its own.\n\n",
              report_code(report, other), report_code(report, draw));
}

/* Those that come first on a page, or all others. */
static void print_charts(const report_t *report, const charts_t *charts, const char *workload,
                         bool first) {
    const workload_t *known = workload_find(workload);
    const char *noun = known != NULL && known->size_noun != NULL ? known->size_noun : "size";
    bool any = false;
    for (size_t i = 0; i < charts->files.n; i++) {
        const char *file = charts->files.items[i], *name = name_in(report, file, workload);
        if ((strcmp(name, "speed") == 0 || strcmp(name, "ladder") == 0) != first)
            continue;
        if (!first && !any)
            report_heading(report, 2, "Charts");
        any = true;
        const char *title = report_keep(report, chart_title(name, noun)),
                   *path = report_keep(report, fs_join(charts->folder, file));
        print(report, "![%s](%s)\n\n", report_safe(report, title),
              report_keep(report, report_link(report, path)));
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void print_title(const report_t *report, const shown_part_t *part) {
    const workload_t *known = workload_find(part->workload);
    text_list_t names = {0};
    add_rivals(report, &names, &part->sets);
    const char *rivals = report_join(report, &names, ", ");
    const status_counts_t counts = count_statuses(report->run);
    const char *statuses = statuses_text(report, &counts);
    print(report, REPORT_TITLE "%s%s: %s on %s, %s\n\n", rivals != NULL ? " against " : "",
          rivals != NULL ? rivals : "", report_safe(report, part->workload),
          shown_machine(report, report->run), shown_date(report, report->run));
    if (known != NULL)
        print(report, "%s: %s. ", report_safe(report, part->workload),
              report_safe(report, known->summary));
    print(report, "From the run %s; cases: %s. %s\n\n", report_code(report, report->run->name),
          statuses != NULL ? statuses : "none", passes_note(report, passes_of(report->run)));
}

void workload_page(report_t *report, const shown_run_t *shown, const shown_part_t *part) {
    report->run = &part->steady;
    report->whole = &shown->whole;
    report->boots = &part->boots;
    AUTO(views_free) views_t views = views_of(report, &part->sets);
    print_title(report, part);
    charts_t charts = charts_of(report, part->workload);
    print_charts(report, &charts, part->workload, true);
    section_findings(report, &part->sets, &views);
    report_heading(report, 2, "Tables");
    table_by_size(report, &views);
    table_of_phases(report, &views);
    table_of_ladder(report, &views);
    table_of_parts(report, &part->sets);
    if (part->sets.n == 0)
        table_of_times(report, part->workload);
    table_of_contenders(report, part->workload);
    table_of_compilations(report);
    print_charts(report, &charts, part->workload, false);
    print_left_out(report, &charts);
    text_list_free(&charts.files);
    section_warnings(report);
    section_environment(report);
    section_device(report);
    section_reproduce(report);
}
